"""Owns the question by which a caller's user approves a call. Pure. It must not know the call's turn: `assistant.py`
asks, and passes the answer on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.approval.reason import describe_cause
from jupyter_eca.protocol.content import FileChangeDetails, RunCellsDetails

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import ToolCallRunContent

APPROVE: Final = "approve"
ALWAYS: Final = "approve for this session"
REJECT: Final = "reject"

# The longest description of a call in characters: the user reads it in a dialog.
_MOST: Final = 4_000

_REASON: Final = {"type": "string", "description": "What is to be done instead, when it may not"}
_REMEMBERS: Final = "Whether it may run. For this session means: {}"


def make_question(call: ToolCallRunContent) -> types.ElicitRequestFormParams:
    """Make the question. Without anything to remember there is no answer for the session."""
    title = f"{call.name}: {call.summary}" if call.summary else call.name
    body = _describe(call) or json.dumps(call.arguments, indent=2, ensure_ascii=False)
    cut = body if len(body) <= _MOST else f"{body[:_MOST]}\n[... {len(body) - _MOST} characters left out ...]"
    lines = (f"May this run in Jupyter? {title}", describe_cause(Decision.ASK, call.cause), cut)
    return types.ElicitRequestFormParams(message="\n\n".join(filter(None, lines)), requested_schema=_make_schema(call))


def _describe(call: ToolCallRunContent) -> str:
    """Return what the call would do in a better form than its arguments; empty where there is none."""
    match call.details:
        case FileChangeDetails(diff=diff):
            return diff
        case RunCellsDetails(path=path) as details:
            return f"{path}\n{details.as_text()}"
        case _:
            return ""


def _make_schema(call: ToolCallRunContent) -> dict[str, Any]:
    answers = [APPROVE, ALWAYS, REJECT] if call.remembers else [APPROVE, REJECT]
    meaning = _REMEMBERS.format(", ".join(call.remembers)) if call.remembers else "Whether it may run"
    return {
        "type": "object",
        "properties": {"decision": {"type": "string", "enum": answers, "description": meaning}, "reason": _REASON},
        "required": ["decision"],
    }


def is_approved(answer: types.ElicitResult) -> bool:
    return answer.action == "accept" and (answer.content or {}).get("decision") in {APPROVE, ALWAYS}


def is_remembered(answer: types.ElicitResult) -> bool:
    return is_approved(answer) and (answer.content or {}).get("decision") == ALWAYS


def reason_of(answer: types.ElicitResult) -> str:
    return str((answer.content or {}).get("reason") or "")
