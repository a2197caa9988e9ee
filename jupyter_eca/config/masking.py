"""Masks the secrets in settings before they are shown: every value that looks like a secret is replaced by asterisks.

It must not know what a key of the configuration does. `redaction` is its neighbour: it replaces registered secrets, and
those in commands and addresses.
"""

from __future__ import annotations

import re
from typing import Any, cast

from jupyter_eca.redaction import redact_arguments, redact_url

MASK = "**********"

# Names of secrets: `key` and `api_key`, but not `keymap`. Only texts are masked, so `max_tokens`, a number, is not.
_SECRET = re.compile(
    r"(?:^|[_-]|(?<=[a-z]))(?:key|token|secret|password|passwd|credential|auth|authorization|cookie)s?$", re.I
)
# Objects in which each value may be a key.
_ALL_SECRET = frozenset({"env", "headers", "extraheaders"})
# A secret inside of a longer text: `token=X`, `Bearer X`, `https://user:X@host`.
_INLINE = re.compile(
    r"(?P<name>(?:key|token|secret|password)s?[\"']?\s*[=:]\s*|bearer\s+|://[^/\s:@]*:)(?P<value>[^\s&@\"']+)", re.I
)


def mask_secrets(value: Any, name: str = "") -> Any:
    """Return a copy of JSON data with all secrets masked. `name` is the key of the value; "" for none."""
    is_all_secret = name.lower().replace("_", "").replace("-", "") in _ALL_SECRET
    match value:
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {
                key: MASK if is_all_secret and isinstance(item, str) else mask_secrets(item, key) for key, item in items
            }
        case [*arguments] if name == "args" and all(isinstance(item, str) for item in arguments):
            return list(redact_arguments(cast("list[str]", arguments)))
        case list() | tuple():
            return [mask_secrets(item, name) for item in cast("list[Any]", value)]
        case str() if value and _SECRET.search(name):
            return MASK
        case str() if name == "url":
            return redact_url(value)
        case str():
            return _INLINE.sub(lambda match: match["name"] + MASK, value)
        case _:
            return value
