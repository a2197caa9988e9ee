"""Thoughts that a model writes into its answer, between tags. Pure; a tag may be cut anywhere between two pieces."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.delta import ReasoningDelta, ReasoningEnd, TextDelta

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import Delta


class _Place(Enum):
    """The place of what comes next: at the beginning; between the tags; just after them; in the answer."""

    START = auto()
    INSIDE = auto()
    AFTER = auto()
    ANSWER = auto()


@dataclass(slots=True)
class Tags:
    """Splits thoughts from the answer. Tags count only at the very beginning of an answer: later ones are its
    subject."""

    start: str
    end: str
    _place: _Place = _Place.START
    _held: str = ""

    def take(self, text: str) -> list[Delta]:
        self._held += text
        said: list[Delta] = []
        if self._place is _Place.START:
            self._begin()
        if self._place is _Place.INSIDE:
            said += self._think()
        if self._place is _Place.AFTER and self._held.strip():
            self._held, self._place = self._held.lstrip(), _Place.ANSWER
        if self._place is _Place.ANSWER and self._held:
            said.append(TextDelta(self._held))
            self._held = ""
        return said

    def finish(self) -> list[Delta]:
        """Return what was held back because it could have been the beginning of a tag."""
        held, self._held = self._held, ""
        if not held.strip():
            return []
        return [ReasoningDelta(held) if self._place is _Place.INSIDE else TextDelta(held)]

    def _begin(self) -> None:
        words = self._held.lstrip()
        if self.start and self.end and words.startswith(self.start):
            self._held, self._place = words.removeprefix(self.start), _Place.INSIDE
        elif not (self.start and self.end and self.start.startswith(words)):
            self._place = _Place.ANSWER

    def _think(self) -> list[Delta]:
        thought, tag, rest = self._held.partition(self.end)
        if tag:
            self._held, self._place = rest, _Place.AFTER
            return [ReasoningDelta(thought), ReasoningEnd()] if thought else [ReasoningEnd()]
        kept = next((n for n in range(len(self.end) - 1, 0, -1) if thought.endswith(self.end[:n])), 0)
        self._held = thought[len(thought) - kept :]
        thought = thought[: len(thought) - kept]
        return [ReasoningDelta(thought)] if thought else []
