"""A change of several cells is approved without some of its parts: what runs is what was shown and approved, and the
model reads what was left out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.chat import ChatRemainingChangeParams, ChatRemainingChangeResult
from jupyter_eca.protocol.content import (
    ChangePart,
    FileChangeDetails,
    MovePart,
    ToolCallRunContent,
    ToolCallRunningContent,
)
from jupyter_eca.protocol.notebook import CellState
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.turn.test_approval_attacks import rejections, results
from tests.host.turn.test_protected_paths import call
from tests.support.notebook_page import PATH, code, room, text

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from tests.support.notebook_page import Room

pytestmark = pytest.mark.asyncio

FIRST = 'x = "😀"\na = 1\nb = 2\nc = 3'
CELLS = (text("t", "# Sales"), code("a", FIRST), code("b", "y = 1"), code("c", "z = 1"))
CHANGES: list[dict[str, Any]] = [
    {"do": "edit", "cell": "a", "source": 'x = "😀"\na = 10\nb = 2\nc = 30'},
    {"do": "edit", "cell": "b", "source": "y = 2"},
    {"do": "insert", "after": "b", "source": "plot()"},
]
# The parts: `a = 10` and `c = 30` in the cell a, `y = 2` in the cell b.
A10, C30, Y2 = 0, 1, 2


def change(*changes: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return call("notebook_change", changes=list(changes or CHANGES), **arguments)


def without(*parts: int) -> CallDecision:
    return CallDecision(approved=True, left_out=parts)


def sources(there: Room) -> list[str]:
    return [source for _, source in there.page.cells()]


def find_running(received: list[ChatContentReceivedParams]) -> FileChangeDetails:
    """What the first call makes, as it was told when it began."""
    running = next(one.content for one in received if isinstance(one.content, ToolCallRunningContent))
    assert isinstance(running.details, FileChangeDetails)
    return running.details


async def test_the_parts_that_were_approved_are_made_in_all_cells(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        shown: list[ToolCallRunContent] = []

        def choose(one: ToolCallRunContent) -> CallDecision:
            shown.append(one)
            return without(C30)

        received = await there.ask([change()], choose)
        assert sources(there) == ["# Sales", FIRST.replace("a = 1", "a = 10"), "y = 2", "plot()", "z = 1"]
        assert isinstance(shown[0].details, FileChangeDetails)
        parts = shown[0].details.parts or ()
        assert [(part.cell_id, part.text) for part in parts if isinstance(part, ChangePart)] == [
            ("a", "a = 10\n"),
            ("a", "c = 30"),
            ("b", "y = 2"),
        ]
        running = find_running(received)
        assert (running.parts, running.left_out) == (parts, (C30,))
        assert "c = 30" not in running.diff
        assert "+a = 10" in running.diff
        assert "+plot()" in running.diff
        (told,) = results(received)
        assert told.startswith("The user left out 1 of the 3 parts of this edit.")
        assert "Left out were:\n---\nin the cell [a]:\nc = 30\n---" in told
        # The model has written something else, so it reads the cells.
        assert FIRST.replace("a = 1", "a = 10") in told


async def test_a_client_is_shown_what_would_remain_and_exactly_that_is_made(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def wait(one: ToolCallRunContent) -> None:
            waiting.set_result(one.id)

        turn = asyncio.create_task(there.ask([change()], wait))
        id = await waiting

        async def ask(*parts: int, call: str = id) -> FileChangeDetails | None:
            params = ChatRemainingChangeParams(chat_id="chat", tool_call_id=call, left_out=parts)
            return (await there.client.request("chat/remainingChange", params, ChatRemainingChangeResult)).details

        remaining = await ask(C30)
        assert remaining is not None
        assert "c = 30" not in remaining.diff
        assert [part for part in (await ask(7), await ask(C30, call="another"), await ask()) if part] == []
        await there.client.decide("chat", id, without(C30))
        assert find_running(await turn) == remaining
        assert await ask(C30) is None


async def test_a_cell_all_parts_of_which_were_left_out_stays_and_does_not_run(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        received = await there.ask([change(run=True)], lambda _: without(A10, C30))
        assert sources(there) == ["# Sales", FIRST, "y = 2", "plot()", "z = 1"]
        running = find_running(received)
        assert [cell.source for cell in running.runs or ()] == ["y = 2", "plot()"]
        assert [cell.source for cell in there.page.books[PATH] if cell.state is CellState.RAN] == ["y = 2", "plot()"]
        (told,) = results(received)
        assert told.startswith("The user left out 2 of the 3 parts of this edit.")
        assert "Edited cell 2" not in told
        # All that is left of the change can be undone.
        changes = await there.table.host.changes.list("chat")
        await there.table.host.changes.revert("chat", [one.id for one in changes])
        assert there.page.cells() == [(cell.id, cell.source) for cell in CELLS]


async def test_a_cell_runs_with_the_parts_that_were_approved(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        received = await there.ask([change(CHANGES[0], run=True)], lambda _: without(C30))
        source = FIRST.replace("a = 1", "a = 10")
        assert [cell.source for cell in find_running(received).runs or ()] == [source]
        assert [cell.source for cell in there.page.books[PATH] if cell.state is CellState.RAN] == [source]


async def test_an_insertion_alone_may_remain(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([change()], lambda _: without(A10, C30, Y2))
        assert sources(there) == ["# Sales", FIRST, "y = 1", "plot()", "z = 1"]


# Parts that there are not: of a cell that the call does not change, of no cell, and all that there is.
ATTACKS: list[tuple[list[dict[str, Any]], tuple[int, ...]]] = [
    (CHANGES, (3,)),
    (CHANGES, (A10, 3)),
    (CHANGES, (-1,)),
    (CHANGES, (10**9,)),
    (CHANGES[:2], (A10, C30, Y2)),
    # All parts of a cell that is edited twice.
    ([CHANGES[1], {"do": "edit", "cell": "b", "source": "y = 3"}], (0,)),
    ([{"do": "move", "cell": "c", "index": 1}, CHANGES[1]], (0, 1)),
]


@pytest.mark.parametrize(("changes", "left_out"), ATTACKS)
async def test_parts_that_are_not_there_approve_nothing(
    tmp_path: Path, changes: list[dict[str, Any]], left_out: tuple[int, ...]
) -> None:
    async with room(tmp_path, *CELLS) as there:
        decisions = (without(*left_out), CallDecision(approved=False))

        async def decide(id: str) -> None:
            for decision in decisions:
                await there.client.decide("chat", id, decision)

        def choose(one: ToolCallRunContent) -> None:
            deciding.append(there.table.tasks.create_task(decide(one.id)))

        deciding: list[Any] = []
        received = await there.ask([change(*changes)], choose)
        assert [str(reason) for reason in rejections(received)] == ["user-choice"]
        assert sources(there) == [cell.source for cell in CELLS]


MOVE: list[dict[str, Any]] = [
    {"do": "move", "cell": "a", "index": 1},
    {"do": "edit", "cell": "a", "original_content": "a = 1", "new_content": "a = 10"},
    {"do": "edit", "cell": "b", "source": "y = 2"},
    {"do": "edit", "cell": "a", "original_content": "c = 3", "new_content": "c = 30"},
]


@pytest.mark.parametrize(
    ("left_out", "after"),
    [
        ((), [FIRST.replace("a = 1", "a = 10").replace("c = 3", "c = 30"), "# Sales", "y = 2", "z = 1"]),
        ((0,), ["# Sales", FIRST.replace("a = 1", "a = 10").replace("c = 3", "c = 30"), "y = 2", "z = 1"]),
        ((1,), [FIRST.replace("c = 3", "c = 30"), "# Sales", "y = 2", "z = 1"]),
        ((1, 2), [FIRST, "# Sales", "y = 2", "z = 1"]),
        ((0, 2, 3), ["# Sales", FIRST.replace("a = 1", "a = 10"), "y = 1", "z = 1"]),
    ],
    ids=["all", "no move", "no first part", "only the move of its cell", "only the first part"],
)
async def test_a_cell_that_is_moved_and_edited_twice_is_approved_part_by_part(
    tmp_path: Path, left_out: tuple[int, ...], after: list[str]
) -> None:
    async with room(tmp_path, *CELLS) as there:
        shown: list[ToolCallRunContent] = []

        def choose(one: ToolCallRunContent) -> CallDecision:
            shown.append(one)
            return without(*left_out)

        received = await there.ask([change(*MOVE, run=True)], choose)
        assert sources(there) == after
        details = shown[0].details
        assert isinstance(details, FileChangeDetails)
        assert [part.text if isinstance(part, ChangePart) else part for part in details.parts or ()] == [
            MovePart(kind="move", cell_id="a"),
            "a = 10\n",
            "c = 30",
            "y = 2",
        ]
        # Exactly the cells whose sources have changed run, with the sources that they have now.
        ran = [cell.source for cell in there.page.books[PATH] if cell.state is CellState.RAN]
        assert ran == [source for source in after if source not in {"# Sales", FIRST, "y = 1", "z = 1"}]
        (told,) = results(received)
        assert ("the move of the cell [a]" in told) is (0 in left_out)
        # All of it can be undone.
        changes = await there.table.host.changes.list("chat")
        await there.table.host.changes.revert("chat", [one.id for one in changes])
        assert there.page.cells() == [(cell.id, cell.source) for cell in CELLS]


async def test_a_cell_stays_where_it_is_while_another_is_moved_behind_it(tmp_path: Path) -> None:
    moves = [{"do": "move", "cell": "c", "index": 1}, {"do": "move", "cell": "b", "index": 2}]
    async with room(tmp_path, *CELLS) as there:
        await there.ask([change(*moves)], lambda _: without(0))
        assert sources(there) == ["# Sales", FIRST, "z = 1", "y = 1"]


async def test_a_part_that_is_named_twice_is_left_out_once(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        received = await there.ask([change()], lambda _: without(Y2, Y2))
        assert find_running(received).left_out == (Y2,)
        assert sources(there)[2] == "y = 1"
        assert sources(there)[1].endswith("c = 30")


async def test_a_cell_that_changed_between_card_and_click_leaves_all_as_it_is(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:

        def write(_: ToolCallRunContent) -> CallDecision:
            there.page.type("a", f"{FIRST}  # mine")
            return without(A10)

        (told,) = results(await there.ask([change(run=True)], write))
        assert "# mine" in told
        assert sources(there) == ["# Sales", f"{FIRST}  # mine", "y = 1", "z = 1"]
        assert there.page.edits == 0


async def test_a_change_in_a_cell_of_which_nothing_is_approved_is_no_reason_to_stop(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:

        def write(_: ToolCallRunContent) -> CallDecision:
            there.page.type("b", "y = 1  # mine")
            return without(Y2)

        await there.ask([change()], write)
        assert sources(there)[1].endswith("c = 30")
        assert sources(there)[2] == "y = 1  # mine"


async def test_what_follows_a_change_that_was_approved_in_part_does_not_run(tmp_path: Path) -> None:
    calls = [change(), call("notebook_run_cells", cells="a")]
    async with room(tmp_path, *CELLS) as there:
        received = await there.ask(calls, lambda one: without(Y2) if one.name == "notebook_change" else None)
        assert [str(reason) for reason in rejections(received)] == ["earlier-call-failed"]


async def test_an_approval_in_part_is_not_remembered(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([change()], lambda _: CallDecision(approved=True, session=True, left_out=(Y2,)))
        asked: list[str] = []

        def reject(one: ToolCallRunContent) -> CallDecision:
            asked.append(one.name)
            return CallDecision(approved=False)

        await there.ask([change({"do": "edit", "cell": "c", "source": "z = 2"})], reject)
        assert asked == ["notebook_change"]
