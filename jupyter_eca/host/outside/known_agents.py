"""Finds the outside agents that plugs know, and which of them are installed here.

It must not start one: `outside_agents.py` does.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config import OutsideAgent


def find_outside_agents() -> Mapping[str, OutsideAgent]:
    """Return the known outside agents by name. One whose program is not on the PATH is marked as missing."""
    known: dict[str, OutsideAgent] = loader.find("agents", "AGENT")
    return {
        name: agent.model_copy(update={"is_missing": shutil.which(agent.command[0]) is None})
        for name, agent in known.items()
    }
