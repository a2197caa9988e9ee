"""The ports of the workspace. A port is an interface, here a `Protocol`. Tools, contexts and commands use files,
notebooks, kernels, editors and jobs through these ports. The class `Files` decides, for all rooms, which paths lie
inside of the workspace.

The module must not know which class implements a port. Implementations that need no chat are in the folders beside it
(`notebooks/`, `kernels/`, `jobs/`), those that ask a connected client are in `fronts/`, and those that belong to a
running chat are in `host/`.

The live notebook
=================

A user edits a notebook in a browser page. The page has the newest version, and some of its cells were never saved. The
file on disk is older. If the assistant changed that file, it would work on old text, and the next save in the page
would overwrite its work. So tools do not open notebook files. They call the port `Notebooks`, which has three
implementations. For each call, the first of them that has the notebook does the work:

1. A client that has the notebook open and declared the `notebook` capability. The labextension changes the model that
   the page shows, so the user sees the change at once and can undo it.
2. The shared document, where jupyter-collaboration is loaded: `notebooks/shared_document.py`. A change is one
   transaction, and is merged with what the pages type at the same time.
3. The file: `notebooks/file.py`. A change is refused if the file is no longer the one that was read.

`notebooks/notebook_router.py` chooses the implementation. All three keep the same promises, and one set of tests checks
each of them (`tests/workspace/notebooks/test_contract.py`):

- A change names its cell by the id, never by the position, because the user may insert a cell at any moment.
- A change contains the source that it expects the cell to have (`was`). If the cell has another source now, the change
  is refused, and the notebook stays as it is.
- Either all changes of one call are made, or none of them.
- `edit` reads the notebook after the change, and returns what it read. So the model is told what is really in the
  notebook, and not what it wanted to write.

A worked example. The notebook `analysis.ipynb` is open in JupyterLab. Its third cell has the id "c3" and the source
`x = 1`. The model calls the tool `notebook_change` with an edit of the cell "c3" to `x = 2`. The tool
(`plugins/tools/cell_edits.py`) takes four steps. In them, `notebooks` is the port `Notebooks`, `checkpointer` is the
port `Checkpointer`, and `chat` is the id of the chat:

    # 1. Read the notebook. The page answers, so this is what the user sees.
    before = await notebooks.read("analysis.ipynb")
    change = EditCell(cell_id="c3", was="x = 1", source="x = 2")

    # 2. Save a checkpoint: the change that takes this one back, and the source that the cell is about to get.
    undo = PutCell(index=2, cell=before.cell("c3"), was="x = 2")
    number = await checkpointer.keep_cells("analysis.ipynb", (undo,), {"c3": "x = 2"})

    # 3. Make the change. The page compares the cell with `was`, changes it, and sends the notebook back.
    after = await notebooks.edit(chat, "analysis.ipynb", (change,))

    # 4. Correct the checkpoint: store the source that the cell really has now.
    await checkpointer.record_sources(number, {"c3": after.cell("c3").source})

In most cases, `after` has the source `x = 2`, and the tool tells the model that the cell was edited. Two other cases
show why the promises matter:

- The user types `x = 10` into the cell after step 1. Then the cell is no longer `x = 1`, and `edit` raises `ToolError`.
  The notebook keeps `x = 10`. The tool records that nothing was changed (`record_sources(number, None)`), and tells the
  model the new source of the cell. The model decides again.
- A formatter in the page adds an empty line to the cell in step 3, so that `after` has another source than `x = 2`.
  The tool tells the model that source, and that something else changed the cell. Step 4 stores that source in the
  checkpoint. So a later undo recognises the cell as one that the assistant changed, and restores `x = 1`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, runtime_checkable

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
    from jupyter_eca.workspace.jobs.sandbox import SandboxRun
    from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory
    from jupyter_eca.workspace.uri_templates import PartialUri, ResourceTemplate


class RunObserver(Protocol):
    """Follows a run of code or of cells. It is called when a cell begins, with the id of the cell ("" for code that
    is in no cell) and a function that returns the last part of the output so far. It may be called again for the same
    cell. It must not block."""

    def __call__(self, cell: str, tail: Callable[[], str], /) -> None: ...


@dataclass(frozen=True, slots=True)
class Files:
    """The folders that the assistant may see. The first of them is also the root of Jupyter's contents API."""

    roots: tuple[Path, ...]
    """Absolute paths."""
    folder: Path | None = None
    """The folder in which relative paths start and commands run; None for the first root. It gives no additional
    access: a path outside of all roots is refused, whatever this folder is."""

    @property
    def start(self) -> Path:
        """The folder in which relative paths start and commands run."""
        return self.folder or self.roots[0]

    def enter(self, folder: Path) -> Files:
        """Return a copy in which relative paths start in `folder`.

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
        """Return a copy for a chat with this working directory; "" means that the chat has none. The folder is not
        checked here: see `enter`."""
        return replace(self, folder=Path(folder)) if folder else self

    @property
    def contents(self) -> Files:
        """A copy for paths of Jupyter's contents API, which start in the first root."""
        return replace(self, folder=None)

    def contents_path(self, path: Path) -> str:
        """Return a path as Jupyter's contents API writes it: relative to the first root, with `/`."""
        return Path(self.contents.shorten(path)).as_posix()


