"""A host with a scripted model and a client, joined over a memory link: where most behaviour is tested."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.config import Config
from jupyter_eca.fronts.client_access import FULL_ACCESS, ClientAccess
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.host.host import Host
from jupyter_eca.mcp_client.loopback_browser import Loopback
from jupyter_eca.protocol.content import TextContent, ToolCallContent, ToolCallRunContent
from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult, RunStatus, Variable
from jupyter_eca.transport.eca_client import CallDecision, EcaClient
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.workspace.ports import Files, Workspace
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from jupyter_eca.mcp_client.sign_in import Browser
    from jupyter_eca.protocol.chat import AnswerLock, ChatContentReceivedParams
    from jupyter_eca.protocol.lifecycle import InitializeParams
    from jupyter_eca.workspace.ports import Notebooks


@dataclass
class Notebook:
    """A live kernel of one variable table; `hold` keeps code and the table waiting until it is set."""

    ran: list[str] = field(default_factory=list[str])
    hold: asyncio.Event | None = None
    started: asyncio.Event = field(default_factory=asyncio.Event)
    interrupted: asyncio.Event = field(default_factory=asyncio.Event)

    async def execute(self, code: str) -> KernelExecuteResult:
        self.ran.append(code)
        self.started.set()
        if self.hold is not None:
            await self.hold.wait()
        return KernelExecuteResult(status=RunStatus.OK, text=f"ran {code}")

    async def variables(self, names: tuple[str, ...]) -> KernelVariablesResult:
        if self.hold is not None:
            await self.hold.wait()
        found = tuple(Variable(name=name, type="int", preview="1") for name in names or ("x",))
        return KernelVariablesResult(variables=found)


@dataclass
class Door:
    opened: Host
    sees_all_chats: bool = True
    sends_user_names: bool = True
    client_chooses_folders: bool = True
    access: ClientAccess = FULL_ACCESS
    may_trust_folders: bool = True
    kernel_id: str | None = None
    interrupted: asyncio.Event = field(default_factory=asyncio.Event)
    browser: Browser = field(default_factory=Loopback)

    async def get_host(self, params: InitializeParams) -> Host:  # noqa: ARG002
        return self.opened

    async def describe_setup(self, host: Host) -> str:  # noqa: ARG002
        return "well"

    async def interrupt_kernel(self) -> None:
        self.interrupted.set()


@dataclass
class Desk:
    host: Host
    tasks: asyncio.TaskGroup
    folder: Path
    _clients: list[EcaClient] = field(default_factory=list[EcaClient])

    async def client(
        self,
        notebook: Notebook | None = None,
        *,
        unattended: bool = False,
        sees_all_chats: bool = True,
        review: bool = False,
        access: ClientAccess = FULL_ACCESS,
    ) -> EcaClient:
        """With `review` the client shows changes with Keep and Undo, as the page of JupyterLab does."""
        ours, theirs = make_link_pair()
        session = EcaSession(theirs, Door(self.host, sees_all_chats, access=access))
        self.tasks.create_task(session.run())
        client = EcaClient(ours, "test", notebook)
        self.tasks.create_task(client.run())
        await client.initialize(unattended=unattended)
        session.capabilities = session.capabilities.model_copy(update={"review": review})
        self._clients.append(client)
        return client

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


def settings(folder: Path, rules: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A configuration whose default model follows these rules of a script.

    Most scripts repeat or compare the message of a cell, so it comes without the place of the cell, unless
    `notebook={"place": True}`. Many tests count the requests to a model, so chats get no title from a model, unless
    `chat={"title": True}`.
    """
    script = folder / "script.json"
    script.write_text(json.dumps({"rules": rules}))
    provider = {"models": {"test": {"script": str(script)}}}
    notebook = {"place": False, **more.pop("notebook", {})}
    chat = {"title": False, **more.pop("chat", {})}
    providers = {"scripted": provider}
    return {"providers": providers, "defaultModel": "scripted/test", "notebook": notebook, "chat": chat, **more}


@asynccontextmanager
async def desk(
    folder: Path,
    rules: list[dict[str, Any]],
    notebooks: Notebooks | None = None,
    *,
    seconds: float = PATIENCE * 3,
    **more: Any,
) -> AsyncGenerator[Desk]:
    """A host whose model follows `rules` (see `jupyter_eca/plugins/providers/scripted.py`). It is ended with an error
    after `seconds`.

    `more` are keys of the configuration. It is the whole configuration: the tools that `config/layers.py` allows by
    default must be approved here, unless `toolCall={"approval": {"allow": {"read_file": {}}}}` is among the keys.
    """
    workspace = Workspace(Files((folder,)), notebooks=notebooks)
    host = Host(Config.model_validate(settings(folder, rules, **more)), workspace, folder / "chats.db")
    async with desk_of(host, folder, seconds) as table:
        yield table


@asynccontextmanager
async def desk_of(host: Host, folder: Path, seconds: float = PATIENCE * 3) -> AsyncGenerator[Desk]:
    async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(host.run())
        await host.ready.wait()
        table = Desk(host, tasks, folder)
        try:
            yield table
        finally:
            await table.close()
            host.close()
            await running


async def answer(
    client: EcaClient,
    message: str,
    choose: Callable[[ToolCallRunContent], CallDecision | None] = lambda _: None,
    chat: str = "chat",
    model: str = "",
    agent: str = "",
    lock: AnswerLock | None = None,
    contexts: tuple[Any, ...] = (),
) -> list[ChatContentReceivedParams]:
    """Everything received in one turn. `choose` answers what waits for approval; None leaves it to somebody else.

    Raises: AssertionError when the turn does not end, because nobody decides about a call; TimeoutError otherwise.
    """
    received: list[ChatContentReceivedParams] = []
    undecided: dict[str, str] = {}
    try:
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask(chat, message, model, agent, lock=lock, contexts=contexts):
                received.append(item)
                if isinstance(item.content, ToolCallContent):
                    undecided.pop(item.content.id, None)
                if isinstance(item.content, ToolCallRunContent) and item.content.manual_approval:
                    decision = choose(item.content)
                    if decision is None:
                        undecided[item.content.id] = item.content.name
                    else:
                        await client.decide(str(item.chat_id), item.content.id, decision)
    except TimeoutError as error:
        if undecided:
            names = ", ".join(undecided.values())
            raise AssertionError(f"{names} waits for approval: pass `choose`, or allow it by `toolCall`") from error
        raise
    return received


@asynccontextmanager
async def chatting(client: EcaClient) -> AsyncGenerator[None]:
    """A client that gets its answers, `Hello, {message}`, for the whole block, and three at least."""
    over = asyncio.Event()

    async def chat() -> None:
        count = 0
        while not over.is_set() or count < 3:
            assert said(await answer(client, f"number {count}", chat="talk")) == f"Hello, number {count}"
            count += 1

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(chat())
        yield
        over.set()


def said(received: list[ChatContentReceivedParams], role: str = "assistant") -> str:
    return "".join(r.content.text for r in received if isinstance(r.content, TextContent) and r.role == role)


def tool_states(received: list[ChatContentReceivedParams]) -> list[str]:
    """The contents about tool calls, without repetition, in order."""
    kinds = [str(getattr(r.content, "type", "")) for r in received if isinstance(r.content, ToolCallContent)]
    return [kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]


def outcomes(received: list[ChatContentReceivedParams]) -> list[str]:
    return [str(r.outcome) for r in received if r.outcome is not None]
