"""What the reducers are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    Reducer = Callable[["Json", "Json", int], "Json"]
    """State, action, the time in milliseconds; gives the state itself where nothing changes."""

Json = dict[str, Any]


def present(**fields: Any) -> Json:
    """Fields that are not there are absent, never null."""
    return {name: value for name, value in fields.items() if value is not None}


def put(state: Json, **fields: Any) -> Json:
    """With these fields; None takes one away."""
    kept = {name: value for name, value in state.items() if name not in fields}
    return {**kept, **present(**fields)}


def items(state: Json, name: str) -> list[Json]:
    found = state.get(name)
    return cast("list[Json]", found) if isinstance(found, list) else []


def record(state: Json, name: str) -> Json:
    """An object that may not be there."""
    found = state.get(name)
    return cast("Json", found) if isinstance(found, dict) else {}


def merged(config: Json, action: Json) -> Json:
    """The values of a configuration, with what the action says over or in place of them."""
    values = {} if action.get("replace") else record(config, "values")
    return {**config, "values": {**values, **record(action, "config")}}
