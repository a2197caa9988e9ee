"""Owns the protocol of a provider plug: it lists its models, and turns a neutral request into a stream of deltas. A
request is neutral if it is the same for all vendors, and a delta is a piece of an answer: of its text, its thoughts or
a tool call, or what the answer has used.

The other protocols in this module are optional abilities of a provider. This module must not know a provider: `catalog`
finds the plugs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.protocol.provider import BundledModel


@runtime_checkable
class Provider(Protocol):
    """A provider plug. A module of `providers/` exports one as `PROVIDER`."""

    @property
    def name(self) -> str:
        """The name that users write before the model: `echo` in `echo/parrot`. A plug can serve other providers too: if
        the configuration has `"api": "echo"` in `providers.NAME`, this plug also serves the provider NAME."""
        ...

    @property
    def rank(self) -> int | None:
        """A number decides when this provider is asked for the default model: the lowest number is asked first. With
        None, none of its models becomes the default model unless the configuration names it."""
        ...

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the models that could answer now, the best first. Return none when this provider cannot be used here:
        there is no key or no server, or a package is not installed. This sends requests only to this machine, takes at
        most half a second, and never raises an error. Only a model gateway, a server that passes requests on
        to vendors, knows which models each of its users has: its provider asks it, and waits for at most three
        seconds."""
        ...

    def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Send a request and yield its answer. `model` is the name without the provider. When the generator is closed,
        the request ends. A provider sends a request only once: the engine repeats it.

        Raises: ProviderError, whose message says what happened and what to do, never the key.
        """
        ...


@runtime_checkable
class HasAddress(Protocol):
    """A provider that knows where it sends requests, although no URL is configured."""

    def find_address(self, settings: ProviderConfig) -> str:
        """Return the URL to which requests go."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A provider that needs a key, so users can sign in to it."""

    @property
    def label(self) -> str:
        """The name that people know."""
        ...

    @property
    def key_variable(self) -> str:
        """The environment variable where the vendor's own tools look for the key."""
        ...

    async def check(self, settings: ProviderConfig) -> None:
        """Ask the server, with its cheapest request, whether it accepts the key of these settings.

        Raises: ProviderError. Its status is 401 if the server rejects the key. With any other status, it is not known
        whether the key is valid.
        """
        ...


@dataclass(frozen=True, slots=True)
class Preset:
    """A provider that is known by name, so that a user only has to enter a key."""

    label: str
    """The name that people know."""
    settings: ProviderConfig
    """Its URL, its models and other settings. The user's own settings override them."""
    variable: str = ""
    """The environment variable where the vendor's own tools look for a key, if it is not named after the provider."""
    free: bool = False
    """Whether its models cost nothing."""
    browser_sign_in: bool = False
    """Whether a user can sign in there with a browser, and gets a key."""
    owner: str = ""
    """For a server on this machine at an address that other programs use too: the value of `owned_by` in its list of
    models, by which it is recognised. "" for all others."""
    small_model: str = ""
    """Its cheap and fast model, for small requests such as the title of a chat; "" if none is known."""


@dataclass(frozen=True, slots=True)
class DeviceAuthorization:
    """A sign-in with a code, which the user types in a browser on any device. The fields are those of RFC 8628, section
    3.2."""

    user_code: str
    """The code that the user types."""
    verification_uri: str
    """The page where the user types it."""
    device_code: str = field(repr=False)
    """The secret with which the provider is asked for the token."""
    interval: float = 5.0
    """The seconds between two requests for the token."""
    expires_in: float = 900.0
    """The seconds for which both codes are valid."""


@runtime_checkable
class SignsInByDevice(Protocol):
    """A provider to which users sign in with a code. The token is then stored as its key."""

    async def authorize_device(self) -> DeviceAuthorization:
        """Begin a sign-in. Raises: LocalError when the provider gives no code."""
        ...

    async def await_token(self, authorization: DeviceAuthorization) -> str:
        """Wait until the user has typed the code, and return the token.

        Raises: LocalError when the user refuses, the code expires, or the provider cannot be reached.
        """
        ...


@runtime_checkable
class Serves(Protocol):
    """A plug that serves several known providers, because their servers speak the same API. For example, the plug
    `openai-chat` serves `google` and `mistral`. Its own name is the name of the API, and not of a provider."""

    @property
    def presets(self) -> Mapping[str, Preset]:
        """The known providers, by name."""
        ...


@runtime_checkable
class Warms(Protocol):
    """A provider whose first request takes longer than later ones."""

    async def warm(self, provider: str, settings: ProviderConfig) -> None:
        """Prepare for the first request, at no cost. `provider` is the configured name.

        Raises: ProviderError, which is not shown to the user.
        """
        ...


@runtime_checkable
class MayLackTools(Protocol):
    """A provider some of whose models cannot call tools."""

    def calls_tools(self, model: str, settings: ProviderConfig) -> bool:
        """Return whether the model can call tools. This reads files, and never raises an error."""
        ...


@runtime_checkable
class MayLackModels(Protocol):
    """A provider that lists the models of a server, which may not answer."""

    def explain_no_models(self, settings: ProviderConfig) -> str:
        """Return why there are no models, in a sentence; "" if this provider is not set up. This sends no request."""
        ...


@runtime_checkable
class Bundles(Protocol):
    """A provider with a small model that runs inside this process, so that a user without a key can try it."""

    def describe_bundled(self) -> BundledModel:
        """Describe the small model. This reads no file and imports nothing."""
        ...


@runtime_checkable
class MayCostNothing(Protocol):
    """A provider that says whether its models cost nothing. The price of other providers is looked up."""

    @property
    def free(self) -> bool:
        """Whether all its models cost nothing, for example because they run on this machine."""
        ...


@runtime_checkable
class HasSmallModel(Protocol):
    """A provider that knows a cheap and fast model of its vendor, for small requests such as the title of a chat."""

    @property
    def small_model(self) -> str:
        """The name of the model, without the provider; "" for none."""
        ...


@runtime_checkable
class StandsIn(Protocol):
    """A provider that only stands in for a real model. While the default model is one of this provider, the report
    `doctor` tells the user how to get a real model. Its models make no titles of chats."""

    @property
    def stand_in(self) -> str:
        """What gives the answers, as the beginning of a sentence: `A script`."""
        ...


@runtime_checkable
class ShowsRequest(Protocol):
    """A provider that can show the request that it would send."""

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        """Return the JSON that `stream` sends for the same arguments, without the key."""
        ...
