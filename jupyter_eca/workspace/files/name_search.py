"""Finds which of many names match a few typed letters. It must not know files, only that names contain slashes.
`index.py` keeps the names of files, and searches them with this module.

All names are in one string, the preferred ones first: "\\n/src/app.py\\n/readme.md\\n". Searching this string is fifty
times as fast as looking at each name, and a search that must stop early misses only the names that are least preferred.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from enum import IntEnum
from time import perf_counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Seconds for finding names that contain the typed letters together (`app` in "application"), and for names that contain
# them apart (`apn`). A search for files, a search for folders, and the rest of an answer must together take less than
# 20 ms. A search of 50,000 names rarely reaches these limits.
TOGETHER_S: Final = 0.004
APART_S: Final = 0.003

# How often a search reads the clock: after so many matches, or after so many characters.
_CLOCK_NAMES, _CLOCK_CHARACTERS = 128, 65_536


class Fit(IntEnum):
    """How well a name matches a query, from the best to the worst. Upper and lower case count as the same."""

    EXACT = 0
    """The last part of the path is the query."""
    PREFIX = 1
    """The last part begins with the query."""
    WORD = 2
    """A word in the last part begins with the query."""
    NAME = 3
    """The last part contains the query."""
    PATH = 4
    """The path contains the query."""
    LETTERS = 5
    """The path contains the letters of the query in this order, with other letters between them."""


class NameIndex:
    """Searches names, which are given in order of preference. A name must not contain a line break."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        # As one text, and numbers of four bytes: a list of lines would need twice the memory.
        self._text = "".join(("\n/", "\n/".join(self.names), "\n")).lower() if self.names else "\n"
        # The position in the text at which each name begins, and at the end the length of the text.
        self._starts = array("I", (line_break.end() for line_break in re.finditer("\n", self._text)))

    def search(self, query: str, limit: int) -> list[tuple[Fit, str]]:
        """Return at most `limit` names with their fit, the best first. Names with the same fit are in order of
        preference.

        If a name begins with the query, names that only contain its letters are not searched.
        """
        query = " ".join(query.lower().split())
        if not query:
            return [(Fit.EXACT, name) for name in self.names[:limit]]
        fits = self._find_together(query, limit)
        if len(fits) < limit and min(fits.values(), default=Fit.LETTERS) > Fit.PREFIX:
            for number in self._find_apart(query):
                fits.setdefault(number, Fit.LETTERS)
                if len(fits) == limit:
                    break
        best = sorted((fit, number) for number, fit in fits.items())[:limit]
        return [(fit, self.names[number]) for fit, number in best]

    def _find_together(self, query: str, limit: int) -> dict[int, Fit]:
        """Find names that contain the query. Return the fit of each, by the index of the name."""
        until = perf_counter() + TOGETHER_S
        fits: dict[int, Fit] = {}
        good = 0  # the number of names that fit exactly or begin with the query
        for count, place in enumerate(self._find_places(f"/{query}\n")):
            fits[self._get_index(place)] = Fit.EXACT
            good = count + 1
        for count, place in enumerate(self._find_places(query)):
            number = self._get_index(place)
            fit = self._rate_fit(query, place, number)
            if fit < fits.get(number, len(Fit)):
                fits[number] = fit
                good += fit is Fit.PREFIX
            if good >= limit or (count % _CLOCK_NAMES == 0 and perf_counter() > until):
                break
        return fits

    def _find_places(self, part: str) -> Iterator[int]:
        """Yield all positions of a part in the text."""
        place = self._text.find(part)
        while place >= 0:
            yield place
            place = self._text.find(part, place + 1)

    def _get_index(self, place: int) -> int:
        """Return the index of the name at a position of the text."""
        return bisect_right(self._starts, place) - 1

    def _rate_fit(self, query: str, place: int, number: int) -> Fit:
        """Return how well a name fits. `place` is where the text contains the query, and `number` the index of the
        name."""
        end = place + len(query)
        if self._text.find("/", end, self._starts[number + 1]) >= 0:
            return Fit.PATH
        before = self._text[place - 1]
        if before == "/":
            return Fit.EXACT if self._text[end] == "\n" else Fit.PREFIX
        return Fit.WORD if before in "-_. " else Fit.NAME

    def _find_apart(self, query: str) -> Iterator[int]:
        """Yield the indexes of names that contain the letters in this order, with any others between them."""
        until = perf_counter() + APART_S
        letters = [letter for letter in query if not letter.isspace()]
        if any(letter not in self._text for letter in letters):
            return
        escaped = map(re.escape, letters)
        # For each letter: as many other characters of the same line as possible, and then the letter. The pattern never
        # backtracks over them (`*+`), so that a search takes linear time.
        pattern = re.compile("\n" + "".join(f"[^\n{letter}]*+{letter}" for letter in escaped))
        for start in range(0, len(self._text), _CLOCK_CHARACTERS):
            # Each piece is extended to the end of its last name, so that no name is cut at a border.
            for hit in pattern.finditer(self._text, start, self._find_line_end(start + _CLOCK_CHARACTERS)):
                yield self._get_index(hit.end() - 1)
            if perf_counter() > until:
                return

    def _find_line_end(self, place: int) -> int:
        """Return the position of the first line break at or behind a position."""
        end = self._text.find("\n", place)
        return len(self._text) if end < 0 else end


def rate_fit(query: str, name: str) -> Fit | None:
    """Return how well one name matches; None when it does not."""
    matches = NameIndex((name.replace("\n", " "),)).search(query, 1)
    return matches[0][0] if matches else None
