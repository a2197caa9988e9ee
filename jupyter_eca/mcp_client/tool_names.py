"""Makes the name by which a model calls the tool of an MCP server. It is `server__tool` where vendors of models allow
that, and else it contains a hash.

A name depends only on its server and its tool. So a new server does not change the names of other tools, and the
vendor's cache of the prompt stays valid. A name without a hash can be split at its first `__` into the server and the
tool, so two tools never have the same name. The module must not know servers: `plugins/tools/configured/mcp_tool.py`
makes our tools from theirs.

A rule of approval may name a server or a tool. So no server may have the name of one of our own tools or a name of
`RESERVED`: the user's rules for these would hold for all tools of the server.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

# The names that stand for a server in rules, for tools that no MCP server offers.
OWN: Final = "eca"  # our own tools
CLIENT: Final = "client"  # tools that a client of the Agent Host Protocol runs
PYTHON: Final = "python"  # tools that a client of ECA lends: functions of Python
RESERVED: Final = frozenset({OWN, CLIENT, PYTHON})

# The longest name that vendors of models allow, and the characters that they do not allow.
MAX_LENGTH: Final = 64
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_-]")
# Characters of the hash. With ten hexadecimal digits, equal hashes are very unlikely.
_HASH_LENGTH: Final = 10


def make_tool_name(server: str, tool: str) -> str:
    """Return the name of a tool for a model, such as `github__list_issues`."""
    joined = f"{server}__{tool}"
    clean = _FORBIDDEN.sub("_", joined)
    # Whether the first `__` in the joined name is the one between the server and the tool.
    can_be_split = "__" not in f"{server}_" and not tool.startswith("_")
    if clean == joined and can_be_split and len(joined) <= MAX_LENGTH:
        return joined
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()[:_HASH_LENGTH]
    return f"{clean[: MAX_LENGTH - _HASH_LENGTH - 1]}_{digest}"
