"""Finds names of tools and arguments that do not exist in rules, in `disabledTools` and in hooks, and arguments of
custom tools that their command does not use. Such a setting has no effect, and a rule that protects nothing looks like
one that does.

It must not decide about a call: `engine.approval` does. `config.agent_checks` has the same for the agents.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.agent_checks import is_known_selector
from jupyter_eca.config.hooks import TOOL_CALL
from jupyter_eca.config.layers import ALLOWED
from jupyter_eca.engine.text import shell_template

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.config import Config, ResolvedConfig
    from jupyter_eca.plugins.tools.base import Tool

# The servers of tools that are not in the registry, because a client has them.
_CLIENT_SERVERS: Final = ("client", "python")


def find_tool_name_problems(resolved: ResolvedConfig, tools: Mapping[str, Tool]) -> Iterator[str]:
    """Yield the names that select nothing. `tools` are all tools by name."""
    config = resolved.config
    for key, rules in config.tool_call.approval.rules_by_key.items():
        for selector, rule in rules.items():
            place = f"The rule {selector!r} in `toolCall.approval.{key}`"
            if not _is_known(selector, config, tools):
                yield f"{place} selects no tool, so it has no effect. Correct the name; the report lists all tools."
            else:
                tool = tools.get(selector.removeprefix("eca__"))
                wrong = [argument for argument in rule.args_matchers if tool and not _has_argument(tool, argument)]
                if wrong:
                    yield f"{place} names the argument {wrong[0]!r}, which the tool does not have. Correct the name."
    denied_and_allowed = config.tool_call.approval.deny.keys() & config.tool_call.approval.allow.keys()
    for selector in sorted(denied_and_allowed):
        policy = config.tool_call.approval
        if not policy.deny[selector].args_matchers:
            yield (
                f"The rules of {selector!r} contradict each other: `deny` counts, and `allow` has no effect. Drop one."
            )
    for selector in config.disabled_tools:
        if not _is_known(selector, config, tools):
            yield f"`disabledTools` names {selector!r}, which does not exist. Correct the name, or remove it."
    yield from _find_matcher_problems(resolved, tools)
    yield from _find_unused_arguments(config)


def _is_known(selector: str, config: Config, tools: Mapping[str, Tool]) -> bool:
    """Return whether a selector names a tool that exists or may exist: one of the default rules (`ALLOWED`), of a
    client or of a server."""
    return (
        selector in ALLOWED
        or selector.partition("__")[0] in _CLIENT_SERVERS
        or is_known_selector(selector, config, tools)
    )


def _has_argument(tool: Tool, argument: str) -> bool:
    """Return whether a tool has an argument of this name, or may have it."""
    properties: Any = tool.spec.parameters.get("properties")
    known = cast("dict[str, Any]", properties).keys() if isinstance(properties, dict) else ()
    others = {name for names in tool.spec.other_names.values() for name in names}
    return not known or argument in known or argument in others


def _find_matcher_problems(resolved: ResolvedConfig, tools: Mapping[str, Tool]) -> Iterator[str]:
    """Yield the hooks of tool calls whose matcher selects no tool."""
    config = resolved.config
    # An MCP server may offer more tools later.
    may_get_tools = any(not server.disabled for server in config.mcp_servers.values())
    names = [name if tool.spec.server != "eca" else f"eca__{name}" for name, tool in tools.items()]
    for hook in resolved.hooks:
        if hook.type not in TOOL_CALL or hook.matcher is None:
            continue
        if isinstance(hook.matcher, str):
            selects = may_get_tools or any(re.search(hook.matcher, name) for name in names)
        else:
            selects = any(_is_known(selector, config, tools) for selector in hook.matcher)
        if not selects:
            yield f"The `matcher` of the hook {hook.name!r} selects no tool, so it never runs. Correct it."


def _find_unused_arguments(config: Config) -> Iterator[str]:
    """Yield the custom tools with an argument that their command does not use."""
    for name, tool in config.custom_tools.items():
        used = set(re.findall(shell_template.PLACE, tool.command))
        for argument in tool.parameters.properties:
            if argument not in used:
                yield (
                    f"The command of the custom tool {name!r} does not use the argument {argument!r}. Write "
                    f"`{{{{{argument}}}}}` where it belongs, or remove it from the `schema`."
                )
