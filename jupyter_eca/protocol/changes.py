"""Our extension for reviewing: what turns changed in files and in cells of notebooks, taken back or kept one by one."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from jupyter_eca.protocol.base import ChatId, Model
from jupyter_eca.protocol.notebook import CellType


class ChangeExtent(StrEnum):
    """`last`: of the last turn that changed something; `each`: of each turn for itself; `chat`: of all turns as one."""

    LAST = "last"
    EACH = "each"
    CHAT = "chat"


class ChatChangesParams(Model):
    """A `turn` goes before an `extent`."""

    chat_id: ChatId
    turn: str | None = None
    extent: ChangeExtent = ChangeExtent.LAST


class ChangedText(Model):
    """`before` is what was there before the first edit, `after` what is there now or, when a later turn went on, what
    this one left; absent where there was nothing. `diff` is the unified one from the one to the other."""

    before: str | None = None
    after: str | None = None
    diff: str
    lines_added: int
    lines_removed: int


class ChangeBase(Model):
    """What stands of a change. `number` is that of the file or cell in its chat, whichever turn is asked about; `text`
    is absent where there is none, or too much of it; `refused` says why it cannot be taken back."""

    id: str
    number: int
    turn: str
    path: str
    text: ChangedText | None = None
    refused: str | None = None


class ChangedFile(ChangeBase):
    type: Literal["file"] = "file"
    kind: Literal["created", "edited", "deleted"]


class ChangedCell(ChangeBase):
    """`place` and `place_before` count from 1, absent while it is not there. `left` is what the assistant left of it,
    where somebody has gone on from there. Cells that were only run are none."""

    type: Literal["cell"] = "cell"
    kind: Literal["inserted", "edited", "deleted", "moved"]
    cell_id: str
    cell_type: CellType
    place: int | None = None
    place_before: int | None = None
    left: str | None = None


Change = Annotated[ChangedFile | ChangedCell, Field(discriminator="type")]


class ChatChangesResult(Model):
    """By their numbers, turn after turn. Those that were kept or taken back are not among them."""

    changes: tuple[Change, ...]


class ChatReviewParams(Model):
    """`changes` are ids."""

    chat_id: ChatId
    changes: tuple[str, ...]


class ChangeLeft(Model):
    """`shown` names the file or cell to a reader."""

    id: str
    shown: str
    why: str


class ChangeReverted(Model):
    id: str
    shown: str


class ChatRevertResult(Model):
    """Each change was taken back whole or not at all."""

    reverted: tuple[ChangeReverted, ...] = ()
    left: tuple[ChangeLeft, ...] = ()
