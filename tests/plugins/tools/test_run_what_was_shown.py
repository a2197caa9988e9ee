"""A run of cells shows the sources before it is approved, and runs exactly these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.protocol.content import RunCellsDetails, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.notebook_page import PATH, called, code, result, room, yes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.notebook_page import Page

pytestmark = pytest.mark.asyncio

CELLS = (code("a", "x = 1"), code("b", "y = 2"))


def run(*cells: Any) -> dict[str, Any]:
    return {"tool": "notebook_run_cells", "arguments": {"cells": list(cells)}}


def edit(cell: Any, source: str) -> dict[str, Any]:
    return {"tool": "notebook_edit_cell", "arguments": {"cell": cell, "source": source}}


class Reader:
    """Approves everything, and keeps what was shown of the runs."""

    def __init__(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.shown: list[list[tuple[int, str, str]]] = []
        self._meanwhile = meanwhile

    def __call__(self, call: ToolCallRunContent) -> CallDecision:
        if isinstance(call.details, RunCellsDetails):
            assert call.details.path == PATH
            self.shown.append([(cell.number, cell.id, cell.source) for cell in call.details.cells])
            self._meanwhile()
        return yes(call)


def list_runs(page: Page) -> list[str]:
    return [cell.source for cell in page.books[PATH] if cell.execution_count is not None]


async def test_the_card_of_a_run_shows_the_sources_that_run(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, read=False) as there:
        reader = Reader()
        (done,) = called(await there.ask([run(2, "a")], reader))
        assert not done.error
        assert reader.shown == [[(2, "b", "y = 2"), (1, "a", "x = 1")]]
        assert list_runs(there.page) == ["x = 1", "y = 2"]


async def test_a_cell_that_the_user_changes_between_card_and_click_does_not_run(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        reader = Reader(lambda: there.page.type("a", "x = 1  # half wri"))
        (done,) = called(await there.ask([run("a")], reader))
        assert done.error
        assert f"Cell 1 of {PATH} was changed since the run was shown; nothing was run. It is now:" in result(done)
        assert "# half wri" in result(done)
        assert list_runs(there.page) == []
        again = Reader()
        assert not called(await there.ask([run("a")], again))[0].error
        assert again.shown == [[(1, "a", "x = 1  # half wri")]]


async def test_a_cell_that_was_changed_since_the_model_read_it_does_not_run_and_nobody_is_asked(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        there.page.type("a", "x = 1\n# user note")
        reader = Reader()
        (done,) = called(await there.ask([run("a", "b")], reader))
        assert f"Cell 1 of {PATH} was changed since you read it; nothing was run. It is now:" in result(done)
        assert reader.shown == []
        assert list_runs(there.page) == []
        assert not called(await there.ask([run("a", "b")], reader))[0].error


async def test_a_run_behind_an_edit_shows_what_the_edit_makes_of_the_cell(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        reader = Reader()
        edited, ran = called(await there.ask([edit("a", "x = 10"), run("a")], reader))
        assert (edited.error, ran.error) == (False, False)
        assert reader.shown == [[(1, "a", "x = 10")]]
        assert list_runs(there.page) == ["x = 10"]


def replace(old: str, new: str) -> dict[str, Any]:
    arguments = {"cell": 1, "original_content": old, "new_content": new}
    return {"tool": "notebook_edit_cell", "arguments": arguments}


@pytest.mark.parametrize(
    "edits",
    [
        (replace("x = 1", "x = 10"), replace("x = 10", "x = 100")),
        (replace("1", "100"), replace("x", "y")),
        (edit("a", "y"), edit("a", "y = 100")),
    ],
)
async def test_a_run_behind_two_edits_of_its_cell_shows_what_both_make_of_it(
    tmp_path: Path, edits: tuple[dict[str, Any], ...]
) -> None:
    async with room(tmp_path, *CELLS) as there:
        reader = Reader()
        *_, ran = called(await there.ask([*edits, run("a")], reader))
        assert not ran.error
        assert reader.shown == [[(1, "a", source)] for source in list_runs(there.page)]
        assert list_runs(there.page)[0].endswith("= 100")


async def test_the_second_edit_of_a_cell_is_asked_about_if_what_results_changes_what_may_run(tmp_path: Path) -> None:
    kinds: list[str | None] = []

    def decide(call: ToolCallRunContent) -> CallDecision:
        kinds.append(call.cause and call.cause.kind)
        return yes(call)

    async with room(tmp_path, *CELLS, toolCall={"approval": {"byDefault": "allow"}}) as there:
        edits = (replace("x = 1", "open('.ZZZca/config.json', 'w')"), replace("ZZZ", "e"))
        await there.ask([*edits, run("a")], decide)
        assert kinds == ["protected", "protected"]


async def test_the_number_of_a_second_edit_is_that_which_the_cell_has_now(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        remove = {"tool": "notebook_delete_cell", "arguments": {"cell": 1}}
        await there.ask([remove, edit(2, "y = 20")], yes)
        assert there.page.cells() == [("b", "y = 20")]


async def test_a_run_by_number_behind_an_insertion_runs_the_cell_that_was_shown(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        reader = Reader()
        insert = {"tool": "notebook_insert_cell", "arguments": {"source": "z = 3", "after": "a"}}
        _, ran = called(await there.ask([insert, run(2)], reader))
        assert not ran.error
        assert [source for _, _, source in reader.shown[0]] == ["z = 3"]
        assert list_runs(there.page) == ["z = 3"]


async def test_a_run_that_needs_no_approval_runs_no_half_written_cell_either(tmp_path: Path) -> None:
    allowed = {"approval": {"byDefault": "allow"}}
    async with room(tmp_path, *CELLS, toolCall=allowed) as there:
        there.page.type("a", "x = ")
        (done,) = called(await there.ask([run("a")]))
        assert done.error
        assert list_runs(there.page) == []


WRITES = "open('.eca/config.json', 'w').write('{}')"


@pytest.mark.parametrize(
    "call",
    [
        run("c"),
        {"tool": "notebook_edit_cell", "arguments": {"cell": "h", "original_content": "ZZZ", "new_content": "eca"}},
        {"tool": "notebook_insert_cell", "arguments": {"source": "open('../tools/run.sh', 'w')"}},
        {"tool": "notebook_insert_cell", "arguments": {"source": "x = 1\n!cd ../tools && cp x run.sh"}},
        {"tool": "notebook_insert_cell", "arguments": {"source": "%%bash\nD=.e; cp x ../${D}ca/config.json"}},
    ],
)
async def test_cells_that_change_what_may_run_are_asked_about_also_with_trust(
    tmp_path: Path, call: dict[str, Any]
) -> None:
    cells = (code("c", WRITES), code("h", WRITES.replace("eca", "ZZZ")))
    hooks = {"h": {"type": "sessionEnd", "actions": [{"file": "tools/run.sh"}]}}
    async with room(tmp_path, *cells, hooks=hooks) as there:
        there.table.host.turns.choose("chat", Choice(trust=True))
        causes: list[str] = []

        def reject(question: ToolCallRunContent) -> CallDecision:
            causes.append(question.cause.kind if question.cause else "")
            return CallDecision(approved=False)

        before = there.page.cells()
        await there.ask([call], reject)
        assert causes == ["protected"]
        assert (there.page.cells(), list_runs(there.page)) == (before, [])


async def test_an_edit_of_another_line_of_such_a_cell_is_not_asked_about(tmp_path: Path) -> None:
    async with room(tmp_path, code("c", f"x = 1\n{WRITES}")) as there:
        there.table.host.turns.choose("chat", Choice(trust=True))
        change = {"cell": "c", "original_content": "x = 1", "new_content": "x = 'data/a.csv'"}
        (done,) = called(await there.ask([{"tool": "notebook_edit_cell", "arguments": change}]))
        assert not done.error
