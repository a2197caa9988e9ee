"""Decides which environment variables have keys of providers. Programs that we start do not get these variables, unless
the user lists them in `keptVariables`. Pure.

It must not know the providers: `catalog` passes the names of their variables and their keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

# A shorter key is a placeholder, such as `none` for a server that needs no key. Variables that have nothing to do with
# keys may have the same value.
_MIN_KEY_CHARS: Final = 8


def find_key_variables(
    environment: Mapping[str, str], variables: Collection[str], keys: Collection[str], kept: Collection[str]
) -> frozenset[str]:
    """Return the names of the variables that have keys of providers.

    `variables` are the names under which keys are looked for. `keys` are the keys that are used now: they are found in
    variables of any name, since a configuration may read a key from any variable. `kept` are the names in
    `keptVariables`.
    """
    long_keys = {key for key in keys if len(key) >= _MIN_KEY_CHARS}
    return frozenset(
        name
        for name, value in environment.items()
        if name not in kept and (name in variables or value.strip() in long_keys)
    )
