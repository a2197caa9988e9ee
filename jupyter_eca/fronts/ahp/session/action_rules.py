"""Owns the rules that decide whether an action of a client is allowed in the current state (section 9 of the
specification of the Agent Host Protocol). An action is a message that changes the state of a session or a terminal.
Pure.

Each function `refuse_...` returns the reason why the action is refused, or None if it is allowed. This module must not
change anything: `session.py` and `terminals/` apply the allowed actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object
from jupyter_eca.fronts.ahp.reducers.status import list_calls
from jupyter_eca.fronts.ahp.session.config import AUTO
from jupyter_eca.fronts.ahp.session.tool_calls import OPTIONS
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.ahp.content import FilledAnswer
from jupyter_eca.protocol.content import MAX_TITLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.protocol.ahp.content import Answer, UserMessage

# The longest message in characters, with its attachments. Every message is stored, and sent to all subscribers.
MAX_MESSAGE_CHARACTERS: Final = 8 * 1024 * 1024

# For each kind of question, the kind of value that answers it.
_VALUE_KINDS: Final = {
    "text": "text",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "single-select": "selected",
    "multi-select": "selected-many",
}
# For each kind of value, its types in Python.
_PYTHON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "text": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "selected": (str,),
    "selected-many": (list, tuple),
}


def refuse_session_action(state: Json, action: actions.SessionAction, client: str) -> str | None:
    """Check an action on a session. `client` is the id of the client that sent it. Actions that are not mentioned here
    are always allowed."""
    match action:
        case actions.TurnStarted():
            return _refuse_turn(state, action)
        case actions.TitleChanged(title=title):
            return _refuse_title(title)
        case actions.TurnCancelled(turn_id=turn):
            return None if get_object(state, "activeTurn").get("id") == turn else "That turn is not active."
        case actions.ToolCallApproved() | actions.ToolCallDenied():
            return _refuse_decision(state, action)
        case actions.ToolCallComplete() | actions.ToolCallContentChanged():
            return _refuse_result(state, action, client)
        case actions.ToolCallResultConfirmed():
            call = _find_call(state, action)
            waits = call is not None and call["status"] == "pending-result-confirmation"
            return None if waits else "The result of that call does not wait for a confirmation."
        case actions.ActiveClientChanged() | actions.ActiveClientToolsChanged():
            return _refuse_claim(state, action, client)
        case actions.CustomizationToggled(uri=uri):
            return _refuse_toggle(state, uri)
        case actions.ConfigChanged(config=config):
            return refuse_config(get_object(state, "config"), config)
        case actions.TurnsTruncated(turn_id=turn) if turn is not None:
            exists = any(known_turn["id"] == turn for known_turn in get_list(state, "turns"))
            return None if exists else "There is no such turn."
        case actions.PendingMessageSet(user_message=message):
            return _refuse_message(message)
        case actions.PendingMessageRemoved():
            return _refuse_removal(state, action)
        case actions.InputAnswerChanged() | actions.InputCompleted():
            return _refuse_input(state, action)
        case _:
            return None


def is_approval(action: actions.SessionAction) -> bool:
    """Return whether an action needs the right to approve. Such actions approve a tool call, answer a question, or turn
    on the approval of all calls."""
    match action:
        case actions.ToolCallApproved() | actions.InputAnswerChanged() | actions.InputCompleted():
            return True
        case actions.ConfigChanged(config=config):
            return config.get("approval") == AUTO
        case _:
            return False


def refuse_terminal_action(state: Json, action: actions.TerminalAction, client: str) -> str | None:
    """Check an action on a terminal. `client` is the id of the client that sent it."""
    if isinstance(action, actions.TerminalClaimed):
        claim = state["claim"]
        if not (claim["kind"] == "client" and claim["clientId"] == client):
            return "Only the client that holds the terminal can give it away."
    if isinstance(action, actions.TerminalTitleChanged):
        return _refuse_title(action.title)
    if isinstance(action, actions.TerminalInput | actions.TerminalResized) and "exitCode" in state:
        return "The terminal has ended."
    return None


def _refuse_turn(state: Json, action: actions.TurnStarted) -> str | None:
    """Check the start of a turn."""
    if state.get("lifecycle") == "creationFailed":
        return "The session could not be created."
    if state.get("activeTurn"):
        return "A turn is active: wait for its end, cancel it, or queue the message."
    if any(turn["id"] == action.turn_id for turn in get_list(state, "turns")):
        return "There is already a turn of that id."
    if (queued := action.queued_message_id) is not None:
        waiting = {
            message["id"]
            for message in (*get_list(state, "queuedMessages"), get_object(state, "steeringMessage"))
            if message
        }
        if queued not in waiting:
            return "No queued message has that id."
    return _refuse_message(action.user_message)


def _refuse_title(title: str) -> str | None:
    """Check that a title is not too long."""
    return None if len(title) <= MAX_TITLE else f"The title is longer than {MAX_TITLE} characters."


def _refuse_message(message: UserMessage) -> str | None:
    """Check that a message is neither empty nor too long. Only attachments that contain their data add to its size."""
    if not message.text.strip() and not message.attachments:
        return "The message is empty."
    size = len(message.text) + sum(
        len(str(getattr(attachment, "data", ""))) for attachment in message.attachments or ()
    )
    is_short_enough = size <= MAX_MESSAGE_CHARACTERS
    return None if is_short_enough else f"The message is longer than {MAX_MESSAGE_CHARACTERS} characters."


def _find_call(state: Json, action: actions.CallScoped) -> Json | None:
    """Return the tool call of the active turn that an action is about; None if there is no such call."""
    turn = get_object(state, "activeTurn")
    if turn.get("id") != action.turn_id:
        return None
    return next((call for call in list_calls(turn) if call["toolCallId"] == action.tool_call_id), None)


def _refuse_decision(state: Json, action: actions.ToolCallApproved | actions.ToolCallDenied) -> str | None:
    """Check the approval or denial of a tool call."""
    call = _find_call(state, action)
    if call is None or call["status"] != "pending-confirmation":
        return "That call does not wait for a confirmation."
    option = action.selected_option_id
    kind = "approve" if isinstance(action, actions.ToolCallApproved) else "deny"
    if option is not None and OPTIONS.get(option) != kind:
        return "There is no such option."
    if isinstance(action, actions.ToolCallApproved) and action.edited_tool_input is not None:
        return "The input of this call cannot be edited."
    return None


def _refuse_result(
    state: Json, action: actions.ToolCallComplete | actions.ToolCallContentChanged, client: str
) -> str | None:
    """Check the result of a tool call, which only the client that owns the tool may send."""
    call = _find_call(state, action)
    if call is None or call["status"] != "running":
        return "That call is not running."
    if call.get("toolClientId") != client:
        return "That call belongs to another client."
    if isinstance(action, actions.ToolCallComplete) and action.requires_result_confirmation:
        return "This host does not confirm results."
    return None


def _refuse_claim(
    state: Json, action: actions.ActiveClientChanged | actions.ActiveClientToolsChanged, client: str
) -> str | None:
    """Check a change of the active client (the one whose tools the model can call), or of its tools. Only the active
    client may change its tools or give up its role. Another client can become the active client when there is none."""
    holder = get_object(state, "activeClient").get("clientId")
    if isinstance(action, actions.ActiveClientToolsChanged) or action.active_client is None:
        return None if holder == client else "You are not the active client."
    if holder not in {None, client}:
        return "Another client is the active client."
    return None if action.active_client.client_id == client else "A client can only claim a session for itself."


def _refuse_toggle(state: Json, uri: str) -> str | None:
    """Check that a customization can be disabled: it is an MCP server, or comes from a client."""
    for customization in get_list(state, "customizations"):
        if customization["customization"]["uri"] == uri:
            return (
                None
                if uri.startswith("mcp:") or "clientId" in customization
                else "This customization cannot be disabled."
            )
    return "There is no such customization."


def refuse_config(config: Json, values: Mapping[str, Any]) -> str | None:
    """Check that the schema of a session's configuration (`config["schema"]`) allows these values."""
    properties = get_object(get_object(config, "schema"), "properties")
    for name, value in values.items():
        schema = get_object(properties, name)
        if not schema.get("sessionMutable"):
            return f"{name} cannot be changed."
        if not isinstance(value, str) or value not in schema.get("enum", ()):
            return f"{name} cannot have that value."
    return None


