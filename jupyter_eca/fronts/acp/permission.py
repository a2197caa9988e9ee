"""Owns the request by which a client's user approves a tool call, and the meaning of its answer. Pure.

It must not know the session: `session.py` sends the request and passes the answer on.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from jupyter_eca.engine.text.exact_text import as_exact_text
from jupyter_eca.protocol.acp.requests import PermissionAnswer, PermissionChoice, PermissionRequest

if TYPE_CHECKING:
    from jupyter_eca.protocol.acp.updates import CallFields
    from jupyter_eca.protocol.content import ToolCallRunContent

# The ids of the options. A client sends the id of the option that its user has chosen.
_ALLOW: Final = "allow"
_ALLOW_IN_CHAT: Final = "allow-in-chat"
_REJECT: Final = "reject"


class PermissionDecision(Enum):
    """What the answer to a request means."""

    ALLOW = auto()
    ALLOW_IN_CHAT = auto()
    REJECT = auto()
    CANCEL = auto()
    """The user has cancelled the turn."""
    NONE = auto()
    """The answer is not one of the offered options. It does not allow the call."""


# What each option means.
_DECISIONS: Final = {
    _ALLOW: PermissionDecision.ALLOW,
    _ALLOW_IN_CHAT: PermissionDecision.ALLOW_IN_CHAT,
    _REJECT: PermissionDecision.REJECT,
}


def make_request(session: str, call: ToolCallRunContent, fields: CallFields) -> PermissionRequest:
    """Make the request for permission to run a call. `session` is the id of the session, and `fields` are the fields of
    the call as the client shows them.

    The option "Allow in this chat" also approves later calls, and its text names them (`call.remembers`). It is left
    out if the engine would remember nothing, for example for a call that changes the assistant's own rules.
    """
    choices = [PermissionChoice(option_id=_ALLOW, name="Allow", kind="allow_once")]
    if call.remembers:
        name = f"Allow in this chat: {as_exact_text(', '.join(call.remembers))}"
        choices.append(PermissionChoice(option_id=_ALLOW_IN_CHAT, name=name, kind="allow_always"))
    choices.append(PermissionChoice(option_id=_REJECT, name="Reject", kind="reject_once"))
    return PermissionRequest(session_id=session, tool_call=fields, options=tuple(choices))


def parse_answer(answer: Any, request: PermissionRequest) -> PermissionDecision:
    """Return the decision in the result of a request. Only an option that was offered can allow something."""
    try:
        outcome = PermissionAnswer.model_validate(answer).outcome
    except ValidationError:
        return PermissionDecision.NONE
    if outcome.outcome == "cancelled":
        return PermissionDecision.CANCEL
    offered = {choice.option_id for choice in request.options}
    if outcome.outcome != "selected" or outcome.option_id not in offered:
        return PermissionDecision.NONE
    return _DECISIONS[outcome.option_id]
