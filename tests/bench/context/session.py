"""A user's JupyterLab without its window: the host of a Jupyter server, its kernels, and a page with open notebooks.

The kernels and sessions are Jupyter's own, and the host finds them as it does in a server. The page is a client over a
memory link, as the panel is: it keeps its notebooks in files, runs their cells in their kernels, sends with a prompt
what the panel sends, and approves every call. It must not know the tasks or the model.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from jupyter_server.services.sessions.sessionmanager import SessionManager

import jupyter_eca
from jupyter_eca.config import Config
from jupyter_eca.config.layers import ALLOWED
from jupyter_eca.errors import RemoteError, ToolError
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.host.host import Host
from jupyter_eca.protocol import notebook as wire
from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.content import ToolCalledContent, ToolCallRunContent
from jupyter_eca.protocol.methods import METHODS
from jupyter_eca.transport.eca_client import CallDecision, EcaClient
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.transport.peer import Peer
from jupyter_eca.workspace.kernels.jupyter_server import ServerKernel, ServerKernels
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files, Workspace
from tests.bench.context.played_model import MODEL, PlayedModel
from tests.support.host_and_client import Door

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Sequence

Json = dict[str, Any]

# Seconds that one question may take. The longest one runs tests in a process.
PATIENCE = 120.0

# How often the page reports what a running cell prints.
_REPORT_SECONDS = 0.1

# What a user has who has configured nothing.
# A chat's title costs the same small request in every task, and is no part of the task.
_DEFAULTS = {"toolCall": {"approval": {"allow": ALLOWED}}, "chat": {"title": False}}

# What describes variables in a kernel has fractions of a second for it, and leaves out what it has not reached then. On
# a busy machine that is chance. So it imports a clock that stands still, and alarms that do not ring.
_STOP_CLOCK = '''exec("""
import signal, sys, time, types
for module, changed in ((time, {"monotonic": lambda: 0.0}), (signal, {"setitimer": lambda *_: None})):
    copied = types.ModuleType(module.__name__)
    vars(copied).update(vars(module), **changed)
    sys.modules[module.__name__] = copied
