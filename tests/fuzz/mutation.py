"""Owns `Mutation`: it damages samples, by a seed. The same seed gives the same input."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Values that parsers expect least.
VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1.5, 2**31, 2**63, 2**70, 1e308, -0.0),
    *("", "x", "\0", "\ud83d", "\u202e", "a\nb", "\r", "../..", "/etc/passwd", "%2e%2e/", "${env:HOME}", "{{x}}"),
    *([], {}, [[]], [None], {"": None}, {"a": {"b": []}}, ["x", 1, None]),
)


def nest(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


# Lists in lists. Code that calls itself for each level can handle about as many as the second has.
NESTED: Final = (nest(150), nest(450), nest(900))
# What can be nested in other formats.
BRACKETS: Final = (
    *((b"[", b"]"), (b"{", b"}"), (b"(", b")"), (b'{"a":', b"}"), (b"{a,", b"}"), (b"$(", b")"), (b"${x:-", b"}")),
    *((b"> ", b""), (b"- ", b""), (b"[x](", b")"), (b"*", b"*"), (b"<b>", b"</b>"), (b"`", b"`"), (b"f(", b")")),
)
DEPTHS: Final = (150, 900)
# Pieces of text that begin or end something in one of the formats.
PIECES: Final = (
    *(b"\0", b"\r", b"\n", b"\r\n", b"\b", b"\t", b"\x1b[31m", b"\x1b]0;", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
    *(b'"', b"'", b"\\", b"`", b"{", b"}", b"[", b"]", b"(", b")", b"<", b">", b"|", b"&&", b";", b"#", b"$(", b"${"),
    *(b"data: ", b"event: ", b": ", b"[DONE]", b"---\n", b"<<E\n", b"%%", b"!", b"@", b"*", b"~", b"//", b"/*", b"*/"),
    *(b"Content-Length: ", b"1e999", b"NaN", b"-", b"--", b"null", b"\\ud800"),
)
# How often a piece is repeated, to find what takes much longer for a longer input.
REPEATED: Final = (2, 50, 20_000)


class Mutation:
    """Damages one of some samples."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def damage(self, samples: Sequence[bytes]) -> bytes:
        """Return a damaged sample."""
        data = self._random.choice(samples)
        for _ in range(self._random.choice((1, 1, 2, 4, 8))):
            data = self._damage_once(data, samples)
        return data

    def _damage_once(self, data: bytes, samples: Sequence[bytes]) -> bytes:
        choose, at = self._random.choice, self._random.randint(0, len(data))
        end = self._random.randint(at, min(len(data), at + choose((1, 8, 200))))
        match self._random.randrange(7):
            case 0:
                return data[:at] + data[end:]
            case 1:
                return data[:at] + choose(PIECES) * (choose(REPEATED) if self._random.random() < 0.1 else 1) + data[at:]
            case 2:
                other = choose(samples)
                return data[:at] + other[self._random.randint(0, len(other)) :]
            case 3:
                return data[:end] + data[at:]
            case 4:
                return data[:at] + self._random.randbytes(end - at) + data[end:]
            case 5 if self._random.random() < 0.1:
                (opening, closing), depth = choose(BRACKETS), choose(DEPTHS)
                return data[:at] + opening * depth + data[at:end] + closing * depth + data[end:]
            case _:
                return self._replace_value(data)

    def _replace_value(self, data: bytes) -> bytes:
        """Replace a value in JSON, or a key of it. Other texts stay."""
        try:
            value: Any = json.loads(data)
            places = list(_list_places(value))
        except (ValueError, RecursionError):
            return data
        choose = self._random.choice
        if not places:
            return json.dumps(choose(VALUES)).encode()
        holder, key = choose(places)
        if isinstance(key, str) and self._random.random() < 0.2:
            holder[choose(("", "x", "type", "id"))] = holder.pop(key)
        elif self._random.random() < 0.9:
            holder[key] = choose((*VALUES, holder, choose(NESTED)))
        else:
            holder[key] = [holder[key]] * 300
        try:
            return json.dumps(value).encode()
        except (ValueError, RecursionError):  # a value that holds itself
            return data


def _list_places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each object and array in a value, with each of its keys."""
    match value:
        case dict():
            for key, item in cast("dict[str, Any]", value).items():
                yield value, key
                yield from _list_places(item)
        case list():
            for index, item in enumerate(cast("list[Any]", value)):
                yield value, index
                yield from _list_places(item)
        case _:
            pass
