"""The name by which a model calls a server's tool: `server__tool` where that is one, else with a hash in it.

A name depends on its server and tool alone, so that adding a server changes no other name (the cache of the prompt
lives on that). Plain names split at their first `__` into both parts again, so no two can be equal.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

# What vendors allow.
LONGEST: Final = 64
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")
_HASH: Final = 10


def tool_name(server: str, tool: str) -> str:
    joined = f"{server}__{tool}"
    clean = _FORBIDDEN.sub("_", joined)
    splits = "__" not in f"{server}_" and not tool.startswith("_")
    if clean == joined and splits and len(joined) <= LONGEST:
        return joined
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:_HASH]
    return f"{clean[: LONGEST - _HASH - 1]}_{digest}"
