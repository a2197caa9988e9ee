"""The ports of the workspace: what tools, contexts and commands may ask of files, notebooks, kernels, editors and jobs.
It also decides, once and for all rooms, which paths lie inside of the workspace.

It must not know who answers: a browser page, the Jupyter server, a file or a test. The answers that need no chat stand
in the folders beside it (`notebooks/`, `kernels/`, `jobs/`); those of connected clients in `fronts/`, those of a
running chat in `host/`.

The live notebook
=================

A user edits a notebook in a browser page. The page has the newest version, with cells that were never saved, and the
file on disk is older. An assistant that edits the file would work on old text, and the next save in the page would
overwrite its work. So nobody in this package edits a notebook directly. Everybody uses the port `Notebooks`, and for
each call the first of these that has the notebook answers:

1. A client that has the notebook open and declared the `notebook` capability. The labextension changes the model that
   the page shows, so the user sees the change at once and can undo it.
2. The shared document, where jupyter-collaboration is loaded: `notebooks/shared_document.py`. A change is one
   transaction, which is merged with what other pages type.
3. The file: `notebooks/file.py`. A change is refused when the file is no longer the one that was read.

`notebooks/first_of.py` chooses between them. All three keep the same promises, which one set of tests checks for each:

- A cell goes by an id, never by its position, because the user may insert a cell at any moment.
- A change names the source that it expects (`was`). When the cell is different now, the change is refused, and nothing
  is changed.
- The changes of one call are made together or not at all.
- `edit` returns the notebook as it was read back after the change. The model is told what is really there, not what it
  wanted to be there.

An example. The model calls `notebook_edit_cell` for cell 3, whose source is `x = 1`, with the new source `x = 2`:

    document = await notebooks.read("analysis.ipynb")              # cell 3 has the id "c3" and the source "x = 1"
    change = EditCell(cell_id="c3", was="x = 1", source="x = 2")
    undo = EditCell(cell_id="c3", was="x = 2", source="x = 1")     # a checkpoint comes before every edit
    number = await keeper.keep_cells("analysis.ipynb", (undo,), {"c3": "x = 2"})
    after = await notebooks.edit(chat, "analysis.ipynb", (change,))
    await keeper.settle_cells(number, {"c3": after.cell("c3").source})

If the user typed `x = 10` into that cell after the read, `edit` raises `ToolError` ("The source of cell c3 is no longer
what it was"). The tool then records that nothing was changed, and the model reads the notebook again. If the page
formats the cell as it arrives, `after` shows the formatted source, and the checkpoint stores that source, so that a
later undo still recognises the cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.protocol.editor import (
        EditorGetDefinitionParams,
        EditorGetDiagnosticsResult,
        EditorGetReferencesParams,
        EditorLookupResult,
    )
    from jupyter_eca.protocol.job import Job, JobLine, JobsReadOutputResult
    from jupyter_eca.protocol.lifecycle import EditorCapabilities
    from jupyter_eca.protocol.mcp import ServerResource, ToolServerUpdatedParams
    from jupyter_eca.protocol.notebook import (
        CellChange,
        Inspection,
        KernelExecuteResult,
        KernelState,
        KernelVariablesResult,
        NotebookDocument,
        NotebookInfo,
        NotebookRunResult,
        RunStatus,
    )
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory
    from jupyter_eca.workspace.uri_templates import PartialUri, ResourceTemplate


class RunObserver(Protocol):
    """Follows a run of code or of cells. It is called when a cell begins, with the id of the cell ("" for code that
    is in no cell) and a function that returns the end of the output so far. It may be called again for the same
    cell. It must not block."""

    def __call__(self, cell: str, tail: Callable[[], str], /) -> None: ...


@dataclass(frozen=True, slots=True)
class Files:
    """The folders that the assistant may see."""

    roots: tuple[Path, ...]
    """Absolute paths."""
    folder: Path | None = None
    """The folder in which relative paths start and commands run. None for the first root. It gives no access: a path
    outside of all roots is refused as before."""

    @property
    def start(self) -> Path:
        """The folder in which relative paths start and commands run."""
        return self.folder or self.roots[0]

    def enter(self, folder: Path) -> Files:
        """Return the same files with another folder in which relative paths start.

        Raises: ToolError when the folder lies outside of all roots, was replaced by a link, or does not exist.
        """
        if self.resolve(str(folder)) != folder:
            raise ToolError(f"{folder} leads to another folder.")
        if not folder.is_dir():
            raise ToolError(f"{folder} is not a folder.")
        return replace(self, folder=folder)

    def resolve(self, path: str) -> Path:
        """Return the real path, with every symbolic link followed. The file need not exist yet.

        Raises: ToolError when the path lies outside of all roots.
        """
        try:
            real = (self.start / Path(path).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolError(f"{path!r} is not a usable path: {error}.") from error
        if not any(real.is_relative_to(root.resolve()) for root in self.roots):
            folders = ", ".join(str(root) for root in self.roots)
            raise ToolError(f"{path} is outside of the workspace.", f"Use a path inside of {folders}.")
        return real

    def shorten(self, path: Path) -> str:
        """Return a path as messages show it. `resolve` accepts it.

        It is relative to the first root if it lies there, and absolute everywhere else. It is absolute too if relative
        paths start in another folder: clients read relative paths from the first root.
        """
        first = self.roots[0].resolve()
        is_relative = self.start.resolve() == first and path.is_relative_to(first)
        return str(path.relative_to(first) if is_relative else path)

    def with_folder(self, folder: str) -> Files:
        """Return the same files for a chat with this working directory; "" for none. See `enter`, which checks it."""
        return replace(self, folder=Path(folder)) if folder else self

    @property
    def contents(self) -> Files:
        """The same files for paths of Jupyter's contents, which start in the first root."""
        return replace(self, folder=None)

    def contents_path(self, path: Path) -> str:
        """Return a path as Jupyter's contents name it: relative to the first root, with `/`."""
        return Path(self.contents.shorten(path)).as_posix()


