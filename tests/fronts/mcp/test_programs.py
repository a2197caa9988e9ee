"""`jupyter-eca mcp` as a process of its own: stdio by default, HTTP when the environment says so."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import httpx2
import mcp_types as types
import psutil
import pytest

from tests.fronts.mcp.programs import START, Served, environment, on_http, on_stdio
from tests.fronts.mcp.room import LEGACY, MODERN, User, call, ok
from tests.support.host_and_client import settings
from tests.support.samples import sample

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

RULES = [{"message": "", "reply": [{"text": "Hello, {message}"}]}]
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return configured(tmp_path)


def configured(folder: Path) -> Path:
    (folder / ".eca").mkdir()
    (folder / ".eca" / "config.json").write_text(json.dumps(settings(folder, RULES)))
    (folder / "a.txt").write_text("one\n")
    return folder


@pytest.mark.cold_start
@pytest.mark.asyncio
async def test_on_its_streams_it_answers_asks_and_runs_code(folder: Path) -> None:
    user = User({"decision": "approve"})
    async with on_stdio(folder, user=user) as client:
        assert await ok(client, "eca_file_read", path="a.txt") == {"text": "one\n"}
        assert (await ok(client, "eca_run", prompt="you"))["text"] == "Hello, you"
        ran = await ok(client, "eca_kernel_run_code", code="print(6 * 7)")
        assert "42" in ran["text"]
    assert len(user.asked) == 1


@pytest.mark.asyncio
async def test_without_anybody_to_ask_it_says_what_to_do(folder: Path) -> None:
    async with on_stdio(folder) as client:
        failed, data = await call(client, "eca_kernel_run_code", code="1")
    assert failed
    assert not any("JupyterLab" in one for one in data["suggestions"])


NO_MESSAGES = {
    r'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud83d"}}': -32700,
    r'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":NaN}}}': -32700,
    r'{"jsonrpc":"2.0","id":1.5,"method":"ping"}': -32600,
    "{oops": -32700,
}


@pytest.mark.asyncio
async def test_a_client_that_answers_a_question_with_an_error_gets_the_end_of_the_call(folder: Path) -> None:
    async def fail(context: object, params: object) -> types.ErrorData:  # noqa: ARG001
        return types.ErrorData(code=types.INTERNAL_ERROR, message="The window is gone.")

    async with asyncio.timeout(START), on_stdio(folder, user=fail, mode=LEGACY) as client:
        failed, _ = await call(client, "eca_kernel_run_code", code="1")
    assert failed


def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(folder: Path) -> None:
    command = [sys.executable, "-m", "jupyter_eca", "mcp"]
    hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    good = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": hello})
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=environment(folder), stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        gives_up = threading.Timer(START, process.kill)
        gives_up.start()
        for line in NO_MESSAGES:
            process.stdin.write(f"{line}\n\n")
        process.stdin.write(f"{good}\n")
        process.stdin.flush()
        # The program ends with its input, so the input stays open until all are answered.
        replies = [json.loads(process.stdout.readline()) for _ in range(len(NO_MESSAGES) + 1)]
        gives_up.cancel()
    refused = [(reply["id"], reply["error"]["code"]) for reply in replies if "error" in reply]
    assert refused == [(None, code) for code in NO_MESSAGES.values()]
    assert any(reply.get("id") == 2 and "result" in reply for reply in replies)


@pytest.mark.parametrize("how", sample(["end of stdin", "signal"], every=2))
def test_it_ends_with_its_client_and_takes_its_kernel_along(folder: Path, how: str) -> None:
    command = [sys.executable, "-m", "jupyter_eca", "mcp"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    (folder / ".eca" / "config.json").write_text(
        json.dumps(settings(folder, RULES, toolCall={"approval": {"allow": {"run_code": {}}}}))
    )
    with subprocess.Popen(command, cwd=folder, env=environment(folder), text=True, **pipes) as process:  # pyright: ignore[reportCallIssue, reportArgumentType]
        assert process.stdin is not None
        assert process.stdout is not None
        info = {"name": "t", "version": "1"}
        hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info}
        params = {"name": "eca_kernel_run_code", "arguments": {"code": "1"}}
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params},
        ):
            process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        began, ran = json.loads(process.stdout.readline()), json.loads(process.stdout.readline())
        assert began["result"]["protocolVersion"] == "2024-11-05"
        assert not ran["result"].get("isError")
        (kernel,) = psutil.Process(process.pid).children()
        if how == "signal":
            process.send_signal(signal.SIGTERM)
        else:
            process.stdin.close()
        assert process.wait(START) == 0
        kernel.wait(START)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    with on_http(configured(tmp_path_factory.mktemp("served"))) as found:
        yield found


@pytest.mark.cold_start
@pytest.mark.asyncio
async def test_over_http_several_clients_are_served_at_once(served: Served) -> None:
    async with served.client(LEGACY) as one, served.client(MODERN) as two:
        answers = await asyncio.gather(*(ok(client, "eca_run", prompt="you") for client in (one, two, one, two)))
    assert [answer["text"] for answer in answers] == ["Hello, you"] * 4


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Host": "evil.example:80"}, 403),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_whoever_has_no_token_or_comes_from_elsewhere_is_refused(
    served: Served, headers: dict[str, str], status: int
) -> None:
    own = {} if status == 401 else {"Authorization": f"Bearer {served.token}"}
    answer = httpx2.post(served.url, json={}, headers={**JSON, **own, **headers}, trust_env=False)
    assert answer.status_code == status
    assert served.url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(("name", "value"), sample([("MCP_TRANSPORT", "pigeon"), ("MCP_HTTP_PORT", "many")], every=2))
def test_an_environment_that_makes_no_sense_is_named(folder: Path, name: str, value: str) -> None:
    where = environment(folder, **{"MCP_TRANSPORT": "http", name: value})
    command = [sys.executable, "-m", "jupyter_eca", "mcp"]
    done = subprocess.run(command, cwd=folder, env=where, capture_output=True, text=True, timeout=START, check=False)
    assert done.returncode == 1
    assert name in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("backend", sample(["eca", "opencode"], every=2))
def test_a_port_that_is_in_use_is_told_in_one_line(folder: Path, backend: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = environment(folder, MCP_TRANSPORT="http", MCP_HTTP_PORT=str(taken.getsockname()[1]))
        command = [sys.executable, "-m", "jupyter_eca", "mcp", "--backend", backend]
        done = subprocess.run(
            command, cwd=folder, env=where, capture_output=True, text=True, timeout=START, check=False
        )
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    assert done.stderr.count("\n") == 1
