"""Owns the messages for reviewing what turns have changed in files and in cells of notebooks.

A turn is a prompt with everything up to the end of its answer. The messages are our additions to ECA, the protocol that
our clients speak. This module must not know how a change is reverted: `host.operations` does. `notebook` is its
neighbour: it makes changes to cells.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from jupyter_eca.protocol.base import ChatId, Model
from jupyter_eca.protocol.notebook import CellType


class ChangeExtent(StrEnum):
    """Which turns to review. `last`: the last turn that changed something. `each`: every turn by itself. `chat`: all
    turns together."""

    LAST = "last"
    EACH = "each"
    CHAT = "chat"


class ReviewTime(StrEnum):
    """When the user decides about an edit of cells or files that no rule allows. `before`: before it is made. `after`:
    it is made at once, and shown with Keep and Undo. `never`: it is made at once, and can be undone."""

    BEFORE = "before"
    AFTER = "after"
    NEVER = "never"


class ChatChangesParams(Model):
    """Asks what turns of a chat have changed."""

    chat_id: ChatId
    turn: str | None = None
    """The id of one turn. If it is present, `extent` is ignored."""
    extent: ChangeExtent = ChangeExtent.LAST


class ChangedText(Model):
    """The change to the text of a file or a cell."""

    before: str | None = None
    """The text before the first edit; absent when the file or cell did not exist."""
    after: str | None = None
    """The text now; if a later turn has changed the text again, the text at the end of this turn. Absent when the file
    or cell does not exist any more."""
    diff: str
    """The unified diff from `before` to `after`."""
    lines_added: int
    lines_removed: int


class ChangeBase(Model):
    """A change that the user has neither kept nor reverted yet. The fields that changes of files and of cells share."""

    id: str
    """The id by which `chat/keep` and `chat/revert` name the change."""
    number: int
    """The number by which `/undo` names the file or cell: the changed files and cells of a chat are counted from 1, in
    the order of their first changes. It does not depend on `extent`."""
    turn: str
    """The id of the turn that made the change."""
    path: str
    """The path of the file or the notebook."""
    text: ChangedText | None = None
    """Absent when there is no text, or too much of it."""
    refused: str | None = None
    """Why the change cannot be reverted; absent when it can."""
    settled: bool | None = None
    """Whether the user need not decide about the change: it was approved before it was made, or the user has switched
    such questions off."""
    made_although_refused: bool | None = None
    """Whether an outside agent has made the change although the tool call that announced the change was refused."""


class ChangedFile(ChangeBase):
    """A change to a file."""

    type: Literal["file"] = "file"
    kind: Literal["created", "edited", "deleted"]


class ChangedCell(ChangeBase):
    """A change to a cell of a notebook. Running a cell is not a change."""

    type: Literal["cell"] = "cell"
    kind: Literal["inserted", "edited", "deleted", "moved"]
    cell_id: str
    cell_type: CellType
    place: int | None = None
    """The number of the cell in the notebook, counted from 1; absent when the cell does not exist any more."""
    place_before: int | None = None
    """The number before the change, counted from 1; absent when the cell did not exist, or its place is not known."""
    left: str | None = None
    """The source that the assistant's last change left; present when somebody else has changed the cell since."""


Change = Annotated[ChangedFile | ChangedCell, Field(discriminator="type")]


class ChatChangesResult(Model):
    """The changes that were neither kept nor reverted, turn after turn, in the order of their numbers."""

    changes: tuple[Change, ...]


class ChatReviewParams(Model):
    """Keeps changes (`chat/keep`) or reverts them (`chat/revert`)."""

    chat_id: ChatId
    changes: tuple[str, ...]
    """The ids of the changes."""


class ChangeLeft(Model):
    """A change that could not be reverted."""

    id: str
    shown: str
    """The name of the file or cell for the user."""
    why: str
    """Why it could not be reverted."""


class ChangeReverted(Model):
    """A change that was reverted."""

    id: str
    shown: str
    """The name of the file or cell for the user."""


class ChatRevertResult(Model):
    """What became of each change. A change is reverted completely or not at all."""

    reverted: tuple[ChangeReverted, ...] = ()
    left: tuple[ChangeLeft, ...] = ()
