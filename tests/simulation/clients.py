"""Owns the clients of a host story that speak the Agent Client Protocol, MCP and REST. Each does what a program does
that was written for its protocol, and passes on what it is shown to the story, which checks it.

A client leaves in the middle of what it does. It must not know the host: it sees what the front sends.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import httpx2
import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError

from jupyter_eca.fronts.acp.connection import AcpConnection
from jupyter_eca.fronts.acp.hosts import SharedHost
from jupyter_eca.fronts.mcp.approval import APPROVE, REJECT
from jupyter_eca.fronts.mcp.assistant import Assistant
from jupyter_eca.fronts.mcp.server import McpFront
from jupyter_eca.fronts.rest.app import make_application
from jupyter_eca.fronts.rest.front import RestFront
from jupyter_eca.protocol.jsonrpc import ErrorResponse, Notification, Request, Result
from jupyter_eca.transport.memory import make_link_pair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from mcp.client.context import ClientRequestContext

    from jupyter_eca.host.host import Host

    # Called with the chat and with all that a client was shown of it.
    Check = Callable[[str, object], None]

REST_CHATS: Final = ("dan", "eve")


class AcpStoryClient:
    """A client of the Agent Client Protocol that has the chats of the story as its sessions."""

    def __init__(self, host: Host, folder: Path, tasks: asyncio.TaskGroup, check: Check) -> None:
        self._folder, self._check = folder, check
        self._link, theirs = make_link_pair()

        async def find() -> Host:
            return host

        self._serving = tasks.create_task(AcpConnection(theirs, SharedHost(find)).run())
        self._reading = tasks.create_task(self._read())
        self._replies: dict[int, asyncio.Future[bool]] = {}
        self.questions: dict[str, Request] = {}
        """The requests for permission that nobody has answered yet, by the id of the call."""

    async def join(self, chats: Iterable[str]) -> None:
        """Load the sessions that exist."""
        await (await self._send("initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
        for chat in chats:
            at: dict[str, Any] = {"sessionId": chat, "cwd": str(self._folder), "mcpServers": []}
            await (await self._send("session/load", at))

    async def ask(self, chat: str, message: str) -> None:
        """Prompt, and do not wait for the end of the turn. A chat that did not exist yet when the client came is no
        session of it, so it is refused."""
        await self._send("session/prompt", {"sessionId": chat, "prompt": [{"type": "text", "text": message}]})

    async def decide(self, call: str, *, approved: bool) -> None:
        request = self.questions.pop(call)
        kind = "allow_once" if approved else "reject_once"
        option = next(option["optionId"] for option in request.params["options"] if option["kind"] == kind)
        outcome = {"outcome": {"outcome": "selected", "optionId": option}}
        await self._link.send(Result(request.id, outcome))

    async def stop(self, chat: str) -> None:
        await self._link.send(Notification("session/cancel", {"sessionId": chat}))

    async def leave(self) -> None:
        await self._link.close()
        await asyncio.wait([self._serving, self._reading])

    async def _send(self, method: str, params: Any) -> asyncio.Future[bool]:
        """Send a request, and return the future whether it is granted."""
        id = len(self._replies)
        self._replies[id] = asyncio.get_running_loop().create_future()
        await self._link.send(Request(id, method, params))
        return self._replies[id]

    async def _read(self) -> None:
        async for message in self._link:
            match message:
                case Notification("session/update", params):
                    self._check(params["sessionId"], params["update"])
                case Request(method="session/request_permission", params=params):
                    self._check(params["sessionId"], params["toolCall"])
                    self.questions[params["toolCall"]["toolCallId"]] = message
                case Notification("$/cancel_request", params):
                    kept = {id: asked for id, asked in self.questions.items() if asked.id != params["requestId"]}
                    self.questions = kept
                case Result() | ErrorResponse() if isinstance(message.id, int):
                    self._replies[message.id].set_result(isinstance(message, Result))
                case _:
                    pass
        for reply in self._replies.values():
            if not reply.done():
                reply.set_result(False)


class McpStoryClient:
    """A client of MCP that asks the assistant in the chats of the story. Its user decides when the story says so."""

    def __init__(self, host: Host, tasks: asyncio.TaskGroup, check: Check) -> None:
        self._host, self._tasks, self._check = host, tasks, check
        self._left = asyncio.Event()
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._asking: set[asyncio.Task[None]] = set()
        self._running = tasks.create_task(self._run())
        self.questions: list[tuple[str, asyncio.Future[bool]]] = []
        """What the user was asked and has not answered yet, with the answer."""

    async def _run(self) -> None:
        assistant = Assistant(self._host, panel=True)
        front = McpFront(assistant)
        info = types.Implementation(name="story", version="1")
        client = Client(front.server, mode="2026-07-28", elicitation_callback=self._elicit, client_info=info)
        async with front.running(), client:
            self._client.set_result(client)
            await self._left.wait()
            for task in self._asking:
                task.cancel()
            await asyncio.gather(*self._asking, return_exceptions=True)
        assistant.close()

    async def _elicit(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        del context
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.questions.append((params.message, answer))
        approved = await answer
        return types.ElicitResult(action="accept", content={"decision": APPROVE if approved else REJECT})

    async def ask(self, chat: str, message: str) -> None:
        """Prompt, and do not wait for the answer."""
        client = await self._client
        task = self._tasks.create_task(self._ask(client, chat, message))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self, client: Client, chat: str, message: str) -> None:
        with suppress(MCPError):  # the host has ended
            result = await client.call_tool("eca_session_prompt", {"sessionId": chat, "prompt": message})
            self._check(chat, [getattr(part, "text", "") for part in result.content])

    async def leave(self) -> None:
        self._left.set()
        await asyncio.wait([self._running])


class RestStoryClient:
    """Programs that ask over REST, in chats of this front. They have no tools, and nobody is asked."""

    def __init__(self, host: Host, tasks: asyncio.TaskGroup, check: Check) -> None:
        self._tasks, self._check = tasks, check
        self._front = RestFront(host)
        transport = httpx2.ASGITransport(make_application(self._front), raise_app_exceptions=False)
        self._http = httpx2.AsyncClient(transport=transport, base_url="http://story")
        self._asking: list[asyncio.Task[None]] = []

    async def ask(self, chat: str, message: str) -> None:
        """Ask, and do not wait for the answer."""
        self._asking.append(self._tasks.create_task(self._ask(chat, message)))

    async def _ask(self, chat: str, message: str) -> None:
        answer = await self._http.post("/chat", json={"message": message, "chat_id": chat}, timeout=None)
        self._check(chat, answer.text)

    async def hang_up(self) -> None:
        """The program that has asked first does not wait for its answer any more."""
        if self._asking:
            self._asking.pop(0).cancel()

    async def leave(self) -> None:
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)
        await self._http.aclose()
        self._front.close()


def find_asked(message: str, calls: Iterable[tuple[str, dict[str, Any]]]) -> list[str]:
    """The ids of the calls that a question of MCP may be about: the question shows the values of their arguments."""
    return [id for id, arguments in calls if any(_is_shown(value, message) for value in arguments.values())]


def _is_shown(value: object, message: str) -> bool:
    return str(value) in message or json.dumps(value)[1:-1] in message
