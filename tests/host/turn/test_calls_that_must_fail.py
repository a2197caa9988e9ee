"""Nobody is asked about a call that cannot work: it fails at once, and the model reads why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.content import ToolCallRunContent
from tests.plugins.tools.test_asked_notebook import open_two, with_kernels
from tests.support.host_and_client import answer, desk
from tests.support.notebook_page import called, code, result, room, yes

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio


def list_asked(received: list[ChatContentReceivedParams]) -> list[str]:
    contents = (item.content for item in received)
    return [one.name for one in contents if isinstance(one, ToolCallRunContent) and one.manual_approval]


def script_of(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"result": "", "reply": [{"text": "Done."}]}, {"message": "", "reply": list(calls)}]


EDIT = {"tool": "edit_file", "arguments": {"path": "it.txt", "original_content": "none", "new_content": "x"}}
WRITE = {"tool": "write_file", "arguments": {"path": "it.txt", "content": "none\n"}}


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("edit_file", EDIT["arguments"], "There is no file it.txt"),
        ("write_file", {"path": "it.txt"}, "content: Field required"),
        ("write_file", {"path": "/etc/it.txt", "content": ""}, "outside of the workspace"),
        ("write_file", {"path": "nul\0.txt", "content": ""}, "is not a usable path"),
        ("move_file", {"source": "none", "destination": "other"}, "There is no none"),
        ("shell_command", {"command": "ls", "working_directory": "none"}, "There is no folder none"),
        ("shell_command", {"command": "ls", "timeout": -1}, "timeout"),
        ("bg_job", {"action": "kill", "job_id": "none"}, "There is no job"),
    ],
)
async def test_nobody_is_asked_about_a_call_that_cannot_work(
    tmp_path: Path, tool: str, arguments: dict[str, Any], words: str
) -> None:
    async with desk(tmp_path, script_of({"tool": tool, "arguments": arguments})) as table:
        received = await answer(await table.client(), "go", yes)
        (done,) = called(received)
        assert done.error
        assert words in result(done)
        assert list_asked(received) == []


async def test_a_call_that_a_change_in_front_of_it_makes_possible_is_asked_about(tmp_path: Path) -> None:
    async with desk(tmp_path, script_of(WRITE, EDIT)) as table:
        received = await answer(await table.client(), "go", yes)
        assert list_asked(received) == ["write_file", "edit_file"]
        assert (tmp_path / "it.txt").read_text() == "x\n"


@pytest.mark.parametrize("tool", ["run_code", "kernel_interrupt", "kernel_restart"])
async def test_nobody_is_asked_about_a_kernel_that_is_not_there(tmp_path: Path, tool: str) -> None:
    page, kernels = open_two()

    async def find(path: str | None) -> Any:
        raise ToolError(f"{path} has no running kernel.")

    kernels.find = find  # type: ignore[method-assign]  # no kernel runs
    async with room(tmp_path, page=page) as there:
        with_kernels(there, kernels)
        call = {"tool": tool, "arguments": {"code": "1"} if tool == "run_code" else {}}
        received = await there.ask([call])
        assert result(called(received)[0]) == "sales.ipynb has no running kernel."
        assert list_asked(received) == []


async def test_nobody_is_asked_about_a_run_of_a_cell_that_is_not_there(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "1")) as there:
        received = await there.ask([{"tool": "notebook_run_cells", "arguments": {"cells": [7]}}])
        assert "has no cell 7" in result(called(received)[0])
        assert list_asked(received) == []
