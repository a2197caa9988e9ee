"""Which key a provider gets: that of the configuration, else the one that the user signed in with, else that of the
environment. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from jupyter_eca.plugins.providers.base import Keyed

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.config.credentials import StoredKey
    from jupyter_eca.plugins.providers.base import Provider


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The key of a provider. `settings` carry the key. `variable` is where it is from, or where it would be looked
    for."""

    settings: ProviderConfig
    source: Literal["config", "login", "env"] | None = None
    variable: str | None = None


def find(
    name: str,
    plug: Provider,
    settings: ProviderConfig,
    login: StoredKey | None,
    variable: Callable[[str], str],
    also: str = "",
) -> ApiKey:
    """Find the key. `variable` looks one up in the environment; `also` is the name of one more variable, for this
    provider. A key that was typed in goes only to the address that it was typed in for: a project's configuration may
    name another."""
    if settings.key is not None and settings.key.get_secret_value().strip():
        return ApiKey(settings, "config")
    if not isinstance(plug, Keyed):
        return ApiKey(settings)
    names = (*_variables(name, plug, settings), *filter(None, (also,)))
    if login is not None and settings.url in {None, login.url}:
        return ApiKey(_with(settings, login.key, login.url), "login", names[0])
    # A project may name another address. Its file must name the variable too, before the key is sent there.
    for one in () if settings.foreign_address else names:
        if value := variable(one).strip():
            return ApiKey(_with(settings, value, settings.url), "env", one)
    return ApiKey(settings, None, names[0])


def _variables(name: str, plug: Keyed, settings: ProviderConfig) -> tuple[str, ...]:
    """Return `<PROVIDER>_API_KEY`, and the vendor's own variable for providers that speak to the vendor itself."""
    own = re.sub(r"\W", "_", name).upper() + "_API_KEY"
    return tuple(dict.fromkeys((own,) if settings.url else (own, plug.key_variable)))


def _with(settings: ProviderConfig, key: str, url: str | None) -> ProviderConfig:
    return settings.model_copy(update={"key": SecretStr(key), "url": url})
