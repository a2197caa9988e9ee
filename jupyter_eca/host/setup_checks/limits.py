"""Finds numbers that do something else than the user probably means, such as a budget of 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.budget import BudgetScope

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.config import Config, ResolvedConfig

# The keys of the configuration that set the budgets.
_BUDGETS: Final = {
    BudgetScope.CHAT: "budget.perChat",
    BudgetScope.NOTEBOOK: "budget.perNotebook",
    BudgetScope.DAY: "budget.perDay",
}

# A larger number is probably in milliseconds: nobody waits for an hour.
_LONGEST_SECONDS: Final = 3600
# In a shorter time a hook cannot even start a shell.
_SHORTEST_HOOK_MS: Final = 100
# With a smaller part of the window, the summary itself soon fills it, and is made again and again.
_SMALLEST_COMPACT_PERCENTAGE: Final = 20


def find_limit_problems(resolved: ResolvedConfig) -> Iterator[str]:
    """Yield the numbers that do something else than the user probably means."""
    config = resolved.config
    yield from _find_budget_problems(resolved.limits)
    if 0 < config.auto_compact_percentage < _SMALLEST_COMPACT_PERCENTAGE:
        yield (
            f"`autoCompactPercentage` is {config.auto_compact_percentage}, so a chat is summarised again after a few "
            "messages. Use 75, or 0 for never."
        )
    for place, seconds in _list_seconds(config):
        if seconds is not None and seconds > _LONGEST_SECONDS:
            yield f"`{place}` is {seconds:g} seconds, which is more than an hour. Write seconds, not milliseconds."
    for hook in resolved.hooks:
        if any(hook.get_timeout_seconds(action) * 1000 < _SHORTEST_HOOK_MS for action in hook.actions):
            yield (
                f"The hook {hook.name!r} has a `timeout` of less than {_SHORTEST_HOOK_MS} milliseconds, so it is ended "
                "before it has begun. Write milliseconds, not seconds."
            )
    for name, agent in config.agent.items():
        if 1 in {agent.max_steps, agent.steps}:
            yield (
                f"The agent {name!r} has `maxSteps` 1, so it never sees the result of a tool. Use a larger number, or "
                "remove it."
            )


def _find_budget_problems(limits: Mapping[BudgetScope, float]) -> Iterator[str]:
    """Yield the budgets that do not do what the user probably wants. `limits` are the budgets in US dollars."""
    for scope, limit in limits.items():
        if limit == 0:
            yield f"`{_BUDGETS[scope]}` is 0, so you are asked before each request. Remove it for no limit."
    day = limits.get(BudgetScope.DAY)
    for scope in (BudgetScope.CHAT, BudgetScope.NOTEBOOK):
        if day and limits.get(scope, 0) > day:
            yield (
                f"`{_BUDGETS[scope]}` is larger than `budget.perDay`, so it has no effect. Make it smaller, or drop it."
            )


def _list_seconds(config: Config) -> Iterator[tuple[str, float | None]]:
    """Yield the settings whose value is a number of seconds, with the value."""
    yield "mcpTimeoutSeconds", config.mcp_timeout_seconds
    yield "connectTimeoutSeconds", config.connect_timeout_seconds
    yield "streamIdleTimeoutSeconds", config.stream_idle_timeout_seconds
    for name, provider in config.providers.items():
        yield f"providers.{name}.connectTimeoutSeconds", provider.connect_timeout_seconds
        yield f"providers.{name}.streamIdleTimeoutSeconds", provider.stream_idle_timeout_seconds
