"""Owns the helpers that all reducers use to read and replace fields of JSON objects. A reducer is a function that
returns the state after an action. Pure. This module must not know the meaning of the fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    Reducer = Callable[["Json", "Json", int], "Json"]
    """Called with the state, the action, and the time in milliseconds. Returns the new state, or the same object if
    nothing changes."""

Json = dict[str, Any]
"""A JSON object: a state, an action, or a part of one."""


def omit_none(**fields: Any) -> Json:
    """Return the fields that are not None. In the protocol, a field without a value is absent and never null."""
    return {name: value for name, value in fields.items() if value is not None}


def replace_fields(state: Json, **fields: Any) -> Json:
    """Return a copy of the state with these fields replaced. None removes a field."""
    remaining = {name: value for name, value in state.items() if name not in fields}
    return {**remaining, **omit_none(**fields)}


def get_list(state: Json, name: str) -> list[Json]:
    """Return a field that is a list, or an empty list."""
    value = state.get(name)
    return cast("list[Json]", value) if isinstance(value, list) else []


def get_object(state: Json, name: str) -> Json:
    """Return a field that is an object, or an empty one."""
    value = state.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


def merge_config(config: Json, action: Json) -> Json:
    """Return a configuration with the values of an action. If the action has `replace`, all earlier values are
    removed."""
    values = {} if action.get("replace") else get_object(config, "values")
    return {**config, "values": {**values, **get_object(action, "config")}}
