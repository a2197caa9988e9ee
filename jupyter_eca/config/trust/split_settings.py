"""Splits a project's settings: some apply at once, and the others wait until the user trusts the folder. The neighbours
call the others "held". Pure.

It must not ask the user or describe the settings: its neighbour `held_settings` describes those that wait.

Somebody else, or a model, may have written the files of the project. So a setting applies at once only if it restricts
what the earlier layers (the user's own file, for example) allow, or if it can do no harm. The two tables at the end of
this module say which settings these are. A key that they do not name waits. So a key that is added to the schema later
waits too, until somebody adds it to a table.

    {"toolCall": {"approval": {"deny": {...}, "allow": {...}}}}    ->    `deny` applies, `allow` waits
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pydantic.alias_generators import to_camel

from jupyter_eca.config.agents import CODE, EXPLORER, GENERAL, PLAN, TUTOR
from jupyter_eca.config.schema import Config, VariableDetail, VariablesConfig
from jupyter_eca.config.trust.linear_patterns import takes_linear_time
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.protocol.changes import ReviewTime

Json = dict[str, Any]

NOTHING: Final = object()
"""Stands for an empty part of a split value. It cannot be None, because a file may contain `null`."""

SplitValue = tuple[Any, Any]
"""The part of a value that applies at once, and the part that waits."""
_Split = Callable[[Any, Any], SplitValue]
"""A function that splits a value. Its second argument is the value in the earlier layers; None when there is none."""

# Placeholders that are replaced by something from outside of the file.
_PLACEHOLDER: Final = re.compile(r"\$\{(?:env|file|netrc|cmd):")

# From the mildest to the strictest decision, and from the least to the most detail, as they are declared.
_DECISIONS: Final = tuple(Decision)
_DETAILS: Final = tuple(VariableDetail)
_BUILT_IN: Final = frozenset({CODE, PLAN, TUTOR, EXPLORER, GENERAL})

# Keys that are read although they are not fields of the schema.
_OTHER_KEYS: Final = frozenset({"extraConfigs", "netrcFile"})
_KEYS: Final = frozenset(map(to_camel, Config.model_fields)) | _OTHER_KEYS


def split_settings(settings: Json, earlier: Json) -> tuple[Json, Json]:
    """Split the settings of a project into those that apply at once and those that wait.

    `earlier` are the settings of the earlier layers. Keys that we do not read are left out.
    """
    read = {name: value for name, value in settings.items() if name in _KEYS}
    applies, waits = _split_config(read, earlier)
    return _as_object(applies), _as_object(waits)


def _wait_all(value: Any, earlier: Any) -> SplitValue:  # noqa: ARG001  # a `_Split`
    """All of the value waits."""
    return NOTHING, value


def _apply_literal(value: Any, earlier: Any) -> SplitValue:  # noqa: ARG001  # a `_Split`
    """Apply a value if it has no placeholder. A placeholder may stand for a secret, such as an environment variable."""
    return (NOTHING, value) if _PLACEHOLDER.search(json.dumps(value)) else (value, NOTHING)


def _apply_if(is_strict: Callable[[Any, Any], bool]) -> _Split:
    """Return a function that applies all of a value if `is_strict` returns True for it and the earlier value. Otherwise
    all of it waits."""
    return lambda value, earlier: (value, NOTHING) if is_strict(value, earlier) else (NOTHING, value)


def _split_fields(fields: Mapping[str, _Split], rest: _Split = _wait_all) -> _Split:
    """Return a function that splits an object key by key. `fields` has the function for the value of each key, and
    `rest` is the one for all other keys."""

    def split_fields(value: Any, earlier: Any) -> SplitValue:
        """Split an object by the functions in `fields`. Another value than an object waits."""
        if not isinstance(value, dict):
            return NOTHING, value
        applies: Json = {}
        waits: Json = {}
        earlier_object = _as_object(earlier)
        for name, item in cast("Json", value).items():
            applying, waiting = fields.get(name, rest)(item, earlier_object.get(name))
            if applying is not NOTHING:
                applies[name] = applying
            if waiting is not NOTHING:
                waits[name] = waiting
        return applies or NOTHING, waits or NOTHING

    return split_fields


def _add_to_list(value: Any, earlier: Any) -> SplitValue:
    """Apply a list, with the list of the earlier layers before it. Alone, the list would replace the earlier one."""
    if not isinstance(value, list):
        return NOTHING, value
    earlier_list = cast("list[Any]", earlier) if isinstance(earlier, list | tuple) else []
    return [*earlier_list, *(item for item in cast("list[Any]", value) if item not in earlier_list)], NOTHING


def _is_as_strict(value: Any, earlier: Any) -> bool:
    """Return whether a decision is as strict as that of the earlier layers, or stricter."""
    decision = earlier if earlier in _DECISIONS else Decision.ASK
    return value in _DECISIONS and _DECISIONS.index(value) >= _DECISIONS.index(decision)


def _is_as_low(value: Any, earlier: Any) -> bool:
    """Return whether a limit is as low as that of the earlier layers, or lower. `earlier` is None when these have no
    limit."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and (not isinstance(earlier, int | float) or value <= earlier)


