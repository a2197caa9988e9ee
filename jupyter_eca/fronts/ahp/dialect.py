"""How version 0.1.0 writes what the hub knows. The other half of it is `protocol.ahp`, whose docstring says what later
versions change."""

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
# In these null may mean something: they are a tool's or a model's own.
_OPAQUE: Final = frozenset({"structuredContent", "_meta", "values"})
# Streamed text, by what it is and where it goes.
_TEXT: Final = {"session/delta": "partId", "session/reasoning": "partId", "terminal/data": "terminal"}


def version(offered: Iterable[str]) -> str | None:
    return VERSION if VERSION in offered else None


def session_uri(chat: str) -> str:
    return _SCHEME + quote(chat, safe="")


def chat_of(uri: str) -> str | None:
    """None for what is no address of a session, or another spelling of one: addresses are compared as they are."""
    chat = unquote(uri.removeprefix(_SCHEME))
    return chat if chat and uri.startswith(_SCHEME) and session_uri(chat) == uri else None


def resource_of(action: Json) -> str:
    """Which state an action is about."""
    kind = str(action.get("type", "")).partition("/")[0]
    return str(action.get(kind, "")) if kind in {"session", "terminal"} else ROOT


def enveloped(envelope: Envelope) -> Json:
    said: Json = {"action": _written(envelope.action), "serverSeq": envelope.seq}
    if envelope.origin is not None:
        said["origin"] = {"clientId": envelope.origin.client, "clientSeq": envelope.origin.seq}
    if envelope.refused is not None:
        said["rejectionReason"] = envelope.refused
    return said


def _written(action: Json) -> Json:
    """The one field of an action in which null is written: nobody is the active client (section 1)."""
    if action.get("type") != "session/activeClientChanged":
        return action
    return {**action, "activeClient": action.get("activeClient")}


def action_message(envelope: Envelope) -> Notification:
    """The envelope is the params themselves: the pages that wrap it are out of date."""
    return Notification("action", enveloped(envelope))


def notification_message(notification: Json) -> Notification:
    return Notification("notification", {"notification": notification})


def snapped(snapshot: Snapshot) -> Json:
    return {"resource": snapshot.resource, "state": snapshot.state, "fromSeq": snapshot.seq}


def replayed(replay: MissedActions) -> Json:
    actions = [enveloped(envelope) for envelope in replay.envelopes]
    return {"type": "replay", "actions": actions, "missing": list(replay.missing)}


def heard(data: Any) -> Any:
    """As it came, without nulls: on input they mean that a field is absent."""
    if isinstance(data, dict):
        given = cast("Json", data)
        return {k: v if k in _OPAQUE else heard(v) for k, v in given.items() if v is not None}
    return [heard(one) for one in cast("list[Any]", data)] if isinstance(data, list) else data


def joined(one: Envelope, next: Envelope) -> Envelope | None:
    """Two pieces of one text as one envelope, numbered as the later: what a client that is behind is sent."""
    kind = one.action.get("type")
    place = _TEXT.get(str(kind))
    if place is None or one.resource != next.resource or next.action.get("type") != kind:
        return None
    if one.action.get(place) != next.action.get(place) or one.action.get("turnId") != next.action.get("turnId"):
        return None
    name = "data" if kind == "terminal/data" else "content"
    action = {**next.action, name: one.action[name] + next.action[name]}
    return type(next)(next.resource, action, next.seq)
