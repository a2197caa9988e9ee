"""Owns the size limit for clients that cannot read a long message, and cuts messages down to it.

It must not know what a message means. `outgoing` is its neighbour: it translates the message first.

eca-nvim looks for whole messages in each chunk that its pipe delivers, 64 KiB at most. A message that arrives in two
chunks is lost. If it asks the user to approve a tool call, the call waits forever.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jupyter_eca.protocol.lifecycle import InitializeParams

# The names by which these clients introduce themselves.
_LIMITED_CLIENTS: Final = frozenset({"Neovim"})
# Bytes. This is half of what the client reads at once, because another message may be in the same chunk.
_MAX_BYTES: Final = 32_768
# Characters. Shorter texts are never cut: they are names, ids and paths.
_MIN_CUT_CHARS: Final = 256


def get_message_limit(hello: InitializeParams) -> int | None:
    """Return the limit for a message to this client in bytes, or None when there is no limit."""
    return _MAX_BYTES if hello.client_info and hello.client_info.name in _LIMITED_CLIENTS else None


def shorten(message: dict[str, Any], limit: int) -> dict[str, Any]:
    """Cut the long texts of a message until it has at most `limit` bytes. Each cut text says that it was cut."""
    short, max_chars = message, limit
    while _count_bytes(short) > limit and max_chars > _MIN_CUT_CHARS:
        max_chars //= 2
        short = {name: _truncate(value, max_chars) for name, value in message.items()}
    return short


def _count_bytes(message: dict[str, Any]) -> int:
    """Return the length of a message as UTF-8 JSON."""
    return len(json.dumps(message, ensure_ascii=False).encode("utf-8", "replace"))


def _truncate(value: Any, max_chars: int) -> Any:
    """Return a value whose texts have at most so many characters, at any depth. A cut text gets a remark at its end."""
    match value:
        case str() if len(value) > max_chars:
            return f"{value[:max_chars]}\n… and {len(value) - max_chars:,} more characters, too many for this editor"
        case {**fields}:
            return {name: _truncate(field, max_chars) for name, field in fields.items()}
        case [*items]:
            return [_truncate(item, max_chars) for item in items]
        case _:
            return value
