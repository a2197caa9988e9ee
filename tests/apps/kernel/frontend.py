"""Front ends as far as jupyter_client can play them: what they show, whether they answer `input()`, and how."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_client.manager import AsyncKernelManager

from tests.apps.kernel.nbclient_notebook import PATIENCE
from tests.apps.kernel.prompts import Shown
from tests.apps.server.cards import Cards

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Manners:
    """`cells`: it names the cell in its requests, as notebook pages do. `says` is what it types when `input()` asks;
    without it, it forbids that. `subshells`: its widgets speak in a subshell, as JupyterLab's do. `widgets`: None for a
    front end that never says a word about them, False for one that closes what a kernel opens, as a Lab without
    ipywidgets does."""

    cells: bool = True
    says: str | None = None
    subshells: bool = False
    widgets: bool | None = True


LAB = Manners(says="yes", subshells=True)
# VS Code among them.
EDITOR = Manners(says="yes")
NOBODY = Manners(widgets=None)


class _Widgets(Cards):
    """In the subshell of the front end, if it has one."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.subshell: asyncio.Future[str] | None = None
        self._held = list[dict[str, Any]]()

    def send(self, message: dict[str, Any]) -> None:
        if self.subshell is None:
            super().send(message)
        elif self.subshell.done():
            message["header"]["subshell_id"] = self.subshell.result()
            super().send(message)
        else:
            self._held.append(message)

    def flush(self, _subshell: object) -> None:
        for message in self._held:
            self.send(message)


class FrontEnd:
    def __init__(self, manager: Any, client: Any, manners: Manners) -> None:
        self.manager = manager
        self.client = client
        self.manners = manners
        self.widgets = _Widgets(client)
        self._comms = list[dict[str, Any]]()
        self._heard = asyncio.Event()
        self._ran = dict[str, _Cell]()
        self._doing = set[asyncio.Future[Any]]()

    async def run(self, code: str, click: str = "", until: str = "") -> Shown:
        """To the end of the cell. `click` is *Approve* or an option, `until` interrupts once that is shown."""
        self.client.session.metadata = {"cellId": "a-cell"} if self.manners.cells else {}
        request = self.client.execute(code, allow_stdin=self.manners.says is not None)
        cell = self._ran[request] = _Cell(until)
        clicking = self._do(self._click(click)) if click else None
        async with asyncio.timeout(PATIENCE):
            await cell.idle.wait()
            while (reply := await self.client.get_shell_msg())["parent_header"].get("msg_id") != request:
                pass
            if clicking:
                await clicking
        cell.shown.status = reply["content"]["status"]
        return cell.shown

    async def _click(self, what: str) -> None:
        if what == "Approve":
            await self.widgets.approve()
        else:
            await self.widgets.sees(lambda: self.widgets.questions)
            self.widgets.answer(answer=what)

    async def hears(self, id: str, word: str) -> dict[str, Any]:
        """What a widget says of its own, once it has this word in it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for one in self._comms:
                    content = one["data"].get("content", {})
                    if one["comm_id"] == id and word in content:
                        return content
                self._heard.clear()
                await self._heard.wait()

    # -- what the kernel says

    async def listen(self) -> None:
        while True:
            message = await self.client.get_iopub_msg()
            cell = self._ran.get(message["parent_header"].get("msg_id", ""))
            if message["msg_type"].startswith("comm_"):
                self._comms.append(message["content"])
                self._heard.set()
                self._answer(message)
            elif message["msg_type"] == "update_display_data":
                # Whichever cell it is said to be of, as pages do it.
                for one in self._ran.values():
                    one.update(message["content"])
            elif cell is not None:
                cell.take(message["msg_type"], message["content"])
            if any(one.is_time() for one in self._ran.values()):
                self._do(self.manager.interrupt_kernel())

    async def type(self) -> None:
        while True:
            message = await self.client.get_stdin_msg()
            self._ran[message["parent_header"]["msg_id"]].shown.asked.append(message["content"]["prompt"])
            self.client.input(self.manners.says)

    def _answer(self, message: dict[str, Any]) -> None:
        """What the page itself says to what it is told of widgets."""
        opens = message["msg_type"] == "comm_open"
        if opens and self.manners.subshells and self.widgets.subshell is None:
            self.widgets.subshell = self._do(self._subshell())
            self.widgets.subshell.add_done_callback(self.widgets.flush)
        if self.manners.widgets:
            self.widgets.take(message["msg_type"], message["content"])
        elif opens and self.manners.widgets is False:
            closing: dict[str, Any] = {"comm_id": message["content"]["comm_id"], "data": {}}
            self.client.shell_channel.send(self.client.session.msg("comm_close", closing))

    async def _subshell(self) -> str:
        self.client.control_channel.send(self.client.session.msg("create_subshell_request"))
        while (reply := await self.client.get_control_msg(timeout=PATIENCE))["msg_type"] != "create_subshell_reply":
            pass
        return reply["content"]["subshell_id"]

    def _do(self, work: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
        task = asyncio.ensure_future(work)
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)
        return task


class _Cell:
    """One that runs, or has run."""

    def __init__(self, until: str) -> None:
        self.shown = Shown()
        self.idle = asyncio.Event()
        self._until = until
        self._places = dict[str, dict[str, Any]]()

    def take(self, kind: str, content: dict[str, Any]) -> None:
        match kind:
            case "display_data" | "execute_result" | "stream" | "error":
                self.shown.outputs.append({"output_type": kind, **content})
                self._places[content.get("transient", {}).get("display_id", "")] = self.shown.outputs[-1]
            case "status" if content["execution_state"] == "idle":
                self.idle.set()
            case _:
                pass

    def update(self, content: dict[str, Any]) -> None:
        if place := self._places.get(content["transient"]["display_id"]):
            place.update(data=content["data"], metadata=content["metadata"])
            self.shown.redrawn += 1

    def is_time(self) -> bool:
        """To interrupt it."""
        if not self._until or self._until not in self.shown.text:
            return False
        self._until = ""
        return True


@asynccontextmanager
async def sitting(folder: Path, kernel: str = "python3", manners: Manners = LAB) -> AsyncGenerator[FrontEnd]:
    """At a kernel of its own."""
    manager: Any = AsyncKernelManager(kernel_name=kernel)
    await manager.start_kernel(cwd=str(folder))
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=PATIENCE)
        front = FrontEnd(manager, client, manners)
        listening = [asyncio.ensure_future(work) for work in (front.listen(), front.type())]
        yield front
        for task in listening:
            task.cancel()
        for ended in await asyncio.gather(*listening, return_exceptions=True):
            assert isinstance(ended, asyncio.CancelledError), ended
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
