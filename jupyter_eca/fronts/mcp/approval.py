"""Owns the question (an elicitation of MCP) by which the user of a client approves a tool call. Pure.

It must not know the turn of the call: `assistant.py` asks the question, and passes the answer on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types

from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.engine.approval.reason import describe_cause
from jupyter_eca.engine.approval.rule_matching import COMMAND_ARGUMENT
from jupyter_eca.engine.text.exact_text import as_exact_text, as_terminal_text
from jupyter_eca.engine.text.shown_arguments import format_runs
from jupyter_eca.protocol.content import FileChangeDetails, RunCellsDetails, ShellCommandDetails

if TYPE_CHECKING:
    from collections.abc import Set

    from jupyter_eca.protocol.content import ToolCallRunContent

# The answers that the user can choose.
APPROVE: Final = "approve"
APPROVE_FOR_SESSION: Final = "approve for this session"
REJECT: Final = "reject"

# The longest question in characters. The user reads it in a dialog. If the description of a call is longer, the call
# cannot be approved there, because the user could not see all of it.
_MAX_QUESTION_CHARACTERS: Final = 20_000

# The schema of the reason that the user may write for a rejection.
_REASON_SCHEMA: Final = {"type": "string", "description": "What is to be done instead, when it may not"}
# The description of the answers, if one of them also approves similar calls. It names these calls.
_SESSION_MEANING: Final = "Whether it may run. For this session means: {}"


def make_question(call: ToolCallRunContent) -> types.ElicitRequestFormParams | None:
    """Make the question about a call. Return None when it is too long to be shown as a whole. The answer "for this
    session" is left out if `call.remembers`, the calls that it would also approve, is empty. All characters of the
    texts are visible, because the client may be a terminal, where some characters would have other effects."""
    title = f"{call.name}: {call.summary}" if call.summary else call.name
    lines = (f"May this run in Jupyter? {title}", describe_cause(Decision.ASK, call.cause), _describe(call))
    message = as_terminal_text("\n\n".join(filter(None, lines)))
    if len(message) > _MAX_QUESTION_CHARACTERS:
        return None
    return types.ElicitRequestFormParams(message=message, requested_schema=_make_schema(call))


def _describe(call: ToolCallRunContent) -> str:
    """Describe what the call would do. A shell command is shown as it is, because in JSON it would be full of
    backslashes."""
    match call.details:
        case FileChangeDetails(diff=diff) as details if diff or details.runs:
            return "\n\n".join(filter(None, (diff, format_runs(details))))
        case ShellCommandDetails(line=line) if line:
            return line + _describe_others(call, {COMMAND_ARGUMENT})
        case RunCellsDetails(path=path) as details:
            return f"{path}\n{details.as_text()}" + _describe_others(call, {"path", "cells"})
        case _:
            return _as_json(call.arguments)


def _describe_others(call: ToolCallRunContent, shown: Set[str]) -> str:
    """Describe the arguments that are not shown yet."""
    others = {name: value for name, value in call.arguments.items() if name not in shown}
    return f"\n\n{_as_json(others)}" if others else ""


def _as_json(value: Any) -> str:
    """Return a value as JSON with indents."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _make_schema(call: ToolCallRunContent) -> dict[str, Any]:
    """Make the JSON schema of the answer: a decision, and a reason that may be left out."""
    answers = [APPROVE, APPROVE_FOR_SESSION, REJECT] if call.remembers else [APPROVE, REJECT]
    meaning = (
        _SESSION_MEANING.format(as_exact_text(", ".join(call.remembers))) if call.remembers else "Whether it may run"
    )
    return {
        "type": "object",
        "properties": {
            "decision": {"type": "string", "enum": answers, "description": meaning},
            "reason": _REASON_SCHEMA,
        },
        "required": ["decision"],
    }


def is_approved(answer: types.ElicitResult) -> bool:
    """Return whether the answer approves the call."""
    return _get_decision(answer) in (APPROVE, APPROVE_FOR_SESSION)


def is_remembered(answer: types.ElicitResult) -> bool:
    """Return whether the answer also approves similar calls in this session."""
    return _get_decision(answer) == APPROVE_FOR_SESSION


def _get_decision(answer: types.ElicitResult) -> object:
    """Return what the user chose. A client may send a value of any type."""
    return (answer.content or {}).get("decision") if answer.action == "accept" else None


def get_reason(answer: types.ElicitResult) -> str:
    """Return what the user wrote about a rejection, or ""."""
    return str((answer.content or {}).get("reason") or "")