class Kernel(Protocol):
    """A live kernel. Cancelling a call interrupts the code that the call runs. The argument `chat` is the id of the
    chat that makes the call."""

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
        """The path of the notebook that this kernel belongs to; empty when there is none, or it is unknown."""
        ...

    async def execute(self, chat: str, code: str, observer: RunObserver | None = None) -> KernelExecuteResult:
        """Run code and return its outputs as text.

        Raises: ToolError when the kernel is gone, or dies while it runs the code.
        """
        ...

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:
        """Describe the variables with these names. Without names, describe all variables that the user made.

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

        Raises: ToolError when there is no kernel, or when the running cell is the one that asked the assistant.
        """
        ...

    async def restart(self) -> None:
        """Restart the kernel. It returns when the new process answers.

        Raises: ToolError in the cases of `interrupt`, and when the kernel does not start again.
        """
        ...

    async def inspect(self, name: str) -> Inspection:
        """Return what the kernel knows about a name: its signature, documentation and source.

        Raises: ToolError when the kernel is gone.
        """
        ...


@runtime_checkable
class FolderKernels(Protocol):
    """Provides one kernel for each folder. A chat that has its own working directory uses the kernel of that folder."""

    def get_for_folder(self, folder: Path) -> Kernel:
        """Return the kernel whose working directory is this folder. Its process starts with its first use."""
        ...


@runtime_checkable
class RemembersRuns(Protocol):
    """Implemented by a kernel that can report what ran since its process started."""

    async def history(self) -> KernelHistory | KernelCount | None:
        """Return what ran: with the sources for Python (`KernelHistory`), and only the number of executions for other
        languages (`KernelCount`). It does not wait. Return None when it is unknown now, because the kernel is busy.

        Raises: ToolError when there is no kernel.
        """
        ...


