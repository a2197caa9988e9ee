"""Owns the values that the store reads and writes: rows of chats and of checkpoints. A checkpoint has a file or cells
as they were before a turn changed them.

They must not know SQL: `tables` reads and writes them. `spending` has the rows of costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from jupyter_eca.engine.changes.revert import ChangeDecision


@dataclass(frozen=True, slots=True)
class StoredSelection:
    """The settings that a chat's turns run with. A field is None if nothing is chosen for it."""

    model: str | None = None
    """The full name `provider/model`."""
    agent: str | None = None
    """The name of the agent."""
    variant: str | None = None
    """The variant of the model. Empty chooses no variant."""
    trust: bool | None = None
    """Whether tool calls run without approval."""
    folder: str | None = None
    """The working directory."""
    notebook: str | None = None
    """The path of the notebook that a turn was asked in. The chat belongs to the first one."""


@dataclass(frozen=True, slots=True)
class AgentSessionRow:
    """The session that an outside agent has for a chat. Another process can resume it."""

    agent: str
    """The name of the agent."""
    folder: str
    """The working directory of the session."""
    session: str
    """The agent's id of the session."""
    sent: tuple[int, int] | None
    """The part of the conversation that was sent to the agent: how many messages, and how many parts of the last of
    them. None when nothing was sent. See `host.outside.prompt_blocks`."""
    cost: float | None
    """What the session has cost so far, as the agent says; None when it is not known."""


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat as it is listed."""

    id: str
    """The id of the chat."""
    created: int
    """The time of its first prompt, in milliseconds since the epoch."""
    updated: int
    """The time of its last prompt or answer, in milliseconds since the epoch."""
    title: str | None
    """The title, None as long as it has none."""
    model: str | None
    """The chosen model, see `StoredSelection`."""
    owner: str | None
    """The process that answers in it now, None for none. See `store.is_alive`."""
    last: int
    """The sequence number of its newest event."""
    prompts: int
    """How many prompts it has."""
    agent: str | None
    """The chosen agent."""
    variant: str | None
    """The chosen variant of the model."""
    trust: bool | None
    """Whether tool calls run without approval, None if not chosen."""
    cut_from: int | None
    """The sequence number of the first event that was deleted, None if none was."""
    cut_to: int | None
    """The sequence number that its newest event had when events were last deleted; None if none was. Events that were
    written later have higher numbers."""
    workspace: str
    """The folder that the chat belongs to: `Store.workspace`."""
    parent: str | None = None
    """The parent chat, if this is the chat of a subagent."""
    folder: str | None = None
    """The working directory; None for the first root."""
    notebook: str | None = None
    """The path of the notebook that the chat belongs to; None for none."""
    outcome: str | None = None
    """How its last turn ended, see `Outcome`. None as long as no turn has ended."""

    def is_intact_up_to(self, after: int) -> bool:
        """Return whether a client that was shown the events up to `after` (a sequence number) still has them right:
        none of them was deleted since then."""
        return self.cut_from is None or self.cut_to is None or after < self.cut_from or after > self.cut_to


class ReviewState(StrEnum):
    """Whether the user must still look at a change, and whether the user still decides about it: keeps or reverts it.

    A change is *unseen* if nobody was asked about it, because the setting `review` allows it. As long as there is an
    unseen change, calls that may run code need approval.
    """

    OPEN = "open"
    """The call was allowed by the user or by a rule. The user keeps or reverts the change after it is made."""
    SETTLED = "settled"
    """The user approved the change before it was made, or the settings say that the user is not asked about it."""
    UNSEEN = "unseen"
    """Nobody was asked about the change. The user keeps or reverts it after it is made."""
    UNSEEN_SETTLED = "unseen-settled"
    """Nobody was asked about the change, and the settings say that the user is not asked afterwards either."""
    REFUSED = "refused"
    """An agent made it although the call that announced it was refused. The user decides about it."""

    @property
    def is_settled(self) -> bool:
        """Whether the user need not decide about the change any more."""
        return self in {ReviewState.SETTLED, ReviewState.UNSEEN_SETTLED}

    def merge(self, later: ReviewState) -> ReviewState:
        """Return the state of two changes of the same file together, of which `later` is the second."""
        if ReviewState.REFUSED in {self, later}:
            return ReviewState.REFUSED
        unseen = {self, later} & {ReviewState.UNSEEN, ReviewState.UNSEEN_SETTLED}
        settled = self.is_settled and later.is_settled
        if unseen:
            return ReviewState.UNSEEN_SETTLED if settled else ReviewState.UNSEEN
        return ReviewState.SETTLED if settled else ReviewState.OPEN


class UnseenChange(NamedTuple):
    """The newest change that was made without approval and that the user has not reviewed."""

    path: str
    """The file or the notebook."""
    last_file_row: int
    """The highest id of all checkpoints of files when the change was found; 0 for none. See `Tables.mark_seen`."""
    last_cell_row: int
    """The highest id of all checkpoints of cells when the change was found; 0 for none."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file as it was before a turn changed it."""

    turn: str
    """The id of the turn."""
    path: str
    """The real path of the file."""
    before: bytes | None
    """Its content before the turn; None if there was no file."""
    after: str | None
    """The digest of its content after the turn. It is UNKEPT or CHANGED if the file cannot be restored, and None as
    long as the turn has not noted the content after its change."""
    decided: ChangeDecision | None = None
    """Whether the user has kept or reverted the change; None if neither."""
    review: ReviewState = ReviewState.OPEN
    """Whether the user has seen the change, and decides about it."""


@dataclass(frozen=True, slots=True)
class CellCheckpoint:
    """A change that a turn made to cells of a notebook, and how to undo it. The texts are JSON."""

    turn: str
    """The id of the turn."""
    path: str
    """The path of the notebook."""
    undo: str
    """The list of changes that undo this one."""
    after: str
    """The sources of the changed cells after the change, by cell id; null for a cell that is gone."""
    order: str = "[]"
    """The ids of all cells of the notebook before the change, in their order."""
    decided: str = "{}"
    """Whether the user has kept or reverted the change of a cell, by cell id."""
    id: int = 0
    """The number of the row."""
    review: ReviewState = ReviewState.OPEN
    """Whether the user has seen the change, and decides about it."""


UNKEPT: Final = "unkept"
"""Stored in the place of a digest if the file is too large to keep, or is no regular file."""
CHANGED: Final = "changed"
"""Stored in the place of a digest if somebody else changed the file while the turn ran."""