def _refuse_removal(state: Json, action: actions.PendingMessageRemoved) -> str | None:
    """Check that the message to remove is queued, or is the steering message."""
    steering = [get_object(state, "steeringMessage")] if state.get("steeringMessage") else []
    messages = steering if action.kind == "steering" else get_list(state, "queuedMessages")
    return None if any(message["id"] == action.id for message in messages) else "There is no such message."


def _refuse_input(state: Json, action: actions.InputAnswerChanged | actions.InputCompleted) -> str | None:
    """Check an answer to an input request, or the end of the request."""
    request = next(
        (
            input_request
            for input_request in get_list(state, "inputRequests")
            if input_request["id"] == action.request_id
        ),
        None,
    )
    if request is None:
        return "There is no such question."
    questions = {question["id"]: question for question in get_list(request, "questions")}
    if isinstance(action, actions.InputAnswerChanged):
        return None if action.answer is None else _refuse_answer(questions.get(action.question_id), action.answer)
    for id, answer in (action.answers or {}).items():
        if reason := _refuse_answer(questions.get(id), answer):
            return reason
    if action.response == "accept":
        return _refuse_incomplete(questions, get_object(request, "answers"), action.answers or {})
    return None


def _refuse_incomplete(questions: Mapping[str, Json], before: Json, now: Mapping[str, Answer]) -> str | None:
    """Check that all required questions are answered, either by the answers that were stored `before` or by those that
    the client sends `now`. Both have the ids of the questions as keys."""
    for id, question in questions.items():
        state = now[id].state if id in now else get_object(before, id).get("state")
        if question.get("required") and state != "submitted":
            return "A required question is not answered."
    return None


