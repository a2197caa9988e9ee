"""What a provider is: it offers models and turns a neutral request into a stream of deltas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest


class Provider(Protocol):
    """A plug: a module of `providers/` exports one as `PROVIDER`.

    `name` is the `api` key of a provider's configuration and the name of the provider that needs none. `rank` orders
    the search for a default model, lowest first; None is never a default.
    """

    @property
    def name(self) -> str: ...

    @property
    def rank(self) -> int | None: ...

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """The models that could answer now, the best first; empty when this provider is not usable here (no key, no
        server, not installed). Asks no host but loopback, takes at most half a second, never raises."""
        ...

    def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """`model` is the name without the provider. Ends when the answer is complete; closing the generator ends
        the request. Retries nothing: that is the engine's.

        Raises: ProviderError, whose message says what happened and what to do, never the key.
        """
        ...


@runtime_checkable
class Keyed(Protocol):
    """What a provider has besides when it wants a key: then its users can sign in.

    `label` is what people call it, `key_variable` the variable of the environment where the vendor's own tools look.
    """

    @property
    def label(self) -> str: ...

    @property
    def key_variable(self) -> str: ...

    async def check(self, settings: ProviderConfig) -> None:
        """Ask the server, as cheaply as it can be asked, whether it takes the key of these settings.

        Raises: ProviderError; with status 401 for a key that it does not take, another when that cannot be told.
        """
        ...


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider that is known by name. `variable` is where its vendor's own tools look for a key, when that is not
    named after it; what it runs may be `free`. `grants`: it gives keys to whoever signs in there with a browser."""

    label: str
    settings: ProviderConfig
    variable: str = ""
    free: bool = False
    grants: bool = False


@runtime_checkable
class Serves(Protocol):
    """What a provider has besides when its own name is that of an API only, and the providers have others."""

    @property
    def presets(self) -> Mapping[str, Preset]: ...


@runtime_checkable
class Warms(Protocol):
    """What a provider has besides whose first request takes longer than the others."""

    async def warm(self, provider: str, settings: ProviderConfig) -> None:
        """Do what can be done before it is known what will be asked, at no cost. `provider` is its configured name.

        Raises: ProviderError, which nobody is shown.
        """
        ...


@runtime_checkable
class MayLackTools(Protocol):
    """What a provider has besides when not each of its models can call tools."""

    def calls_tools(self, model: str, settings: ProviderConfig) -> bool:
        """Reads files, and never raises."""
        ...


@runtime_checkable
class ShowsRequest(Protocol):
    """A provider that can tell what it would send."""

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        """The JSON that `stream` sends for the same arguments. The key is no part of it."""
        ...
