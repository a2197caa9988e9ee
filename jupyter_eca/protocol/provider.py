"""Model providers as a settings page sees them: who is signed in, how to sign in. Never a secret on the way out."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from jupyter_eca.protocol.base import Model


class AuthStatus(StrEnum):
    AUTHENTICATED = "authenticated"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    UNAUTHENTICATED = "unauthenticated"
    LOCAL = "local"
    NOT_RUNNING = "not-running"


class ProviderAuth(Model):
    """`source` tells where the key is from: `config`, `login` or `env` (then `env_var` names the variable).
    `expires_at` is in seconds since the epoch."""

    status: AuthStatus
    type: Literal["api-key", "oauth"] | None = None
    source: Literal["config", "login", "env"] | None = None
    mode: str | None = None
    expires_at: int | None = None
    env_var: str | None = None


class LoginMethod(Model):
    key: str
    label: str


class ProviderLogin(Model):
    methods: tuple[LoginMethod, ...]


class ModelCapabilities(Model):
    reason: bool = False
    vision: bool = False
    tools: bool = True
    web_search: bool = False


class ModelCost(Model):
    """US dollars for a million tokens."""

    input: float | None = None
    output: float | None = None


class ProviderModel(Model):
    """`id` is the name without the provider."""

    id: str
    capabilities: ModelCapabilities = ModelCapabilities()
    cost: ModelCost | None = None


class ProviderStatus(Model):
    id: str
    label: str | None = None
    configured: bool
    auth: ProviderAuth
    login: ProviderLogin | None = None
    models: tuple[ProviderModel, ...] = ()


class ProvidersListResult(Model):
    providers: tuple[ProviderStatus, ...]


class ProviderParams(Model):
    provider: str


class ProvidersLoginParams(Model):
    provider: str
    method: str | None = None


class LoginField(Model):
    key: str
    label: str
    type: Literal["secret", "text"] = "text"


class LoginAction(StrEnum):
    """What the client does next: `choose-method` and call again with one of `methods`; `authorize` in a browser at
    `url` (and send `fields`, when there are any); type the `code` of a `device-code` there; send the `fields` of
    `input`; nothing when `done`."""

    CHOOSE_METHOD = "choose-method"
    AUTHORIZE = "authorize"
    DEVICE_CODE = "device-code"
    INPUT = "input"
    DONE = "done"


class LoginStep(Model):
    action: LoginAction
    methods: tuple[LoginMethod, ...] | None = None
    url: str | None = None
    code: str | None = None
    message: str | None = None
    fields: tuple[LoginField, ...] | None = None


class ProvidersLoginInputParams(Model):
    """`data` holds secrets: it is neither logged nor stored as it came."""

    provider: str
    data: dict[str, str]
