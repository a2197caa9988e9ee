"""Clients that stop reading the pipe of a program of ours while answers are streamed."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import pytest

from jupyter_eca.fronts.acp.connection import AcpConnection
from jupyter_eca.fronts.acp.hosts import SharedHost
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol.acp.json_lines import LineReader, encode_line
from jupyter_eca.protocol.jsonrpc import FrameReader, Request, Result, encode_frame
from jupyter_eca.transport import send_limit
from jupyter_eca.transport.stdio import StdioLink
from tests.support.host_and_client import Door, answer, desk, said
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.host.host import Host
    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio

SIZE: Final = 10_000
# Thoughts and texts in turn, so that no two are joined: 400,000 characters in all.
PIECES: Final = [piece for _ in range(20) for piece in ({"reasoning": "t" * SIZE}, {"text": "w" * SIZE})]
RULES: Final[list[dict[str, Any]]] = [
    {"message": "much", "reply": PIECES},
    {"message": "long", "reply": [{"text": "word " * 10_000, "chunk": 5}]},
    {"message": "", "reply": [{"text": "Hello."}]},
]
LIMIT: Final = 2**20
MAX_TURNS: Final = 10


class PipeClient:
    """A client at the other ends of the pipes of a link. It reads only what it is asked to."""

    def __init__(self, *, lines: bool) -> None:
        stdin, self._stdin = os.pipe()
        self._stdout, stdout = os.pipe()
        self._of_link = open(stdin, "rb", buffering=0), open(stdout, "wb")  # noqa: SIM115, PTH123  # see `close`
        self.link = StdioLink(*self._of_link, lines=lines)
        self._encode = encode_line if lines else encode_frame
        self._reader: Any = LineReader() if lines else FrameReader()
        self._count = 0

    async def result(self, method: str, params: Any) -> Any:
        """Send a request, and read until its result has come."""
        self._count += 1
        os.write(self._stdin, self._encode(Request(self._count, method, params)))
        while True:
            for message in self._reader.feed(await asyncio.to_thread(os.read, self._stdout, 65536)):
                if isinstance(message, Result) and message.id == self._count:
                    return message.result

    def leave(self) -> None:
        os.close(self._stdin)
        os.close(self._stdout)

    async def close(self) -> None:
        """Close the ends of the link, after it has ended."""
        assert await asyncio.to_thread(self.link.read_ended.wait, PATIENCE)
        for file in self._of_link:
            file.close()


def find_server(table: Desk, client: PipeClient, front: str) -> EcaSession | AcpConnection:
    async def find_host() -> Host:
        return table.host

    if front == "eca":
        return EcaSession(client.link, Door(table.host))
    return AcpConnection(client.link, SharedHost(find_host))


@asynccontextmanager
async def pipe_client(table: Desk, front: str) -> AsyncGenerator[tuple[PipeClient, asyncio.Task[None], str]]:
    """A client, the task that serves it, and the id of a chat whose events it is sent."""
    client = PipeClient(lines=front == "acp")
    serving = table.tasks.create_task(find_server(table, client, front).run())
    try:
        if front == "eca":
            await client.result("initialize", {"processId": None, "capabilities": {"codeAssistant": {"chat": True}}})
            await client.result("chat/list", {})
            yield client, serving, "c"
        else:
            await client.result("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            opened = await client.result("session/new", {"cwd": str(table.folder), "mcpServers": []})
            yield client, serving, opened["sessionId"]
    finally:
        client.leave()
        await asyncio.wait_for(serving, PATIENCE)
        await client.close()


@pytest.mark.parametrize("front", ["eca", "acp"])
async def test_a_client_that_stops_reading_its_pipe_is_left_and_the_others_go_on(
    tmp_path: Path, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_limit, "MAX_CHARACTERS", LIMIT)
    async with desk(tmp_path, RULES) as table:
        other = await table.client()
        async with pipe_client(table, front) as (silent, serving, chat):
            turns = 0
            while not serving.done() and turns < MAX_TURNS:
                assert len(said(await answer(other, "much", chat=chat))) == 20 * SIZE
                turns += 1
            await asyncio.wait_for(serving, PATIENCE)
            assert silent.link.failure == send_limit.NOT_READING
        assert said(await answer(other, "hi", chat=chat)) == "Hello."
        events = await table.host.store.read_events(chat)
        texts = "".join(getattr(event.content, "text", "") for event in events if event.role == "assistant")
        assert texts.count("w") == turns * 20 * SIZE


@pytest.mark.parametrize("front", ["eca", "acp"])
async def test_pieces_of_one_text_are_joined_for_a_client_that_reads_late(
    tmp_path: Path, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More messages wait than the limit allows, but they are one text, and the client is not disconnected."""
    monkeypatch.setattr(send_limit, "MAX_ITEMS", 500)
    async with desk(tmp_path, RULES) as table:
        other = await table.client()
        async with pipe_client(table, front) as (late, serving, chat):
            for _ in range(3):
                assert len(said(await answer(other, "long", chat=chat))) == 50_000
            assert not serving.done()
            assert late.link.failure == ""
            method, params = ("chat/list", {}) if front == "eca" else ("session/list", {"cwd": str(tmp_path)})
            await late.result(method, params)
