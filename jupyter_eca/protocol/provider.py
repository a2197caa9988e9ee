"""Owns the messages about model providers: their sign-in status, their models, and the steps of a sign-in.

A field marked "Not in ECA" is our addition to ECA, the protocol that our clients speak. This module must never carry a
secret to a client. `mcp` is its neighbour: it has the same for tool servers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from jupyter_eca.protocol.base import Model


class AuthStatus(StrEnum):
    """Whether a provider can be used. `expiring`: the sign-in expires soon. `local` and `not-running` are for providers
    on this machine, without a key."""

    AUTHENTICATED = "authenticated"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    UNAUTHENTICATED = "unauthenticated"
    LOCAL = "local"
    NOT_RUNNING = "not-running"


class TrialOutcome(StrEnum):
    """What a small request to a model has shown about the key. `failed`: something else went wrong."""

    WORKS = "works"
    REFUSED = "refused"
    NO_CREDIT = "no-credit"
    NO_NETWORK = "no-network"
    FAILED = "failed"


class ProviderAuth(Model):
    """How the user is signed in to a provider."""

    status: AuthStatus
    type: Literal["api-key", "oauth"] | None = None
    source: Literal["config", "login", "env"] | None = None
    """Where the key comes from: a configuration file, a sign-in, or a variable of the environment."""
    mode: str | None = None
    """Which kind of sign-in was used, if the provider has several."""
    expires_at: int | None = None
    """When the sign-in expires, in seconds since the epoch."""
    env_var: str | None = None
    """The name of the variable, if `source` is `env`."""
    trial: TrialOutcome | None = None
    """Not in ECA: what the last request with this key has shown about it; absent when there was no request yet."""


class LoginMethod(Model):
    """A way to sign in."""

    key: str
    """The word that `providers/login` sends to choose it."""
    label: str


class ProviderLogin(Model):
    """The ways to sign in to a provider."""

    methods: tuple[LoginMethod, ...]
    key_prefixes: tuple[str, ...] | None = None
    """Not in ECA: how the keys of this provider begin, so that a client can recognise a key that is pasted. Absent when
    that is not known."""
    asks_for_url: bool | None = None
    """Not in ECA: true if the user also has to type the address of the server, else absent."""


class ModelCapabilities(Model):
    """What a model can do."""

    reason: bool = False
    """Whether it can reason before it answers."""
    vision: bool = False
    """Whether it can read images."""
    tools: bool = True
    """Whether it can call tools."""
    web_search: bool = False
    """Whether it can search the web."""


class ModelCost(Model):
    """The price of a model in US dollars for a million tokens."""

    input: float | None = None
    output: float | None = None


class ProviderModel(Model):
    """A model of a provider."""

    id: str
    """The name without the provider."""
    capabilities: ModelCapabilities = ModelCapabilities()
    cost: ModelCost | None = None


class BundledModel(Model):
    """Not in ECA: a small model that runs inside this process, without a key and without a network."""

    model: str
    """The full name `provider/model`."""
    installed: bool
    """Whether it can answer now."""
    size: int
    """The bytes that have to be downloaded if it is not installed."""
    commands: tuple[str, ...]
    """The commands that install it."""


class ProviderStatus(Model):
    """A provider, as a settings page shows it."""

    id: str
    label: str | None = None
    configured: bool
    """Whether the configuration names it."""
    auth: ProviderAuth
    login: ProviderLogin | None = None
    """Absent when the provider needs no sign-in."""
    models: tuple[ProviderModel, ...] = ()
    bundled: BundledModel | None = None
    """The small model of this provider; absent for most providers."""


class ProvidersListResult(Model):
    """All providers."""

    providers: tuple[ProviderStatus, ...]


class ProviderParams(Model):
    """Names a provider."""

    provider: str


class ProvidersLoginParams(Model):
    """Begins a sign-in."""

    provider: str
    method: str | None = None
    """The `key` of the chosen method; absent before the user has chosen."""


class LoginField(Model):
    """A field that the user fills in to sign in."""

    key: str
    """The name of the value in `providers/loginInput`."""
    label: str
    type: Literal["secret", "text"] = "text"


class LoginAction(StrEnum):
    """What the client does next in a sign-in.

    `choose-method`: ask the user for one of `methods`, and send `providers/login` again with it. `authorize`: open
    `url` in a browser, and send `fields` if there are any. `device-code`: show `code`, which the user types at `url`.
    `input`: ask for `fields`, and send them. `done`: nothing.
    """

    CHOOSE_METHOD = "choose-method"
    AUTHORIZE = "authorize"
    DEVICE_CODE = "device-code"
    INPUT = "input"
    DONE = "done"


class LoginStep(Model):
    """The next step of a sign-in. `action` decides which of the other fields are present."""

    action: LoginAction
    methods: tuple[LoginMethod, ...] | None = None
    url: str | None = None
    code: str | None = None
    message: str | None = None
    """What to show to the user."""
    fields: tuple[LoginField, ...] | None = None


class ProvidersLoginInputParams(Model):
    """What the user has typed to sign in."""

    provider: str
    data: dict[str, str]
    """The values by the `key` of their fields. They are secrets: they are not logged, and not stored as they are."""


class ProvidersTryResult(Model):
    """Not in ECA: the result of one small request to a provider."""

    outcome: TrialOutcome
    model: str = ""
    """The full name of the model that was asked; empty when the provider has none."""
    message: str | None = None
    """What the server said, and what to do; absent when the key works. It never contains the key."""
