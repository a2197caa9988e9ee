"""A request of which only a part ever arrives, at a server with a port of its own: it is ended."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from jupyter_eca.fronts.http import connection
from jupyter_eca.fronts.http.gate import Gate
from jupyter_eca.fronts.http.server import listen, serve
from jupyter_eca.fronts.mcp.assistant import Assistant
from jupyter_eca.fronts.mcp.http import open_application as make_mcp
from jupyter_eca.fronts.rest.app import make_application as make_rest
from jupyter_eca.fronts.rest.front import RestFront
from tests.support.host_and_client import desk
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from starlette.types import ASGIApp

    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello, {message}"}]}]
HEAD = b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = HEAD + b"Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n"


@asynccontextmanager
async def application(table: Desk, name: str) -> AsyncGenerator[ASGIApp]:
    if name == "mcp":
        async with make_mcp(Assistant(table.host, panel=False)) as app:
            yield app
    else:
        front = RestFront(table.host)
        yield make_rest(front)
        front.close()


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncGenerator[str]:
    """Serve an application on a port, and yield the address. Once a test: the port is not given back before its end."""
    gate = Gate()
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.ensure_future(serve(app, gate, await listen(gate, 0), address.set_result))
    try:
        yield await address
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


async def read_reply(address: str, data: bytes, drops: bytes = b"") -> bytes:
    """Send data and then one drop after the other, and return what the server says until it hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", httpx2.URL(address).port)
    writer.write(data)

    async def read() -> bytes:
        reply = b""
        with suppress(ConnectionResetError):  # a drop may arrive after the server has hung up
            while piece := await reader.read(65_536):
                reply += piece
        return reply

    reading = asyncio.ensure_future(read())
    for drop in drops:
        if (await asyncio.wait([reading], timeout=0.02))[0]:
            break
        writer.write(bytes([drop]))
    reply = await asyncio.wait_for(reading, PATIENCE)
    writer.close()
    return reply


@pytest.mark.parametrize("name", ["rest", "mcp"])
@pytest.mark.parametrize(
    ("data", "drops"), [(b"", b""), (HEAD, b""), (HEAD, b"X" * 1000), (BODY, b""), (BODY + b"{", b" " * 90)]
)
async def test_a_request_that_does_not_arrive_in_time_is_ended(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    data: bytes,
    drops: bytes,
) -> None:
    monkeypatch.setattr(connection, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.3)
    async with desk(tmp_path, RULES) as table, application(table, name) as app, listening(app) as address:
        assert (await read_reply(address, data, drops)).startswith(b"HTTP/1.1 408 ")
    assert [record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")] == []


async def test_an_answer_may_take_longer_than_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.2)
    slow: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "word " * 40, "chunk": 5, "delay": 0.02}]}]
    async with (
        desk(tmp_path, slow) as table,
        application(table, "rest") as app,
        listening(app) as address,
        httpx2.AsyncClient(base_url=address, trust_env=False) as client,
    ):
        for _ in range(2):  # over the same connection
            reply = await client.post("/chat", json={"message": "you"}, timeout=PATIENCE)
            assert reply.json()["response"].split() == ["word"] * 40
