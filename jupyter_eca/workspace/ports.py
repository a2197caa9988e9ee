"""The ports: what tools need of the outside, without knowing where it is. Path containment is decided here, once."""

from __future__ import annotations

from dataclasses import dataclass
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
    from jupyter_eca.workspace.uri_templates import Template, Typed


class Heard(Protocol):
    """Whoever follows a run: told of each cell that begins, with what reads the end of what it has put out so far. May
    be told again of the same one. Code that is in no cell has the id "". Must not wait."""

    def __call__(self, cell: str, tail: Callable[[], str], /) -> None: ...


@dataclass(frozen=True, slots=True)
class Files:
    """The folders the assistant may see. `roots` are absolute; relative paths start at the first."""

    roots: tuple[Path, ...]

    def resolve(self, path: str) -> Path:
        """The real path, every symbolic link followed (also of a file that is still to be made).

        Raises: ToolError when it lies outside of all roots.
        """
        try:
            real = (self.roots[0] / Path(path).expanduser()).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolError(f"{path!r} is not a usable path: {error}.") from error
        if not any(real.is_relative_to(root.resolve()) for root in self.roots):
            folders = ", ".join(str(root) for root in self.roots)
            raise ToolError(f"{path} is outside of the workspace.", f"Use a path inside of {folders}.")
        return real

    def shown(self, path: Path) -> str:
        """A path that `resolve` takes back: relative in the first root, absolute in the others."""
        first = self.roots[0].resolve()
        return str(path.relative_to(first) if path.is_relative_to(first) else path)


class Kernel(Protocol):
    """A live kernel. Cancelling a call interrupts what it runs."""

    @property
    def description(self) -> str:
        """A sentence for the model: language, how it was started."""
        ...

    @property
    def id(self) -> str | None:
        """Jupyter's; None when it is not known, or changes from call to call."""
        ...

    async def execute(self, chat: str, code: str, heard: Heard | None = None) -> KernelExecuteResult:
        """Raises: ToolError when the kernel is gone or dies on the way."""
        ...

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:
        """Raises: ToolError when the kernel is gone or cannot be introspected."""
        ...

    async def state(self) -> KernelState:
        """At once, also of a busy kernel. Raises: ToolError when there is none."""
        ...

    async def interrupt(self) -> None:
        """Whatever runs in it. Raises: ToolError when there is none, or what runs is the cell that asks."""
        ...

    async def restart(self) -> None:
        """Back when the fresh one answers. Raises: ToolError, as above, and when it does not come back."""
        ...

    async def inspect(self, name: str) -> Inspection:
        """Raises: ToolError when the kernel is gone."""
        ...


class CellKernel(Protocol):
    """A kernel that runs the cells of a notebook. `language` is empty where that is the notebook's own."""

    @property
    def language(self) -> str: ...

    async def run(self, cell: str, code: str, take: Callable[[dict[str, Any]], None]) -> RunStatus:
        """`take` gets the kernel's messages. Cancelling interrupts it; what it says to that is still taken.

        Raises: ToolError when it is dead or dies.
        """
        ...


class Kernels(Protocol):
    """Which kernel is meant."""

    async def of(self, path: str | None) -> Kernel:
        """That of a notebook; of none in particular, the one that was used last. Raises: ToolError when none runs."""
        ...

    async def runner(self, chat: str, path: str) -> CellKernel:
        """For the cells of a notebook, once it runs nothing. Raises: ToolError when none runs, or it never will be
        free: the chat's own question waits in it for the answer."""
        ...


class Notebooks(Protocol):
    """Notebooks as they are now. Paths are those of Jupyter's contents: relative to the first folder, with `/`."""

    async def list(self) -> tuple[NotebookInfo, ...]:
        """The open ones, the active one first. Never raises: one who does not answer has none."""
        ...

    async def read(self, path: str) -> NotebookDocument:
        """Raises: ToolError when it cannot be had, or is none."""
        ...

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        """All changes or none, as one step to undo; gives the document read back.

        Raises: ToolError that says why; nothing was changed then.
        """
        ...

    async def run(self, chat: str, path: str, cells: Sequence[str], heard: Heard | None = None) -> NotebookRunResult:
        """Run cells by their ids, in this order, until one fails; their outputs are then in the notebook. Cancelling
        interrupts the kernel. Raises: ToolError when they cannot be run, or the kernel dies on the way."""
        ...

    async def show(self, path: str, cell: str | None = None) -> None:
        """Have it open before the user, where there is somebody to see it; else nothing. Never raises."""
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


class Questions(Protocol):
    """Whoever is there in a chat."""

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """The first answer of any client. Cancelling takes the question back; one that nobody is left to answer is
        `cancelled`."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """Of a kept output, in bytes of UTF-8: from `offset` on, to `end` of `total`."""

    text: str
    offset: int
    end: int
    total: int


class KeptOutputs(Protocol):
    """The outputs of a chat's tools that were too long for its model."""

    async def read(self, id: str, offset: int, limit: int) -> Part:
        """Raises: ToolError when there is none of this id, or not any more."""
        ...