""", {})'''

# What is different in each run, and what stands for it where tokens are counted.
_VARYING = (
    (re.compile(r"started \d[\d.]* ?\w+ ago"), "started 2 min ago"),
    (re.compile(r"Operating system: [^\\\n]*"), "Operating system: Linux 6.1.0"),
    (re.compile(r"Python of the shell: [^\\\n]*"), "Python of the shell: /usr/bin/python3 (python3.12)"),
    (
        re.compile(r"Packages, among others: [^\\\n]*"),
        "Packages, among others: numpy 2.4.6, pandas 3.1.1, matplotlib 3.11.0, ipywidgets 8.1.9, pillow 13.0.0",
    ),
    (re.compile(r"in \d+\.\d+s"), "in 0.10s"),
)


@dataclass
class Asked:
    """What the user was asked, and what went wrong."""

    approvals: int = 0
    """Calls that waited for an approval."""
    answers: set[int] = field(default_factory=set[int])
    """The numbers of the answers that had such calls. All that wait at once are approved by one click."""
    errors: list[str] = field(default_factory=list[str])
    """The calls that failed or did not run, each with its tool and its result."""


class UserPage:
    """The page of the user."""

    def __init__(self, host: Host, files: NotebookFiles, model: PlayedModel) -> None:
        self.asked = Asked()
        self.active: dict[str, str] = {}
        """The active cell of each open notebook, by path. The last one is in front."""
        self.line = 0
        """The line of the cursor in the active cell."""
        self.asking: tuple[str, str] | None = None
        """The path and the id of the cell that asks the assistant, and runs until it has its answer."""
        self._host = host
        self._files = files
        self._model = model
        self._kernel_ids: dict[str, str] = {}
        self._contents: asyncio.Queue[Json] = asyncio.Queue()
        self._progress: Json = {}
        self._jobs: list[Json] = []
        self._runs: set[str] = set()
        self._changed = asyncio.Event()

    async def join(self, tasks: asyncio.TaskGroup) -> None:
        self._link, theirs = make_link_pair()
        tasks.create_task(EcaSession(theirs, Door(self._host)).run())
        self._peer = Peer(self._link, self._answer, self._receive)
        tasks.create_task(self._peer.run())
        can = {"chat": True, "envelope": True, "trust": True, "notebook": True, "review": True}
        await self._peer.request(
            "initialize", {"capabilities": {"codeAssistant": {**can, "chatCapabilities": {"askQuestion": True}}}}
        )
        await self._peer.notify("initialized", {})

    async def leave(self) -> None:
        await self._link.close()

    # -- what the user does

    async def open(self, path: str, kernel: str) -> None:
        """Open a notebook, whose kernel runs."""
        self._kernel_ids[path] = kernel
        document = await self._files.read(path)
        self.activate(path, document.cells[0].id)

    def activate(self, path: str, cell: str, line: int = 0) -> None:
        """Click into a cell."""
        self.line = line
        self.active.pop(path, None)
        self.active[path] = cell

    async def run(self, path: str, *ids: str) -> None:
        """Run cells by hand; without ids all of them, until one fails."""
        document = await self._files.read(path)
        await self._files.run("", path, ids or [cell.id for cell in document.cells])

    async def type(self, path: str, cell: str, source: str) -> None:
        """Replace the source of a cell by hand."""
        document = await self._files.read(path)
        was = cast("wire.NotebookCell", document.find_cell(cell)).source
        await self._files.edit("", path, [wire.EditCell(cell_id=cell, was=was, source=source)])

    async def read(self, path: str) -> wire.NotebookDocument:
        return await self._files.read(path)

    async def ask(self, message: str, *contexts: Json, agent: str = "", chat: str = "chat") -> str:
        """Ask in the panel, approve what the model wants to do, and wait for the end of the turn. Return the answer."""
        await self.send(message, *contexts, agent=agent, chat=chat)
        return await self.wait()

    async def send(self, message: str, *contexts: Json, agent: str = "", chat: str = "chat") -> None:
        self._progress = {}
        params: Json = {"chatId": chat, "message": message, "contexts": [*contexts, *self._describe_place()]}
        await self._peer.request("chat/prompt", params | ({"agent": agent} if agent else {}))

    async def steer(self, message: str, chat: str = "chat") -> None:
        """Send a message while the model works."""
        await self._peer.notify("chat/promptSteer", {"chatId": chat, "message": message})

    async def wait_for_progress(self, text: str) -> None:
        """Wait until the call that runs has printed a text."""
        await self._wait_until(lambda: text in self._progress.get("text", ""))

    async def wait_for_jobs(self) -> None:
        """Wait until no job runs."""
        await self._wait_until(lambda: bool(self._jobs) and all(job["status"] != "running" for job in self._jobs))

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()

    async def stop(self, chat: str = "chat") -> None:
        """Stop the turn, and see that no cell runs any more."""
        await self._peer.notify("chat/promptStop", {"chatId": chat})
        await self._wait_until(lambda: not self._runs)

    async def wait(self) -> str:
        """Approve what the model wants to do, and wait for the end of the turn. Return the text of its last answer."""
        text = ""
        async with asyncio.timeout(PATIENCE):
            while True:
                params = await self._contents.get()
                content = params["content"]
                match content["type"]:
                    case "toolCallRun" if content["manualApproval"]:
                        text = ""
                        await self._approve(params["chatId"], content["id"])
                    case "toolCallRun":
                        text = ""
                    case "text" if params["role"] == "assistant" and "parentChatId" not in params:
                        text += content["text"]
                    case "toolCalled" if content["error"]:
                        self.asked.errors.append(f"{content['name']}: {content['outputs'][0]['text']}")
                    case "toolCallRejected":
                        self.asked.errors.append(f"{content['name']}: not run")
                    case _:
                        pass
                if params.get("outcome") and "parentChatId" not in params:
                    self._model.check()
                    return text

    async def _approve(self, chat: str, call: str) -> None:
        self.count_approval()
        await self._peer.notify("chat/toolCallApprove", {"chatId": chat, "toolCallId": call})

    def count_approval(self) -> None:
        self.asked.approvals += 1
        self.asked.answers.add(self._model.count.requests)

    # -- what the page sends with a prompt, as the panel's `active_notebook.ts` does

    def _describe_place(self) -> list[Json]:
        """Return where the cursor is. The server adds the source and the error of the cell."""
        if not self.active:
            return []
        path, id = list(self.active.items())[-1]
        spot = {"line": self.line, "character": 0}
        return [{"type": "cursor", "path": path, "position": {"start": spot, "end": spot}, "cell": id}]

    # -- what the server asks of the page

    def _receive(self, method: str, params: Any) -> None:
        if method == "chat/contentReceived":
            self._contents.put_nowait(params)
        elif method == "chat/toolCallProgress":
            self._progress = params
        elif method == "jobs/updated":
            self._jobs = params["jobs"]
        self._changed.set()

    async def _answer(self, method: str, params: Any) -> Any:
        try:
            return await self._answer_checked(METHODS[method].parse(params))
        except ToolError as error:
            raise RemoteError(str(error)) from error

    async def _answer_checked(self, params: Any) -> Any:
        match params:
            case wire.NotebookReadParams(path=path):
                return (await self._show(path)).as_json_object()
            case wire.NotebookEditParams(path=path, changes=changes):
                await self._files.read(path)
                await self._files.edit("", path, changes)
                return (await self._show(path)).as_json_object()
            case wire.NotebookRunParams(path=path, cell_ids=ids, run_id=run):
                return (await self._run(path, ids, run)).as_json_object()
            case wire.NotebookOpenParams():
                return {}
            case _:
                paths = list(reversed(self.active))
                infos = [
                    wire.NotebookInfo(path=path, active=at == 0, language="python", kernel_id=self._kernel_ids[path])
                    for at, path in enumerate(paths)
                ]
                return wire.NotebookListResult(notebooks=tuple(infos)).as_json_object()

    async def _show(self, path: str) -> wire.NotebookDocument:
        document = await self._files.read(path)
        if path not in self.active:
            raise ToolError(f"{path} is not open")
        cells = tuple(
            cell.model_copy(update={"state": wire.CellState.RUNNING}) if (path, cell.id) == self.asking else cell
            for cell in document.cells
        )
        status = {"kernel_id": self._kernel_ids[path], "kernel_status": "busy" if self.asking else "idle"}
        return document.model_copy(update={"cells": cells, "active_cell_id": self.active[path], **status})

    async def _run(self, path: str, ids: Sequence[str], run: str) -> wire.NotebookRunResult:
        """Run cells, and report what they print meanwhile. Cancelling interrupts the kernel."""
        tails: dict[str, Callable[[], str]] = {}

        async def report() -> None:
            while True:
                await asyncio.sleep(_REPORT_SECONDS)
                for cell, tail in list(tails.items())[-1:]:
                    progress = wire.NotebookRunProgressParams(run_id=run, cell_id=cell, text=tail())
                    await self._peer.notify("notebook/runProgress", progress.as_json_object())

        self._runs.add(run)
        reporting = asyncio.ensure_future(report())
        try:
            return await self._files.run("", path, ids, tails.__setitem__)
        finally:
            reporting.cancel()
            self._runs.discard(run)
            self._changed.set()


class Clock:
    """The clock by which the host measures how long code runs. The user of a task does not wait for half a minute."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += seconds


