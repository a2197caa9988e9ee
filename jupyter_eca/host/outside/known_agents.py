"""Finds the outside agents that plugs know, and which of them are installed here.

It must not start one: `outside_agents.py` does.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from jupyter_eca.config import OutsideAgent
from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    from collections.abc import Mapping


def find_outside_agents() -> Mapping[str, OutsideAgent]:
    """Return the known outside agents by name. One whose program is not on the PATH is marked as missing."""
    known: dict[str, OutsideAgent] = loader.find("agents", "AGENT", _check_agent)
    return {
        name: agent.model_copy(update={"is_missing": shutil.which(agent.command[0]) is None})
        for name, agent in known.items()
    }


def _check_agent(plug: object) -> None:
    """Check the constant `AGENT` of a plug. Raises: TypeError."""
    loader.check_plug(plug, OutsideAgent, "an `OutsideAgent`")
