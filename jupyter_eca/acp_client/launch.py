"""Owns `Launch`: what is needed to start an outside agent, and how long it may take. `session` starts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The seconds that an agent has to answer the first requests. Agents were measured to take up to 19 seconds on a busy
# machine, and some fetch a program first.
START_SECONDS: Final = 120.0

# The seconds that an agent has to end its turn after it was cancelled, before it is killed.
CANCEL_SECONDS: Final = 8.0


@dataclass(frozen=True, slots=True)
class Launch:
    """What is needed to start an outside agent."""

    title: str
    """The name of the agent for the user."""
    command: tuple[str, ...]
    """The program and its arguments."""
    environment: Mapping[str, str]
    """The whole environment of the program."""
    folder: Path
    """The working directory, an absolute path."""
    chat: str
    """The id of our chat."""
    mode: str = ""
    """The mode that is set after the session was started; "" to keep the agent's own."""
    sign_in: str = ""
    """How the user signs in, in a sentence; "" if only the agent's own program knows it."""
    shown_command: str = ""
    """The program and its arguments as the user may read them, without secrets."""
    start_seconds: float = START_SECONDS
    """The seconds that the agent has to answer the first requests."""
    cancel_seconds: float = CANCEL_SECONDS
    """The seconds that the agent has to end its turn after it was cancelled."""
