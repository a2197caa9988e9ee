"""Owns what a server can offer over MCP (Model Context Protocol), and the interface of a backend, which does the work.
An offer is a tool that a client's model can call, a resource (data with a URI) that a client can read, or a prompt that
a client can insert. The decorator `@offer` makes a tool from a typed function.

An `Offers` is a plug: each module of `offers/` exports one as `OFFERS`. Other packages can export one too, by the entry
point group `jupyter_eca.fronts.mcp.offers`. A backend other than the assistant has its plugs in its own folder. This
module must not know a transport (`http.py`, `stdio.py`) or a version of the protocol (`answers.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, runtime_checkable

import mcp_types as types

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import make_arguments_model, make_schema, validate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from mcp.server.context import ServerRequestContext
    from pydantic import BaseModel

    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.protocol.event import Person

B = TypeVar("B")  # the class of a backend


class Hints(Enum):
    """The three combinations of MCP's tool annotations that we use. The values say whether a tool only reads, may
    destroy something, has no further effect when it is called again, and may reach other systems, in this order."""

    READS = (True, False, True, True)
    """The tool changes nothing."""

    WRITES = (False, True, False, True)
    """The tool may change or remove what exists."""

    CREATES = (False, False, False, True)
    """The tool only creates something new."""

    @property
    def annotations(self) -> types.ToolAnnotations:
        """The hints in the form of the SDK."""
        read_only, destructive, idempotent, open_world = self.value
        return types.ToolAnnotations(
            read_only_hint=read_only,
            destructive_hint=destructive,
            idempotent_hint=idempotent,
            open_world_hint=open_world,
        )


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool, before it is written for a version of the protocol."""

    data: Mapping[str, Any]
    """The answer as a JSON object."""

    images: tuple[ImagePart, ...] = ()
    """The images of the answer, in the order in which the client shows them."""

    failed: bool = False
    """Whether the answer describes an error."""


class RefusedCall(ToolError):
    """The call has no result. `suggestions` say what the caller can do about it."""

    def __init__(self, message: str, *suggestions: str) -> None:
        super().__init__(message)
        self.suggestions = suggestions


class Caller(Protocol):
    """The client that makes a call, while the call runs."""

    @property
    def name(self) -> str:
        """The name of the client's program."""
        ...

    @property
    def user(self) -> Person | None:
        """The user of the client; None on a server that does not tell its users apart."""
        ...

    @property
    def can_ask(self) -> bool:
        """Whether the client can ask its user a question, and the answer counts as the user's."""
        ...

    @property
    def context(self) -> ServerRequestContext[Any, Any]:
        """The SDK's context of the request that waits for the answer at the moment. A call may take several
        requests."""
        ...

    async def report_progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress to the client, if the client has asked for progress. `done` and `total` have any unit of the
        tool; `total` is None if it is not known."""
        ...

    async def ask(self, question: types.ElicitRequestFormParams) -> types.ElicitResult | None:
        """Ask the client's user a question. Return None when this is impossible, or no answer comes in time."""
        ...


@dataclass(frozen=True, slots=True)
class OfferCall(Generic[B]):
    """One call of a tool."""

    backend: B
    """The backend that does the work."""

    caller: Caller
    """The client that has called the tool."""

    params: types.CallToolRequestParams
    """The params of the request as they came."""

    notify_change: ChangeListener
    """The tool must call this after it has changed a resource, or the list of tools or prompts."""


ChangeListener = Callable[[str], None]
"""Called after a change, with the URI of a resource, or with `TOOLS` or `PROMPTS` if that list has changed."""

TOOLS: Final = "tools"
PROMPTS: Final = "prompts"

OfferResult = ToolAnswer | types.CallToolResult | types.InputRequiredResult
"""What a tool returns. A `ToolAnswer` is written for the client's version of the protocol. The SDK's own results are
passed on unchanged."""


class OfferFunction(Protocol):
    """The function that runs a tool."""

    def __call__(self, call: OfferCall[Any], arguments: dict[str, Any], /) -> Awaitable[OfferResult]:
        """Run the tool. Raises: ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that is offered over MCP."""

    name: str
    """The full name, with the prefix of the backend."""

    description: str
    """What the tool does, for the client's model."""

    parameters: dict[str, Any]
    """The JSON schema of the arguments."""

    hints: Hints
    """Whether the tool reads, changes or creates something."""

    run: OfferFunction
    """Runs the tool."""

    needs_approval: bool = False
    """Whether a call runs only if the approval rules allow it, or the user approves it. It is true for tools that can
    change the user's data. For native tools, which the assistant's own model can also call, it is false, because the
    turn that runs their calls applies the rules."""

    starts_turn: bool = False
    """Whether each call is a turn in a chat, as it is for native tools."""

    @property
    def needs_ask_access(self) -> bool:
        """Whether a client that may only read the chats must not call the tool."""
        return self.starts_turn or self.hints is not Hints.READS


