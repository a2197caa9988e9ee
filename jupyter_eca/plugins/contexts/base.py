"""Owns the protocol of a context plug: it offers contexts while the user types, and reads the one that the user
chooses. This module must not know a kind of context: `resolve` finds the plugs and calls them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jupyter_eca.config.policy.applied_policy import AppliedPolicy
from jupyter_eca.config.schema import VariablesConfig
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.contexts.reading.recent_look import RecentLooks
from jupyter_eca.workspace.known_versions import KnownVersions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from jupyter_eca.engine.model.request import DocumentPart, History, ImagePart
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.workspace.files.index import FileIndex
    from jupyter_eca.workspace.ports import ExecutionMemory, Files, Kernel, Kernels, McpServers, OpenNotebooks


class ReadingCheck(Protocol):
    """Checks whether the user's rules let the model read a notebook or a file."""

    def __call__(self, path: str, /) -> Awaitable[None]:
        """Raises: ToolError when a rule forbids to read it, or the model must do something else first."""
        ...


async def allow_reading(path: str, /) -> None:
    """Let everything be read: the `ReadingCheck` for notebooks where there are no rules."""


async def refuse_reading(path: str, /) -> None:
    """Let nothing be read: the `ReadingCheck` for files that the user has not mentioned, where there are no rules.
    Raises: ToolError in any case."""
    raise ToolError(f"{path} is not mentioned.")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The sources that the contexts of a chat are read from. A field that may be None is None in some chats: for
    example, `kernel` is None in a chat that belongs to no kernel."""

    chat: str
    """The id of the chat."""
    files: Files
    """The folders of the workspace. Every path goes through `files.resolve`."""
    index: FileIndex
    """The names of all files of the workspace, in memory."""
    kernel: Kernel | None = None
    """The kernel that the chat belongs to."""
    mcp: McpServers | None = None
    """The MCP servers, whose resources can be contexts."""
    notebooks: OpenNotebooks | None = None
    """The notebooks that are open in the user's clients."""
    recent_looks: RecentLooks = field(default_factory=RecentLooks)
    """Reads the open notebooks and the kernel while the user types, and uses each answer again for the next letters."""
    variables_config: VariablesConfig = field(default_factory=VariablesConfig)
    """The setting that limits how much a model learns about a variable."""
    kernels: Kernels | None = None
    """The kernels of notebooks. None if the user asks in a cell, with `%%eca`. Then the kernel of that cell is
    meant."""
    execution_memory: ExecutionMemory | None = None
    """The cells that have run in this process, and their errors. None unless the engine runs in the kernel."""
    notebook: str = ""
    """The path of the notebook in which the user asked. "" for none, and while the user still types the message."""
    known: KnownVersions = field(default_factory=KnownVersions)
    """Remembers the versions of files and cells that the model gets."""
    policy: AppliedPolicy = field(default_factory=AppliedPolicy)
    """The administrator's policy."""
    run_histories: Kernels | None = None
    """The kernels of notebooks, to find out what has run in them. Unlike `kernels`, this is not None if the user asks
    in a cell."""
    history: History = ()
    """The conversation so far. The model has read it, so a context may leave out what is already in it."""
    check_reading: ReadingCheck = allow_reading
    """Checks whether the model may read a notebook."""
    check_reading_file: ReadingCheck = refuse_reading
    """Checks whether the model may read a file that the user has not mentioned, without a question to the user."""
    shows_error: bool = False
    """Whether another context of the same message shows the last error."""


@dataclass(frozen=True, slots=True)
class Material:
    """What the model gets for one context."""

    label: str
    """The name of the context in the prompt and in error messages; empty for a line that needs no name."""
    text: str = ""
    """The text that is put into the prompt, "" for none."""
    images: tuple[ImagePart, ...] = ()
    """The images that are sent with the prompt."""
    documents: tuple[DocumentPart, ...] = ()
    """The PDF files that are sent with the prompt."""
    readable: bool = True
    """False if `text` only says why the context cannot be read."""


@runtime_checkable
class Context(Protocol):
    """A context plug. A module of `contexts/` exports one as `CONTEXT`."""

    @property
    def kind(self) -> str:
        """The `type` on the wire."""
        ...

    async def query(self, surroundings: Surroundings, query: str) -> Sequence[ChatContext]:
        """Return at most fifty contexts that the query could mean, the best first. Answer from memory, within 20 ms."""
        ...

    async def resolve(self, surroundings: Surroundings, context: Any) -> Material:
        """Read a context of this kind. Raises: ToolError, which says what the user can do."""
        ...


def check_context(plug: object) -> None:
    """Check the constant `CONTEXT` of a plug. Raises: TypeError."""
    loader.check_plug(plug, Context, "an object with `kind`, `query` and `resolve`, such as `CONTEXT = Branch()`")
