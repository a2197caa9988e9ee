"""Owns the division of a project's settings: some hold at once, the others wait until the user trusts the folder. Pure.

Somebody else may have written the project, or a model. So a setting holds at once only if the tables below say so, and
only as far as it restricts what the other layers allow. A key that the tables do not name waits: so does each key that
is added to the schema later. `held_settings` is the neighbour: it describes what waits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pydantic.alias_generators import to_camel

from jupyter_eca.config.agents import CODE, EXPLORER, GENERAL, PLAN
from jupyter_eca.config.schema import Config, VariableDetail, VariablesConfig
from jupyter_eca.engine.approval.policy import Decision

Json = dict[str, Any]

NOTHING: Final = object()
"""Stands for a part of a division that is empty. None is a value that a file can have."""

Division = tuple[Any, Any]
"""What holds at once, and what waits."""
_Divide = Callable[[Any, Any], Division]
"""Divides a value. The second argument is the value of the layers below, or None."""

# These placeholders are replaced by something that is not in the file.
_PLACEHOLDER: Final = re.compile(r"\$\{(?:env|file|netrc|cmd):")

# From the loosest to the strictest, as they are declared.
_DECISIONS: Final = tuple(Decision)
_DETAILS: Final = tuple(VariableDetail)
_BUILT_IN: Final = frozenset({CODE, PLAN, EXPLORER, GENERAL})

# Keys that are read although they are no fields of the schema.
_OTHER_KEYS: Final = frozenset({"extraConfigs", "netrcFile"})
_KEYS: Final = frozenset(map(to_camel, Config.model_fields)) | _OTHER_KEYS


def divide(settings: Json, below: Json) -> tuple[Json, Json]:
    """Divide the settings of a project into those that hold at once and those that wait.

    `below` are the settings of the layers below. Keys that we do not read are left out.
    """
    read = {name: value for name, value in settings.items() if name in _KEYS}
    holds, waits = _divide_config(read, below)
    return _as_object(holds), _as_object(waits)


def _wait(value: Any, below: Any) -> Division:  # noqa: ARG001  # a `_Divide`
    return NOTHING, value


def _hold(value: Any, below: Any) -> Division:  # noqa: ARG001  # a `_Divide`
    return value, NOTHING


def _hold_literal(value: Any, below: Any) -> Division:  # noqa: ARG001  # a `_Divide`
    """Hold a value without placeholders: a variable of the environment may be a secret."""
    return (NOTHING, value) if _PLACEHOLDER.search(json.dumps(value)) else (value, NOTHING)


def _hold_if(is_strict: Callable[[Any, Any], bool]) -> _Divide:
    return lambda value, below: (value, NOTHING) if is_strict(value, below) else (NOTHING, value)


def _hold_fields(fields: Mapping[str, _Divide], rest: _Divide = _wait) -> _Divide:
    """Divide an object key by key. `rest` divides the keys that `fields` does not name."""

    def divide_fields(value: Any, below: Any) -> Division:
        if not isinstance(value, dict):
            return NOTHING, value
        holds: Json = {}
        waits: Json = {}
        under = _as_object(below)
        for name, item in cast("Json", value).items():
            holding, waiting = fields.get(name, rest)(item, under.get(name))
            if holding is not NOTHING:
                holds[name] = holding
            if waiting is not NOTHING:
                waits[name] = waiting
        return holds or NOTHING, waits or NOTHING

    return divide_fields


def _add_to_list(value: Any, below: Any) -> Division:
    """Hold a list together with that of the layers below, which it would replace."""
    if not isinstance(value, list):
        return NOTHING, value
    under = cast("list[Any]", below) if isinstance(below, list | tuple) else []
    return [*under, *(item for item in cast("list[Any]", value) if item not in under)], NOTHING


def _is_strict_decision(value: Any, below: Any) -> bool:
    under = below if below in _DECISIONS else Decision.ASK
    return value in _DECISIONS and _DECISIONS.index(value) >= _DECISIONS.index(under)


def _is_smaller(value: Any, below: Any) -> bool:
    """Return whether a limit is as low as the one below. None means that there is no limit."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (not isinstance(below, int | float) or value <= below)


def _is_always(rule: Any, below: Any) -> bool:  # noqa: ARG001  # the argument of `_hold_if`
    # The schema reads `args_matchers` too.
    return rule in ({}, {"argsMatchers": {}})


def _divide_variables(value: Any, below: Any) -> Division:
    """Hold what lets the model learn less about variables. An object would replace a word for all kinds, so the object
    that holds has all kinds."""
    current, wanted = _by_kind(below), _by_kind(value)
    less = {kind: detail for kind, detail in wanted.items() if _rank(detail) <= _rank(current[kind])}
    more = {kind: detail for kind, detail in wanted.items() if kind not in less}
    named = _as_object(value) or wanted
    waits = {kind: detail for kind, detail in more.items() if kind in named}
    return {**current, **less}, waits or NOTHING


def _by_kind(value: Any) -> dict[str, Any]:
    kinds = VariablesConfig.model_fields
    if isinstance(value, str):
        return dict.fromkeys(kinds, value)
    return {kind: _as_object(value).get(kind, VariableDetail.FULL.value) for kind in kinds}


def _rank(detail: Any) -> int:
    """Return how much a detail reveals. What is no detail counts as the most, so it waits, and the schema refuses it
    later."""
    return _DETAILS.index(detail) if detail in _DETAILS else len(_DETAILS)


def _divide_agents(value: Any, below: Any) -> Division:
    """Hold the restrictions of agents that exist already. A project's own agents wait as a whole."""
    known = _BUILT_IN | _as_object(below).keys()
    names = _as_object(value).keys()
    return _hold_fields({name: _divide_agent for name in names if name in known})(value, below)


def _as_object(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


# A rule for some arguments of an agent replaces the general rule for all arguments, so it waits.
_divide_agent: Final = _hold_fields(
    {
        "toolCall": _hold_fields(
            {"approval": _hold_fields({"deny": _hold, "ask": _hold_fields({}, _hold_if(_is_always))})}
        ),
        "disabledTools": _add_to_list,
    }
)

_divide_config: Final = _hold_fields(
    {
        "toolCall": _hold_fields(
            {
                "approval": _hold_fields({"deny": _hold, "ask": _hold, "byDefault": _hold_if(_is_strict_decision)}),
                "outputTruncation": _hold_literal,
            }
        ),
        "agent": _divide_agents,
        "disabledTools": _add_to_list,
        "defaultAgent": _hold_if(lambda value, _: value == PLAN),
        "chat": _hold_fields(
            {"defaultTrust": _hold_if(lambda value, _: value is False), "autoSyncSystemPrompt": _hold_literal}
        ),
        "notebook": _hold_fields({"lock": _hold_literal, "variables": _divide_variables}),
        "budget": _hold_fields({}, _hold_if(_is_smaller)),
        "mcpSampling": _hold_fields({"approval": _hold_if(_is_strict_decision)}),
        # The texts that a project brings for the model are read like its AGENTS.md.
        "rules": _hold_literal,
        "welcomeMessage": _hold_literal,
        "autoCompactPercentage": _hold_literal,
        "connectTimeoutSeconds": _hold_literal,
        "streamIdleTimeoutSeconds": _hold_literal,
        "mcpTimeoutSeconds": _hold_literal,
        "mcpKeepAliveSeconds": _hold_literal,
    }
)
