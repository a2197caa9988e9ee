"""The tool with which an agent gives a task to a subagent. `host/turn/subagents.py` runs the subagent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_eca.engine.chat.subagents import SubagentTask
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool, validate

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import ToolCallDetails
    from jupyter_eca.workspace.tool_result import ToolResult

# The types of the arguments, with their descriptions for the model.
Agent = Annotated[str, Field(description="One of the agents named above.")]
TaskText = Annotated[
    str,
    Field(description="What to do, what it must know, and what to answer with."),
]
Activity = Annotated[str, Field(description="What it does, in three to six words for the user.")]
Model = Annotated[str, Field(description="PROVIDER/MODEL, only if the user asked for one.")]
Variant = Annotated[str, Field(description="Only if the user asked for one.")]


async def _preview(context: ToolContext, arguments: dict[str, Any]) -> ToolCallDetails | None:
    """Return which agent would run, and with which model; None if no subagent can run or there is no such agent. The
    user sees this before the approval."""
    if context.spawner is None:
        return None
    return await context.spawner.describe_call(context.call, SubagentTask(**validate(spawn_agent.arguments, arguments)))


# To start a subagent changes nothing, and each call of the subagent is decided by itself. So this counts as a tool that
# reads, and plan mode has it. When a call is decided, it counts as reading only if its agent changes nothing.
@tool(reads=True, needs=[Need.SPAWNER], summary="({agent}) {activity}", preview=_preview)
async def spawn_agent(
    context: ToolContext,
    agent: Agent,
    task: TaskText,
    activity: Activity = "",
    model: Model = "",
    variant: Variant = "",
) -> ToolResult:
    """Give a task to another agent, which works with a fresh context. Its last message is the result, with the last
    pictures of the code that it ran.

    For a search whose reading would fill this conversation, and for parts of the work that do not depend on each
    other: of several agents in one answer, those that only look run in parallel. Not for what one or two calls of your
    own would do. It knows nothing of this conversation and cannot ask back: tell it everything.
    """
    if context.spawner is None:
        raise ToolError("A subagent cannot spawn others.", "Do it yourself.")
    return await context.spawner.spawn(
        context.call, SubagentTask(agent, task, activity, model, variant), context.report
    )


TOOLS = (spawn_agent,)
