"""Counts the steps of a function: the lines of ours that it runs, and the steps of our regular expressions.

Unlike a time, the count is the same on every machine and under every load. So a test can say that a text of twice the
length takes about twice the steps.

The steps of a regular expression are those of a plain backtracking matcher, which is below. The one of Python skips
some of them, and never makes more in the order of the length. Each match is compared with Python's.
"""

from __future__ import annotations

import re
import sys
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, ModuleType

    # Called with the position behind what has matched; returns the end of the whole match, or -1.
    Then = Callable[[int], int]
    # Matches at a position, and then goes on.
    Matcher = Callable[[int, Then], int]

OURS = "jupyter_eca"

# The parts of Python that read a regular expression, and make a matcher of it. They have no types.
_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")

# A matcher calls itself for each repetition.
MAX_DEPTH = 200_000


def grows_with_its_text(work: Callable[[str], object], piece: str, count: int = 100) -> bool:
    """Whether twice as many pieces take about twice as many steps. Four times as many would be those of a square."""
    few, many = (count_steps(lambda number=number: work(piece * number)) for number in (count, 2 * count))
    return many < 3 * few


def count_steps(work: Callable[[], object]) -> int:
    """Do some work, and return its steps."""
    steps = _Steps()
    replaced: list[tuple[ModuleType, str, re.Pattern[str]]] = [
        (module, name, value)
        for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == OURS]
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern)
    ]
    for module, name, value in replaced:
        setattr(module, name, _CountingPattern(value, steps))
    depth, trace = sys.getrecursionlimit(), sys.gettrace()
    sys.setrecursionlimit(MAX_DEPTH)
    sys.settrace(steps.trace)
    try:
        work()
    finally:
        sys.settrace(trace)
        sys.setrecursionlimit(depth)
        for module, name, value in replaced:
            setattr(module, name, value)
    return steps.count


class _Steps:
    def __init__(self) -> None:
        self.count = 0

    def trace(self, frame: FrameType, event: str, _: object) -> Any:
        """Count the lines of our modules."""
        if not str(frame.f_globals.get("__name__", "")).startswith(OURS):
            return None
        self.count += event == "line"
        return self.trace