def _refuse_answer(question: Json | None, answer: Answer) -> str | None:
    """Check that an answer fits its question. An answer that skips the question always fits. `question` is None if
    there is no question with this id."""
    if question is None:
        return "There is no such question."
    if not isinstance(answer, FilledAnswer):
        return None  # the user has skipped the question
    kind, value = answer.value.kind, answer.value.value
    fitting = kind == _VALUE_KINDS.get(str(question["kind"])) and isinstance(value, _PYTHON_TYPES[kind])
    if not fitting or (kind == "number" and isinstance(value, bool)):  # in Python, a bool is an int
        return "The answer does not fit the question."
    known = {option["id"] for option in get_list(question, "options")}
    if kind == "selected" and not answer.value.freeform_values and value not in known:
        return "That answer is not one of the options."
    if kind == "selected-many" and not known.issuperset(value):
        return "That answer is not one of the options."
    return None if answer.state == "draft" else _refuse_value(question, value)


def _refuse_value(question: Json, value: Any) -> str | None:
    """Check that a submitted value is within the bounds `min` and `max`. They are for the number itself, for the length
    of a text, or for how many options are selected. A draft may be out of bounds, because the user is still typing."""
    size = value if isinstance(value, int | float) else len(value)
    if question["kind"] == "integer" and isinstance(size, float) and not size.is_integer():
        return "The answer is not a whole number."
    if question["kind"] != "single-select" and not question.get("min", size) <= size <= question.get("max", size):
        return "The answer is out of bounds."
    return None
