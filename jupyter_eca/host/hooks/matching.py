"""Decides whether a hook (a program of the user) runs for an event: by the hook's type, and by its matcher if it has
one. A matcher selects tool calls. For the hooks around a summary of the conversation, it selects whether the engine has
begun the summary by itself ("auto") or the user has requested it ("manual"). Pure.

It must not run hooks: `runner` does. `config.hooks` parses the matchers.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.hooks import COMPACT, TOOL_CALL, HookType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config.hooks import Hook
    from jupyter_eca.engine.approval.policy import Rule


# A key in the input of a hook. It has the parts of a call that does several things. Each part is a dict with the
# `tool_name` and the `tool_input` of a call that would do only this part.
PARTS: Final = "parts"


def list_inputs(hook: Hook, type: HookType, data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the inputs with which a hook runs for an event of this type; empty if it does not run.

    `data` is the input for the event. A hook for a tool also runs for a call that does the same as one of its parts:
    once for each such part, with the tool and the arguments of the part, as if it were a call of that tool.
    """
    if hook.type is not type or (type is HookType.POST_TOOL_CALL and data.get("error") and not hook.run_on_error):
        return []
    if type in COMPACT:  # the matcher is "manual" or "auto"
        return [data] if hook.matcher is None or hook.matcher == data.get("triggered") else []
    if type not in TOOL_CALL or hook.matcher is None or _matches_call(hook.matcher, data):
        return [data]
    return [data | part for part in data.get(PARTS, ()) if _matches_call(hook.matcher, data | part)]


def _matches_call(matcher: str | Mapping[str, Rule], data: dict[str, Any]) -> bool:
    """Return whether a matcher selects a tool call. The matcher is a pattern for `server__tool`, or a mapping from
    selectors of tools to rules about the arguments. `data` is the input of the hook, with the keys `server`,
    `tool_name` and `tool_input`."""
    server, tool = str(data.get("server", "")), str(data.get("tool_name", ""))
    if isinstance(matcher, str):
        return re.fullmatch(matcher, f"{server}__{tool}") is not None
    tool_input: Any = data.get("tool_input")
    arguments = cast("dict[str, Any]", tool_input) if isinstance(tool_input, dict) else {}
    return any(
        _selects_tool(selector, server, tool) and _has_arguments(rule, arguments) for selector, rule in matcher.items()
    )


def _selects_tool(selector: str, server: str, tool: str) -> bool:
    """Return whether a selector names this tool: `server`, `server__tool`, or only the name for one of our tools."""
    return selector in {server, f"{server}__{tool}"} or (server == "eca" and selector == tool)


def _has_arguments(rule: Rule, arguments: dict[str, Any]) -> bool:
    """Return whether all arguments match the patterns of a rule. An argument that the call does not have matches no
    pattern."""
    return all(
        name in arguments and any(re.fullmatch(pattern, _as_text(arguments[name]), re.DOTALL) for pattern in patterns)
        for name, patterns in rule.args_matchers.items()
    )


def _as_text(value: Any) -> str:
    """Return the text of an argument that patterns are compared with: JSON for all values but texts."""
    return value if isinstance(value, str) else json.dumps(value)