class _CountingPattern:
    """A compiled pattern, whose methods count their steps before they work as usual."""

    def __init__(self, pattern: re.Pattern[str], steps: _Steps) -> None:
        self._pattern, self.steps = pattern, steps
        self.flags = pattern.flags
        self.tests: dict[tuple[int, bool], Any] = {}
        """What matches each part of the pattern that is at most one character, by the id of the part, and whether it
        is repeated."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._pattern, name)
        if name not in {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"}:
            return found

        def call(*arguments: Any, **options: Any) -> Any:
            text = arguments[1] if name in {"sub", "subn"} else arguments[0]
            start = arguments[1] if len(arguments) > 1 and name not in {"sub", "subn", "split"} else 0
            self._count(name, text, start)
            return found(*arguments, **options)

        return call

    @cached_property
    def tree(self) -> Any:
        return _parser.parse(self._pattern.pattern, self.flags)

    def _count(self, name: str, text: str, start: int) -> None:
        if name in {"match", "fullmatch"}:
            found = self._pattern.fullmatch(text, start) if name == "fullmatch" else self._pattern.match(text, start)
            end = _Match(self, text).find(start, whole=name == "fullmatch")
            assert end == (found.end() if found else -1), f"{self._pattern.pattern} in {text[:40]!r}"
            return
        for found in self._pattern.finditer(text, start):
            self._search(text, start, found.start(), found.end())
            start = found.end()
            if name == "search":
                return
        self._search(text, start, len(text), None)

    def _search(self, text: str, start: int, last: int, end: int | None) -> None:
        """Count the steps of a search from `start` on, which finds a match at `last` that ends at `end`; None for no
        match."""
        for place in range(start, last + 1):
            found = _Match(self, text).find(place)
            assert found == (end if place == last and end is not None else -1) or found == place == start, (
                f"{self._pattern.pattern} at {place} in {text[:40]!r}"
            )


class _Match:
    """One try to match a text at one position."""

    def __init__(self, pattern: _CountingPattern, text: str) -> None:
        self._flags, self._text, self._steps = pattern.flags, text, pattern.steps
        self._groups: dict[int, tuple[int, int]] = {}
        self._tree, self._tests = pattern.tree, pattern.tests

    def find(self, place: int, *, whole: bool = False) -> int:
        """Return the end of the match at a position, -1 for none."""
        return self._sequence(list(self._tree), 0, place, lambda at: at if not whole or at == len(self._text) else -1)

    def _sequence(self, items: list[Any], index: int, place: int, then: Then) -> int:
        if index == len(items):
            return then(place)
        return self._item(items[index], place, lambda at: self._sequence(items, index + 1, at, then))

    def _item(self, item: tuple[Any, Any], place: int, then: Then) -> int:
        kind, value = item
        self._steps.count += 1
        match kind.name:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN" | "AT":
                width = int(kind.name != "AT")
                return then(place + width) if self._fits(item, place) else -1
            case "BRANCH":
                for branch in value[1]:
                    if (end := self._sequence(list(branch), 0, place, then)) >= 0:
                        return end
                return -1
            case "SUBPATTERN":
                return self._group(value[0], list(value[3]), place, then)
            case "GROUPREF":
                begin, end = self._groups.get(value, (0, -1))
                known = self._text[begin:end]
                self._steps.count += len(known)
                return then(place + len(known)) if end >= 0 and self._text.startswith(known, place) else -1
            case "ASSERT" | "ASSERT_NOT":
                direction, inner = value
                begin = place if direction > 0 else place - inner.getwidth()[0]
                found = begin >= 0 and self._sequence(list(inner), 0, begin, lambda at: at) >= 0
                return then(place) if found == (kind.name == "ASSERT") else -1
            case "ATOMIC_GROUP":
                end = self._sequence(list(value), 0, place, lambda at: at)
                return then(end) if end >= 0 else -1
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = value
                return self._repeat(kind.name, int(low), int(high), list(inner), place, then)
            case other:
                raise NotImplementedError(other)

    def _group(self, number: int | None, items: list[Any], place: int, then: Then) -> int:
        if number is None:
            return self._sequence(items, 0, place, then)
        before = self._groups.get(number)

        def close(at: int) -> int:
            self._groups[number] = (place, at)
            return then(at)

        if (end := self._sequence(items, 0, place, close)) < 0:
            self._groups.pop(number, None)
            if before is not None:
                self._groups[number] = before
        return end

    def _repeat(self, kind: str, low: int, high: int, items: list[Any], place: int, then: Then) -> int:
        if len(items) == 1 and items[0][0].name in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
            return self._repeat_one(kind, low, high, items[0], place, then)

        def once_more(count: int, at: int) -> int:
            def go_on(after: int) -> int:
                return -1 if after == at and count >= low else once_more(count + 1, after)

            if count < low:
                return self._sequence(items, 0, at, go_on)
            if kind == "MIN_REPEAT":
                end = then(at)
                return end if end >= 0 or count >= high else self._sequence(items, 0, at, go_on)
            end = self._sequence(items, 0, at, go_on) if count < high else -1
            return end if end >= 0 else then(at)

        if kind == "POSSESSIVE_REPEAT":
            count, at = 0, place
            while count < high and (after := self._sequence(items, 0, at, lambda end: end)) > at:
                count, at = count + 1, after
            return then(at) if count >= low else -1
        return once_more(0, place)

    def _repeat_one(self, kind: str, low: int, high: int, item: Any, place: int, then: Then) -> int:
        """Repeat something of one character. How often it fits is found at once, and counted as so many steps."""
        most = self._get_match(item, repeats=True)(self._text, place, min(place + high, len(self._text))).end()
        if kind == "MIN_REPEAT":
            stops = range(place + low, most + 1)
        else:
            self._steps.count += most - place
            stops = (most,) if kind == "POSSESSIVE_REPEAT" else range(most, place + low - 1, -1)
        for stop in stops:
            self._steps.count += 1
            if stop - place >= low and (end := then(stop)) >= 0:
                return end
        return -1

    def _fits(self, item: tuple[Any, Any], place: int) -> bool:
        """Whether something of at most one character is at a position."""
        return self._get_match(item)(self._text, place) is not None

    def _get_match(self, item: tuple[Any, Any], *, repeats: bool = False) -> Any:
        """Return Python's own function that matches something of at most one character, or many of it."""
        if (match := self._tests.get((id(item), repeats))) is None:
            state = _parser.State()
            state.flags, state.str = self._flags, ""
            tree = _parser.SubPattern(state, [item])
            if repeats:
                tree = _parser.SubPattern(state, [(_parser.MAX_REPEAT, (0, _parser.MAXREPEAT, tree))])
            match = self._tests[id(item), repeats] = _compiler.compile(tree, self._flags).match
        return match
