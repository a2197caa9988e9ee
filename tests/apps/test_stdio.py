"""`jupyter-eca` as a real process: the story over stdio, manners, and what survives a kill."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, Notification, Request, Result
from tests.mcp_client.house import raw, tour_server
from tests.plugins.test_loader import install
from tests.support.editor_process import PATIENCE, Editor, editor, environment
from tests.support.host_and_client import settings
from tests.support.processes import have_ended
from tests.support.samples import sample

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

STORY: list[dict[str, Any]] = [
    {"result": "42", "reply": [{"text": "It is 42."}]},
    {"result": "", "reply": [{"text": "The tool said: {result}"}]},
    {"message": "make", "reply": [{"reasoning": "A variable."}, {"text": "I make it. "},
                                  {"tool": "run_code", "arguments": {"code": "answer = 6 * 7"}}]},
    {"message": "look", "reply": [{"tool": "variables", "arguments": {"names": ["answer"]}}]},
    {"message": "wait", "reply": [{"tool": "run_code", "arguments": {"code": "import time; time.sleep(60)"}}]},
    {"message": "slow", "reply": [{"text": "word " * 2000, "chunk": 5, "delay": 0.01}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]  # fmt: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ws" / ".eca").mkdir(parents=True)
    (tmp_path / "ws" / ".eca" / "config.json").write_text(json.dumps(settings(tmp_path, STORY)))
    return tmp_path / "ws"


def is_up(told: dict[str, Any]) -> bool:
    """Whether an MCP server is told to run."""
    return told.get("type") == "mcp" and told["status"] == "running"


async def ask(at: Editor, message: str) -> None:
    await at.send(Request(f"ask {message}", "chat/prompt", {"chatId": "c", "message": message}))


@pytest.mark.cold_start
async def test_a_tool_call_is_approved_runs_in_a_real_kernel_and_its_variable_stays(workspace: Path) -> None:
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await ask(at, "make")
        call = await at.content("toolCallRun")
        assert call["manualApproval"]
        assert call["arguments"] == {"code": "answer = 6 * 7"}
        await at.send(Notification("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]}))
        assert not (await at.content("toolCalled"))["error"]
        await at.content("progress", state="finished")
        await ask(at, "look")
        await at.content("progress", state="finished")
        assert at.said().endswith("It is 42.")


async def test_an_edit_of_the_configuration_is_told_and_one_that_is_no_configuration_too(workspace: Path) -> None:
    file = workspace / ".eca" / "config.json"
    before = json.loads(file.read_text())
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await at.until(lambda m: isinstance(m, Notification) and m.params.get("type") == "finish")
        file.write_text(json.dumps({**before, "welcomeMessage": "Anew", "disabledTools": ["edit_file"]}))
        config = await at.until(lambda m: isinstance(m, Notification) and m.method == "config/updated")
        assert isinstance(config, Notification)
        assert config.params["chat"]["welcomeMessage"] == "Anew"
        native = await at.until(lambda m: isinstance(m, Notification) and m.params.get("type") == "native")
        assert isinstance(native, Notification)
        assert {tool["name"] for tool in native.params["tools"] if tool["disabled"]} >= {"edit_file"}
        file.write_text("{")
        shown = await at.until(lambda m: isinstance(m, Notification) and m.method == "$/showMessage")
        assert isinstance(shown, Notification)
        assert shown.params["type"] == "error"
        assert "is not JSON" in shown.params["message"]


async def test_a_rejected_call_runs_nothing_and_the_model_goes_on(workspace: Path) -> None:
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await ask(at, "make")
        call = await at.content("toolCallRun")
        await at.send(Notification("chat/toolCallReject", {"chatId": "c", "toolCallId": call["id"]}))
        assert (await at.content("toolCallRejected"))["reason"] == "userChoiceDeny"
        await at.content("progress", state="finished")
        assert "It did not run; nothing was changed." in at.said()


async def test_stop_interrupts_running_code_and_ends_the_turn(workspace: Path) -> None:
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await ask(at, "wait")
        call = await at.content("toolCallRun")
        await at.send(Notification("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]}))
        await at.content("toolCallRunning")
        await at.send(Notification("chat/promptStop", {"chatId": "c"}))
        await at.content("toolCalled", error=True)
        await at.content("progress", state="finished")
        await ask(at, "you")
        await at.content("progress", state="finished")
        assert at.said() == "Hello, you"


async def test_shutdown_and_exit_end_the_process_with_status_0(workspace: Path) -> None:
    async with editor(workspace) as at:
        await at.initialize(workspace)
        assert await at.request(2, "shutdown", None) is None
        await at.send(Notification("exit", None))
        assert await asyncio.wait_for(at.process.wait(), PATIENCE) == 0


@pytest.mark.parametrize("end", sample(["signal", "exit"], every=2))
async def test_neither_tool_servers_nor_jobs_outlive_the_process(workspace: Path, end: str) -> None:
    file, pids = workspace / ".eca" / "config.json", [workspace / name for name in ("server", "job")]
    line = f"echo $$ > {pids[1]}; echo up; sleep 1000"
    serve = {"tool": "shell_command", "arguments": {"command": line, "background": True}}
    story = [{"result": "", "reply": [{"text": "Up."}]}, {"message": "", "reply": [serve]}]
    servers = {"tour": tour_server(str(pids[0]))}
    allow = {"approval": {"byDefault": "allow"}}
    file.write_text(json.dumps(settings(workspace, story, toolCall=allow, mcpServers=servers)))
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await at.until(lambda m: isinstance(m, Notification) and is_up(m.params))
        await ask(at, "serve")
        await at.content("progress", state="finished")
        running = [int(pid.read_text()) for pid in pids]
        assert all(psutil.pid_exists(pid) for pid in running)
        if end == "signal":
            at.process.terminate()
        else:
            assert await at.request(2, "shutdown", None) is None
            assert not psutil.pid_exists(running[0]), "tool servers end before the reply, as the seed draws it"
            await at.send(Notification("exit", None))
        assert await asyncio.wait_for(at.process.wait(), PATIENCE) == 0
        assert have_ended(*running)


async def test_the_end_of_stdin_ends_the_process_with_status_0(workspace: Path) -> None:
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await ask(at, "slow")
        await at.content("text", text="word ")
        assert at.process.stdin is not None
        at.process.stdin.close()
        assert await asyncio.wait_for(at.process.wait(), PATIENCE) == 0


async def test_the_end_of_the_editor_ends_the_process_with_status_0(workspace: Path) -> None:
    gone = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await gone.wait()
    async with editor(workspace) as at:
        await at.send(Request(1, "initialize", {"processId": gone.pid, "workspaceFolders": []}))
        assert await asyncio.wait_for(at.process.wait(), PATIENCE) == 0


async def test_an_editor_that_ends_later_takes_the_process_with_it(workspace: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    async with editor(workspace) as at:
        await at.request(1, "initialize", {"processId": parent.pid, "workspaceFolders": []})
        await ask(at, "you")
        await at.content("progress", state="finished")
        await parent.communicate(b"\n")
        assert await asyncio.wait_for(at.process.wait(), PATIENCE) == 0


@pytest.mark.parametrize("nobody", sample([0, -1, None], every=3))
async def test_an_editor_without_a_process_id_is_not_watched(workspace: Path, nobody: int | None) -> None:
    async with editor(workspace) as at:
        await at.request(1, "initialize", {"processId": nobody, "workspaceFolders": []})
        await ask(at, "you")
        await at.content("progress", state="finished")
        assert at.said() == "Hello, you"


NOISY = """
import os, subprocess, sys
print("a print")
os.write(1, b"bytes to stdout")
subprocess.run([sys.executable, "-c", "print('a child')"], check=True)
print("read", repr(sys.stdin.readline()), repr(subprocess.run(
    [sys.executable, "-c", "import sys; print('child read', repr(sys.stdin.read()))"], check=True)))
