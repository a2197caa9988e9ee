"""Describes proposals for the model. Pure.

In plan mode, a tool call that would change something becomes a proposal. It does not run. The user sees the change that
it would make, and the model reads how the change can be made later.

This module must not decide that a call is only a proposal: `tool_calls` does.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.texts import PROPOSED, PROPOSED_CELLS
from jupyter_eca.protocol.content import FileChangeDetails

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import ToolCallDetails

NOTEBOOK_CHANGE_TOOL: Final = "notebook_change"
"""The tool that makes the changes of cells that a proposal has shown."""


def make_preview_id(call: str) -> str:
    """Return the id with which the model refers to the change that a call has shown. `call` is the id of the call."""
    return hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:8]


def describe_proposal(call: str, name: str, details: ToolCallDetails | None) -> str:
    """Return what the model reads about a proposal; "" if the user is shown no change. `call` is the id of the call,
    and `name` that of its tool."""
    if not isinstance(details, FileChangeDetails):
        return ""
    again = PROPOSED_CELLS.format(id=make_preview_id(call)) if name == NOTEBOOK_CHANGE_TOOL else ""
    return PROPOSED.format(again=again, diff=details.diff)
