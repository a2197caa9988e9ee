"""The commands about the size and the costs of a chat: `/costs`, `/context`, `/compact` and `/prompt-show`.

It must not compute costs: `host.costs.ledger` does. `engine.model.context_window` measures a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.engine.chat.export import add_fence
from jupyter_eca.engine.model.budget import describe_outside_cost, format_dollars
from jupyter_eca.engine.model.context_window import break_down, draw_window
from jupyter_eca.host.chat.live_chat import Prompt, now
from jupyter_eca.host.chat.ports import CommandAnswer, Compaction
from jupyter_eca.host.commands.base import NativeCommand, find_outside_agent
from jupyter_eca.host.commands.instructions import get_prompt_and_tools
from jupyter_eca.host.operations.estimates import describe_request
from jupyter_eca.host.operations.outside_usage import list_outside_costs, read_usages
from jupyter_eca.host.outside.outside_agents import NO_SUMMARY
from jupyter_eca.host.store import CostFilter, Total
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace
    from jupyter_eca.protocol.content import UsageContent


async def costs(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Show what was paid. The line of this session counts only the chats that this client may know. The line of today
    counts all chats of the user."""
    host = place.host
    account = await host.ledger.read_account(place.chat, now())
    session_chats = [
        row.id for row in await host.chats.list_rows() if row.updated >= host.started_at and place.may_see(row.id)
    ]
    totals = [await host.ledger.sum_costs(CostFilter(chat, since=host.started_at)) for chat in session_chats]
    rows = [("Last message", account.message)] if account.message.requests else []
    rows += [("This chat", account.chat), ("This session", sum(totals, Total()))]
    rows += [("This notebook", account.notebook)] if account.notebook_path else []
    rows += [("Today, all chats", account.today)]
    # The words and the numbers are those of the costs in the settings (`labextension/src/settings/Costs.tsx`).
    head = ["| | Cost | Requests | Tokens in | Of these cached | Tokens out |", "|---|---:|---:|---:|---:|---:|"]
    lines = [*head, *(_format_row(name, total) for name, total in rows)]
    outside = await list_outside_costs(host.chats, host.current.resolved.agents, place.chat)
    notes = [f"\n{describe_outside_cost(cost)}" for cost in outside]
    return CommandAnswer("\n".join([*lines, *notes]))


def _format_row(name: str, total: Total) -> str:
    """Return a line of the table. `name` says whose costs `total` are."""
    unknown = total.requests > 0 and total.unpriced == total.requests
    unpriced = f" and {total.unpriced} of unknown price" if total.unpriced and not unknown else ""
    cost = "unknown" if unknown else f"{format_dollars(total.cost)}{unpriced}"
    counts = (total.requests, total.tokens_in, total.tokens_cached, total.tokens_out)
    return f"| {name} | {cost} | {' | '.join(f'{count:,}' for count in counts)} |"


async def context(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Show what fills the context window."""
    usages = await read_usages(place.host.chats, place.chat)
    if (outside := await find_outside_agent(place)) is not None:
        return CommandAnswer(_describe_own_window(outside.title, usages[-1] if usages else None))
    request = await place.host.turns.draft(place.chat, kernel=place.kernel)
    prompt_and_tools = await get_prompt_and_tools(place)
    return CommandAnswer(
        draw_window(break_down(request, usages[-1] if usages else None), prompt_and_tools.pinned.sections)
    )


def _describe_own_window(title: str, usage: UsageContent | None) -> str:
    """Return what an outside agent says about its context window. `usage` is the last one of the chat."""
    if usage is None or usage.agent is None:
        return _OWN_WINDOW.format(title=title)
    used = f"{usage.session_tokens:,} tokens"
    if usage.limit is not None and usage.limit.context:
        share = 100 * usage.session_tokens / usage.limit.context
        used = f"{usage.session_tokens:,} of {usage.limit.context:,} tokens ({share:.0f} %)"
    return _REPORTED_WINDOW.format(title=title, used=used)


_REPORTED_WINDOW: Final = (
    "{title} says that {used} of its context window are used. It keeps its own conversation, so what is in it cannot "
    "be seen here."
)
_OWN_WINDOW: Final = (
    "{title} keeps its own conversation, so what is in its context window cannot be seen here. It has not said how "
    "full it is."
)


async def compact(place: CommandPlace, call: CommandCall) -> CommandAnswer | Compaction:
    """Let the model summarize the conversation."""
    if (outside := await find_outside_agent(place)) is not None:
        return CommandAnswer(NO_SUMMARY.format(title=outside.title))
    return Compaction(call.text)


async def prompt_show(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Show the system prompt and the whole request. Raises: ProviderError when there is no model."""
    if (outside := await find_outside_agent(place)) is not None:
        return CommandAnswer(_OWN_REQUESTS.format(title=outside.title))
    request = (await place.host.estimates.estimate_exactly(Prompt(place.chat, call.text), place.kernel)).request
    system = f"The system prompt for `{request.model}`, word for word:\n\n{add_fence(request.system, 'markdown')}"
    request_text = add_fence(describe_request(place.host.catalog, request), "json")
    return CommandAnswer(f"{redaction.redact(system)}\n\nThe whole request:\n\n{request_text}")


_OWN_REQUESTS: Final = (
    "{title} is a program of its own: it talks to its model itself, and what it sends cannot be seen here. It gets "
    "your messages with what they mention, and the tools for notebooks and kernels."
)

COMMANDS: Final = {
    "costs": NativeCommand(costs, "Tokens and costs of this chat and of this session"),
    "context": NativeCommand(context, "Show what fills the model's context window"),
    "compact": NativeCommand(
        compact,
        "Go on with a summary of this chat, to make room",
        (CommandArgument(name="focus", description="what the summary must keep above all"),),
    ),
    "prompt-show": NativeCommand(
        prompt_show,
        "Show the exact request a model would get",
        (CommandArgument(name="message", description="what would be asked"),),
    ),
}
