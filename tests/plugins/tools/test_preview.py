"""What file tools show of a change before anybody approved it: the very change, and nothing done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import NativeTool, ToolContext
from jupyter_eca.plugins.tools.files import TOOLS, edit_file, move_file, preview_file_change, read_file, write_file
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.workspace.ports import Files

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

CALLS: list[tuple[NativeTool, dict[str, Any]]] = [
    (write_file, {"path": "new/b.txt", "content": "text\n"}),
    (write_file, {"path": "a.txt", "content": "text\n"}),
    (edit_file, {"path": "a.txt", "original_content": "two", "new_content": "2"}),
    (edit_file, {"path": "a.txt", "original_content": "o", "new_content": "0", "all_occurrences": True}),
    (move_file, {"source": "a.txt", "destination": "new/c.txt"}),
]
READ = {"path": "a.txt"}
REFUSED: list[tuple[NativeTool, dict[str, Any]]] = [
    (write_file, {"path": "../b.txt", "content": "text"}),
    (edit_file, {"path": "a.txt", "original_content": "none", "new_content": "2"}),
    (move_file, {"source": "a.txt", "destination": "../c.txt"}),
]


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.txt").write_text("one\ntwo\n")
    return ToolContext("chat", Files((tmp_path / "root",)))


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() if p.is_file() else "" for p in folder.rglob("*")}


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_a_preview_is_the_change_that_the_call_then_makes(
    context: ToolContext, tmp_path: Path, tool: NativeTool, arguments: dict[str, Any]
) -> None:
    await read_file.run(context, {"path": "a.txt"})
    context.known.begin_request()
    before = contents(tmp_path)
    assert tool.preview is not None
    preview = await tool.preview(context, arguments)
    assert contents(tmp_path) == before
    assert isinstance(preview, FileChangeDetails)
    assert preview == (await tool.run(context, arguments)).details
    assert contents(tmp_path) != before


@pytest.mark.parametrize(("tool", "arguments"), REFUSED)
async def test_a_call_that_would_be_refused_has_no_preview(
    context: ToolContext, tmp_path: Path, tool: NativeTool, arguments: dict[str, Any]
) -> None:
    before = contents(tmp_path)
    assert tool.preview is not None
    with pytest.raises(ToolError):
        await tool.preview(context, arguments)
    assert contents(tmp_path) == before


async def test_a_plan_shows_a_change_and_writes_nothing(context: ToolContext, tmp_path: Path) -> None:
    before = contents(tmp_path)
    arguments = {"path": "a.txt", "original_content": "two", "new_content": "2"}
    result = await preview_file_change.run(context, arguments)
    assert isinstance(result.details, FileChangeDetails)
    assert "-two\n+2\n" in result.text
    assert "nothing was changed" in result.text
    assert contents(tmp_path) == before
    assert (preview_file_change.only_reads, preview_file_change.agents) == (True, frozenset({"plan"}))


async def test_a_plan_shows_a_new_file_and_one_that_is_there_is_not_taken_for_new(
    context: ToolContext, tmp_path: Path
) -> None:
    before = contents(tmp_path)
    new = {"path": "new/b.txt", "original_content": "", "new_content": "text\n"}
    result = await preview_file_change.run(context, new)
    assert isinstance(result.details, FileChangeDetails)
    assert result.details.diff == "--- /dev/null\n+++ b/new/b.txt\n@@ -0,0 +1 @@\n+text\n"
    with pytest.raises(ToolError, match="is there already"):
        await preview_file_change.run(context, {**new, "path": "a.txt"})
    assert contents(tmp_path) == before


async def test_a_tool_that_only_reads_shows_nothing(context: ToolContext) -> None:
    shown = {
        tool.spec.name: await tool.preview(context, arguments) for tool, arguments in (*CALLS[2:], (read_file, READ))
    }
    assert [name for name, details in shown.items() if details is None] == ["read_file"]


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_preview_refuses_arguments_that_do_not_fit(context: ToolContext, tool: NativeTool) -> None:
    with pytest.raises(ToolError, match="The arguments do not fit"):
        await tool.preview(context, {"path": "a.txt", "more": 1})
