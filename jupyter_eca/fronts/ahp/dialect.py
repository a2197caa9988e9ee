"""Owns how the content of the hub is written in version 0.1.0.

It must not know a connection. The other half is `protocol/ahp/`, whose docstring says what later versions change.
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

_SCHEME: Final = f"{PROVIDER}:/"
# Fields in which null may have a meaning: they belong to a tool or a model.
_OPAQUE: Final = frozenset({"structuredContent", "_meta", "values"})
# How many levels of objects and lists a client's message may have. The schemas of tools, the deepest messages that
# clients need, have some twenty. Every part of this program that reads the JSON of a client can handle this depth.
MAX_DEPTH: Final = 100
# Actions that stream text, each with the field that says to which part the text belongs.
_TEXT: Final = {"session/delta": "partId", "session/reasoning": "partId", "terminal/data": "terminal"}


def choose_version(offered: Iterable[str]) -> str | None:
    return VERSION if VERSION in offered else None


def make_session_uri(chat: str) -> str:
    return _SCHEME + quote(chat, safe="")


def parse_chat(uri: str) -> str | None:
    """Return the chat of a session's URI. None for any other URI, also for another spelling of it: URIs are compared as
    text."""
    chat = unquote(uri.removeprefix(_SCHEME))
    return chat if chat and uri.startswith(_SCHEME) and make_session_uri(chat) == uri else None


def find_resource(action: Json) -> str:
    """Return the URI of the state that an action changes."""
    kind = str(action.get("type", "")).partition("/")[0]
    return str(action.get(kind, "")) if kind in {"session", "terminal"} else ROOT


def write_envelope(envelope: Envelope) -> Json:
    message: Json = {"action": _write_action(envelope.action), "serverSeq": envelope.seq}
    if envelope.origin is not None:
        message["origin"] = {"clientId": envelope.origin.client, "clientSeq": envelope.origin.seq}
    if envelope.refused is not None:
        message["rejectionReason"] = envelope.refused
    return message


def _write_action(action: Json) -> Json:
    """Write null in the one field that needs it: no client is active (section 1)."""
    if action.get("type") != "session/activeClientChanged":
        return action
    return {**action, "activeClient": action.get("activeClient")}


def write_action_message(envelope: Envelope) -> Notification:
    """Write an action. The envelope itself is the params: the pages of the specification that wrap it are outdated."""
    return Notification("action", write_envelope(envelope))


def write_notification(notification: Json) -> Notification:
    return Notification("notification", {"notification": notification})


def write_snapshot(snapshot: Snapshot) -> Json:
    return {"resource": snapshot.resource, "state": snapshot.state, "fromSeq": snapshot.seq}


def write_replay(replay: MissedActions) -> Json:
    actions = [write_envelope(envelope) for envelope in replay.envelopes]
    return {"type": "replay", "actions": actions, "missing": list(replay.missing)}


def is_nested_too_deeply(data: Any) -> bool:
    level: list[Any] = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [child for node in level for child in _list_children(node)]
        if not level:
            return False
    return True


def _list_children(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return cast("Json", node).values()
    return cast("list[Any]", node) if isinstance(node, list) else ()


def keep_scalars(action: Json) -> Json:
    """Return the fields of an action that are neither objects nor lists."""
    return {name: value for name, value in action.items() if isinstance(value, str | int | float)}


def drop_nulls(data: Any) -> Any:
    """Return a client's message without nulls: on input they mean that a field is absent."""
    if isinstance(data, dict):
        fields = cast("Json", data)
        return {k: v if k in _OPAQUE else drop_nulls(v) for k, v in fields.items() if v is not None}
    return [drop_nulls(item) for item in cast("list[Any]", data)] if isinstance(data, list) else data


def join_text(earlier: Envelope, next: Envelope) -> Envelope | None:
    """Join two pieces of one text to an envelope with the later number, for a client that is behind.

    Returns None if they belong to different texts.
    """
    kind = earlier.action.get("type")
    place = _TEXT.get(str(kind))
    if place is None or earlier.resource != next.resource or next.action.get("type") != kind:
        return None
    if earlier.action.get(place) != next.action.get(place) or earlier.action.get("turnId") != next.action.get("turnId"):
        return None
    name = "data" if kind == "terminal/data" else "content"
    action = {**next.action, name: earlier.action[name] + next.action[name]}
    return type(next)(next.resource, action, next.seq)
