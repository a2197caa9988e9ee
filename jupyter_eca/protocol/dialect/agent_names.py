"""The names of agents: free words today, one of two in the seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# What the default agent was called before.
_TODAY: Final[Mapping[str, str]] = {"agent": "code", "build": "code"}
_OLD: Final[Mapping[str, str]] = {"agent": "agent", "build": "agent", "code": "agent", "plan": "plan"}


def today(name: str) -> str:
    return _TODAY.get(name, name)


def old(name: str) -> str:
    """An agent that the seeds have no name for is, to them, the default one."""
    return _OLD.get(name, "agent")


def all_old(names: list[str]) -> list[str]:
    """Those that the seeds can choose from."""
    return list(dict.fromkeys(_OLD[name] for name in names if name in _OLD))
