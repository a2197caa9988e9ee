"""Owns how the secrets in settings are hidden before the settings are shown: each value that looks like a secret is
replaced by asterisks.

It must not know what a setting does. It is for settings that are shown as JSON. `secret_fields` is different: it
registers the secrets of a parsed configuration, and `redaction` then removes these from all other texts, such as
errors, command lines and URLs.
"""

from __future__ import annotations

import re
from typing import Any, cast

from jupyter_eca.redaction import redact_arguments, redact_url

# The text that replaces a secret.
MASK = "**********"

# Names of settings whose value is a secret: `key` and `api_key`, but not `keymap`. Only strings are masked. So
# `max_tokens` is not, because its value is a number.
_SECRET_NAME = re.compile(
    r"(?:^|[_-]|(?<=[a-z]))(?:key|token|secret|password|passwd|credential|auth|authorization|cookie)s?$", re.I
)
# Names of objects in which each value may be a secret, such as the headers of a request.
_SECRET_OBJECTS = frozenset({"env", "headers", "extraheaders"})
# A secret X inside a longer text: `token=X`, `Bearer X`, `https://user:X@host`.
_INLINE_SECRET = re.compile(
    r"(?P<name>(?:key|token|secret|password)s?[\"']?\s*[=:]\s*|bearer\s+|://[^/\s:@]*:)(?P<value>[^\s&@\"']+)", re.I
)


def mask_secrets(value: Any, name: str = "") -> Any:
    """Return a copy of JSON data with all secrets masked. `name` is the key of the value in its object; "" for
    none."""
    is_secret_object = name.lower().replace("_", "").replace("-", "") in _SECRET_OBJECTS
    match value:
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {
                key: MASK if is_secret_object and isinstance(item, str) else mask_secrets(item, key)
                for key, item in items
            }
        case [*arguments] if name == "args" and all(isinstance(item, str) for item in arguments):
            # Masked together, because a secret may be the argument after its option: `--token`, `abc`.
            return list(redact_arguments(cast("list[str]", arguments)))
        case list() | tuple():
            return [mask_secrets(item, name) for item in cast("list[Any]", value)]
        case str() if value and _SECRET_NAME.search(name):
            return MASK
        case str() if name == "url":
            return redact_url(value)
        case str():
            return _INLINE_SECRET.sub(lambda match: match["name"] + MASK, value)
        case _:
            return value
