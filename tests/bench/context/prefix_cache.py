"""Counts the tokens of a request, and simulates how many of them the vendor's prefix cache has.

The rules of the cache are those of Anthropic's documentation ("Prompt caching"): a request is read as tools, system
prompt and messages, in this order. At each block with a mark (`cache_control`) the whole prefix up to it is stored. For
each mark the server looks for a stored prefix that ends at this block or before it, at most `LOOK_BACK` blocks in all.
A prefix of fewer than `SHORTEST` tokens is never stored. It is left out that stored prefixes expire.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tests.bench.context.request_view import list_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Json = dict[str, Any]

# Measured on requests with English text, code and JSON.
CHARS_PER_TOKEN = 3.6
# The tokens of a picture of about a million pixels.
PICTURE = 1_500

LOOK_BACK = 20
SHORTEST = 1_024

_MARK = "cache_control"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a request that the cache treats as one."""

    identity: str
    tokens: float
    is_marked: bool


def split(body: Json) -> list[Block]:
    """Split a request into its blocks, in the order in which the vendor reads them."""
    system = body.get("system", [])
    parts = [("tools", tool) for tool in body.get("tools", ())]
    parts += [
        ("system", block) for block in ([{"type": "text", "text": system}] if isinstance(system, str) else system)
    ]
    parts += [(message["role"], block) for message in body["messages"] for block in list_blocks(message)]
    return [
        Block(f"{place} {json.dumps(_without_mark(part), sort_keys=True)}", count_tokens(part), _MARK in part)
        for place, part in parts
    ]


def list_breaks(bodies: Sequence[Json]) -> list[int]:
    """Return the indexes of the requests that do not begin with the whole request before them in the same chat.

    Requests belong to the same chat if they have the same first message. So the first one after a summary, or of a
    subagent, begins another chat.
    """
    breaks: list[int] = []
    last: dict[str, list[str]] = {}
    for index, body in enumerate(bodies):
        blocks = [block.identity for block in split(body)]
        chat = json.dumps(_without_mark(list_blocks(body["messages"][0])[0]), sort_keys=True)
        before = last.get(chat, [])
        if blocks[: len(before)] != before:
            breaks.append(index)
        last[chat] = blocks
    return breaks


def count_tokens(part: Json) -> float:
    """Return the tokens of a block or of a tool, without the punctuation of its JSON."""
    match part.get("type"):
        case "image" | "document":
            return PICTURE
        case "tool_result" if isinstance(part.get("content"), list):
            return sum(map(count_tokens, part["content"]))
        case _:
            return sum(map(len, _list_texts(part))) / CHARS_PER_TOKEN


def _list_texts(part: Json) -> Iterator[str]:
    match part.get("type"):
        case "text":
            yield part["text"]
        case "thinking":
            yield part["thinking"]
        case "tool_result":
            yield str(part.get("content", ""))
        case "tool_use":
            yield from (part["name"], json.dumps(part["input"]))
        case _:  # a tool
            yield from (part["name"], part.get("description", ""), json.dumps(part.get("input_schema", {})))


def _without_mark(part: Json) -> Json:
    return {name: value for name, value in part.items() if name != _MARK}


class PrefixCache:
    """The cache of one user of the vendor."""

    def __init__(self) -> None:
        self._stored: set[str] = set()

    def send(self, body: Json) -> tuple[float, float]:
        """Send a request. Return its tokens, and how many of them were read from the cache."""
        blocks = split(body)
        ends = list(accumulate(block.tokens for block in blocks))
        prefixes = list(_digest(blocks))
        marks = [place for place, block in enumerate(blocks) if block.is_marked]
        seen = (
            next((ends[at] for at in range(mark, max(mark - LOOK_BACK, -1), -1) if prefixes[at] in self._stored), 0.0)
            for mark in marks
        )
        cached = max(seen, default=0.0)
        self._stored |= {prefixes[mark] for mark in marks if ends[mark] >= SHORTEST}
        return (ends[-1] if ends else 0.0), cached


def _digest(blocks: list[Block]) -> Iterator[str]:
    """Yield, for each block, what identifies all blocks up to it."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block.identity.encode())
        yield digest.hexdigest()
