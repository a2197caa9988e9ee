"""Decides which key a provider gets: the key in the configuration, or else the key with which the user has signed in,
or else the key in the environment. `KeyOutcomes` remembers, in memory only, what requests have shown about each key.

It must not store a key: `config.credentials` does. `catalog` asks for the keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from jupyter_eca.errors import FailureKind
from jupyter_eca.plugins.providers.base import Keyed
from jupyter_eca.protocol.provider import TrialOutcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.config.credentials import StoredKey
    from jupyter_eca.plugins.providers.base import Provider


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The settings of a provider with its key, and where the key is from. A provider may have no key."""

    settings: ProviderConfig
    """The settings of the provider, with the key if it has one."""
    source: Literal["config", "login", "env"] | None = None
    """Where the key is from, None for no key."""
    variable: str | None = None
    """The environment variable that has the key. If the key is not from the environment, the first of the variables in
    which it could be. None if the provider needs no key, or has one in the configuration."""


def find_key(
    name: str,
    plug: Provider,
    settings: ProviderConfig,
    login: StoredKey | None,
    read_variable: Callable[[str], str],
    extra_variable: str = "",
) -> ApiKey:
    """Return the key of a provider.

    `login` is the key that the user has typed in, None for none. `read_variable` returns the value of an environment
    variable, and `extra_variable` is the name of one more variable for this provider. A key that was typed in is only
    sent to the URL that it was typed in for, because the configuration of a project may name another URL."""
    if settings.read_key():
        return ApiKey(settings, "config")
    if not isinstance(plug, Keyed):
        return ApiKey(settings)
    names = list_variables(name, plug, settings, extra_variable)
    if login is not None and settings.url in {None, login.url}:
        return ApiKey(_with_key(settings, login.key, login.url), "login", names[0])
    # The file of a project may name another URL. Then a key of the environment is not sent there by itself: the file
    # must ask for it with `"key": "${env:NAME}"`.
    for candidate in () if settings.foreign_address else names:
        if value := read_variable(candidate).strip():
            return ApiKey(_with_key(settings, value, settings.url), "env", candidate)
    return ApiKey(settings, None, names[0])


def list_variables(name: str, plug: Keyed, settings: ProviderConfig, extra_variable: str = "") -> tuple[str, ...]:
    """Return the variables in which the key is looked for: `<PROVIDER>_API_KEY`, the vendor's own variable if the
    requests go to the vendor itself, and `extra_variable`."""
    provider_variable = re.sub(r"\W", "_", name).upper() + "_API_KEY"
    names = (provider_variable,) if settings.url else (provider_variable, plug.key_variable)
    return tuple(dict.fromkeys((*names, *filter(None, (extra_variable,)))))


def _with_key(settings: ProviderConfig, key: str, url: str | None) -> ProviderConfig:
    """Return the settings with a key and the URL that it may be sent to."""
    return settings.model_copy(update={"key": SecretStr(key), "url": url})


# What a failed request shows about the key. Other failures, such as a lost connection, show nothing about it.
_FAILURES = {FailureKind.AUTH: TrialOutcome.REFUSED, FailureKind.QUOTA: TrialOutcome.NO_CREDIT}


class KeyOutcomes:
    """What requests of one host have shown about keys: whether they work, are refused, or have no credit. Each key and
    URL of a provider has an outcome of its own."""

    def __init__(self) -> None:
        self.on_change: Callable[[ProviderConfig], None] = lambda _settings: None
        """Called with the settings of a provider when a request has shown something new about its key."""
        # By URL and key.
        self._outcomes: dict[tuple[str | None, str], TrialOutcome] = {}

    def note_answer(self, settings: ProviderConfig) -> None:
        """Note that the provider has begun an answer."""
        self._note(settings, TrialOutcome.WORKS)

    def note_failure(self, settings: ProviderConfig, kind: FailureKind) -> None:
        """Note that a request has failed."""
        if outcome := _FAILURES.get(kind):
            self._note(settings, outcome)

    def _note(self, settings: ProviderConfig, outcome: TrialOutcome) -> None:
        """Store the outcome of a request with this key, and call `on_change` if the outcome is a new one."""
        tried_key = settings.url, settings.read_key()
        if self._outcomes.get(tried_key) is not outcome:
            self._outcomes[tried_key] = outcome
            self.on_change(settings)

    def get(self, settings: ProviderConfig) -> TrialOutcome | None:
        """Return what is known of the key of these settings, None if it was not tried."""
        return self._outcomes.get((settings.url, settings.read_key()))
