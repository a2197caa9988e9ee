"""What the assistant may do, and doing it: `/approvals`, and `/go` where there is no plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval import reason
from jupyter_eca.engine.approval.policy import Policy, decide, list_conditional_rules
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.approval_scope import ApprovalScope
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace


async def go(place: CommandPlace, called: CommandCall) -> CommandAnswer:  # noqa: ARG001  # the same for every place
    """A plan that is there is carried out before this is asked."""
    return CommandAnswer("There is no plan to carry out here. Ask for one in plan mode, with the agent `plan`.")


async def approvals(place: CommandPlace, _called: CommandCall) -> CommandAnswer:
    host = place.host
    live = await host.chats.load(place.chat)
    choice = host.setups.settle(live.choice)
    who = host.current.resolved.agent(choice.agent)
    tools = host.setups.list_tools(who.name, host.tool_contexts.build(place.chat, place.kernel))
    rows = [
        f"| `{tool.spec.name}` | {_explain(who.policy, tool.spec, live.state.remembered, trust=bool(choice.trust))} |"
        for tool in tools
    ]
    trust = " Trust is on: what would ask runs unasked." if choice.trust else ""
    head = [f"What the agent `{who.name}` may do here, and why.{trust}", "", "| tool | |", "|---|---|"]
    scopes = sorted(scope.as_text() for scope in live.state.remembered)
    approved = ["", "Approved for this session:", "", *(f"- `{text}`" for text in scopes)] if scopes else []
    return CommandAnswer("\n".join([*head, *rows, *approved]))


def _explain(policy: Policy, tool: ToolSpec, remembered: frozenset[ApprovalScope], *, trust: bool) -> str:
    """Without arguments; what depends on them is told beside it."""
    verdict = decide(policy, tool, {}, remembered, trust=trust)
    depends = [f"`{rule}` ({decision})" for decision, rule in list_conditional_rules(policy, tool)]
    more = f"; by its arguments also {', '.join(depends)}" if depends else ""
    return reason.describe_cause(verdict.decision, verdict.cause) + more


COMMANDS: Final = {
    "go": NativeCommand(
        go,
        "Carry the plan out: switch from plan mode to an agent that acts",
        (CommandArgument(name="words", description="what to mind on the way"),),
    ),
    "approvals": NativeCommand(approvals, "Show which tools run unasked, ask or are forbidden here, and by which rule"),
}