class Kernel(Protocol):
    """A live kernel. Cancelling a call interrupts the code that the call runs."""

    @property
    def description(self) -> str:
        """A sentence for the model: the language of the kernel, and how it was started."""
        ...

    @property
    def id(self) -> str | None:
        """Jupyter's id of the kernel. None when it is not known, or changes from call to call."""
        ...

    @property
    def notebook(self) -> str:
        """The path of the notebook whose kernel it is; empty when there is none, or it is not known here."""
        ...

    async def execute(self, chat: str, code: str, observer: RunObserver | None = None) -> KernelExecuteResult:
        """Run code and return its outputs as text.

        Raises: ToolError when the kernel is gone, or dies while it runs the code.
        """
        ...

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:
        """Describe the variables of these names; without names, those that the user made.

        Raises: ToolError when the kernel is gone, or its language has no program that lists variables.
        """
        ...

    async def state(self) -> KernelState:
        """Return what the kernel is doing. It returns at once, even when the kernel is busy.

        Raises: ToolError when there is no kernel.
        """
        ...

    async def interrupt(self) -> None:
        """Interrupt whatever runs in the kernel.

        Raises: ToolError when there is no kernel, or when what runs is the very cell that asks.
        """
        ...

    async def restart(self) -> None:
        """Restart the kernel. It returns when the new process answers.

        Raises: ToolError for the reasons of `interrupt`, and when the kernel does not start again.
        """
        ...

    async def inspect(self, name: str) -> Inspection:
        """Return what the kernel knows of a name: its signature, documentation and source.

        Raises: ToolError when the kernel is gone.
        """
        ...


@runtime_checkable
class FolderKernels(Protocol):
    """A kernel of the host that has others like it, for chats with a working directory of their own."""

    def find_in_folder(self, folder: Path) -> Kernel:
        """Return the kernel that runs in a folder."""
        ...


@runtime_checkable
class RemembersRuns(Protocol):
    """A kernel that can say what has run in its present process."""

    async def history(self) -> KernelHistory | KernelCount | None:
        """Return it at once; None when it is not known now, because the kernel is busy.

        Raises: ToolError when there is no kernel.
        """
        ...


class CellKernel(Protocol):
    """A kernel that runs the cells of a notebook."""

    @property
    def language(self) -> str:
        """The language in small letters; empty when it is the notebook's own kernel, whose language always fits."""
        ...

    async def run(self, cell: str, code: str, take: Callable[[dict[str, Any]], None]) -> RunStatus:
        """Run one cell. `take` is called with each message of the kernel. Cancelling interrupts the kernel, and the
        messages that follow are still passed to `take`.

        Raises: ToolError when the kernel is dead, or dies.
        """
        ...


@dataclass(frozen=True, slots=True)
class RunningKernel:
    """A kernel that runs."""

    id: str
    """Jupyter's id of the kernel."""
    notebook: str
    """The path of its notebook, or of the console; empty when it has neither."""
    status: str
    """Jupyter's execution state, such as `idle`."""


class Kernels(Protocol):
    """Finds the kernel of a notebook."""

    async def list(self) -> tuple[RunningKernel, ...]:
        """List the kernels that run and can be found by a path. It starts none."""
        ...

    async def find(self, path: str | None) -> Kernel:
        """Return the kernel of a notebook; for None, the only kernel there is. It starts none.

        Raises: ToolError when none runs, and for None when several run.
        """
        ...

    async def find_idle(self, chat: str, path: str) -> CellKernel:
        """Wait until the kernel of a notebook is idle, and return it for running cells. A host that can start kernels
        starts the notebook's own where none runs.

        Raises: ToolError when there is no kernel, or when it cannot become idle because the cell that asks this
        question runs in it.
        """
        ...