class Session:
    """A Jupyter server whose folder is a project of the user."""

    def __init__(
        self,
        folder: Path,
        host: Host,
        page: UserPage,
        model: PlayedModel,
        sessions: Any,
        kernels: ServerKernels,
        tasks: asyncio.TaskGroup,
        clock: Clock,
    ) -> None:
        self.folder = folder
        self.clock = clock
        self.host = host
        self.page = page
        self._model = model
        self._sessions = sessions
        self._kernels = kernels
        self._tasks = tasks

    @property
    def model_url(self) -> str:
        return self._model.url

    def begin_count(self) -> None:
        """Count only what comes from now on."""
        self._model.begin_count()
        self.page.asked = Asked()

    async def open(self, path: str) -> None:
        """Open a notebook in the page, with a kernel of its own."""
        session = await self._sessions.create_session(path=path, name=path, type="notebook", kernel_name="python3")
        await self._stop_clock(path)
        await self.page.open(path, session["kernel"]["id"])

    async def ask_from_cell(self, path: str, cell: str, message: str) -> None:
        """Run a cell that asks the assistant, approve what the model wants to do, and wait for the answer."""
        kernel = await self._kernels.find(path)
        ours, theirs = make_link_pair()
        door = Door(self.host, sees_all_chats=False, kernel_id=kernel.id)
        self._tasks.create_task(EcaSession(theirs, door).run())
        client = EcaClient(ours, "cell", _AskingKernel(kernel))
        self._tasks.create_task(client.run())
        self.page.asking = (path, cell)
        try:
            await client.initialize(unattended=False)
            async with asyncio.timeout(PATIENCE):
                async for received in client.ask(
                    "cell", message, lock=AnswerLock(folder=str(self.folder), notebook=path, cell=cell)
                ):
                    match received.content:
                        case ToolCallRunContent(id=id, manual_approval=True):
                            self.page.count_approval()
                            await client.decide(str(received.chat_id), id, CallDecision(approved=True))
                        case ToolCalledContent(name=name, error=True, outputs=outputs):
                            self.page.asked.errors.append(f"{name}: {outputs[0].text}")
                        case _:
                            pass
        finally:
            self.page.asking = None
            await client.close()
        self._model.check()

    async def restart_kernel(self, path: str) -> None:
        await (await self._kernels.find(path)).restart()
        await self._stop_clock(path)

    async def evaluate(self, path: str, code: str) -> str:
        """Return what code prints in the kernel of a notebook."""
        return (await (await self._kernels.find(path)).execute("", code)).text

    async def _stop_clock(self, path: str) -> None:
        assert await self.evaluate(path, _STOP_CLOCK) == ""


