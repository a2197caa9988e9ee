"""The system prompt of a chat, as it is stored with the chat.

It knows nothing of chats and hosts: `host.turn.system_prompt` decides when to build a new one.
"""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_eca.engine.model.texts import Section, join_sections


@dataclass(frozen=True, slots=True)
class Pinned:
    """A system prompt that stays the same for the following turns of a chat."""

    made_for: str
    """The agent, the model and its variant. With other ones a new system prompt is built."""
    sections: tuple[Section, ...]
    """The sections in the order in which the model reads them."""

    @property
    def text(self) -> str:
        return join_sections(self.sections)

    def has(self, source: str) -> bool:
        return any(section.source == source for section in self.sections)
