"""Finds the secrets in a configuration, and registers them for redaction.

It must not store a secret. `redaction` is its neighbour: it keeps the registered secrets, and removes them from texts.
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING

from pydantic import BaseModel, SecretStr

from jupyter_eca import redaction
from jupyter_eca.config.schema import Config, ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

# Objects in which the user chooses the names, such as headers. A value in them is a secret if its name says so
# (`API_KEY`) or if the value looks like a random string. In `variables` only the name counts. `env` has the environment
# variables of one program, and `variables` those that the client adds to our own environment. There are many of the
# latter, and names of models and other harmless values can look random too.
_USER_NAMED_FIELDS = frozenset({"extra_headers", "env", "headers", "variables"})

# Most values of a configuration: no secret is in them, so no path is made for them.
_PLAIN_VALUES = (str, int, float, NoneType)


def iter_secrets(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each secret in a value. The path begins with `name`, the path of the value itself.
    For example, a `name` of `providers` gives the path `providers.openai.key`."""
    match value:
        case SecretStr():
            yield name, value.get_secret_value()
        case BaseModel():
            for part, item in value:
                if isinstance(item, _PLAIN_VALUES):
                    continue
                yield from iter_secrets(f"{name}.{part}".strip("."), item)
        case dict():
            for part, item in value.items():  # pyright: ignore[reportUnknownVariableType]  # of any kind
                if isinstance(item, _PLAIN_VALUES):
                    continue
                yield from iter_secrets(f"{name}.{part}", item)  # pyright: ignore[reportUnknownArgumentType]
        case tuple():
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                yield from iter_secrets(name, item)  # pyright: ignore[reportUnknownArgumentType]
        case _:
            pass


def register_secrets(settings: BaseModel) -> None:
    """Register all secrets of the settings (a `Config`, or a part such as one provider) for redaction."""
    for path, secret in iter_secrets("", settings):
        parent, _, name = path.rpartition(".")
        if parent.rpartition(".")[2] in _USER_NAMED_FIELDS:
            # `opaque`: a value that looks like a random string is registered too.
            redaction.register_named_secret(name, secret, opaque=not path.startswith("variables."))
        else:
            redaction.register_secret(secret)
    if isinstance(settings, ProviderConfig):
        redaction.register_url_secrets(settings.url or "")
    if isinstance(settings, Config) and settings.store.url is not None:
        # The whole address is registered already. Its passwords are also registered alone, because an error may contain
        # them without the rest. The other parts, such as the user name, are not registered alone: then they would be
        # hidden wherever they occur, in all texts.
        redaction.register_secret(*settings.store.list_passwords())
