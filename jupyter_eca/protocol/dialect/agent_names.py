"""Translates the names of agents between the revisions of ECA. Today a name can be any word. The two older revisions
know only `agent` and `plan`.

It must not know the user's agents. `incoming` and `outgoing` are its neighbours: they call it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Today's name of the default agent is `code`. Its older names:
_TO_CURRENT: Final[Mapping[str, str]] = {"agent": "code", "build": "code"}
# By each name that the older revisions can express, their name of that agent.
_TO_OLD: Final[Mapping[str, str]] = {"agent": "agent", "build": "agent", "code": "agent", "plan": "plan"}


def to_current_name(name: str) -> str:
    """Return today's name of an agent."""
    return _TO_CURRENT.get(name, name)


def to_old_name(name: str) -> str:
    """Return the older revisions' name of an agent. An agent unknown to them becomes their default agent."""
    return _TO_OLD.get(name, "agent")


def list_old_names(names: list[str]) -> list[str]:
    """Return the older revisions' names of those agents that they know, each once."""
    return list(dict.fromkeys(_TO_OLD[name] for name in names if name in _TO_OLD))
