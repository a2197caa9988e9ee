"""What a client can read at once. eca-nvim looks for whole messages in each piece that its pipe gives it, 64 KiB at
most, and forgets one that is in two pieces: a call whose question is lost like that waits for ever."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jupyter_eca.protocol.lifecycle import InitializeParams

_FORGETFUL: Final = frozenset({"Neovim"})
# Bytes: half of what it reads, since another message may be in the same piece.
_MOST: Final = 32_768
# Characters: the names, ids and paths of a message have fewer.
_LEAST: Final = 256


def most(hello: InitializeParams) -> int | None:
    """Bytes of a message to this client; None when it reads any."""
    return _MOST if hello.client_info and hello.client_info.name in _FORGETFUL else None


def shortened(said: dict[str, Any], most: int | None) -> dict[str, Any]:
    """With its long texts cut, and that told, as far as it takes."""
    short, longest = said, most or 0
    while most is not None and _size(short) > most and longest > _LEAST:
        longest //= 2
        short = {name: _cut(value, longest) for name, value in said.items()}
    return short


def _size(said: dict[str, Any]) -> int:
    return len(json.dumps(said, ensure_ascii=False).encode("utf-8", "replace"))


def _cut(value: Any, longest: int) -> Any:
    match value:
        case str() if len(value) > longest:
            return f"{value[:longest]}\n… and {len(value) - longest:,} more characters, too many for this editor"
        case {**fields}:
            return {name: _cut(field, longest) for name, field in fields.items()}
        case [*items]:
            return [_cut(item, longest) for item in items]
        case _:
            return value
