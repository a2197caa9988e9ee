"""Owns the reducer of the root, the state of the whole host: its agents, the number of its sessions, its terminals.
Pure.
"""

from __future__ import annotations

from jupyter_eca.fronts.ahp.reducers.base import Json, merge_config, replace_fields


def reduce_root(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001  # all reducers have the same signature
    """Return the root after an action. Actions of other types change nothing."""
    match action.get("type"):
        case "root/agentsChanged":
            return replace_fields(state, agents=action.get("agents"))
        case "root/activeSessionsChanged":
            return replace_fields(state, activeSessions=action.get("activeSessions"))
        case "root/terminalsChanged":
            return replace_fields(state, terminals=action.get("terminals"))
        case "root/configChanged" if state.get("config"):
            return replace_fields(state, config=merge_config(state["config"], action))
        case _:
            return state
