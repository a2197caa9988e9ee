"""Arguments that models write in another form than the schema's, and that mean only one thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.plugins.tools.search import grep
from jupyter_eca.plugins.tools.tree import directory_tree
from jupyter_eca.workspace.ports import Files
from tests.support.notebook_page import called, code, result, room

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.plugins.tools.base import NativeTool

pytestmark = pytest.mark.asyncio

CELLS = (code("a", "x = 1"), code("b", "y = 2"), code("c", "z = 3"))
ALLOW: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}
TOOLS: dict[str, NativeTool] = {
    tool.spec.name: tool for tools in loader.find("tools", "TOOLS").values() for tool in tools
}


@pytest.mark.parametrize("arguments", [{"cells": ["a", 2]}, {"cells": "1-2"}, {"cells": "a, b"}, {"cell": "1,b"}])
async def test_cells_are_read_in_whatever_form_they_are_named(tmp_path: Path, arguments: dict[str, Any]) -> None:
    async with room(tmp_path, *CELLS, **ALLOW) as there:
        text = result(await there.call("notebook_read", **arguments))
        assert ("x = 1" in text, "y = 2" in text, "z = 3" in text) == (True, True, False)


async def test_a_number_is_a_cell(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, **ALLOW) as there:
        assert "y = 2" in result(await there.call("notebook_read", cells=2))


@pytest.mark.parametrize("arguments", [{"cells": "1-2"}, {"cells": ["1-2"]}, {"cells": "a,b"}, {"cell": ["a", 2]}])
async def test_cells_run_in_whatever_form_they_are_named(tmp_path: Path, arguments: dict[str, Any]) -> None:
    async with room(tmp_path, *CELLS, **ALLOW) as there:
        text = result(await there.call("notebook_run_cells", **arguments))
        assert ("ran x = 1" in text, "ran y = 2" in text, "ran z = 3" in text) == (True, True, False)


@pytest.mark.parametrize(("given", "read"), [("df", ["df"]), ("df, orders", ["df", "orders"]), (["df"], ["df"])])
async def test_a_text_of_names_is_a_list_of_names(given: Any, read: list[str]) -> None:
    assert TOOLS["variables"].arguments.model_validate({"names": given}).model_dump()["names"] == read


async def test_a_search_and_a_listing_without_a_folder_are_about_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("needle\n")
    context = ToolContext("chat", Files((tmp_path,)))
    assert (await grep.run(context, {"pattern": "needle"})).text == "a.py:1:needle"
    assert "a.py" in (await directory_tree.run(context, {})).text


async def test_a_limit_that_is_too_large_is_the_largest_one() -> None:
    given = {"id": "x", "limit": 1_000_000}
    assert TOOLS["read_output"].arguments.model_validate(given).model_dump()["limit"] == 40_000


async def test_an_error_names_the_arguments_that_there_are(tmp_path: Path) -> None:
    context = ToolContext("chat", Files((tmp_path,)))
    with pytest.raises(ToolError, match=r"with arguments of its schema: pattern, path, include, "):
        await grep.run(context, {"pattern": "x", "folder": "."})


async def test_a_rule_about_a_folder_also_holds_where_the_folder_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("needle")
    rules = {"deny": {"grep": {"argsMatchers": {"path": [r"\."]}}}, "byDefault": "allow"}
    async with room(tmp_path, *CELLS, toolCall={"approval": rules}) as there:
        received = await there.ask([{"tool": "grep", "arguments": {"pattern": "needle"}}])
        assert called(received) == []


@pytest.mark.parametrize("arguments", [{"cells": ["b"]}, {"cell": "b"}, {"cell": ["b"]}])
async def test_a_rule_about_cells_holds_by_whatever_name_they_are_given(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    rules = {"deny": {"notebook_run_cells": {"argsMatchers": {"cells": [".*b.*"]}}}, "byDefault": "allow"}
    async with room(tmp_path, *CELLS, toolCall={"approval": rules}) as there:
        received = await there.ask([{"tool": "notebook_run_cells", "arguments": arguments}])
        assert called(received) == []