class Notebooks(Protocol):
    """Notebooks as they are now: see "The live notebook" above. Paths are those of Jupyter's contents: relative to
    the first folder, with `/`."""

    async def list(self) -> tuple[NotebookInfo, ...]:
        """List the open notebooks, the active one first. Never raises: a client that does not answer has none."""
        ...

    async def read(self, path: str) -> NotebookDocument:
        """Read a notebook, with its outputs.

        Raises: ToolError when it cannot be read, or is no notebook.
        """
        ...

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        """Make all changes, or none of them, as one step that the user can undo. Return the notebook read back.

        Raises: ToolError with the reason; nothing was changed then.
        """
        ...

    async def run(
        self, chat: str, path: str, cells: Sequence[str], observer: RunObserver | None = None
    ) -> NotebookRunResult:
        """Run cells in the given order until one fails. Afterwards their outputs are in the notebook. Cancelling
        interrupts the kernel.

        Raises: ToolError when the cells cannot be run, or the kernel dies on the way.
        """
        ...

    async def show(self, path: str, cell: str | None = None) -> None:
        """Open the notebook in front of the user and go to a cell. Where nobody has a page open, it does nothing.
        Never raises."""
        ...


class OpenNotebooks(Protocol):
    """As much of `Notebooks` as contexts and instructions read."""

    async def list(self) -> tuple[NotebookInfo, ...]: ...

    async def read(self, path: str) -> NotebookDocument: ...


@runtime_checkable
class Executed(Protocol):
    """What the very process remembers that runs a notebook's cells."""

    def last_error(self) -> list[str] | None:
        """Its traceback, in lines."""
        ...

    def source(self, count: int) -> str:
        """What was run as this execution; "" when there was none."""
        ...


class QuestionAsker(Protocol):
    """Asks the users of a chat."""

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Return the first answer of any client. Cancelling withdraws the question. When no client is left to
        answer, the result is `cancelled`."""
        ...


@dataclass(frozen=True, slots=True)
class OutputPart:
    """A part of a stored output. Positions count bytes of UTF-8."""

    text: str
    offset: int
    """Where the part begins."""
    end: int
    """Where the part ends."""
    total: int
    """The size of the whole output."""


class StoredOutputs(Protocol):
    """The outputs of a chat's tools that were too long to be sent to the model whole."""

    async def read(self, id: str, offset: int, limit: int) -> OutputPart:
        """Read a part of a stored output.

        Raises: ToolError when no output has this id, or it was deleted since.
        """
        ...


class Editor(Protocol):
    """An editor that has files of the workspace open."""

    @property
    def can(self) -> EditorCapabilities:
        """The requests that this editor answers."""
        ...

    @property
    def in_jupyter(self) -> bool:
        """Whether the editor names files by their paths in Jupyter's contents. It is then asked with `jupyter:`
        URIs."""
        ...

    async def diagnostics(self, uri: str | None) -> EditorGetDiagnosticsResult:
        """Return the diagnostics of one file, or of all files for None.

        Raises: ToolError when the editor does not answer.
        """
        ...

    async def definition(self, params: EditorGetDefinitionParams) -> EditorLookupResult:
        """Return where a symbol is defined.

        Raises: ToolError when the editor does not answer.
        """
        ...

    async def references(self, params: EditorGetReferencesParams) -> EditorLookupResult:
        """Return where a symbol is used.

        Raises: ToolError when the editor does not answer.
        """
        ...


CELLS: Final = "cells"
"""The type of a job that runs code in a kernel."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that is about to be registered."""

    chat: str
    label: str
    summary: str
    """What the job runs, such as the command."""
    call: str = ""
    """The id of the tool call that started the job."""
    type: str = "shell"
    """"shell", or `CELLS` for code in a kernel."""
    kernel: str | None = None
    path: str = ""
    """The notebook whose cells run. Like the kernel, it is reserved for the job until the job ends."""
    began: float | None = None
    """When the job began, in seconds of the monotonic clock; None for now."""


@dataclass(frozen=True, slots=True)
class JobEnding:
    """How a job ended by itself. It says nothing of a job that was killed."""

    failed: bool = False
    note: str = ""
    """The last error, for the reader."""