class CellKernel(Protocol):
    """A kernel that runs the cells of a notebook."""

    @property
    def language(self) -> str:
        """The language in lower case; empty for the notebook's own kernel, which has the language of its notebook."""
        ...

    async def run(self, cell: str, code: str, on_message: Callable[[dict[str, Any]], None]) -> RunStatus:
        """Run `code`, the source of the cell with the id `cell`. `on_message` is called with each message of the
        kernel. Cancelling interrupts the kernel, and the messages that follow are still passed to `on_message`.

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
    """Lists the running kernels, and finds the kernel of a notebook."""

    async def list(self) -> tuple[RunningKernel, ...]:
        """List the running kernels that can be found by a path. No kernel is started."""
        ...

    async def find(self, path: str | None) -> Kernel:
        """Return the kernel of a notebook; for None, the only running kernel. No kernel is started.

        Raises: ToolError when no kernel runs, and for None also when several run.
        """
        ...

    async def wait_for_idle_kernel(self, chat: str, path: str) -> CellKernel:
        """Wait until the kernel of a notebook is idle, and return it, so that cells can run in it. If the notebook has
        no running kernel, a host that can start kernels starts one.

        Raises: ToolError when there is no kernel, or when it cannot become idle because it runs the very cell that
        asked the assistant.
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
    """The part of `Notebooks` that contexts and instructions use: it only reads."""

    async def list(self) -> tuple[NotebookInfo, ...]:
        """List the notebooks that can be read now, such as those that a client has open."""
        ...

    async def read(self, path: str) -> NotebookDocument:
        """Return a notebook with its cells and their outputs. Raises: ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class RanInput:
    """An input that ran in a kernel, for example a cell."""

    count: int
    """Its execution count."""
    source: str
    """The code that ran."""
    error: str = ""
    """The error that it ended with, in one line; empty for none, and if that is not known."""


@runtime_checkable
class ExecutionMemory(Protocol):
    """What ran in the process that runs the cells of a notebook, from the memory of that process. Only a host inside
    of the process has it."""

    def last_error(self) -> list[str] | None:
        """Return the traceback of the last error, as lines; None when there was no error."""
        ...

    def find_source(self, count: int) -> str:
        """Return the source that ran with this execution count; "" when none did."""
        ...

    def list_inputs(self) -> tuple[RanInput, ...]:
        """Return what ran in this process, in order, without the input that runs now."""
        ...

    @property
    def is_unattended(self) -> bool:
        """Whether a program such as nbclient runs the cells. It has the notebook in memory, and nobody is there."""
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
    """The text of the part."""
    offset: int
    """Where the part begins."""
    end: int
    """Where the part ends."""
    total: int
    """The size of the whole output."""


@dataclass(frozen=True, slots=True)
class FoundLines:
    """Lines of a stored output that contain a text, or that match a regular expression."""

    lines: tuple[tuple[int, str], ...]
    """The byte at which each line begins, and the line."""
    left_out: int
    """How many more such lines there are."""
    total: int
    """The size of the whole output in bytes."""


class StoredOutputs(Protocol):
    """The outputs of a chat's tools that were too long to be sent to the model whole."""

    async def read(self, id: str, offset: int, limit: int) -> OutputPart:
        """Read a part of a stored output. A negative offset counts from its end.

        Raises: ToolError when no output has this id, or it was deleted since.
        """
        ...

    async def find(self, id: str, text: str) -> FoundLines:
        """Return the lines of a stored output that contain a text. Raises: ToolError, see `read`."""
        ...

    async def match(self, id: str, pattern: str) -> FoundLines:
        """Return the lines of a stored output that match a regular expression of Python.

        Raises: ToolError, see `read`; also when the expression is wrong, or the search with it takes too long.
        """
        ...


class Editor(Protocol):
    """An editor that has files of the workspace open."""

    @property
    def capabilities(self) -> EditorCapabilities:
        """The capabilities of the editor: the requests that it answers."""
        ...

    @property
    def in_jupyter(self) -> bool:
        """Whether the editor names files by their paths in Jupyter's contents API. If so, requests to it contain
        `jupyter:` URIs."""
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
    """The id of the chat that started the job."""
    label: str
    """A short name for lists of jobs."""
    summary: str
    """The command or the code that the job runs."""
    call: str = ""
    """The id of the tool call that started the job."""
    type: str = "shell"
    """"shell", or `CELLS` for code in a kernel."""
    kernel: str | None = None
    """The id of the kernel that runs the code. The kernel is reserved for the job until the job ends."""
    path: str = ""
    """The notebook whose cells run. It is reserved like the kernel."""
    began: float | None = None
    """When the job began, in seconds of the monotonic clock; None for now."""


@dataclass(frozen=True, slots=True)
class JobEnding:
    """How a job ended by itself. It is not used for a job that was killed."""

    failed: bool = False
    """Whether the work of the job ended with an error."""
    note: str = ""
    """The last error, for the user."""


class Jobs(Protocol):
    """The background jobs, at most ten at a time: shell commands, and code in kernels."""

    async def start(
        self, chat: str, command: str, folder: Path, label: str, call: str = "", sandbox: SandboxRun | None = None
    ) -> Job:
        """Start a shell command, in `sandbox` if that is given. `label` is a short name for lists of jobs, and `call`
        the id of the tool call that starts the command.

        Raises: ToolError when it cannot be started, or too many jobs run.
        """
        ...

    def adopt(
        self,
        spec: NewJob,
        work: asyncio.Future[Any],
        get_ending: Callable[[], JobEnding],
        read_lines: Callable[[], tuple[JobLine, ...]],
    ) -> Job:
        """Register work that has already begun. Killing the job cancels `work`. `get_ending` is called when the work
        ends by itself. `read_lines` is called whenever somebody reads the output so far.

        Raises: ToolError when too many jobs run. The work then continues, but it is not a job.
        """
        ...

    def find_holder(self, kernel: str | None, path: str = "") -> Job | None:
        """Return the job that uses this notebook or this kernel; None if there is no such job. A job whose kernel is
        unknown counts as using every kernel."""
        ...

    def list(self) -> tuple[Job, ...]:
        """List the running jobs, and the last ones that ended."""
        ...

    def read(self, id: str) -> JobsReadOutputResult:
        """Return the newest lines of a job and its status. The result is empty when there is no such job."""
        ...

    async def wait(self, id: str) -> None:
        """Wait until a job has ended. Return at once when there is no such job."""
        ...

    async def kill(self, id: str) -> bool:
        """End a job with all its child processes. Return False when there is no such job, or it has already ended."""
        ...


