"""A client of the Agent Client Protocol that speaks in raw messages, over memory or over the pipes of a process. Every
message in both directions is held against the published schema."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.acp.connection import AcpConnection
from jupyter_eca.fronts.acp.hosts import SharedHost
from jupyter_eca.fronts.client_access import FULL_ACCESS, ClientAccess
from jupyter_eca.protocol.acp.json_lines import LineReader, encode_line
from jupyter_eca.protocol.jsonrpc import Notification, Request, Result
from jupyter_eca.transport.memory import make_link_pair
from tests.support import acp_schema
from tests.support.editor_process import PATIENCE as PROCESS_PATIENCE
from tests.support.editor_process import environment
from tests.support.host_and_client import PATIENCE, desk
from tests.support.raw_client import MemoryWire, RawClient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.jsonrpc import Id, Message
    from tests.support.host_and_client import Desk
    from tests.support.raw_client import Wire

Json = dict[str, Any]

needs_schema = pytest.mark.skipif(not acp_schema.FILE.exists(), reason="the packages of tests/npm are not installed")
CAPABILITIES: Json = {"elicitation": {"form": {}}, "session": {"notices": {}}}


class CheckedWire:
    """A wire whose messages are held against the schema."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.conversation = acp_schema.Conversation()
        self.checks_sent = True

    async def send(self, message: Message) -> None:
        if self.checks_sent:
            self.conversation.check(message, "client")
        await self.wire.send(message)

    async def receive(self) -> Message:
        message = await self.wire.receive()
        self.conversation.check(message, "agent")
        return message


class AcpTestClient(RawClient):
    """A client with one session, unless a test names another."""

    def __init__(self, wire: Wire, folder: Path, patience: float = PATIENCE) -> None:
        self.checked = CheckedWire(wire)
        super().__init__(self.checked, patience)
        self.folder = folder
        self.session = ""

    async def initialize(self, can: Any = None, **options: Any) -> Any:  # noqa: ARG002  # the options are those of ECA
        info = {"name": "test", "version": "1"}
        capabilities = CAPABILITIES if can is None else can
        params = {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info}
        return await self.result("initialize", params)

    async def open(self, *servers: Json) -> Json:
        """Start a session, which the other methods use from now on."""
        opened = await self.result("session/new", {"cwd": str(self.folder), "mcpServers": list(servers)})
        self.session = opened["sessionId"]
        return opened

    async def start_prompt(self, *blocks: Json | str, session: str = "") -> Id:
        """Send a prompt, and do not wait for its answer."""
        prompt = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        return await self.send("session/prompt", {"sessionId": session or self.session, "prompt": prompt})

    async def prompt(self, *blocks: Json | str, session: str = "") -> str:
        """Send a prompt, and return its stop reason."""
        reply = await self.reply(await self.start_prompt(*blocks, session=session))
        assert isinstance(reply, Result), reply
        return reply.result["stopReason"]

    async def stop_reason(self, prompt: Id) -> str:
        reply = await self.reply(prompt)
        assert isinstance(reply, Result), reply
        return reply.result["stopReason"]

    async def cancel(self) -> None:
        await self.tell("session/cancel", {"sessionId": self.session})

    async def update(self, kind: str, **fields: Any) -> Json:
        """The next update of a kind with these fields."""

        def wanted(message: Message) -> bool:
            update = get_update(message)
            return update.get("sessionUpdate") == kind and all(update.get(n) == v for n, v in fields.items())

        return (await self.until(wanted)).params["update"]

    async def permission(self) -> Request:
        """The next request for permission."""
        return await self.until(lambda m: isinstance(m, Request) and m.method == "session/request_permission")

    async def decide(self, request: Request, kind: str) -> None:
        """Answer a request for permission by the first option of a kind, or by `cancelled`."""
        if kind == "cancelled":
            await self.answer(request, {"outcome": {"outcome": "cancelled"}})
            return
        option = next(option["optionId"] for option in request.params["options"] if option["kind"] == kind)
        await self.answer(request, {"outcome": {"outcome": "selected", "optionId": option}})

    # -- looking back

    def updates(self, since: int = 0, session: str = "") -> list[Json]:
        """The updates of the session that were heard."""
        wanted = session or self.session
        return [get_update(message) for message in self.heard[since:] if get_session(message) == wanted]

    def said(self, since: int = 0, kind: str = "agent_message_chunk", session: str = "") -> str:
        """The text of the messages that were heard."""
        chunks = (update for update in self.updates(since, session) if update["sessionUpdate"] == kind)
        return "".join(chunk["content"].get("text", "") for chunk in chunks)

    def merge_call(self, id: str, since: int = 0) -> Json:
        """A tool call as the client shows it after all updates."""
        call: Json = {}
        for update in self.updates(since):
            if update.get("toolCallId") == id:
                call |= {name: value for name, value in update.items() if name != "sessionUpdate"}
        return call

    def check_frames(self) -> None:
        assert self.checked.conversation.faults == []


