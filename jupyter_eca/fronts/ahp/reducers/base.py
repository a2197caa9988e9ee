"""Owns the helpers that all reducers use: reading and replacing fields of JSON objects. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    Reducer = Callable[["Json", "Json", int], "Json"]
    """State, action, the time in milliseconds; gives the state itself where nothing changes."""

Json = dict[str, Any]


def omit_none(**fields: Any) -> Json:
    """Return the fields that are not None: in the protocol a field is absent, never null."""
    return {name: value for name, value in fields.items() if value is not None}


def put(state: Json, **fields: Any) -> Json:
    """Return the state with these fields replaced. None removes a field."""
    remaining = {name: value for name, value in state.items() if name not in fields}
    return {**remaining, **omit_none(**fields)}


def items(state: Json, name: str) -> list[Json]:
    """Return a field that is a list, or an empty list."""
    value = state.get(name)
    return cast("list[Json]", value) if isinstance(value, list) else []


def record(state: Json, name: str) -> Json:
    """Return a field that is an object, or an empty one."""
    value = state.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


def merge_config(config: Json, action: Json) -> Json:
    """Return a configuration whose values an action has changed or, with `replace`, replaced."""
    values = {} if action.get("replace") else record(config, "values")
    return {**config, "values": {**values, **record(action, "config")}}