TOOLS = ()
"""


async def test_what_a_plug_prints_or_reads_stays_out_of_the_protocol(workspace: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "noisy_plug.py").write_text(NOISY)
    install(site, "tools", noisy="noisy_plug:TOOLS")
    async with editor(workspace, path=site) as at:
        await at.initialize(workspace)
        await ask(at, "you")
        await at.content("progress", state="finished")
        assert at.process.stdin is not None
        assert at.process.stderr is not None
        at.process.stdin.close()
        said = (await at.process.stderr.read()).decode()
    assert all(noise in said for noise in ("a print", "bytes to stdout", "a child", "read ''", "child read ''"))


async def test_an_engine_that_cannot_start_says_why(workspace: Path) -> None:
    (workspace / "data").write_text("no folder for the chats")
    async with editor(workspace) as at:
        await at.send(Request(1, "initialize", {"processId": None, "workspaceFolders": []}))
        assert isinstance(reply := await at.next(), ErrorResponse)
        assert "chats.db cannot be used" in reply.message


async def test_a_wrong_charset_is_answered_with_an_error(workspace: Path) -> None:
    async with editor(workspace) as at:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize"}).encode("utf-16")
        head = f"Content-Length: {len(body)}\r\nContent-Type: application/vscode-jsonrpc; charset=utf-16\r\n\r\n"
        await at.write(head.encode() + body)
        assert isinstance(message := await at.next(), ErrorResponse)
        assert (message.id, message.code) == (None, ErrorCode.INVALID_REQUEST)


async def test_a_frame_is_read_however_it_is_cut_and_by_its_bytes(workspace: Path) -> None:
    async with editor(workspace) as at:
        params: dict[str, Any] = {"processId": None, "workspaceFolders": [], "clientInfo": {"name": "é"}}
        body = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, ensure_ascii=False
        ).encode()
        kind = "Content-Type: application/vscode-jsonrpc; charset=utf-8"
        frame = f"Content-Length: {len(body)}\r\n{kind}\r\n\r\n".encode() + body
        for start in range(0, len(frame), 7):
            await at.write(frame[start : start + 7])
        reply = await at.next()
        assert not isinstance(reply, ErrorResponse | Notification | Request)
        assert reply.id == 1


@pytest.mark.parametrize("header", sample(["Content-Length: twelve", "Content-Type: application/json"], every=2))
async def test_a_frame_without_a_good_length_is_answered_and_ends_the_process_with_status_1(
    workspace: Path, header: str
) -> None:
    async with editor(workspace) as at:
        await at.write(f"{header}\r\n\r\n{{}}".encode())
        assert isinstance(message := await at.next(), ErrorResponse)
        assert (message.id, message.code) == (None, ErrorCode.PARSE)
        assert "the header needs a Content-Length" in message.message
        assert at.process.stderr is not None
        said = (await at.process.stderr.read()).decode()
        assert await asyncio.wait_for(at.process.wait(), PATIENCE) == 1
    assert message.message in said


async def test_headers_whose_lines_end_without_a_carriage_return_are_read(workspace: Path) -> None:
    async with editor(workspace) as at:
        body = json.dumps({"jsonrpc": "2.0", "id": 1.5, "method": "initialize", "params": {"workspaceFolders": []}})
        await at.write(f"Content-Length: {len(body)}\nContent-Type: application/json\n\n{body}".encode())
        reply = await at.next()
        assert isinstance(reply, Result)
        assert reply.id == 1.5


async def test_a_body_that_is_no_json_is_answered_and_the_next_is_served(workspace: Path) -> None:
    async with editor(workspace) as at:
        await at.write(b"Content-Length: 5\r\n\r\n{oops")
        assert isinstance(message := await at.next(), ErrorResponse)
        assert message.code == ErrorCode.PARSE
        assert await at.initialize(workspace)


async def test_a_broken_configuration_is_named_and_mending_it_lets_the_editor_in(workspace: Path) -> None:
    file = workspace / "config" / "eca" / "config.json"  # the user's own
    file.parent.mkdir(parents=True)
    file.write_text('{"providers": [}')
    async with editor(workspace) as at:
        await at.send(Request(1, "initialize", {}))
        assert isinstance(message := await at.next(), ErrorResponse)
        assert str(file) in message.message
        file.write_text("{}")
        assert await at.initialize(workspace)


async def test_after_a_kill_in_mid_answer_the_chat_opens_with_everything_that_was_shown(workspace: Path) -> None:
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await ask(at, "slow")
        for _ in range(20):
            await at.content("text")
        at.process.kill()
        shown = at.said()
    async with editor(workspace) as at:
        await at.initialize(workspace)
        assert (await at.request(5, "chat/open", {"chatId": "c"}))["found"]
        after = at.said()
        assert after.startswith(shown)
        assert len(shown) >= 20
        assert any("The server ended during this answer" in str(m) for m in at.heard)
        assert any("'state': 'finished'" in str(m) for m in at.heard)
        await ask(at, "you")
        await at.content("progress", state="finished")
        assert at.said() == after + "Hello, you"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jupyter_eca", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60, check=False
    )


async def test_version_is_printed_as_eca_editors_expect_it(tmp_path: Path) -> None:
    from jupyter_eca import __version__

    assert run(tmp_path, "--version").stdout == f"eca {__version__}\n"


async def test_ask_says_which_tool_servers_it_waits_for(workspace: Path) -> None:
    servers = {"slow": raw("never shakes hands")}
    config = settings(workspace, STORY, mcpServers=servers, mcpTimeoutSeconds=4)
    (workspace / ".eca" / "config.json").write_text(json.dumps(config))
    done = run(workspace, "ask", "terminal")
    assert done.stdout.strip().endswith("Hello, terminal")
    assert "waiting for the MCP server slow, for 4 s at most (mcpTimeoutSeconds)" in done.stderr


@pytest.mark.cold_start
async def test_ask_answers_in_the_terminal(workspace: Path) -> None:
    done = run(workspace, "ask", "terminal")
    assert (done.stdout.strip(), done.returncode) == ("Hello, terminal", 0)


async def test_ask_with_nobody_to_approve_denies_and_says_so(workspace: Path) -> None:
    assert "nobody is there" in run(workspace, "ask", "make").stdout


async def test_ask_with_an_unknown_model_fails_with_what_to_do(workspace: Path) -> None:
    done = run(workspace, "ask", "-m", "nowhere/x", "hi")
    assert "There is no provider 'nowhere'" in done.stdout
    assert done.returncode == 1


async def test_a_chat_that_is_open_elsewhere_is_gone_on_with_in_the_terminal_and_back_there(workspace: Path) -> None:
    async with editor(workspace) as at:
        await at.initialize(workspace)
        await ask(at, "you")
        await at.content("progress", state="finished")
        done = await asyncio.to_thread(run, workspace, "ask", "--chat", "c", "terminal")
        assert (done.stdout.strip(), done.returncode) == ("Hello, terminal", 0)
        await ask(at, "me again")
        await at.content("progress", state="finished")
        assert (await at.request(5, "chat/open", {"chatId": "c"}))["found"]
        replayed = at.said()
        assert "Hello, terminal" in replayed[replayed.index("Hello, me again") :]


async def test_a_config_file_of_ones_own_stands_in_for_the_others(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"defaultModel": "scripted/none"}')
    assert "There is no script for scripted/none" in run(workspace, "ask", "--config-file", str(other), "hi").stdout


@pytest.mark.cold_start
async def test_doctor_tells_what_is_set_up(workspace: Path) -> None:
    done = run(workspace, "doctor")
    assert "Default model: `scripted/test`" in done.stdout
    assert done.returncode == 0


async def test_a_broken_file_of_a_project_is_told_and_everything_else_works(workspace: Path, tmp_path: Path) -> None:
    file = workspace / ".eca" / "config.json"
    own = tmp_path / "ws" / "config" / "eca" / "config.json"  # as `environment` has the user's folder
    own.parent.mkdir(parents=True)
    approve = {"toolCall": {"approval": {"byDefault": "allow"}}}
    own.write_text(json.dumps({**json.loads(file.read_text()), **approve}))
    file.write_text('{"toolCall": {"approval": {"deny": {"run_code": {}}}}')
    async with editor(workspace) as at:
        await at.initialize(workspace)
        told = await at.until(lambda m: isinstance(m, Notification) and m.method == "$/showMessage")
        assert isinstance(told, Notification)
        assert f"{file} is not JSON" in told.params["message"]
        assert "this project's settings are not used" in told.params["message"]
        await ask(at, "you")
        await at.content("progress", state="finished")
        assert at.said() == "Hello, you"
        # The file may have denied this call, so it does not run unasked.
        await ask(at, "make")
        assert (await at.content("toolCallRun"))["manualApproval"]
        await at.send(Notification("chat/promptStop", {"chatId": "c"}))
        await at.content("progress", state="finished")


@pytest.mark.parametrize(
    ("written", "message", "advice"),
    [
        ({"defaultModel": "anthropic/claude-sonnet-5"}, "hi", "There is no key for Anthropic"),
        ({"defaultModel": "", "providers": {"local": {"models": {}}}}, "/help", "/login"),
    ],
)
async def test_an_editor_is_told_nothing_that_only_helps_in_a_notebook(
    workspace: Path, written: dict[str, Any], message: str, advice: str
) -> None:
    (workspace / ".eca" / "config.json").write_text(json.dumps(written))
    async with editor(workspace) as at:
        result = await at.initialize(workspace)
        await ask(at, message)
        await at.content("progress", state="finished")
        heard = f"{result} {at.heard}"
    assert advice in heard
    for words in ("%eca", "restart Jupyter,", "this notebook"):
        assert words not in heard
