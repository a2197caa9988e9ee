"""The plan of a chat: what the model does to it, what is shown, and that it comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.task_plan import Plan, restore_plan
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.plugins.tools.task import task
from jupyter_eca.protocol.content import TaskDetails, TextContent, ToolCalledContent
from jupyter_eca.workspace.ports import Files

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.workspace.tool_result import ToolResult

pytestmark = pytest.mark.asyncio


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return ToolContext("chat", Files((tmp_path,)), plan=Plan())


async def run(context: ToolContext, op: str, **arguments: Any) -> ToolResult:
    return await task.run(context, {"op": op, **arguments})


def shown(result: ToolResult) -> TaskDetails:
    assert isinstance(result.details, TaskDetails)
    return result.details


async def test_a_plan_is_made_worked_on_and_shown(context: ToolContext) -> None:
    await run(context, "plan", tasks=["look", "change"])
    await run(context, "add", tasks=["test"])
    await run(context, "start", ids=["1"], active_summary="Looking around")
    details = shown(await run(context, "start", ids=["2"], active_summary="Changing it"))
    assert (details.in_progress_task_ids, details.active_summary) == (("1", "2"), "Changing it")
    result = await run(context, "complete", ids=["1", "2"])
    assert result.text == "[x] 1. look\n[x] 2. change\n[ ] 3. test"
    summary = shown(result).summary
    assert (summary.done, summary.in_progress, summary.pending, summary.total) == (2, 0, 1, 3)
    assert shown(result).active_summary is None
    assert (await run(context, "delete", ids=["3"])).text == "[x] 1. look\n[x] 2. change"
    assert (await run(context, "plan", tasks=["other"])).text == "[ ] 1. other"


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("plan", {}),
        ("add", {"tasks": []}),
        ("start", {}),
        ("complete", {"ids": ["9"]}),
        ("delete", {"ids": ["1", "9"]}),
    ],
)
async def test_what_makes_no_sense_is_told_and_changes_nothing(
    context: ToolContext, op: str, arguments: dict[str, Any]
) -> None:
    await run(context, "plan", tasks=["look"])
    with pytest.raises(ToolError, match=op):
        await run(context, op, **arguments)
    assert (await run(context, "list")).text == "[ ] 1. look"


async def test_the_plan_comes_back_from_what_was_shown(context: ToolContext) -> None:
    results = [
        await run(context, "plan", tasks=["look", "change"]),
        await run(context, "start", ids=["1"], active_summary="Looking"),
    ]
    contents = [
        ToolCalledContent(id="1", name="task", server="eca", arguments={}, error=False, outputs=(), details=r.details)
        for r in results
    ]
    assert restore_plan([TextContent(text="Hi"), *contents]) == context.plan
    assert restore_plan([]) == Plan()