class Jobs(Protocol):
    """The background jobs, at most ten at a time: shell commands, and code in kernels."""

    async def start(self, chat: str, command: str, folder: Path, label: str, call: str = "") -> Job:
        """Start a shell command.

        Raises: ToolError when it cannot be started, or too many jobs run.
        """
        ...

    def adopt(
        self,
        about: NewJob,
        doing: asyncio.Future[Any],
        ending: Callable[[], JobEnding],
        lines: Callable[[], tuple[JobLine, ...]],
    ) -> Job:
        """Register work that has already begun. Killing the job cancels `doing`. `ending` is called when the work ends
        by itself, `lines` whenever somebody reads its output so far.

        Raises: ToolError when too many jobs run. The work then does not become a job, and goes on.
        """
        ...

    def find_holder(self, kernel: str | None, path: str = "") -> Job | None:
        """Return the job that uses this notebook or this kernel. A job whose kernel is not known is taken to use it."""
        ...

    def list(self) -> tuple[Job, ...]:
        """List the running jobs, and the last ones that ended."""
        ...

    def read(self, id: str) -> JobsReadOutputResult:
        """Return the newest lines of a job and its status. The result is empty when there is no such job."""
        ...

    async def kill(self, id: str) -> bool:
        """End a job with all its child processes. Return False when there is no such job, or it has already ended."""
        ...


@dataclass(frozen=True, slots=True)
class FetchedRule:
    """What the model reads when it fetches a rule."""

    text: str
    """The rule, or that the model has it already."""
    new: bool
    """Whether the text is the rule."""


class PathRules(Protocol):
    """The user's rules for certain files, as they apply to one chat."""

    async def fetch(self, id: str, path: str) -> FetchedRule:
        """Return the text of a rule that applies to a file.

        Raises: ToolError when there is no such rule, or it does not apply to this file.
        """
        ...

    async def check(self, kind: str, path: str) -> None:
        """Check whether a file may be changed (`modify`) or read (`read`) now.

        Raises: ToolError when the model must fetch rules first.
        """
        ...


class Checkpointer(Protocol):
    """Saves files and cells as they are before a turn changes them, so that the turn can be undone."""

    async def keep(self, path: Path) -> None:
        """Save a file. Called before the file is written, moved or removed; also for a path where no file is yet.
        Never raises: a file that cannot be saved cannot be restored either, and the user is told so then."""
        ...

    @property
    def cell_lock(self) -> asyncio.Lock:
        """Lock that a call holds while it changes cells. The calls of one reply come together, and must change cells
        one after the other."""
        ...

    async def own_cells(self, path: str) -> Mapping[str, str | None]:
        """Return the source of each cell that this turn changed in a notebook, by cell id. None means that the turn
        deleted the cell."""
        ...

    async def keep_cells(
        self, path: str, undo: Sequence[CellChange], left: Mapping[str, str | None], order: Sequence[str] = ()
    ) -> int:
        """Save cells. Called before cells of a notebook are changed.

        `undo` are the changes that take it back. `left` are the sources that the change will leave, by cell id (None
        where no cell is left). `order` are the ids of all cells in their order: they tell where a deleted cell goes
        back to. The returned number is for `settle_cells`.
        """
        ...

    async def settle_cells(self, kept: int, left: Mapping[str, str | None] | None) -> None:
        """Correct the saved sources to those that the change really left; None when nothing was changed after all."""
        ...


class McpServers(Protocol):
    """The configured MCP servers. A server that is slow, dead or broken makes one call fail, and nothing else."""

    def list_servers(self) -> tuple[ToolServerUpdatedParams, ...]:
        """Return the state of each server."""
        ...

    def list_resources(self) -> Mapping[str, tuple[ServerResource, ...]]:
        """Return the resources that each running server offers, by server name."""
        ...

    def list_templates(self) -> Sequence[ResourceTemplate]:
        """Return the resource templates of the running servers."""
        ...

    async def complete(self, template: ResourceTemplate, typed: PartialUri) -> tuple[str, ...]:
        """Complete the value of a template that the user is typing. It returns at once, with nothing when the server
        is slow. Never raises."""
        ...

    async def read_changed_resources(self, chat: str) -> list[tuple[str, str, str, tuple[ImagePart, ...]]]:
        """Return the resources that changed since the chat was given them: server, URI, text and images. Never
        raises."""
        ...

    async def read_resource(self, server: str, uri: str, chat: str = "") -> tuple[str, tuple[ImagePart, ...]]:
        """Return the text and the images of a resource. `chat` is the chat where the server may ask the user something.

        Raises: ToolError.
        """
        ...

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str], chat: str = "") -> str:
        """Return the text of a prompt.

        Raises: ToolError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Workspace:
    """The files, kernels and notebooks that a host works on."""

    files: Files
    kernel: Kernel | None = None
    """The kernel for chats that no notebook cell asked in; None where there is none."""
    notebooks: Notebooks | None = None
    """The notebooks that no client has open: shared documents of the server, or files."""
    kernels: Kernels | None = None
    """Finds the kernel of each notebook."""