def _selects_all_calls(rule: Any, earlier: Any) -> bool:  # noqa: ARG001  # an argument of `_apply_if`
    """Return whether a rule is for every call of its tool, whatever the arguments are."""
    # The schema accepts the spelling `args_matchers` too, so any other key may be a matcher.
    return rule in ({}, {"argsMatchers": {}})


def _has_quick_patterns(rule: Any, earlier: Any) -> bool:  # noqa: ARG001  # an argument of `_apply_if`
    """Return whether the patterns of a rule can hold up nobody, whatever they are compared with. Otherwise a stranger's
    rule could let the server stand still. A rule that is not written as the schema wants it counts as quick: the schema
    refuses it."""
    matchers = _as_object(_as_object(rule).get("argsMatchers") or _as_object(rule).get("args_matchers"))
    lists = (cast("list[Any]", value) for value in matchers.values() if isinstance(value, list))
    return all(takes_linear_time(pattern) for patterns in lists for pattern in patterns if isinstance(pattern, str))


def _split_rules(value: Any, earlier: Any) -> SplitValue:
    """Apply the rules whose patterns are quick; the others wait. Another value than an object is refused later, by the
    schema."""
    if not isinstance(value, dict):
        return value, NOTHING
    return _split_fields({}, _apply_if(_has_quick_patterns))(value, earlier)


def _split_variables(value: Any, earlier: Any) -> SplitValue:
    """Apply what lets the model learn less about variables. What lets it learn more waits.

    The result has all kinds of variables, because an object replaces the one word that may be in an earlier layer.
    """
    current, new = _get_details_by_kind(earlier), _get_details_by_kind(value)
    less = {kind: detail for kind, detail in new.items() if _rank(detail) <= _rank(current[kind])}
    more = {kind: detail for kind, detail in new.items() if kind not in less}
    named = _as_object(value) or new  # a kind that the project does not name does not wait
    waits = {kind: detail for kind, detail in more.items() if kind in named}
    return {**current, **less}, waits or NOTHING


def _get_details_by_kind(value: Any) -> dict[str, Any]:
    """Return the detail for each kind of variable. The value is an object, one word for all kinds, or None."""
    kinds = VariablesConfig.model_fields
    if isinstance(value, str):
        return dict.fromkeys(kinds, value)
    return {kind: _as_object(value).get(kind, VariableDetail.FULL.value) for kind in kinds}


def _rank(detail: Any) -> int:
    """Return how much a detail reveals. A wrong value counts as the most, so it waits; the schema refuses it later."""
    return _DETAILS.index(detail) if detail in _DETAILS else len(_DETAILS)


def _split_agents(value: Any, earlier: Any) -> SplitValue:
    """Apply the restrictions of agents that exist in earlier layers. A project's own agents wait completely."""
    known = _BUILT_IN | _as_object(earlier).keys()
    names = _as_object(value).keys()
    return _split_fields({name: _split_agent for name in names if name in known})(value, earlier)


def _as_object(value: Any) -> Json:
    """Return the value if it is a JSON object, else an empty object."""
    return cast("Json", value) if isinstance(value, dict) else {}


# The rules that nothing overrides.
_STRICT_RULES: Final = {"deny": _split_rules, "alwaysAsk": _split_rules}

# How the settings of a known agent are split. An `ask` rule of an agent replaces the rule of all agents for the same
# tool. If it is only for some arguments, it may be the narrower one, so it waits.
_split_agent: Final = _split_fields(
    {
        "toolCall": _split_fields(
            {"approval": _split_fields({**_STRICT_RULES, "ask": _split_fields({}, _apply_if(_selects_all_calls))})}
        ),
        "disabledTools": _add_to_list,
    }
)

# How the settings at the top level are split.
_split_config: Final = _split_fields(
    {
        "toolCall": _split_fields(
            {
                "approval": _split_fields(
                    {**_STRICT_RULES, "ask": _split_rules, "byDefault": _apply_if(_is_as_strict)}
                ),
                "outputTruncation": _apply_literal,
            }
        ),
        "agent": _split_agents,
        "disabledTools": _add_to_list,
        "defaultAgent": _apply_if(lambda value, _: value in (PLAN, TUTOR)),  # these agents only read
        "chat": _split_fields(
            {
                "title": _apply_if(lambda value, _: value is False),
                "defaultTrust": _apply_if(lambda value, _: value is False),
                "autoSyncSystemPrompt": _apply_literal,
            }
        ),
        # `layers` ignores a value that is milder than that of the earlier layers.
        "review": _apply_if(lambda value, _: value in tuple(ReviewTime)),
        "notebook": _split_fields({"lock": _apply_literal, "variables": _split_variables}),
        "budget": _split_fields({}, _apply_if(_is_as_low)),
        "mcpSampling": _split_fields({"approval": _apply_if(_is_as_strict)}),
        # These texts of a project are for the model, which also reads the project's AGENTS.md without trust.
        "rules": _apply_literal,
        "welcomeMessage": _apply_literal,
        "autoCompactPercentage": _apply_literal,
        "connectTimeoutSeconds": _apply_literal,
        "streamIdleTimeoutSeconds": _apply_literal,
        "mcpTimeoutSeconds": _apply_literal,
        "mcpKeepAliveSeconds": _apply_literal,
    }
)
