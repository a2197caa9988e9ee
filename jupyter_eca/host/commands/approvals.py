"""The commands `/approvals`, which shows what each tool may do, and `/go`, for a chat without a plan to carry out.

It must not decide a call: `engine.approval.policy` does. `host.turn.plan_mode` has the `/go` of a chat with a plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval import reason
from jupyter_eca.engine.approval.policy import Policy, decide, list_conditional_rules
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.approval_scope import ApprovalScope
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace


_EDITS: Final = (
    " `review: {review}` is set: in the panel, edits of cells and of files in the workspace that no rule selects are "
    "made without a question."
)
_AT_CLIENT: Final = "Allowed: a client runs it, and can ask its user"


async def go(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Say that there is no plan. If there is one, `host.turn.plan_mode` has replaced the message before."""
    return CommandAnswer("There is no plan to carry out here. Ask for one in plan mode, with the agent `plan`.")


async def approvals(place: CommandPlace, _call: CommandCall) -> CommandAnswer:
    """Show for each tool of the agent whether it needs approval, and which rule says so."""
    host = place.host
    live = await host.chats.load(place.chat)
    choice = host.setups.fill_defaults(live.choice)
    agent = host.current.resolved.get_agent(choice.agent)
    tools = host.setups.list_tools(agent.name, host.tool_contexts.build(place.chat, place.kernel))
    approved = live.state.approved_scopes
    # The policy of the last turn, which has the rules of its notebook, too. Before the first turn there is none.
    policy = live.state.setup.policy or agent.policy
    rows = [
        f"| `{tool.spec.name}` | {_explain(policy, tool.spec, approved, trust=bool(choice.trust))} |" for tool in tools
    ]
    trust = " Trust is on: calls that need approval run without it." if choice.trust else ""
    review = host.config.review
    edits = "" if review is ReviewTime.BEFORE else _EDITS.format(review=review.value)
    head = [f"What the agent `{agent.name}` may do here, and why.{trust}{edits}", "", "| tool | |", "|---|---|"]
    scopes = sorted(scope.as_text() for scope in approved)
    listed = ["", "Approved for this session:", "", *(f"- `{text}`" for text in scopes)] if scopes else []
    return CommandAnswer("\n".join([*head, *rows, *listed]))


def _explain(policy: Policy, tool: ToolSpec, approved: frozenset[ApprovalScope], *, trust: bool) -> str:
    """Return the decision about a call of the tool without arguments, and the rules that depend on the arguments.
    `approved` is what the user has approved for the session. With `trust`, calls run without approval."""
    verdict = decide(policy, tool, {}, approved, trust=trust)
    conditional = [f"`{rule}` ({decision})" for decision, rule in list_conditional_rules(policy, tool)]
    by_arguments = f"; by its arguments also {', '.join(conditional)}" if conditional else ""
    # A tool that a client runs has no cause, because no rule decided.
    return (reason.describe_cause(verdict.decision, verdict.cause) or _AT_CLIENT) + by_arguments


COMMANDS: Final = {
    "go": NativeCommand(
        go,
        "Carry the plan out: switch from plan mode to an agent that acts",
        (CommandArgument(name="words", description="what to mind on the way"),),
    ),
    "approvals": NativeCommand(approvals, "Show which tools run unasked, ask or are forbidden here, and by which rule"),
}
