"""What a context plug must have: it offers things to point at, and reads the one that the user pointed at. It knows
no kind; `resolve` finds the plugs and calls them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.config.schema import VariablesConfig
from jupyter_eca.plugins.contexts.reading.recent_look import Glances
from jupyter_eca.workspace.known_versions import KnownVersions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.model.request import DocumentPart, ImagePart
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.workspace.files.index import FileIndex
    from jupyter_eca.workspace.ports import Executed, Files, Kernel, Kernels, McpServers, OpenNotebooks


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the contexts of a chat are read from. An optional field is None where the chat has no such thing."""

    chat: str
    """The id of the chat."""
    files: Files
    index: FileIndex
    """The names of all files of the workspace, in memory."""
    kernel: Kernel | None = None
    """The kernel that the chat belongs to."""
    mcp: McpServers | None = None
    notebooks: OpenNotebooks | None = None
    glances: Glances = field(default_factory=Glances)
    """What was seen a moment ago. Whoever offers contexts again and again keeps it."""
    telling: VariablesConfig = field(default_factory=VariablesConfig)
    """How much of a variable a model may be told."""
    kernels: Kernels | None = None
    """The kernels of notebooks. None when a cell asks: then its own kernel is meant."""
    ran: Executed | None = None
    """What the process remembers that runs the cells; present when the engine runs in the kernel."""
    notebook: str = ""
    """The path of the notebook that the prompt was asked in; empty when it was asked in none, and while the user
    types."""
    known: KnownVersions = field(default_factory=KnownVersions)
    """Learns the versions of files and cells that the model is given."""
    run_histories: Kernels | None = None
    """The kernels of notebooks, for what has run in them. Unlike `kernels`, present when a cell asks too."""


@dataclass(frozen=True, slots=True)
class Material:
    """What the model is given for one context."""

    label: str
    """The name of the context in the prompt and in error messages."""
    text: str = ""
    images: tuple[ImagePart, ...] = ()
    documents: tuple[DocumentPart, ...] = ()
    readable: bool = True
    """False when `text` only says why it could not be read."""


class Context(Protocol):
    """A context plug. A module of `contexts/` exports one as `CONTEXT`."""

    @property
    def kind(self) -> str:
        """The `type` on the wire."""
        ...

    async def query(self, surroundings: Surroundings, query: str) -> Sequence[ChatContext]:
        """Return what the query could mean, the best first, at most fifty. Answer within 20 ms, from memory."""
        ...

    async def resolve(self, surroundings: Surroundings, context: Any) -> Material:
        """Read one context, given as the protocol's model of this kind. Raises: ToolError with what the user can do."""
        ...