def get_update(message: Message) -> Json:
    if isinstance(message, Notification) and message.method == "session/update":
        return message.params["update"]
    return {}


def get_session(message: Message) -> str:
    if isinstance(message, Notification) and message.method == "session/update":
        return message.params["sessionId"]
    return ""


@asynccontextmanager
async def unconnected(table: Desk, *, access: ClientAccess = FULL_ACCESS) -> AsyncGenerator[AcpTestClient]:
    """A client of a host in this process that has said nothing yet."""
    ours, theirs = make_link_pair()

    async def find() -> Host:
        return table.host

    serving = table.tasks.create_task(AcpConnection(theirs, SharedHost(find), access=access).run())
    client = AcpTestClient(MemoryWire(ours), table.folder)
    try:
        yield client
        client.check_frames()
    finally:
        await ours.close()
        await serving


@asynccontextmanager
async def connected(
    table: Desk, can: Json | None = None, *, access: ClientAccess = FULL_ACCESS
) -> AsyncGenerator[AcpTestClient]:
    """A client of a host in this process, which has initialized and has a session."""
    async with unconnected(table, access=access) as client:
        await client.initialize(can)
        await client.open()
        yield client


@asynccontextmanager
async def chatting_with(
    folder: Path, rules: list[Json], can: Json | None = None, *, access: ClientAccess = FULL_ACCESS, **more: Any
) -> AsyncGenerator[AcpTestClient]:
    """A client of a host whose model follows these rules."""
    async with desk(folder, rules, **more) as table, connected(table, can, access=access) as client:
        yield client


class LineWire:
    """The pipes of a process. Anything on stdout that is no message fails the test."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._reader = LineReader()
        self._inbox: list[Message] = []

    async def send(self, message: Message) -> None:
        await self.write(encode_line(message))

    async def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def receive(self) -> Message:
        assert self.process.stdout is not None
        while not self._inbox:
            data = await self.process.stdout.read(65536)
            assert data, "the agent has ended"
            for item in self._reader.feed(data):
                assert not isinstance(item, Exception), f"no message on stdout: {item}"
                self._inbox.append(item)
        return self._inbox.pop(0)


class ProcessClient(AcpTestClient):
    """A client of `jupyter-eca acp`."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.lines = LineWire(process)
        super().__init__(self.lines, folder, PROCESS_PATIENCE)

    async def close_stdin(self) -> int:
        """Close stdin, and return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return await asyncio.wait_for(self.process.wait(), PROCESS_PATIENCE)


@asynccontextmanager
async def agent(
    folder: Path,
    *arguments: str,
    path: Path | None = None,
    errors: IO[bytes] | int = asyncio.subprocess.DEVNULL,
    **variables: str,
) -> AsyncGenerator[ProcessClient]:
    """Start `jupyter-eca acp`. Its configuration is that of the folder. `path` is a folder of packages that it has
    beside our own. Its stderr goes to `errors`."""
    more = {} if path is None else {"PYTHONPATH": os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "jupyter_eca", "acp", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
        cwd=folder, env=environment(folder) | more | variables, limit=2**20,
    )  # fmt: skip
    try:
        client = ProcessClient(process, folder)
        yield client
        client.check_frames()
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
