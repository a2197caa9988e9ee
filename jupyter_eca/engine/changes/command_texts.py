"""Owns the texts of `%eca diff`, `%eca undo`, `/diff` and `/undo`: it parses their arguments and formats their answers.

It must not take changes back: its neighbour `revert` plans that, and `host/operations` does it. In Markdown, text that
was written by others is put into blocks of code, so that it cannot change the look of the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.chat.export import add_fence
from jupyter_eca.protocol.changes import ChangedCell, ChangedFile, ChangeExtent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_eca.protocol.changes import Change, ChatRevertResult

# The answer when there are no changes.
NOTHING: Final = "There are no changes to show or to take back."

# `all`, `1, 2` or `all 1 2`
_SELECTION = re.compile(r"(?P<all>all\b)?(?P<numbers>[\d\s,]*)")


@dataclass(frozen=True, slots=True)
class ChangeSelection:
    """The changes that the user has selected with the arguments of a command."""

    extent: ChangeExtent
    """Whether the changes of the whole chat or those of its last turn are meant."""
    numbers: tuple[int, ...]
    """The numbers of the changes, as they were shown; empty for all."""

    def select(self, changes: Iterable[Change]) -> list[Change]:
        """Return the selected ones of these changes."""
        return [change for change in changes if not self.numbers or change.number in self.numbers]

    def list_missing(self, changes: Iterable[Change]) -> list[int]:
        """Return the selected numbers that none of these changes has."""
        existing = {change.number for change in changes}
        return [number for number in self.numbers if number not in existing]


def parse_selection(words: str) -> ChangeSelection | None:
    """Parse the arguments of a command: numbers of changes, with or without `all` before them.

    With `all`, the changes of the whole chat are meant; without it, those of the last turn that changed something.
    Returns None when the arguments are something else.
    """
    match = _SELECTION.fullmatch(words.strip())
    if match is None:
        return None
    numbers = tuple(int(number) for number in re.findall(r"\d+", match["numbers"]))
    return ChangeSelection(ChangeExtent.CHAT if match["all"] else ChangeExtent.LAST, numbers)


def format_changes(changes: Sequence[Change]) -> str:
    """Return the changes as Markdown."""
    return (
        "\n\n".join([f"{_format_head(change, '`')}\n\n{add_fence(_format_body(change), 'diff')}" for change in changes])
        or NOTHING
    )


def format_changes_as_text(changes: Sequence[Change]) -> str:
    """Return the changes as plain text."""
    return "\n\n".join([f"{_format_head(change)}\n{_format_body(change)}" for change in changes]) or NOTHING


def describe_revert(result: ChatRevertResult, missing: Sequence[int] = ()) -> str:
    """Return the list of what was taken back and what was not, as Markdown.

    `missing` are selected numbers that no change has.
    """
    lines = [f"Taken back: {change.shown}" for change in result.reverted]
    lines += [f"Left as it is: {change.shown or 'a change'} ({change.why})" for change in result.left]
    lines += [f"Change {number} is not in the list of changes." for number in missing]
    return "\n".join(f"- {line}" for line in lines) or NOTHING


def _format_head(change: Change, quote: str = "") -> str:
    """Return the line above a change. `quote` is put before and after the path."""
    counts = f"+{change.text.lines_added} -{change.text.lines_removed}" if change.text else "not shown"
    obstacle = f"; cannot be taken back: {change.refused}" if change.refused else ""
    # An outside agent changed the file although the user, a rule or a check had refused the announced call.
    although = "; made although it was refused" if change.made_although_refused else ""
    path = f"{quote}{change.path.replace('`', '')}{quote}" if quote else change.path
    return f"{change.number}. {path}{_format_place(change)}, {change.kind} ({counts}){although}{obstacle}"


def _format_place(change: Change) -> str:
    """Return where the changed cell is in its notebook; empty for a file."""
    match change:
        case ChangedFile():
            return ""
        case ChangedCell(kind="moved", place=place, place_before=before):
            return f" cell {place} (was {before})"
        case ChangedCell(place=int(place)):
            return f" cell {place}"
        case ChangedCell(place_before=int(before)):
            return f" cell {before} (gone)"
        case ChangedCell(cell_id=id):
            return f" cell [{id}]"


def _format_body(change: Change) -> str:
    """Return the diff without its first two lines, which name the file: the head has named it already."""
    lines = change.text.diff.splitlines()[2:] if change.text else []
    return "\n".join(lines)
