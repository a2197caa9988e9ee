"""What comes of a command, and who may see a chat.

Knows nothing of the commands themselves, which are in `host.commands`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Answer:
    """Markdown for the reader; no model is called. `opens` is a chat that the client of the asker shows next."""

    text: str
    opens: str = ""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The chat's model is asked for a summary of the conversation; `focus` is what it must keep."""

    focus: str = ""


@dataclass(frozen=True, slots=True)
class Replacement:
    """What is asked in the command's stead."""

    message: str


class Sees(Protocol):
    def __call__(self, chat: str, /) -> bool: ...
