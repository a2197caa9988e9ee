"""What plan mode shows of changes of cells: what the tools that make them would do, and nothing done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.plugins.tools.cell_preview import preview_notebook_change
from jupyter_eca.protocol.content import FileChangeDetails, ToolCallRunContent
from jupyter_eca.protocol.notebook import DeleteCell, EditCell, InsertCell, MoveCell
from jupyter_eca.workspace.notebooks.cell_changes import get_cell_id
from tests.support.host_and_client import answer
from tests.support.notebook_page import Room, called, code, result, room, script, text, yes

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCalledContent

pytestmark = pytest.mark.asyncio

CELLS = (text("t", "# Planets"), code("a", "x = 1"), code("b", "y = x"))
FOUR: list[dict[str, Any]] = [
    {"do": "edit", "cell": "a", "original_content": "1", "new_content": "2"},
    {"do": "insert", "after": "a", "source": "x += 1"},
    {"do": "move", "cell": 4, "index": 1},
    {"do": "delete", "cell": "t"},
]
DIFF = """\
--- a/work/nb.ipynb
+++ b/work/nb.ipynb
@@ -1,6 +1,6 @@
-# %% cell 1 [t] markdown
-# Planets
-# %% cell 2 [a] code
-x = 1
 # %% cell 3 [b] code
 y = x
+# %% cell 2 [a] code
+x = 2
+# %% new cell [{}] code
+x += 1
"""


async def proposed(there: Room, *changes: dict[str, Any], **arguments: Any) -> tuple[ToolCallRunContent, Any]:
    """How the call is announced, and its end."""
    script(there.table.folder, [{"tool": "preview_notebook_change", "arguments": {"changes": changes, **arguments}}])
    received = await answer(there.client, "Plan", yes, agent="plan")
    (run,) = [one.content for one in received if isinstance(one.content, ToolCallRunContent)]
    return run, called(received)[0]


async def test_all_changes_of_a_notebook_are_one_diff_and_none_is_made(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, toolCall={"approval": {"byDefault": "allow"}}) as there:
        run, done = await proposed(there, *FOUR)
        details = done.details
        assert isinstance(details, FileChangeDetails)
        assert run.details == details
        assert details.cells is not None
        assert [type(one) for one in details.cells] == [EditCell, InsertCell, MoveCell, DeleteCell]
        assert details.diff == DIFF.format(get_cell_id(details.cells[1]))
        assert result(done).startswith("Shown to the user; nothing was changed.")
        assert result(done).endswith(f"makes exactly this:\n{details.diff}")
        assert there.page.cells() == [(cell.id, cell.source) for cell in CELLS]
        assert there.page.edits == 0


async def test_a_notebook_that_is_not_there_yet_is_shown_as_a_new_one(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        first, second = {"do": "insert", "source": "a = 1"}, {"do": "insert", "source": "b = 2"}
        _, done = await proposed(there, first, second, path="new.ipynb")
        added = [line for line in done.details.diff.splitlines() if line.startswith("+") and "%%" not in line]
        assert added[1:] == ["+a = 1", "+b = 2"]
        assert not (tmp_path / "new.ipynb").exists()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([FOUR[3], {"do": "edit", "cell": "t", "source": "x"}], "Change 2 (edit): work/nb.ipynb has no cell t"),
        ([{"do": "edit", "cell": "a"}], "Change 1 (edit): Give either source, or"),
        ([{"do": "move", "cell": "a"}], "Change 1 (move): index must be at least 1"),
        ([{"do": "paint", "cell": "a"}], "The arguments do not fit: changes.0.do"),
        ([], "The arguments do not fit: changes"),
    ],
)
async def test_a_change_that_could_not_be_made_is_named_to_the_model(
    tmp_path: Path, changes: list[dict[str, Any]], why: str
) -> None:
    async with room(tmp_path, *CELLS) as there:
        run, done = await proposed(there, *changes)
        assert done.error
        assert run.details is None
        assert result(done).startswith(why)


async def test_it_is_for_plan_mode_alone_and_runs_unasked(tmp_path: Path) -> None:
    allowed = read_config((tmp_path,), home=tmp_path, environment={}).tool_call.approval.allow
    assert allowed["preview_notebook_change"].selects_every_call
    assert (preview_notebook_change.only_reads, preview_notebook_change.agents) == (True, frozenset({"plan"}))
    async with room(tmp_path, *CELLS) as there:
        done: ToolCalledContent = await there.call("preview_notebook_change", changes=FOUR)
        assert "There is no tool 'preview_notebook_change'" in result(done)
