"""Translates the messages of a client into the words of the newest revision of ECA.

It must not judge a message: a value of the wrong shape is passed on unchanged, and the models refuse it. Ids and
unknown fields (`requestId`) are never changed. `outgoing` is its neighbour: it translates in the other direction.
"""

from __future__ import annotations

from typing import Any, Final, cast

from pydantic.alias_generators import to_camel

from jupyter_eca.protocol.dialect import agent_names
from jupyter_eca.protocol.dialect.detect import Dialect

Data = dict[str, Any]
"""A message or a part of one, as data for JSON."""

# By method, the fields that have the name of an agent.
_AGENT_FIELDS: Final = {
    "chat/prompt": ("agent", "behavior"),
    "chat/selectedAgentChanged": ("agent",),
    "chat/selectedBehaviorChanged": ("behavior",),
}
_POSITION_FIELDS: Final = ("line", "character")


def translate_incoming(dialect: Dialect, method: str, params: Any) -> Any:
    """Translate the parameters of a request or a notification."""
    if not isinstance(params, dict):
        return params
    data = {_rename_field(name): value for name, value in cast("Data", params).items()}
    if method == "initialize" and isinstance(options := data.get("initializationOptions"), dict):
        return {**data, "initializationOptions": _translate_options(cast("Data", options))}
    if dialect is not Dialect.OWN and isinstance(contexts := data.get("contexts"), list):
        data["contexts"] = [_translate_context(context) for context in cast("list[Any]", contexts)]
    fields = [field for field in _AGENT_FIELDS.get(method, ()) if isinstance(data.get(field), str)]
    return {**data, **{field: agent_names.to_current_name(data[field]) for field in fields}}


def _translate_context(context: Any) -> Any:
    """Make a cursor context count from 0.

    No document says whether cursors count from 0 or 1. Emacs, VS Code and IntelliJ count from 1 today; older versions
    of VS Code do not. If any position is 0, the client counts from 0.
    """
    if (
        isinstance(context, dict)
        and cast("Data", context).get("type") == "cursor"
        and 0 not in _list_positions(context)
    ):
        return _subtract_one(context)
    return cast("Any", context)


def _rename_field(field: str) -> str:
    """Return the field's name in camelCase. Emacs writes some fields with hyphens: `job-id`, `doc-text`."""
    return to_camel(field.replace("-", "_")) if "-" in field else field


def _translate_options(options: Data) -> Data:
    """Add the configuration key `defaultAgent`: the agent of new chats, for which each revision has another name."""
    chosen = options.get("chatAgent") or options.get("chatBehavior")
    return {"defaultAgent": agent_names.to_current_name(chosen), **options} if isinstance(chosen, str) else options


def translate_diagnostics(dialect: Dialect, answer: Any) -> Any:
    """Make a client's answer to `editor/getDiagnostics` count from 0.

    Revision 000 (`Dialect.OLDER`) counts from 1, but not all of its clients do. If any position is 0, the client counts
    from 0.
    """
    if dialect is not Dialect.OLDER or 0 in _list_positions(answer):
        return answer
    return _subtract_one(answer)


def _list_positions(data: Any) -> list[int]:
    """Return all line and character numbers in the data."""
    match data:
        case [*items]:
            return [number for item in items for number in _list_positions(item)]
        case {"line": int(line), "character": int(character)}:
            return [line, character]
        case {**members}:
            return [number for member in members.values() for number in _list_positions(member)]
        case _:
            return []


def _subtract_one(data: Any) -> Any:
    """Return a copy whose line and character numbers are smaller by 1."""
    match data:
        case [*items]:
            return [_subtract_one(item) for item in items]
        case {"line": int(), "character": int(), **other_fields}:
            return {**{name: data[name] - 1 for name in _POSITION_FIELDS}, **other_fields}
        case {**members}:
            return {name: _subtract_one(member) for name, member in members.items()}
        case _:
            return data