def offer(
    name: str, hints: Hints, *, needs_approval: bool = False, parameters: dict[str, Any] | None = None
) -> Callable[[Callable[..., Awaitable[Any]]], Offer]:
    """Return a decorator that makes an offer from an async function. The docstring of the function describes the tool
    to the client's model.

    The function looks like `async def f(call: OfferCall[...], argument: Annotated[str, Field(description=...)])`. It
    returns an `OfferResult`, or only the `data` of a `ToolAnswer`. The schema of the arguments is made from its
    signature. If `parameters` is given, it is the schema instead, and the function takes all arguments as one dict.
    `needs_approval` is that of `Offer`.
    """

    def make(function: Callable[..., Awaitable[Any]]) -> Offer:
        """Make the offer of the decorated function."""
        model = None if parameters is not None else make_arguments_model(function)

        async def run(call: OfferCall[Any], arguments: dict[str, Any], /) -> OfferResult:
            """Check the arguments, and call the function with them."""
            values = {"arguments": arguments} if model is None else validate(model, arguments)
            result = await function(call, **values)
            return result if isinstance(result, OfferResult) else ToolAnswer(result)

        schema = _make_schema(model) if parameters is None else parameters
        return Offer(name, inspect.getdoc(function) or "", schema, hints, run, needs_approval)

    return make


def _make_schema(model: type[BaseModel] | None) -> dict[str, Any]:
    """Return the JSON schema of the arguments; without a model, one that allows all arguments."""
    return make_schema(model) if model is not None else {"type": "object"}


class ResourceShelf(Protocol):
    """A group of resources of one kind, such as notebooks."""

    async def list(self, backend: Any, /) -> Sequence[types.Resource]:
        """Return the resources that exist now."""
        ...

    def list_templates(self) -> Sequence[types.ResourceTemplate]:
        """Return the forms that the URIs of these resources have."""
        ...

    async def read(self, backend: Any, uri: str, /) -> types.ReadResourceResult | None:
        """Return the resource with this URI; None if it is not of this kind. Raises: ToolError."""
        ...

    async def complete(self, backend: Any, template: str, argument: str, /) -> Sequence[str]:
        """Return the values that an argument of one of the templates can have now."""
        ...


@runtime_checkable
class PolledShelf(Protocol):
    """A `ResourceShelf` whose resources are polled. They can change without any notice, because a user works in
    them."""

    async def fingerprint(self, backend: Any, uri: str, /) -> str | None:
        """Return a value that is different after each change of the resource. Return None for a resource that is not of
        this kind, or whose changes the backend announces."""
        ...


@runtime_checkable
class GuardedShelf(Protocol):
    """A `ResourceShelf` that also has resources other than chats. A client that may only read the chats must not read
    these."""

    def needs_ask_access(self, uri: str, /) -> bool:
        """Return whether a resource is of this kind and is not a chat."""
        ...


class Prompts(Protocol):
    """A group of prompts of one kind."""

    async def list(self, backend: Any, /) -> Sequence[types.Prompt]:
        """Return the prompts that exist now."""
        ...

    async def get(
        self, backend: Any, params: types.GetPromptRequestParams, /
    ) -> types.GetPromptResult | types.InputRequiredResult | None:
        """Return the prompt that the params name; None if it is not of this kind."""
        ...


@dataclass(frozen=True, slots=True)
class Offers:
    """The offers of one plug, or of one backend."""

    tools: tuple[Offer, ...] = ()
    """The tools that clients can call."""

    shelves: tuple[ResourceShelf, ...] = ()
    """The groups of resources."""

    prompts: tuple[Prompts, ...] = ()
    """The groups of prompts."""


@dataclass(frozen=True, slots=True)
class About:
    """What a server tells its clients about itself."""

    name: str
    """The name for programs."""

    title: str
    """The name for people."""

    instructions: str
    """How the client's model should use the tools."""


class Backend(Protocol):
    """The program that does the work behind the front: our assistant, or an OpenCode server."""

    @property
    def about(self) -> About:
        """What the server tells its clients about itself."""
        ...

    def list_offers(self) -> Offers:
        """Return the current offers."""
        ...

    async def call(self, offer: Offer, call: OfferCall[Any], arguments: dict[str, Any]) -> OfferResult:
        """Run a tool. Raises: ToolError."""
        ...

    def listen(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after each change of a resource or a list. Return a function that ends this."""
        ...