class _AskingKernel:
    """The kernel at the end of the link of a cell: it runs the code of the model while the cell waits."""

    def __init__(self, kernel: ServerKernel) -> None:
        self._kernel = kernel

    async def execute(self, code: str) -> wire.KernelExecuteResult:
        return await self._kernel.execute("", code)

    async def variables(self, names: tuple[str, ...]) -> wire.KernelVariablesResult:
        return await self._kernel.variables("", names)


@asynccontextmanager
async def open_session(folder: Path, model: PlayedModel, window: int, **more: Any) -> AsyncGenerator[Session]:
    """Run a server for a folder, whose model has a context window of so many tokens. `more` are keys of its
    configuration."""
    contents = AsyncLargeFileManager(root_dir=str(folder))
    managers: Any = AsyncMappingKernelManager(root_dir=str(folder), connection_dir=str(folder.parent / "runtime"))
    sessions: Any = SessionManager(kernel_manager=managers, contents_manager=contents)
    hosts: list[Host] = []

    def find_asking_kernel(chat: str) -> str | None:
        live = hosts[0].chats.get_live(chat)
        return live.kernel.id if live is not None and live.kernel is not None else None

    kernels, files = ServerKernels(managers, sessions, find_asking_kernel), Files((folder,))
    workspace = Workspace(files, ServerKernel(kernels), NotebookFiles(files, kernels), kernels)
    provider = {"url": model.url, "key": "sk-ant-loopback", "models": {MODEL: {"limit": {"context": window}}}}
    config = {"providers": {"anthropic": provider}, "defaultModel": f"anthropic/{MODEL}", **_DEFAULTS, **more}
    clock = Clock()
    host = Host(Config.model_validate(config), workspace, folder.parent / "chats.db", clock=clock)
    hosts.append(host)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(host.run())
        await host.ready.wait()
        # The system prompt leaves out what is not found within a second, which on a busy machine is chance.
        await host.services.interpreters.ask_facts(sys.executable)
        page = UserPage(host, NotebookFiles(files, kernels), model)
        await page.join(tasks)
        try:
            yield Session(folder, host, page, model, sessions, kernels, tasks, clock)
        finally:
            await page.leave()
            host.close()
            await running
            kernels.close()
            await managers.shutdown_all(now=True)
            managers.context.destroy(linger=0)
            sessions.close()


@contextmanager
def set_environment(**values: str) -> Generator[None]:
    """Set variables of the environment for a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def make_normaliser(folder: Path) -> Callable[[str], str]:
    """Return a function that replaces, in the JSON of a request, what depends on the machine or on the time."""
    fixed = [
        (str(folder), "/data/user/project"),
        (str(Path(jupyter_eca.__file__).parent), "/data/user/env/lib/python3.12/site-packages/jupyter_eca"),
        (sys.prefix, "/data/user/env"),
        (str(Path(sys.executable).resolve()), "/usr/bin/python3.12"),
    ]

    def normalise(text: str) -> str:
        for found, instead in fixed:
            text = text.replace(found, instead)
        for pattern, replacement in _VARYING:
            text = pattern.sub(replacement, text)
        return text

    return normalise
