"""Splits the thoughts that a model writes between tags, such as `<think>`, from its answer. Pure.

The text comes in pieces, and a piece may end in the middle of a tag. This module must not know an API:
`completions.events` uses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.delta import ReasoningDelta, ReasoningEnd, TextDelta

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import Delta


class _Place(Enum):
    """Where the next text belongs."""

    START = auto()
    """At the beginning, where the start tag may come."""
    INSIDE = auto()
    """Between the tags."""
    AFTER = auto()
    """Just after the end tag, where white space is dropped."""
    ANSWER = auto()
    """In the answer."""


@dataclass(slots=True)
class ThinkingTags:
    """Finds the tags in one answer. Tags count only at the very beginning of an answer. Later tags are a part of the
    answer."""

    start: str
    """The tag before the thoughts, "" if the model writes no tags."""
    end: str
    """The tag after the thoughts."""
    _place: _Place = _Place.START
    """Where the next text belongs."""
    _held: str = ""
    """Text that may be a part of a tag, and waits for the next piece."""

    def take(self, text: str) -> list[Delta]:
        """Return the deltas of a piece of text."""
        self._held += text
        deltas: list[Delta] = []
        if self._place is _Place.START:
            self._look_for_start()
        if self._place is _Place.INSIDE:
            deltas += self._read_thoughts()
        if self._place is _Place.AFTER and self._held.strip():
            self._held, self._place = self._held.lstrip(), _Place.ANSWER
        if self._place is _Place.ANSWER and self._held:
            deltas.append(TextDelta(self._held))
            self._held = ""
        return deltas

    def finish(self) -> list[Delta]:
        """Return the text that was held back. Called at the end of the answer."""
        held, self._held = self._held, ""
        if not held.strip():
            return []
        return [ReasoningDelta(held) if self._place is _Place.INSIDE else TextDelta(held)]

    def _look_for_start(self) -> None:
        """Decide whether the answer begins with the start tag, as soon as enough text is there."""
        text = self._held.lstrip()
        if self.start and self.end and text.startswith(self.start):
            self._held, self._place = text.removeprefix(self.start), _Place.INSIDE
        elif not (self.start and self.end and self.start.startswith(text)):
            self._place = _Place.ANSWER

    def _read_thoughts(self) -> list[Delta]:
        """Return the thoughts up to the end tag. Characters at the end that may begin this tag are held back."""
        thought, tag, rest = self._held.partition(self.end)
        if tag:
            self._held, self._place = rest, _Place.AFTER
            return [ReasoningDelta(thought), ReasoningEnd()] if thought else [ReasoningEnd()]
        sizes = range(len(self.end) - 1, 0, -1)
        held_size = next((size for size in sizes if thought.endswith(self.end[:size])), 0)
        self._held = thought[len(thought) - held_size :]
        thought = thought[: len(thought) - held_size]
        return [ReasoningDelta(thought)] if thought else []
