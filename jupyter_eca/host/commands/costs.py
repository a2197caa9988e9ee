"""The commands about the size and the costs of a chat: `/costs`, `/context`, `/compact` and `/prompt-show`.

It must not compute costs: `host.costs.ledger` does. `engine.model.context_window` measures a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.engine.chat.export import add_fence
from jupyter_eca.engine.model.budget import format_dollars
from jupyter_eca.engine.model.context_window import break_down, draw_window
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.chat.ports import CommandAnswer, Compaction
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.host.commands.instructions import get_prompt_and_tools
from jupyter_eca.host.operations.estimates import describe_request
from jupyter_eca.host.store import CostFilter, Total
from jupyter_eca.protocol.command import CommandArgument
from jupyter_eca.protocol.content import UsageContent

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace


async def costs(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Show what was paid. The line of this session counts only the chats that this client may know. The line of today
    counts all chats of the user."""
    host = place.host
    account = await host.ledger.read_account(place.chat, now())
    session = [row.id for row in await host.chats.list_rows() if row.updated >= host.started and place.may_see(row.id)]
    totals = [await host.ledger.sum_costs(CostFilter(chat, since=host.started)) for chat in session]
    rows = [("Last message", account.message)] if account.message.requests else []
    rows += [("This chat", account.chat), ("This session", sum(totals, Total()))]
    rows += [("This notebook", account.notebook)] if account.notebook_path else []
    rows += [("Today, all chats", account.today)]
    # The words and the numbers are those of the costs in the settings (`labextension/src/settings/Costs.tsx`).
    head = ["| | Cost | Requests | Tokens in | Of these cached | Tokens out |", "|---|---:|---:|---:|---:|---:|"]
    return CommandAnswer("\n".join([*head, *(_format_row(name, total) for name, total in rows)]))


def _format_row(name: str, total: Total) -> str:
    """Return a line of the table. `name` says whose costs `total` are."""
    unknown = total.requests > 0 and total.unpriced == total.requests
    more = f" and {total.unpriced} of unknown price" if total.unpriced and not unknown else ""
    cost = "unknown" if unknown else f"{format_dollars(total.cost)}{more}"
    counts = (total.requests, total.tokens_in, total.tokens_cached, total.tokens_out)
    return f"| {name} | {cost} | {' | '.join(f'{count:,}' for count in counts)} |"


async def context(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Show what fills the context window."""
    usages = [
        event.content
        for event in await place.host.chats.read_events(place.chat)
        if isinstance(event.content, UsageContent)
    ]
    request = await place.host.turns.draft(place.chat, kernel=place.kernel)
    prompt_and_tools = await get_prompt_and_tools(place)
    return CommandAnswer(
        draw_window(break_down(request, usages[-1] if usages else None), prompt_and_tools.pinned.sections)
    )


async def compact(place: CommandPlace, call: CommandCall) -> Compaction:
    """Let the model summarize the conversation."""
    return Compaction(call.text)


async def prompt_show(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Show the system prompt and the whole request. Raises: ProviderError when there is no model."""
    live = await place.host.chats.load(place.chat)
    if (outside := place.host.current.resolved.agent(live.choice.agent).outside) is not None:
        return CommandAnswer(_OWN_REQUESTS.format(title=outside.title))
    request = await place.host.turns.draft(place.chat, call.text, place.kernel)
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
