"""Cells put back as a turn found them, by `chat/rollback`, in the page that has the notebook open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.chats import ChatRollbackParams
from jupyter_eca.protocol.content import Role, TextContent
from tests.support.notebook_page import PATH, Page, Room, code, printed, result, room, text

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.event import Event

pytestmark = pytest.mark.asyncio

CELLS = (
    text("t", "# Planets"),
    code("a", "x = 1", printed("old"), count=1),
    code("b", "y = x", printed("y"), count=2),
)
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("notebook_insert_cell", {"source": "z", "after": 1}),
    ("notebook_edit_cell", {"cell": "a", "source": "x = 2"}),
    ("notebook_edit_cell", {"cell": "a", "original_content": "2", "new_content": "3"}),
    ("notebook_run_cells", {"cells": ["a"]}),
    ("notebook_move_cell", {"cell": "b", "index": 1}),
    ("notebook_delete_cell", {"cell": "b"}),
    ("notebook_delete_cell", {"cell": "t"}),
]


async def events(there: Room) -> list[Event]:
    return await there.table.host.chats.read_events("chat")


async def back(there: Room, turn: int = 0) -> str:
    """To before the n-th question; gives what the user is told."""
    asked = [e.content for e in await events(there) if e.role is Role.USER and isinstance(e.content, TextContent)]
    params = ChatRollbackParams(chat_id="chat", content_id=asked[turn].content_id or "")
    await there.client.request("chat/rollback", params, Done)
    said = [e.content.text for e in await events(there) if e.role is Role.SYSTEM and isinstance(e.content, TextContent)]
    return said[-1] if said else ""


@pytest.mark.parametrize("change", [*CHANGES[:2], *CHANGES[3:]], ids=str)
async def test_a_change_is_taken_back_with_the_outputs(tmp_path: Path, change: tuple[str, dict[str, Any]]) -> None:
    async with room(tmp_path, *CELLS) as there:
        assert not (await there.call(change[0], **change[1])).error
        assert there.page.books[PATH] != list(CELLS)
        told = await back(there)
        assert there.page.books[PATH] == list(CELLS)
        assert told.startswith(("Restored: work/nb.ipynb cell ", "Deleted: work/nb.ipynb cell "))


async def test_many_changes_of_many_turns_are_taken_back_in_one_step(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        for tool, arguments in CHANGES:
            assert not (await there.call(tool, **arguments)).error
        made, inserted = there.page.edits, there.page.cells()[0][0]
        assert await back(there) == (
            "Restored: work/nb.ipynb cell 1\nRestored: work/nb.ipynb cell 2\nRestored: work/nb.ipynb cell 3\n"
            f"Deleted: work/nb.ipynb cell [{inserted}], which the assistant had made\n"
            "Not taken back: what notebook_run_cells did."
        )
        assert there.page.books[PATH] == list(CELLS)
        assert there.page.edits == made + 1


async def test_a_later_turn_is_taken_back_alone(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_edit_cell", cell="a", source="x = 2")
        await there.call("notebook_edit_cell", cell="b", source="y = 2")
        assert await back(there, 1) == "Restored: work/nb.ipynb cell 3"
        assert [source for _, source in there.page.cells()] == ["# Planets", "x = 2", "y = x"]


async def test_a_cell_goes_back_to_between_its_neighbours_wherever_they_are_by_then(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_delete_cell", cell="a")
        there.page.books[PATH].insert(0, text("mine", "my notes"))
        await back(there)
        assert [id for id, _ in there.page.cells()] == ["mine", "t", "a", "b"]


async def test_a_cell_that_somebody_changed_since_is_left_alone_and_named(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_edit_cell", cell="a", source="x = 2")
        await there.call("notebook_edit_cell", cell="b", source="y = 2")
        there.page.type("b", "y = 2  # mine")
        assert await back(there) == (
            "Restored: work/nb.ipynb cell 2\nNot restored: work/nb.ipynb cell 3 (it was changed since)"
        )
        assert [source for _, source in there.page.cells()] == ["# Planets", "x = 1", "y = 2  # mine"]


async def test_what_somebody_wrote_between_two_changes_is_not_lost(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_edit_cell", cell="a", source="x = 2")
        there.page.type("a", "x = 2  # mine")
        await there.call("notebook_read")
        await there.call("notebook_edit_cell", cell="a", original_content="2", new_content="3")
        assert await back(there) == "Not restored: work/nb.ipynb cell 2 (it was changed since)"
        assert there.page.cells()[1] == ("a", "x = 3  # mine")


async def test_a_change_that_was_undone_by_hand_needs_nothing(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_edit_cell", cell="a", source="x = 2")
        there.page.books[PATH] = list(CELLS)
        assert await back(there) == ""
        assert there.page.books[PATH] == list(CELLS)


async def test_a_change_that_was_refused_is_not_taken_back(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        there.page.before_edit = lambda: there.page.type("a", "mine")
        assert (await there.call("notebook_edit_cell", cell="a", source="x = 2")).error
        there.page.before_edit = None
        assert await back(there) == ""
        assert there.page.cells()[1] == ("a", "mine")


async def test_what_a_notebook_made_of_a_change_is_taken_back_too(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        there.page.after_edit = lambda: there.page.type("a", "x = 2  # formatted")
        assert "is not as you wanted it" in result(await there.call("notebook_edit_cell", cell="a", source="x=2"))
        there.page.after_edit = None
        await back(there)
        assert there.page.books[PATH] == list(CELLS)


async def test_cells_are_put_back_after_the_server_was_started_anew(tmp_path: Path) -> None:
    page = Page({PATH: list(CELLS)})
    async with room(tmp_path, page=page) as there:
        await there.call("notebook_delete_cell", cell="a")
    assert page.cells() == [("t", "# Planets"), ("b", "y = x")]
    async with room(tmp_path, page=page) as there:
        assert await back(there) == "Restored: work/nb.ipynb cell 2"
    assert page.books[PATH] == list(CELLS)


async def test_a_notebook_that_nobody_has_is_named(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_delete_cell", cell="a")
        del there.page.books[PATH]
        assert await back(there) == f"Not restored: {PATH} (There is no notebook {PATH}.)"


async def test_what_running_cells_did_is_told_as_not_taken_back(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_run_cells", cells=["a"])
        assert await back(there) == ("Restored: work/nb.ipynb cell 2\nNot taken back: what notebook_run_cells did.")


async def test_a_notebook_that_was_made_is_gone_again(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_create", path="new/a.ipynb", cells=["1"])
        assert await back(there) == "Deleted: new/a.ipynb, which the assistant had made"
        assert not (tmp_path / "new").exists()


async def test_of_outputs_too_large_to_keep_the_source_comes_back_and_they_stay(tmp_path: Path) -> None:
    large = code("a", "x = 1", printed("x" * 11_000_000), count=1)
    async with room(tmp_path, large) as there:
        await there.call("notebook_edit_cell", cell="a", source="x = 2")
        (edited,) = there.page.books[PATH]
        there.page.books[PATH] = [edited.model_copy(update={"outputs": (printed("two"),)})]
        await back(there)
        (cell,) = there.page.books[PATH]
        assert (cell.source, cell.outputs) == ("x = 1", (printed("two"),))
