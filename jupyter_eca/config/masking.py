"""Settings as they may be shown: what looks like a secret is masked, wherever it stands."""

from __future__ import annotations

import re
from typing import Any, cast

MASK = "**********"

# `key` and `api_key`, not `keymap`; numbers such as `max_tokens` are no secrets and are not masked.
_SECRET = re.compile(
    r"(?:^|[_-]|(?<=[a-z]))(?:key|token|secret|password|passwd|credential|auth|authorization|cookie)s?$", re.I
)
# Whatever these hold is for somebody's eyes: each value may be a key.
_SEALED = frozenset({"env", "headers", "extraheaders"})
_INLINE = re.compile(
    r"(?P<name>(?:key|token|secret|password)s?[\"']?\s*[=:]\s*|bearer\s+|://[^/\s:@]*:)(?P<value>[^\s&@\"']+)", re.I
)


def masked(value: Any, name: str = "") -> Any:
    """A copy of JSON-like data. `name` is the key it stands under."""
    sealed = name.lower().replace("_", "").replace("-", "") in _SEALED
    match value:
        case dict():
            items = cast("dict[str, Any]", value).items()
            return {key: MASK if sealed and isinstance(item, str) else masked(item, key) for key, item in items}
        case list() | tuple():
            return [masked(item, name) for item in cast("list[Any]", value)]
        case str() if value and _SECRET.search(name):
            return MASK
        case str():
            return _INLINE.sub(lambda found: found["name"] + MASK, value)
        case _:
            return value
