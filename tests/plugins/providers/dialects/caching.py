"""How much of a request a vendor's cache has, as the vendors document it. Sizes are characters of JSON: only shares of
them are told."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

Json = dict[str, Any]

# Anthropic looks so many blocks back from each mark for the end of what it has.
LOOKBACK = 20


@dataclass(frozen=True, slots=True)
class Share:
    read: int
    whole: int

    @property
    def part(self) -> float:
        return self.read / self.whole


@dataclass
class Marked:
    """Anthropic's: what ends at a mark is kept, and found again from a mark that is not far behind it."""

    kept: set[str] = field(default_factory=set[str])

    def take(self, body: Json) -> Share:
        blocks = [*body.get("tools", ()), *body.get("system", ())]
        blocks += [{"role": one["role"], **block} for one in body["messages"] for block in one["content"]]
        marks = [at for at, block in enumerate(blocks) if "cache_control" in block]
        bare = [json.dumps({k: v for k, v in one.items() if k != "cache_control"}) for one in blocks]
        prefixes = list(accumulate(bare))
        reach = {at for mark in marks for at in range(max(0, mark - LOOKBACK), mark + 1)}
        read = max((len(prefixes[at]) for at in reach if prefixes[at] in self.kept), default=0)
        self.kept |= {prefixes[mark] for mark in marks}
        return Share(read, len(prefixes[-1]))


@dataclass
class Automatic:
    """OpenAI's: the longest beginning that any request had."""

    kept: list[str] = field(default_factory=list[str])

    def take(self, body: Json) -> Share:
        parts = (body.get("tools"), body.get("instructions"), body.get("messages") or body.get("input"))
        text = json.dumps(parts)[:-1]  # without what ends the list of messages
        read = max((_common(text, before) for before in self.kept), default=0)
        self.kept.append(text)
        return Share(read, len(text))


def _common(one: str, other: str) -> int:
    """By halves: the texts are long."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
