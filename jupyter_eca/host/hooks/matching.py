"""Whether a hook is for a moment: by its type, and where it has one by its matcher. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.config.hooks import COMPACT, TOOL_CALL, HookType

if TYPE_CHECKING:
    from jupyter_eca.config.hooks import Hook
    from jupyter_eca.engine.approval.policy import Rule


def matches(hook: Hook, type: HookType, data: dict[str, Any]) -> bool:
    """`data` is what the hook would be given."""
    if hook.type is not type or (type is HookType.POST_TOOL_CALL and data.get("error") and not hook.run_on_error):
        return False
    if type in COMPACT:
        return hook.matcher is None or hook.matcher == data.get("triggered")
    if type not in TOOL_CALL or hook.matcher is None:
        return True
    server, tool = str(data.get("server", "")), str(data.get("tool_name", ""))
    if isinstance(hook.matcher, str):
        return re.fullmatch(hook.matcher, f"{server}__{tool}") is not None
    given: Any = data.get("tool_input")
    arguments = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return any(_selects(selector, server, tool) and _has(rule, arguments) for selector, rule in hook.matcher.items())


def _selects(selector: str, server: str, tool: str) -> bool:
    return selector in {server, f"{server}__{tool}"} or (server == "eca" and selector == tool)


def _has(rule: Rule, arguments: dict[str, Any]) -> bool:
    """An argument that was not given matches nothing."""
    return all(
        name in arguments and any(re.fullmatch(pattern, _text(arguments[name]), re.DOTALL) for pattern in patterns)
        for name, patterns in rule.args_matchers.items()
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
