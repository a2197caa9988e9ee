"""What the assistant changed, looked through and taken back one by one, over the wire, in a page and in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.changes import (
    Change,
    ChangedCell,
    ChangeExtent,
    ChatChangesParams,
    ChatChangesResult,
    ChatRevertResult,
    ChatReviewParams,
)
from jupyter_eca.protocol.chats import ChatRollbackParams
from jupyter_eca.protocol.content import Role, TextContent
from tests.fronts.eca.test_changes_files import last_request
from tests.plugins.tools.test_notebook_undo import back
from tests.support.host_and_client import said
from tests.support.notebook_page import PATH, Page, Room, code, printed, room, text, yes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

CELLS = (
    text("t", "# Planets"),
    code("a", "x = 1", printed("old"), count=1),
    code("b", "y = x", printed("y"), count=2),
    code("c", "z = y"),
)


def edits(cell: str, source: str) -> dict[str, Any]:
    return {"tool": "notebook_edit_cell", "arguments": {"cell": cell, "source": source}}


async def changes(there: Room, **params: Any) -> tuple[Change, ...]:
    asked = ChatChangesParams(chat_id="chat", **params)
    return (await there.client.request("chat/changes", asked, ChatChangesResult)).changes


async def revert(there: Room, *ids: str) -> ChatRevertResult:
    return await there.client.request("chat/revert", ChatReviewParams(chat_id="chat", changes=ids), ChatRevertResult)


async def keep(there: Room, *ids: str) -> None:
    await there.client.request("chat/keep", ChatReviewParams(chat_id="chat", changes=ids), Done)


async def one(there: Room, cell: str, **params: Any) -> ChangedCell:
    (found,) = [one for one in await changes(there, **params) if isinstance(one, ChangedCell) and one.cell_id == cell]
    return found


def kinds(found: tuple[Change, ...]) -> list[tuple[str, ...]]:
    return [(one.kind, one.cell_id) if isinstance(one, ChangedCell) else (one.kind, one.path) for one in found]


async def test_what_a_turn_changed_is_listed_with_what_was_there_and_what_is(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask(
            [
                edits("a", "x = 2"),
                edits("a", "x = 3"),
                {"tool": "notebook_delete_cell", "arguments": {"cell": "b"}},
                {"tool": "notebook_move_cell", "arguments": {"cell": "c", "index": 1}},
                {"tool": "notebook_run_cells", "arguments": {"cells": ["t"]}},
                {"tool": "write_file", "arguments": {"path": "new/notes.txt", "content": "hello\n"}},
            ]
        )
        found = await changes(there)
        assert sorted(kinds(found)) == [("created", "new/notes.txt"), ("deleted", "b"), ("edited", "a"), ("moved", "c")]
        edited, moved, deleted = await one(there, "a"), await one(there, "c"), await one(there, "b")
        assert edited.text is not None
        assert (edited.text.before, edited.text.after) == ("x = 1", "x = 3")
        assert "-x = 1" in edited.text.diff
        assert "+x = 3" in edited.text.diff
        assert (edited.text.lines_added, edited.text.lines_removed, edited.refused) == (1, 1, None)
        assert (edited.place, edited.place_before, edited.left) == (3, 2, None)
        assert (moved.place, moved.place_before) == (1, 3)
        assert (deleted.place, deleted.place_before) == (None, 3)
        assert [one.number for one in found] == [1, 2, 3, 4]


async def test_one_change_is_taken_back_and_the_others_stay(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2"), edits("b", "y = 2"), edits("c", "z = 2")])
        await there.page.run("a")
        made = there.page.edits
        taken = [(await one(there, cell)).id for cell in "ac"]
        done = await revert(there, *taken)
        assert [one.shown for one in done.reverted] == [f"{PATH} cell 2", f"{PATH} cell 4"]
        assert there.page.books[PATH][1] == CELLS[1], "with its outputs"
        assert [source for _, source in there.page.cells()] == ["# Planets", "x = 1", "y = 2", "z = y"]
        assert there.page.edits == made + 1, "one step to undo"
        assert kinds(await changes(there)) == [("edited", "b")]
        again = await revert(there, *taken)
        assert (again.reverted, {one.why for one in again.left}) == ((), {"there is no such change any more"})


@pytest.mark.parametrize(
    ("tool", "arguments", "cell"),
    [
        ("notebook_insert_cell", {"source": "new", "after": 1}, None),
        ("notebook_delete_cell", {"cell": "b"}, "b"),
        ("notebook_move_cell", {"cell": "b", "index": 1}, "b"),
    ],
)
async def test_places_come_back_whatever_else_was_changed(
    tmp_path: Path, tool: str, arguments: dict[str, Any], cell: str | None
) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call(tool, **arguments)
        await there.call("notebook_move_cell", cell="t", index=9)
        change, moved = await changes(there, extent=ChangeExtent.EACH)
        assert isinstance(change, ChangedCell)
        assert cell in {None, change.cell_id}
        assert (await revert(there, change.id)).left == ()
        assert [id for id, _ in there.page.cells()] == ["a", "b", "c", "t"]
        assert (await revert(there, moved.id)).left == ()
        assert there.page.books[PATH] == list(CELLS)


async def test_a_change_that_is_kept_is_listed_no_more_and_a_rollback_still_takes_it_back(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2"), edits("b", "y = 2")])
        await keep(there, (await one(there, "a")).id)
        assert kinds(await changes(there)) == [("edited", "b")]
        await back(there)
        assert there.page.books[PATH] == list(CELLS)


async def test_somebodys_later_edit_is_shown_and_never_lost(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2"), edits("b", "y = 2")])
        there.page.type("a", "x = 2  # mine")
        change = await one(there, "a")
        assert (change.refused, change.left) == ("it was changed since", "x = 2")
        assert change.text is not None
        assert change.text.after == "x = 2  # mine"
        done = await revert(there, change.id, (await one(there, "b")).id)
        assert [(one.shown, one.why) for one in done.left] == [(f"{PATH} cell 2", "it was changed since")]
        assert [one.shown for one in done.reverted] == [f"{PATH} cell 3"]
        assert [source for _, source in there.page.cells()][1:3] == ["x = 2  # mine", "y = x"]


async def test_an_edit_that_comes_in_between_costs_only_its_own_cell(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2"), edits("b", "y = 2")])
        taken = [(await one(there, cell)).id for cell in "ab"]
        there.page.before_edit = lambda: there.page.type("a", "mine")
        done = await revert(there, *taken)
        assert [one.id for one in done.left] == taken[:1]
        assert [source for _, source in there.page.cells()][1:3] == ["mine", "y = x"]


async def test_of_two_turns_the_later_is_taken_back_first(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2")])
        await there.ask([edits("a", "x = 3")])
        await there.ask([{"tool": "notebook_run_cells", "arguments": {"cells": ["a"]}}])
        first, second = await changes(there, extent=ChangeExtent.EACH)
        assert first.refused == "a later turn changed it too: take that back first"
        assert first.text is not None
        assert (first.text.before, first.text.after) == ("x = 1", "x = 2")
        assert (await revert(there, first.id)).left[0].why == first.refused
        (both,) = await changes(there, extent=ChangeExtent.CHAT)
        assert both.text is not None
        assert (both.text.before, both.text.after, both.refused) == ("x = 1", "x = 3", None)
        await revert(there, second.id)
        assert (await changes(there, turn=first.turn))[0].refused is None
        await revert(there, both.id)
        assert there.page.books[PATH] == list(CELLS)


async def test_what_was_taken_back_is_not_taken_back_twice(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2"), {"tool": "notebook_move_cell", "arguments": {"cell": "b", "index": 1}}])
        await revert(there, *[change.id for change in await changes(there)])
        there.page.books[PATH] = [*CELLS[2:], *CELLS[:2]]
        await there.page.run("a")
        now = list(there.page.books[PATH])
        assert await back(there) == ""
        assert there.page.books[PATH] == now, "what the user moved and ran since"


async def test_what_the_user_has_undone_in_the_page_stands_again(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2")])
        await revert(there, (await one(there, "a")).id)
        assert await changes(there) == ()
        there.page.type("a", "x = 2")
        assert kinds(await changes(there)) == [("edited", "a")]
        await back(there)
        assert there.page.cells()[1] == ("a", "x = 1")


async def test_changes_are_listed_and_taken_back_after_the_server_was_started_anew(tmp_path: Path) -> None:
    page = Page({PATH: list(CELLS)})
    async with room(tmp_path, page=page) as there:
        await there.ask([edits("a", "x = 2"), {"tool": "notebook_delete_cell", "arguments": {"cell": "b"}}])
        listed = await changes(there)
    async with room(tmp_path, page=page) as there:
        assert await changes(there) == listed
        await revert(there, listed[1].id)
    async with room(tmp_path, page=page) as there:
        assert await changes(there) == listed[:1]
        await back(there)
    assert page.books[PATH] == list(CELLS)


async def test_the_chat_tells_it_and_the_model_with_the_next_prompt(tmp_path: Path) -> None:
    page = Page({PATH: list(CELLS)})
    async with room(tmp_path, page=page) as there:
        await there.ask([edits("a", "x = 2"), edits("b", "y = 2")])
        await revert(there, (await one(there, "a")).id)
        last = (await there.table.host.chats.read_events("chat"))[-1].content
        assert getattr(last, "text", "") == f"Restored: {PATH} cell 2"
    async with room(tmp_path, page=page) as there:
        words = await last_request(there)
        assert f"taken back changes that you made. These are as they were before: {PATH} cell [a]." in words
        await back(there)
        assert "taken back" not in await last_request(there), "nor does it remember the change"


async def test_a_rollback_that_leaves_the_messages_is_told_to_the_model_too(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2")])
        asked = next(e.content for e in await there.table.host.chats.read_events("chat") if e.role is Role.USER)
        assert isinstance(asked, TextContent)
        params = ChatRollbackParams(chat_id="chat", content_id=asked.content_id or "", include=("tools",))
        await there.client.request("chat/rollback", params, Done)
        assert f"as they were before: {PATH} cell 2." in await last_request(there)


async def test_a_chat_that_is_answering_changes_nothing_of_its_own(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2")])
        change = await one(there, "a")
        live = await there.table.host.chats.load("chat")
        with live.hold(), pytest.raises(RemoteError, match="still answering"):
            await revert(there, change.id)
        assert there.page.cells()[1] == ("a", "x = 2")


async def test_a_notebook_that_nobody_has_says_so(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2")])
        there.page.books[f"{PATH}.moved"] = there.page.books.pop(PATH)
        change = await one(there, "a")
        assert change.refused == f"There is no notebook {PATH}."
        assert (await revert(there, change.id)).left[0].why == change.refused


async def test_the_commands_show_and_undo_by_number(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([edits("a", "x = 2"), edits("b", "y = 2")])
        await there.ask([edits("c", "z = 2")])

        async def told(words: str) -> str:
            from tests.support.host_and_client import answer

            return said(await answer(there.client, words, yes), "system")

        assert f"3. `{PATH}` cell 4, edited (+1 -1)\n\n```diff\n@@ -1 +1 @@\n-z = y" in await told("/diff")
        assert "1. `work" in await told("/diff all")
        assert f"- Taken back: {PATH} cell 3" in await told("/undo all 2 9")
        assert "Change 9 is not in the list" in await told("/undo all 2 9")
        assert await told("/undo") == f"Restored: {PATH} cell 4"
        assert await told("/undo") == f"Restored: {PATH} cell 2"
        assert there.page.books[PATH] == list(CELLS)
        assert await told("/undo") == "There are no changes to show or to take back."
        assert "Write `/undo`" in await told("/undo everything")
