"""Owns the translation of agent names. Today a name can be any word; the two older revisions know two names only.

It must not know the user's agents. `incoming` and `outgoing` are its neighbours: they call it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# The older names of the default agent.
_CURRENT: Final[Mapping[str, str]] = {"agent": "code", "build": "code"}
_OLD: Final[Mapping[str, str]] = {"agent": "agent", "build": "agent", "code": "agent", "plan": "plan"}


def to_current(name: str) -> str:
    """Return today's name of an agent."""
    return _CURRENT.get(name, name)


def to_old(name: str) -> str:
    """Return the older revisions' name of an agent. An agent unknown to them becomes their default agent."""
    return _OLD.get(name, "agent")


def list_old(names: list[str]) -> list[str]:
    """Return the older revisions' names of those agents that they know, each once."""
    return list(dict.fromkeys(_OLD[name] for name in names if name in _OLD))
