"""Defines the system prompt of a chat, as it is stored with the chat. It is pinned: it stays the same from turn to
turn, so that the provider's cache of the conversation stays valid.

The module must not know chats or hosts. `host/turn/system_prompt.py` decides when a new system prompt is built.
"""

from __future__ import annotations

from dataclasses import dataclass

from jupyter_eca.engine.model.texts import Section, join_sections


@dataclass(frozen=True, slots=True)
class PinnedPrompt:
    """A system prompt that is used for the following turns of a chat too."""

    made_for: str
    """The agent, the model and its variant, as one text. If one of them changes, a new system prompt is built."""
    sections: tuple[Section, ...]
    """The sections in the order in which the model reads them."""

    @property
    def text(self) -> str:
        """The whole system prompt."""
        return join_sections(self.sections)

    def has_section(self, source: str) -> bool:
        """Return whether a section has this `source`, such as `Skills`."""
        return any(section.source == source for section in self.sections)
