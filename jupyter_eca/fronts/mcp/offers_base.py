"""Owns the parts of an offer over MCP, and the port of a backend. `@offer` makes a tool of a typed function.

An `Offers` is a plug: a module of `offers/` exports one as `OFFERS`, and so do other packages, with the entry point
group `jupyter_eca.fronts.mcp.offers`. Backends have theirs in their own folder. It must not know a transport or a
protocol version (`server.py`, `answers.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, runtime_checkable

import mcp_types as types

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import arguments_of, schema_of, validate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from mcp.server.context import ServerRequestContext
    from pydantic import BaseModel

    from jupyter_eca.engine.model.request import ImagePart

B = TypeVar("B")


class Hints(Enum):
    """The three patterns of tool annotations: read-only, destructive, idempotent, open-world."""

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
    """The answer of a tool. `data` is written as JSON. `failed` means that it describes an error."""

    data: Mapping[str, Any]
    images: tuple[ImagePart, ...] = ()
    failed: bool = False


class RefusedCall(ToolError):
    """A call without a result, and what the caller may do about it."""

    def __init__(self, message: str, *suggestions: str) -> None:
        super().__init__(message)
        self.suggestions = suggestions


class Caller(Protocol):
    """The client that made a call, while the call runs."""

    @property
    def name(self) -> str: ...

    @property
    def can_ask(self) -> bool:
        """Whether the client's user can be asked something."""
        ...

    @property
    def context(self) -> ServerRequestContext[Any, Any]:
        """The SDK's context of the request that currently waits for the answer."""
        ...

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the client if it asked for it."""
        ...

    async def ask(self, question: types.ElicitRequestFormParams) -> types.ElicitResult | None:
        """Ask the client's user. Returns None when that is impossible, or there is no answer in time."""
        ...


@dataclass(frozen=True, slots=True)
class OfferCall(Generic[B]):
    """One call of a tool. The tool works on `backend`. `params` are the params as they came. Call `changed` with each
    part of the server that the call changes."""

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
    """The function behind an offer."""

    def __call__(self, call: OfferCall[Any], arguments: dict[str, Any], /) -> Awaitable[Outcome]:
        """Run the tool. Raises: ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool, by its full name. With `governed` it can change the user's data, so the approval rules decide whether it
    runs."""

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
            values = {"arguments": arguments} if model is None else validate(model, arguments)
            outcome = await function(call, **values)
            return outcome if isinstance(outcome, Outcome) else ToolAnswer(outcome)

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
        """Return the resource; None if it is not of this kind. Raises: ToolError."""
        ...

    async def complete(self, backend: Any, template: str, argument: str, /) -> Sequence[str]:
        """Return the values that an argument of one of its templates can have now."""
        ...


@runtime_checkable
class PolledShelf(Protocol):
    """Resources that change without notice: a user works in them."""

    async def fingerprint(self, backend: Any, uri: str, /) -> str | None:
        """Return a value that changes with the resource; None if it is of another kind, or announces its changes."""
        ...


class Prompts(Protocol):
    """Prompts of one kind."""

    async def list(self, backend: Any, /) -> Sequence[types.Prompt]: ...

    async def get(
        self, backend: Any, params: types.GetPromptRequestParams, /
    ) -> types.GetPromptResult | types.InputRequiredResult | None:
        """Return the prompt; None if it is not of this kind."""
        ...


@dataclass(frozen=True, slots=True)
class Offers:
    """The offers of one plug, or of one backend."""

    tools: tuple[Offer, ...] = ()
    shelves: tuple[ResourceShelf, ...] = ()
    prompts: tuple[Prompts, ...] = ()


@dataclass(frozen=True, slots=True)
class About:
    """What a server says about itself."""

    name: str
    title: str
    instructions: str


class Backend(Protocol):
    """The program that does the work behind the front."""

    @property
    def about(self) -> About: ...

    def offers(self) -> Offers:
        """Return the current offers."""
        ...

    async def call(self, offer: Offer, call: OfferCall[Any], arguments: dict[str, Any]) -> Outcome:
        """Run a tool. Raises: ToolError."""
        ...

    def listen(self, changed: Changed) -> Callable[[], None]:
        """Call `changed` with each change. Return a function that ends this."""
        ...
