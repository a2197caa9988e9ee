"""Owns the parts of the wire format of AHP 0.1.0 (Agent Host Protocol) that are not models. It writes actions,
snapshots and notifications of the hub as messages, and writes and parses the URIs of sessions. It also says what is
removed from clients' messages. An action is a JSON object that changes a state which host and clients share, such as a
session. An envelope is an action with its number, and with the client that sent it.

It must not know a connection. The models are in `protocol/ahp/`, whose docstring says what later versions change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, unquote

from jupyter_eca.protocol.ahp import PROVIDER, ROOT, VERSION
from jupyter_eca.protocol.jsonrpc import Notification

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.fronts.ahp.hub import Envelope, MissedActions, Snapshot
    from jupyter_eca.fronts.ahp.reducers.base import Json

# How the URI of a session begins. The id of its chat follows.
_SCHEME: Final = f"{PROVIDER}:/"
# Fields whose content belongs to a tool or a model. A null in them may have a meaning, so it is kept.
_OPAQUE: Final = frozenset({"structuredContent", "_meta", "values"})
# The actions that stream text. For each of them, the field that says which part of the state the text belongs to.
_TEXT_ACTIONS: Final = {"session/delta": "partId", "session/reasoning": "partId", "terminal/data": "terminal"}


def choose_version(offered: Iterable[str]) -> str | None:
    """Return our version if the client offers it; None if the client offers only other versions."""
    return VERSION if VERSION in offered else None


def make_session_uri(chat: str) -> str:
    """Return the URI of the session that shows a chat."""
    return _SCHEME + quote(chat, safe="")


def parse_chat(uri: str) -> str | None:
    """Return the id of the chat that a session's URI names; None for any other URI.

    A session's URI in another spelling also gives None, because the protocol compares URIs as text.
    """
    chat = unquote(uri.removeprefix(_SCHEME))
    return chat if chat and uri.startswith(_SCHEME) and make_session_uri(chat) == uri else None


def find_resource(action: Json) -> str:
    """Return the URI of the state that an action changes. Its type names the field with the URI:
    `{"type": "session/delta", "session": URI}`. An action of any other type changes the root."""
    kind = str(action.get("type", "")).partition("/")[0]
    return str(action.get(kind, "")) if kind in {"session", "terminal"} else ROOT


def write_envelope(envelope: Envelope) -> Json:
    """Return an action as it is sent, with its number, the client that sent it, and the reason if it was refused."""
    message: Json = {"action": _write_action(envelope.action), "serverSeq": envelope.seq}
    if envelope.origin is not None:
        message["origin"] = {"clientId": envelope.origin.client, "clientSeq": envelope.origin.seq}
    if envelope.refusal is not None:
        message["rejectionReason"] = envelope.refusal
    return message


def _write_action(action: Json) -> Json:
    """Return the action as it is sent. If no client is active, `activeClient` must be null (section 1 of the
    specification). It is the only field that is null and not absent."""
    if action.get("type") != "session/activeClientChanged":
        return action
    return {**action, "activeClient": action.get("activeClient")}


def write_action_message(envelope: Envelope) -> Notification:
    """Return the message with an action. The envelope itself is the params. Some pages of the specification wrap the
    envelope in another object, but these pages are outdated."""
    return Notification("action", write_envelope(envelope))


def write_notification(notification: Json) -> Notification:
    """Return the message with a notification of the hub."""
    return Notification("notification", {"notification": notification})


def write_snapshot(snapshot: Snapshot) -> Json:
    """Return a snapshot of a state as it is sent."""
    return {"resource": snapshot.resource, "state": snapshot.state, "fromSeq": snapshot.seq}


def write_replay(replay: MissedActions) -> Json:
    """Return the actions that a client has missed as they are sent."""
    actions = [write_envelope(envelope) for envelope in replay.envelopes]
    return {"type": "replay", "actions": actions, "missing": list(replay.missing)}


def keep_scalars(action: Json) -> Json:
    """Return the fields of an action that are neither objects nor lists. Used to refuse an action that is nested too
    deeply: the refusal repeats the action."""
    return {name: value for name, value in action.items() if isinstance(value, str | int | float)}


def drop_nulls(data: Any) -> Any:
    """Return a client's message without nulls. In a message of a client, null means that the field is absent."""
    if isinstance(data, dict):
        fields = cast("Json", data)
        return {
            name: value if name in _OPAQUE else drop_nulls(value) for name, value in fields.items() if value is not None
        }
    return [drop_nulls(item) for item in cast("list[Any]", data)] if isinstance(data, list) else data


def join_text(earlier: Envelope, later: Envelope) -> Envelope | None:
    """Join two pieces of one text to one envelope with the number of the later one, for a client that reads slowly.

    Returns None if the envelopes are not pieces of the same text.
    """
    kind = earlier.action.get("type")
    part_field = _TEXT_ACTIONS.get(str(kind))
    if part_field is None or earlier.resource != later.resource or later.action.get("type") != kind:
        return None
    if any(earlier.action.get(field) != later.action.get(field) for field in (part_field, "turnId")):
        return None
    name = "data" if kind == "terminal/data" else "content"
    action = {**later.action, name: earlier.action[name] + later.action[name]}
    return type(later)(later.resource, action, later.seq)
