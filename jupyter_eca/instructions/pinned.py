"""What a model was told at the beginning of a chat, as it is kept with the chat.

Knows nothing of chats and hosts: `host.turn.system_prompt` decides when it is made anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_eca.engine.model.texts import Section, join_sections


@dataclass(frozen=True, slots=True)
class Pinned:
    """`made_for` names the agent, the model and its variant."""

    made_for: str
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        return join_sections(self.sections)

    def has(self, source: str) -> bool:
        return any(section.source == source for section in self.sections)
