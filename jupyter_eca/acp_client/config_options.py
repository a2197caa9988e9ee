"""Reads the options of a session (`configOptions`), for example the agent's model, as options to show. Pure.

It must not know the mode of a session: `updates.py` reads it, because a mode decides what the agent asks about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from jupyter_eca.protocol.lifecycle import AgentOption, AgentOptionValue

Json = Mapping[str, Any]

MODE: Final = "mode"
"""The category, and for some agents the id, of the option that is the mode."""

# The categories of options that a user of ours may choose. Another option may let the agent act without asking, and
# is set in the agent's own configuration.
_CHOOSABLE: Final = frozenset({"model", "model_config", "thought_level"})

ON: Final = "true"
"""The value of a switch that is on. The agent sends `true` as JSON, and the values of our options are texts."""
OFF: Final = "false"
"""The value of a switch that is off."""


def read_config_options(fields: Json) -> tuple[AgentOption, ...]:
    """Return the options in the fields of a message of the agent. The message is an update, or the answer to a request
    that opens a session or sets an option. The mode is left out, and so is an option that is malformed."""
    return tuple(filter(None, map(_read_option, list_objects(fields.get("configOptions")))))


def _read_option(fields: Json) -> AgentOption | None:
    """Return one option; None for the mode, and for an option without an id."""
    id, category = fields.get("id"), str(fields.get("category") or "")
    if not isinstance(id, str) or not id or MODE in {id, category}:
        return None
    current = fields.get("currentValue")
    is_switch = isinstance(current, bool)
    if is_switch:
        value = ON if current else OFF
        values = (AgentOptionValue(value=ON, name="on"), AgentOptionValue(value=OFF, name="off"))
    else:
        value = str(current or "")
        values = tuple(filter(None, map(_read_value, list_values(fields.get("options")))))
    return AgentOption(
        id=id,
        name=str(fields.get("name") or id),
        description=str(fields.get("description") or ""),
        category=category,
        value=value,
        values=values,
        is_switch=is_switch,
        can_choose=category in _CHOOSABLE,
    )


def get_value_name(option: AgentOption) -> str:
    """Return the name of the present value for the user; the value itself if the agent gives it no name."""
    return next((known.name for known in option.values if known.value == option.value), option.value)


def _read_value(fields: Json) -> AgentOptionValue | None:
    """Return one value of an option; None if it is no text."""
    value = fields.get("value")
    if not isinstance(value, str):
        return None
    return AgentOptionValue(value=value, name=str(fields.get("name") or value))


def list_values(options: Any) -> Iterator[Json]:
    """Yield the values of an option. `options` is the list of values, or a list of groups that have such lists."""
    for item in list_objects(options):
        if "options" in item:
            yield from list_objects(item["options"])
        else:
            yield item


def list_objects(value: Any) -> list[Json]:
    """Return the objects of a list; an empty list for any other value."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Json", item) for item in items if isinstance(item, Mapping)]
