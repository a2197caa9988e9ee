"""Cells run in a kernel of a server, by a client that plays the page."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_client.session import Session

from jupyter_eca.protocol.content import Role

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.host.host import Host
    from jupyter_eca.host.subscribers import ChatReload, Notice
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks

PATIENCE = 60.0


class Watcher:
    """A subscriber of the server's host that approves nothing: what tests wait on."""

    kernel: Kernel | None = None
    editor: Editor | None = None
    notebooks: Notebooks | None = None

    def __init__(self, host: Host) -> None:
        self.host = host
        self.events: list[Event] = []
        self.notices: list[str] = []
        self._shown = asyncio.Event()

    @staticmethod
    async def of(serverapp: Any) -> Watcher:
        (app,) = serverapp.extension_manager.extension_apps["jupyter_eca"]
        watcher = Watcher(await app.eca_server.get_host())
        watcher.host.connect(watcher)
        return watcher

    def sees(self, chat: str) -> bool:  # noqa: ARG002  # all
        return True

    def approves(self, chat: str) -> bool:  # noqa: ARG002  # none
        return False

    answers = approves
    reviews = approves

    def tell(self, notice: Notice) -> None:
        self.notices.append(notice.method)
        self._shown.set()

    def reload_chat(self, reload: ChatReload) -> None:
        """As above."""

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        raise AssertionError(f"it answers nothing, and was asked {question}")

    def show(self, events: list[Event]) -> None:
        self.events += events
        self._shown.set()

    async def until_notice(self, method: str) -> None:
        """Wait for a notification to all clients with that method."""
        async with asyncio.timeout(PATIENCE):
            while method not in self.notices:
                self._shown.clear()
                await self._shown.wait()

    async def until(self, kind: str, role: Role = Role.ASSISTANT) -> Event:
        """The first event with a content of this type, and this role."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for event in self.events:
                    if getattr(event.content, "type", "") == kind and event.role is role:
                        return event
                self._shown.clear()
                await self._shown.wait()

    async def ended(self) -> Event:
        async with asyncio.timeout(PATIENCE):
            while not self.events or self.events[-1].outcome is None:
                self._shown.clear()
                await self._shown.wait()
        return self.events[-1]


@dataclass
class Widgets:
    """The widgets that are open, by the ids of their models, as a page knows them."""

    client: Any
    models: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    shown: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, kind: str, content: dict[str, Any]) -> None:
        id, data = content.get("comm_id", ""), content.get("data", {})
        if kind == "comm_open" and "state" in data:
            self.models[id] = dict(data["state"])
        elif kind == "comm_msg" and data.get("method") == "update" and id in self.models:
            self.models[id] |= data["state"]
        elif kind == "comm_close":
            self.models.pop(id, None)
        self.shown.set()


@dataclass
class Ran:
    """What a cell put out; `comm` are the messages its kernel sent to comms meanwhile."""

    status: str
    error: str = ""
    markdown: str = ""
    stdout: str = ""
    comm: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    displays: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


class PageKernel:
    def __init__(self, serverapp: Any, id: str) -> None:
        self.id = id
        self.kernels = serverapp.kernel_manager
        self.client = self._new_client()
        self.widgets = Widgets(self.client)
        self.pages: list[Widgets] = []

    def _new_client(self) -> Any:
        manager = self.kernels.get_kernel(self.id)
        return manager.client(session=Session(config=manager.session.config, key=manager.session.key))

    async def open(self) -> None:
        self.client.start_channels()
        await self.client.wait_for_ready(timeout=PATIENCE)
        # Jupyter may have missed the first status of the kernel; then it hears of the next one.
        async with asyncio.timeout(PATIENCE):
            while self.kernels.get_kernel(self.id).execution_state == "starting":
                await self.client.kernel_info(reply=True, timeout=PATIENCE)

    async def reopen(self) -> None:
        """After a restart: channels can be started only once."""
        self.client.stop_channels()
        self.client = self._new_client()
        self.widgets = Widgets(self.client)
        await self.open()

    async def run(self, code: str, **options: Any) -> Ran:
        ran = Ran("")

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            for page in (self.widgets, *self.pages):
                page.take(message["msg_type"], content)
            match message["msg_type"]:
                case "stream":
                    ran.stdout += content["text"]
                case "display_data" | "update_display_data":
                    ran.markdown = content["data"].get("text/markdown", ran.markdown)
                    ran.displays.append({"id": content["transient"].get("display_id"), **content["data"]})
                case "comm_msg":
                    ran.comm += content["data"].get("messages", [])
                case "error":
                    ran.error = "\n".join(content["traceback"])
                case _:
                    pass

        options = {"allow_stdin": False, **options}
        reply = await asyncio.wait_for(
            self.client.execute_interactive(code, output_hook=take, timeout=PATIENCE, **options), PATIENCE
        )
        ran.status = reply["content"]["status"]
        return ran

    async def page(self, code: str, **options: Any) -> Ran:
        """As JupyterLab runs a cell: it shows widgets, and could ask by `input()`."""
        self.client.session.metadata = {"cellId": "a-cell"}
        return await self.run(code, allow_stdin=True, **options)


@asynccontextmanager
async def kernel(serverapp: Any, notebook: str = "") -> AsyncGenerator[PageKernel]:
    """Of a notebook, if one is named."""
    if notebook:
        made = {"name": notebook, "type": "notebook", "kernel_name": "python3"}
        session = await serverapp.session_manager.create_session(path=notebook, **made)
        id = session["kernel"]["id"]
    else:
        id = await serverapp.kernel_manager.start_kernel()
    found = PageKernel(serverapp, id)
    await found.open()
    try:
        yield found
    finally:
        found.client.stop_channels()
        if id in serverapp.kernel_manager:
            await serverapp.kernel_manager.shutdown_kernel(id, now=True)
