"""Owns `UnstoredFacts`: what is known of a chat only since the server has started, and is nowhere in the store.

`LiveChat` says what becomes of its other fields when a chat is put to rest. `host.chat.registry` does that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.cache_lifetime import ChatRhythm
from jupyter_eca.host.chat.live_chat import NO_CHOICE, Choice

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.approval_scope import ApprovalScope
    from jupyter_eca.host.chat.live_chat import LiveChat

NO_RHYTHM: Final = ChatRhythm()
"""The rhythm of a chat without a request."""


@dataclass(frozen=True, slots=True)
class UnstoredFacts:
    """The facts of a chat that stay in memory when it is put to rest. After a restart of the server they are lost."""

    approved_scopes: frozenset[ApprovalScope] = frozenset()
    """What the user has approved for the session. Without it, the user is asked again."""
    locked_chain: tuple[tuple[str, str], ...] = ()
    """The locked answers so far. Without them, the next answer of the notebook would not be found in its lock file."""
    last_paid_turn: str = ""
    """The last turn in which a model was called, whose costs clients show."""
    notebook: str = ""
    """The notebook that the last prompt came from, whose costs clients show."""
    unstored_choice: Choice = NO_CHOICE
    """The settings of the next turn, for a chat that is not stored because it had no prompt yet."""
    last_answer_choice: Choice | None = None
    """The settings that have worked last, which count again when the user chooses a model that does not exist. None:
    they are those of the next turn."""
    rhythm: ChatRhythm = NO_RHYTHM
    """How long the user pauses. Without it, one more request is not cached for long enough."""

    @classmethod
    def from_chat(cls, chat: LiveChat) -> UnstoredFacts:
        """Return the facts of a chat in memory."""
        return cls(
            chat.state.approved_scopes,
            tuple(chat.locked_chain.items()),
            chat.last_paid_turn,
            chat.notebook,
            NO_CHOICE if chat.last_seq else chat.choice,
            None if chat.last_answer_choice == chat.choice else chat.last_answer_choice,
            chat.rhythm,
        )

    def add_to(self, chat: LiveChat) -> None:
        """Add the facts to a chat that was read from the store."""
        chat.state = replace(chat.state, approved_scopes=self.approved_scopes)
        chat.locked_chain = dict(self.locked_chain)
        chat.last_paid_turn, chat.notebook = self.last_paid_turn, self.notebook
        chat.choice = chat.choice.fill_from(self.unstored_choice)
        chat.last_answer_choice = chat.choice if self.last_answer_choice is None else self.last_answer_choice
        chat.rhythm = self.rhythm


NO_FACTS: Final = UnstoredFacts()
"""The facts of a chat of which nothing more is known than what is stored."""