class Editor(Protocol):
    """An editor that has files of the workspace open. `can` names the requests that it answers. `in_jupyter`: it knows
    files by their paths in Jupyter's contents, and is asked with `jupyter:` URIs."""

    @property
    def can(self) -> EditorCapabilities: ...

    @property
    def in_jupyter(self) -> bool: ...

    async def diagnostics(self, uri: str | None) -> EditorGetDiagnosticsResult:
        """Raises: ToolError when the editor does not answer."""
        ...

    async def definition(self, params: EditorGetDefinitionParams) -> EditorLookupResult:
        """Raises: ToolError, as above."""
        ...

    async def references(self, params: EditorGetReferencesParams) -> EditorLookupResult:
        """Raises: ToolError, as above."""
        ...


CELLS: Final = "cells"
"""The type of a job that is code in a kernel."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """`call` started it, and `began` is when by the monotonic clock, if not just now. `kernel` (None when it is not
    known which) and `path` are what it runs in: both of them are held for as long."""

    chat: str
    label: str
    summary: str
    call: str = ""
    type: str = "shell"
    kernel: str | None = None
    path: str = ""
    began: float | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended that nobody killed. `note` is its last error."""

    failed: bool = False
    note: str = ""


class Jobs(Protocol):
    """What goes on in the background, at most ten at a time: shell commands, and code in kernels."""

    async def start(self, chat: str, command: str, folder: Path, label: str, call: str = "") -> Job:
        """Raises: ToolError when it cannot be started, or too many run."""
        ...

    def adopt(
        self,
        about: NewJob,
        doing: asyncio.Future[Any],
        ending: Callable[[], Ending],
        lines: Callable[[], tuple[JobLine, ...]],
    ) -> Job:
        """Work that has begun, and is cancelled when it is killed. `ending` says how it ended, when it did by itself;
        `lines` what it has put out so far. Raises: ToolError when too many run: then it is not taken."""
        ...

    def holder(self, kernel: str | None, path: str = "") -> Job | None:
        """The job that runs code in this kernel, or in one of which it is not known that it is another, or for this
        notebook."""
        ...

    def list(self) -> tuple[Job, ...]: ...

    def read(self, id: str) -> JobsReadOutputResult: ...

    async def kill(self, id: str) -> bool:
        """With all its children. False when there is no such job, or it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class FetchedRule:
    """What the model reads when it fetches a rule."""

    text: str
    """The rule, or that the model has it already."""
    new: bool
    """Whether the text is the rule."""


class PathRules(Protocol):
    """The user's rules for some files only, of one chat."""

    async def fetch(self, id: str, path: str) -> FetchedRule:
        """Fetch a rule that is about a file. Raises: ToolError when there is none, or it is about others."""
        ...

    async def check(self, kind: str, path: str) -> None:
        """Before a file is changed (`modify`) or read (`read`). Raises: ToolError when the model must fetch rules for
        that first."""
        ...


class Keeper(Protocol):
    """Keeps files and cells as they were, so that a turn can be taken back."""

    async def keep(self, path: Path) -> None:
        """Called before a file is written, moved or removed, and for a place where none is yet. Never raises: a file
        that cannot be kept can not be restored, and the user is told so then."""
        ...

    @property
    def alone(self) -> asyncio.Lock:
        """Held by the only call of a chat that changes cells at a time: those of one reply come together."""
        ...

    async def own_cells(self, path: str) -> Mapping[str, str | None]:
        """The sources that the turn has left in a notebook so far, of the cells that it changed."""
        ...

    async def keep_cells(
        self, path: str, undo: Sequence[CellChange], left: Mapping[str, str | None], order: Sequence[str] = ()
    ) -> int:
        """Called before cells of a notebook are changed, with what takes that back, the sources that it is to leave
        (None where there is no cell then) and the ids of all cells in their order: they tell the place of a cell that
        comes back. The number is for `settle_cells`."""
        ...

    async def settle_cells(self, kept: int, left: Mapping[str, str | None] | None) -> None:
        """The sources that were really left; None when nothing was changed after all."""
        ...


class McpServers(Protocol):
    """The servers of the Model Context Protocol that are configured. A server that is slow, dead or wrong costs one
    failed call, never more."""

    def servers(self) -> tuple[ToolServerUpdatedParams, ...]:
        """As they are now."""
        ...

    def resources(self) -> Mapping[str, tuple[ServerResource, ...]]:
        """Server name to what it offers; running servers only."""
        ...

    def templates(self) -> Sequence[Template]:
        """Addresses of resources that have something left open; running servers only."""
        ...

    async def complete(self, template: Template, typed: Typed) -> tuple[str, ...]:
        """What the value that is being typed may become. At once, or nothing; never raises."""
        ...

    async def changed(self, chat: str) -> list[tuple[str, str, str, tuple[ImagePart, ...]]]:
        """Server, address, text and images of resources that are others than the chat was given; never raises."""
        ...

    async def read_resource(self, server: str, uri: str, chat: str = "") -> tuple[str, tuple[ImagePart, ...]]:
        """Its text and its images. `chat` is where the server may ask something. Raises: ToolError."""
        ...

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str], chat: str = "") -> str:
        """The text of a prompt. Raises: ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class Workspace:
    """`kernel` answers for chats that no live notebook asked in; None where there is none. `notebooks` are those that
    no client has open: of the server, or files. `kernels` knows the kernel of each notebook."""

    files: Files
    kernel: Kernel | None = None
    notebooks: Notebooks | None = None
    kernels: Kernels | None = None
