"""The Agent Client Protocol in a Jupyter server, by `jupyter-eca acp --jupyter URL`, which an editor starts."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse
from tests.support.acp_client import agent, needs_schema
from tests.support.editor_process import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_schema


@pytest.fixture(params=[True, False], ids=["may approve", "may not approve"])
def approve_with_token(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture
def address(jp_fetch: Any, jp_http_port: int, jp_base_url: str) -> str:
    assert jp_fetch is not None  # the server answers only where a test can fetch
    return f"http://127.0.0.1:{jp_http_port}{jp_base_url}"


@pytest.fixture
def root(jp_root_dir: Path) -> Path:
    return jp_root_dir.resolve()


@pytest.fixture
def token(jp_serverapp: Any) -> str:
    return jp_serverapp.identity_provider.token


async def test_an_editor_works_in_the_kernels_of_the_server_and_the_panel_sees_it(
    address: str, token: str, root: Path, approve_with_token: bool, tmp_path: Path
) -> None:
    async with agent(root, "--jupyter", address, JUPYTER_TOKEN=token, JUPYTER_DATA_DIR=str(tmp_path / "own")) as client:
        await client.initialize()
        await client.open()
        prompt = await client.start_prompt("write")
        if approve_with_token:
            await client.decide(await client.permission(), "allow_once")
        assert await client.stop_reason(prompt) == "end_turn"
        assert (root / "new.txt").exists() == approve_with_token
        listed = await client.result("session/list", {"cwd": str(root)})
        assert [entry["sessionId"] for entry in listed["sessions"]] == [client.session]
        outside: Any = {"cwd": str(tmp_path), "mcpServers": []}
        assert await client.code("session/new", outside) == ErrorCode.INVALID_PARAMS
        await client.lines.write(b"junk\n")
        refused = await client.until(lambda message: isinstance(message, ErrorResponse) and message.id is None)
        assert refused.code == ErrorCode.PARSE
        assert await client.close_stdin() == 0


async def fail_to_start(folder: Path, address: str, token: str) -> str:
    """What is on stderr after the program has ended with the status 1. Nothing is on stdout."""
    async with agent(folder, "--jupyter", address, errors=asyncio.subprocess.PIPE, JUPYTER_TOKEN=token) as client:
        out, errors = await asyncio.wait_for(client.process.communicate(), PATIENCE)
        assert (out, client.process.returncode) == (b"", 1)
        return errors.decode()


async def test_a_wrong_token_or_address_is_named_in_one_line(address: str, tmp_path: Path) -> None:
    refused = await fail_to_start(tmp_path, address, "wrong")
    assert "does not accept the token" in refused
    missing = await fail_to_start(tmp_path, "http://127.0.0.1:9", "any")
    assert "There is no Jupyter server at" in missing
    wrong = await fail_to_start(tmp_path, "localhost", "any")
    assert "is no address of a Jupyter server" in wrong
    for text in (refused, missing, wrong):
        assert len(text.strip().splitlines()) == 1


@pytest.mark.parametrize(("host", "is_sent"), [("localhost", True), ("other.example", False)])
async def test_the_token_of_a_running_server_goes_to_that_server_alone(
    tmp_path: Path, host: str, is_sent: bool
) -> None:
    heard = asyncio.get_running_loop().create_future()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.set_result(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    async with await asyncio.start_server(hear, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        known = {"url": f"http://{host}:{port}/", "token": "a-secret", "pid": os.getpid(), "root_dir": str(tmp_path)}
        (tmp_path / "jpserver-1.json").write_text(json.dumps(known))
        address = f"http://127.0.0.1:{port}/"
        async with agent(tmp_path, "--jupyter", address, JUPYTER_RUNTIME_DIR=str(tmp_path), JUPYTER_TOKEN=""):
            assert (b"a-secret" in await asyncio.wait_for(heard, PATIENCE)) == is_sent
