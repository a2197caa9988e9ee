"""What a client of any revision says, in the newest one's words. What makes no sense is left as it is, for the models
to refuse; ids and fields that we do not know (`requestId`) are never touched."""

from __future__ import annotations

from typing import Any, Final, cast

from pydantic.alias_generators import to_camel

from jupyter_eca.protocol.dialect import agent_names
from jupyter_eca.protocol.dialect.detect import Dialect

Data = dict[str, Any]

_AGENT_FIELDS: Final = {
    "chat/prompt": ("agent", "behavior"),
    "chat/selectedAgentChanged": ("agent",),
    "chat/selectedBehaviorChanged": ("behavior",),
}
_COUNTS: Final = ("line", "character")


def incoming(dialect: Dialect, method: str, params: Any) -> Any:
    """Parameters of a request or a notification."""
    if not isinstance(params, dict):
        return params
    data = {_named(name): value for name, value in cast("Data", params).items()}
    if method == "initialize" and isinstance(options := data.get("initializationOptions"), dict):
        return {**data, "initializationOptions": _options(cast("Data", options))}
    if dialect is not Dialect.OWN and isinstance(contexts := data.get("contexts"), list):
        data["contexts"] = [_context(context) for context in cast("list[Any]", contexts)]
    fields = [field for field in _AGENT_FIELDS.get(method, ()) if isinstance(data.get(field), str)]
    return {**data, **{field: agent_names.today(data[field]) for field in fields}}


def _context(context: Any) -> Any:
    """With a cursor counted from 0. No document says from where; Emacs, VS Code and IntelliJ count from 1 today, and
    VS Code did not always: a 0 anywhere is the proof."""
    if isinstance(context, dict) and cast("Data", context).get("type") == "cursor" and 0 not in _counts(context):
        return _one_less(context)
    return cast("Any", context)


def _named(field: str) -> str:
    """Emacs writes some fields of today with hyphens: `job-id`, `doc-text`, `doc-version`."""
    return to_camel(field.replace("-", "_")) if "-" in field else field


def _options(options: Data) -> Data:
    """Each revision has a name of its own for the agent of chats to come, and the configuration a third."""
    chosen = options.get("chatAgent") or options.get("chatBehavior")
    return {"defaultAgent": agent_names.today(chosen), **options} if isinstance(chosen, str) else options


def diagnostics(dialect: Dialect, answer: Any) -> Any:
    """A client's answer to `editor/getDiagnostics`, counted from 0.

    Seed 000 counts from 1, and not all of its clients do: a 0 anywhere is the proof.
    """
    if dialect is not Dialect.NEWER or 0 in _counts(answer):
        return answer
    return _one_less(answer)


def _counts(data: Any) -> list[int]:
    match data:
        case [*items]:
            return [count for item in items for count in _counts(item)]
        case {"line": int(line), "character": int(character)}:
            return [line, character]
        case {**members}:
            return [count for member in members.values() for count in _counts(member)]
        case _:
            return []


def _one_less(data: Any) -> Any:
    match data:
        case [*items]:
            return [_one_less(item) for item in items]
        case {"line": int(), "character": int(), **rest}:
            return {**{name: data[name] - 1 for name in _COUNTS}, **rest}
        case {**members}:
            return {name: _one_less(member) for name, member in members.items()}
        case _:
            return data