@dataclass(frozen=True, slots=True)
class FetchedRule:
    """What the model reads when it fetches a rule."""

    text: str
    """The text of the rule, or a sentence that says that the model has it already."""
    new: bool
    """True when `text` is the text of the rule; False when the model had it already."""


class PathRules(Protocol):
    """The user's rules for certain files, for one chat."""

    async def fetch(self, id: str, path: str) -> FetchedRule:
        """Return the text of a rule that applies to a file.

        Raises: ToolError when there is no such rule, or it does not apply to this file.
        """
        ...

    async def check_fetched(self, kind: str, path: str) -> None:
        """Check whether a file may be changed (`modify`) or read (`read`) now.

        Raises: ToolError when the model must fetch rules first.
        """
        ...


class Checkpointer(Protocol):
    """Saves files and cells as they are before a turn changes them, so that the turn can be undone."""

    async def keep(self, path: Path) -> None:
        """Save a file. It is called before the file is written, moved or removed, and also for a path that has no file
        yet. It never raises. A file that could not be saved cannot be restored, and an undo tells the user so."""
        ...

    @property
    def cell_lock(self) -> asyncio.Lock:
        """The lock that a tool call holds while it changes cells. The tool calls of one reply run at the same time, but
        must change cells one after the other."""
        ...

    async def list_sources_of_turn(self, path: str) -> Mapping[str, str | None]:
        """Return the source of each cell that this turn changed in a notebook, by cell id. None means that the turn
        deleted the cell."""
        ...

    async def keep_cells(
        self, path: str, undo: Sequence[CellChange], after: Mapping[str, str | None], order: Sequence[str] = ()
    ) -> int:
        """Save cells before a change of a notebook, and return the number of the checkpoint for `record_sources`.

        `undo` are the changes that take the change back. `after` are the sources that cells will have after the change,
        by cell id; None for a cell that the change deletes. `order` are the ids of all cells, in order: an undo needs
        them to put a deleted cell back in its place.
        """
        ...

    async def record_sources(self, number: int, after: Mapping[str, str | None] | None) -> None:
        """Store the sources that the cells really have after the change. `number` is that of the checkpoint. `after` is
        None when nothing was changed after all."""
        ...


ChangedResource: TypeAlias = "tuple[str, str, str, tuple[ImagePart, ...]]"
"""A resource of an MCP server: the server, the URI, the text and the images."""


class McpServers(Protocol):
    """The configured MCP servers. If a server is slow, dead or broken, only the call to that server fails."""

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
        """Return completions for the value that the user is typing. It returns soon: with nothing if the server is
        slow. Never raises."""
        ...

    async def read_changed_resources(self, chat: str) -> list[ChangedResource]:
        """Return the resources that changed since the chat last received them. Never raises."""
        ...

    async def read_resource(self, server: str, uri: str, chat: str = "") -> tuple[str, tuple[ImagePart, ...]]:
        """Return the text and the images of a resource. If the server has a question for the user, it is asked in
        `chat`.

        Raises: ToolError.
        """
        ...

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str], chat: str = "") -> str:
        """Return the text of a prompt.

        Raises: ToolError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Workspace:
    """The files, kernels and notebooks that a host works on."""

    files: Files
    """The folders that the assistant may see."""
    kernel: Kernel | None = None
    """The kernel for chats that were not started from a notebook cell; None where there is no such kernel."""
    notebooks: Notebooks | None = None
    """Implements `Notebooks` for notebooks that no client has open: as shared documents of the server, or as files."""
    kernels: Kernels | None = None
    """Finds the kernel of each notebook."""
