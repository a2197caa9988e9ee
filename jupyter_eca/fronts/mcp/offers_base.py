"""What can be offered over MCP, and the port that offers it: `@offer` makes a tool of a typed function.

An `Offers` is a plug: a module of `offers/` exports one as `OFFERS`, and so do others, by the entry point group
`jupyter_eca.fronts.mcp.offers`. Backends have theirs in their own folder. Nothing here knows a transport or a version.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import mcp_types as types

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import arguments_of, schema_of, validated

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from mcp.server.context import ServerRequestContext
    from pydantic import BaseModel

    from jupyter_eca.engine.model.request import ImagePart

B = TypeVar("B")


class Hints(Enum):
    """Read-only, destructive, idempotent, open-world: the three patterns that tools are annotated by (seed 004)."""

    READS = (True, False, True, True)
    WRITES = (False, True, False, True)
    CREATES = (False, False, False, True)

    @property
    def annotations(self) -> types.ToolAnnotations:
        reads, destroys, repeats, reaches = self.value
        return types.ToolAnnotations(
            read_only_hint=reads, destructive_hint=destroys, idempotent_hint=repeats, open_world_hint=reaches
        )


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """`data` is told as JSON. `failed`: it is about something that went wrong."""

    data: Mapping[str, Any]
    images: tuple[ImagePart, ...] = ()
    failed: bool = False


class RefusedCall(ToolError):
    """A call that came to nothing, with what the caller may do about it."""

    def __init__(self, message: str, *suggestions: str) -> None:
        super().__init__(message)
        self.suggestions = suggestions


class Caller(Protocol):
    """Whoever made a call, while it runs."""

    @property
    def name(self) -> str: ...

    @property
    def can_ask(self) -> bool:
        """Whether its user can be asked something."""
        ...

    @property
    def context(self) -> ServerRequestContext[Any, Any]:
        """The SDK's, of the request that waits for the answer now."""
        ...

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report to the clients that asked for progress."""
        ...

    async def ask(self, question: types.ElicitRequestFormParams) -> types.ElicitResult | None:
        """None when it cannot be asked, or does not answer in time."""
        ...


@dataclass(frozen=True, slots=True)
class OfferCall(Generic[B]):
    """One call of a tool. `backend` is what the tool works on; `params` are as they came; `changed` is to be told what
    the call changes of the server itself."""

    backend: B
    caller: Caller
    params: types.CallToolRequestParams
    changed: Changed


Changed = Callable[[str], None]
"""Called with what changed: the address of a resource, or one of the two lists."""

TOOLS: Final = "tools"
PROMPTS: Final = "prompts"

Outcome = ToolAnswer | types.CallToolResult | types.InputRequiredResult
"""An answer is put as the caller's version wants it; the SDK's own results are passed on as they are."""


class Run(Protocol):
    def __call__(self, call: OfferCall[Any], arguments: dict[str, Any], /) -> Awaitable[Outcome]:
        """Raises: ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool, by its whole name. `governed`: it changes what the user has, so the approval rules are asked."""

    name: str
    description: str
    parameters: dict[str, Any]
    hints: Hints
    run: Run
    governed: bool = False


def offer(
    name: str, hints: Hints, *, governed: bool = False, parameters: dict[str, Any] | None = None
) -> Callable[[Callable[..., Awaitable[Any]]], Offer]:
    """Make an offer of an async function, as a decorator. Its docstring describes the tool to the caller's model.

    The function is like `async def f(call: OfferCall[...], argument: Annotated[str, Field(description=...)])`, and
    returns an outcome, or just its data. With `parameters`, that is the schema, and the function takes all arguments
    as one dict.
    """

    def make(function: Callable[..., Awaitable[Any]]) -> Offer:
        model = None if parameters is not None else arguments_of(function)

        async def run(call: OfferCall[Any], arguments: dict[str, Any], /) -> Outcome:
            given = {"arguments": arguments} if model is None else validated(model, arguments)
            found = await function(call, **given)
            return found if isinstance(found, Outcome) else ToolAnswer(found)

        schema = _schema(model) if parameters is None else parameters
        return Offer(name, inspect.getdoc(function) or "", schema, hints, run, governed)

    return make


def _schema(model: type[BaseModel] | None) -> dict[str, Any]:
    return schema_of(model) if model is not None else {"type": "object"}


class ResourceShelf(Protocol):
    """Resources of one kind."""

    async def list(self, backend: Any, /) -> Sequence[types.Resource]: ...

    def templates(self) -> Sequence[types.ResourceTemplate]: ...

    async def read(self, backend: Any, uri: str, /) -> types.ReadResourceResult | None:
        """None for what is not on it. Raises: ToolError."""
        ...

    async def complete(self, backend: Any, template: str, argument: str, /) -> Sequence[str]:
        """What an argument of one of its templates may be now."""
        ...


class Prompts(Protocol):
    async def list(self, backend: Any, /) -> Sequence[types.Prompt]: ...

    async def get(
        self, backend: Any, params: types.GetPromptRequestParams, /
    ) -> types.GetPromptResult | types.InputRequiredResult | None:
        """None for one of another's."""
        ...


@dataclass(frozen=True, slots=True)
class Offers:
    tools: tuple[Offer, ...] = ()
    shelves: tuple[ResourceShelf, ...] = ()
    prompts: tuple[Prompts, ...] = ()


@dataclass(frozen=True, slots=True)
class About:
    """What a server says of itself."""

    name: str
    title: str
    instructions: str


class Backend(Protocol):
    """Who does the work behind the front."""

    @property
    def about(self) -> About: ...

    def offers(self) -> Offers:
        """As they are now."""
        ...

    async def call(self, offer: Offer, call: OfferCall[Any], arguments: dict[str, Any]) -> Outcome:
        """Raises: ToolError."""
        ...

    def listen(self, changed: Changed) -> Callable[[], None]:
        """Until what is returned is called."""
        ...
