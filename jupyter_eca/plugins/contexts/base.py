"""What a context plug is: it offers things to point at, and reads the one that was pointed at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jupyter_eca.config.schema import VariablesConfig
from jupyter_eca.plugins.contexts.reading.recent_look import Glances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.model.request import DocumentPart, ImagePart
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.protocol.notebook import NotebookDocument, NotebookInfo
    from jupyter_eca.workspace.files.index import Index
    from jupyter_eca.workspace.ports import Files, Kernel, Kernels, McpServers


class OpenNotebooks(Protocol):
    """As much of `workspace.base.Notebooks` as is read here."""

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


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What contexts are taken from. `kernels` are those of notebooks, absent for a cell that asks: its own kernel is
    meant. `glances` are kept by who offers them again and again; `telling` is what may be told of variables.
    `ran` is there where the engine runs in the kernel."""

    chat: str
    files: Files
    index: Index
    kernel: Kernel | None = None
    mcp: McpServers | None = None
    notebooks: OpenNotebooks | None = None
    glances: Glances = field(default_factory=Glances)
    telling: VariablesConfig = field(default_factory=VariablesConfig)
    kernels: Kernels | None = None
    ran: Executed | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What the model is given; `label` names it there and in error messages."""

    label: str
    text: str = ""
    images: tuple[ImagePart, ...] = ()
    documents: tuple[DocumentPart, ...] = ()
    readable: bool = True
    """False when `text` only says why it could not be read."""


class Context(Protocol):
    """A plug: a module of `contexts/` exports one as `CONTEXT`."""

    @property
    def kind(self) -> str:
        """The `type` on the wire."""
        ...

    async def query(self, around: Surroundings, query: str) -> Sequence[ChatContext]:
        """What could be meant, the best first, at most fifty. Within 20 ms, from what is in memory."""
        ...

    async def resolve(self, around: Surroundings, context: Any) -> Material:
        """Read it. `context` is the protocol's model of this kind. Raises: ToolError with what the user can do."""
        ...
