"""A tool never replaces what the model has not seen as it is now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.context import TextContext
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.support.host_and_client import answer, desk
from tests.support.notebook_page import PATH, called, code, result, room, script, yes

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent
    from jupyter_eca.transport.eca_client import CallDecision

pytestmark = pytest.mark.asyncio

CELLS = (code("a", "x = 1", count=1), code("b", "y = 2", count=2))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("notebook_edit_cell", {"cell": "a", "source": "x = 3"}),
        ("notebook_edit_cell", {"cell": "a", "original_content": "x = 1", "new_content": "x = 3"}),
        ("notebook_delete_cell", {"cell": "a"}),
    ],
)
async def test_a_cell_that_the_user_changed_since_the_model_read_it_is_kept_and_shown_as_it_is_now(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    asked: list[ToolCallRunContent] = []

    def count(call: ToolCallRunContent) -> CallDecision:
        asked.append(call)
        return yes(call)

    async with room(tmp_path, *CELLS, read=False) as there:
        await there.call("notebook_read")
        there.page.type("a", "x = 1\n# user note")
        done = await there.call(tool, count, **arguments)
        assert done.error
        assert f"Cell 1 of {PATH} was changed since you read it; nothing was changed. It is now:" in result(done)
        assert "x = 1\n# user note" in result(done)
        assert there.page.cells()[0] == ("a", "x = 1\n# user note")
        assert asked == []  # nobody is asked about a call that must fail
        decided = await there.call(tool, count, **(arguments | ({"source": "x = 3"} if "source" in arguments else {})))
        assert not decided.error
        assert len(asked) == 1


async def test_a_cell_that_was_never_read_is_not_replaced_but_a_place_in_it_may_be(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, read=False) as there:
        done = await there.call("notebook_edit_cell", cell=2, source="y = 3")
        assert f"You have not read cell 2 of {PATH}; nothing was changed. Read it first" in result(done)
        assert "y = 2" not in result(done)  # rules may deny to read it
        assert (await there.call("notebook_delete_cell", cell="a")).error
        placed = await there.call("notebook_edit_cell", cell="b", original_content="y = 2", new_content="y = 4")
        assert not placed.error
        assert there.page.cells() == [("a", "x = 1"), ("b", "y = 4")]


async def test_a_cell_that_is_read_in_the_same_answer_was_not_known_when_the_answer_was_written(
    tmp_path: Path,
) -> None:
    async with room(tmp_path, *CELLS, read=False) as there:
        read: dict[str, Any] = {"tool": "notebook_read", "arguments": {}}
        edit = {"tool": "notebook_edit_cell", "arguments": {"cell": "a", "source": "x = 9"}}
        _, edited = sorted(called(await there.ask([read, edit])), key=lambda one: one.name, reverse=True)
        assert edited.error
        assert there.page.cells()[0] == ("a", "x = 1")


async def test_the_model_need_not_read_again_what_it_wrote_itself(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, read=False) as there:
        await there.call("notebook_insert_cell", source="z = 1")
        id, _ = there.page.cells()[2]
        for number in (2, 3):
            assert not (await there.call("notebook_edit_cell", cell=id, source=f"z = {number}")).error
        await there.call("notebook_run_cells", cells=[id])
        assert not (await there.call("notebook_delete_cell", cell=id)).error


async def test_the_active_cell_that_a_panel_sends_along_is_known(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, read=False) as there:
        script(tmp_path, [{"tool": "notebook_edit_cell", "arguments": {"cell": "a", "source": "x = 3"}}])
        along = TextContext(label=f"active cell 1 of {PATH}", content="x = 1", path=PATH, cell="a")
        (done,) = called(await answer(there.client, "go", yes, contexts=(along,)))
        assert not done.error
        assert there.page.cells()[0] == ("a", "x = 3")


async def test_a_cell_that_is_mentioned_in_the_prompt_is_known(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, read=False) as there:
        script(tmp_path, [{"tool": "notebook_delete_cell", "arguments": {"cell": "b"}}])
        (done,) = called(await answer(there.client, "delete @cell:2", yes))
        assert not done.error


async def write(folder: Path, *turns: dict[str, Any], between: dict[int, str] | None = None) -> list[Any]:
    """The ends of one call in each of these turns of a chat. `between` is what the user saves before a turn."""
    ended: list[Any] = []
    async with desk(folder, []) as table:
        client = await table.client()
        for number, call in enumerate(turns):
            if between and number in between:
                (folder / "guide.md").write_text(between[number])
            rules = [{"message": "", "reply": [call]}, {"result": "", "reply": [{"text": "Done."}]}]
            (folder / "script.json").write_text(json.dumps({"rules": rules}))
            ended += called(await answer(client, "go", yes))
    return ended


READ: dict[str, Any] = {"tool": "read_file", "arguments": {"path": "guide.md"}}
WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "guide.md", "content": "new\n"}}
EDIT: dict[str, Any] = {
    "tool": "edit_file",
    "arguments": {"path": "guide.md", "original_content": "own", "new_content": "ours"},
}


async def test_a_file_that_was_never_read_is_not_replaced_until_the_model_has_seen_it(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("own words\n")
    refused, _, done = await write(tmp_path, WRITE, READ, WRITE)
    assert refused.error
    assert "You have not read guide.md; nothing was written. Read it first with read_file" in result(refused)
    assert "own words" not in result(refused)  # rules may deny to read it
    assert not done.error


async def test_a_file_that_was_changed_since_it_was_read_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("own words\n")
    _, refused = await write(tmp_path, READ, WRITE, between={1: "own words\nand a note\n"})
    assert refused.error
    assert "guide.md was changed since you read it; nothing was written. It is now:\nown words\nand a note\n" in result(
        refused
    )
    assert (tmp_path / "guide.md").read_text() == "own words\nand a note\n"


async def test_a_long_file_is_not_put_into_the_refusal(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("own words\n" * 5000)
    first, second = await write(tmp_path, WRITE, WRITE)
    assert "Read it first with read_file" in result(first)
    assert second.error


async def test_a_file_that_was_read_or_written_may_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("own words\n")
    again = {"tool": "write_file", "arguments": {"path": "guide.md", "content": "newer\n"}}
    ended = await write(tmp_path, READ, EDIT, WRITE, again)
    assert [one.error for one in ended] == [False] * 4
    assert (tmp_path / "guide.md").read_text() == "newer\n"


async def test_an_edit_of_one_place_does_not_make_the_rest_of_a_file_known(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("own words\n" + "never seen\n" * 50)
    edited, refused = await write(tmp_path, EDIT, WRITE)
    assert not edited.error
    assert refused.error


def read_lines(offset: int, limit: int) -> dict[str, Any]:
    return {"tool": "read_file", "arguments": {"path": "guide.md", "line_offset": offset, "limit": limit}}


async def test_a_file_that_was_read_in_part_is_not_replaced_until_all_of_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("one\ntwo\nthree\n")
    _, refused, _, _, done = await write(tmp_path, read_lines(0, 1), WRITE, read_lines(2, 5), read_lines(1, 1), WRITE)
    assert "You have read only a part of guide.md; nothing was written." in result(refused)
    assert not done.error


async def test_parts_of_two_versions_of_a_file_do_not_make_it_known(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("one\ntwo\n")
    changed = {1: "one\nother\n"}
    _, _, refused = await write(tmp_path, read_lines(1, 1), read_lines(0, 1), WRITE, between=changed)
    assert refused.error
    assert (tmp_path / "guide.md").read_text() == "one\nother\n"


@pytest.mark.parametrize(
    ("mention", "text", "known"),
    [
        ("@guide.md", "one\r\ntwo\r\n", True),
        ("@guide.md", "\ufeffone\n", True),
        ("@guide.md:L1-2", "one\ntwo\n", True),
        ("@guide.md:L1", "one\ntwo\n", False),
        ("@guide.md", "words of a long line\n" * 5000, False),
    ],
)
async def test_a_mentioned_file_is_known_when_all_of_it_was_shown(
    tmp_path: Path, mention: str, text: str, known: bool
) -> None:
    (tmp_path / "guide.md").write_bytes(text.encode())
    async with desk(
        tmp_path, [{"message": "", "reply": [WRITE]}, {"result": "", "reply": [{"text": "Done."}]}]
    ) as table:
        (done,) = called(await answer(await table.client(), f"rewrite {mention}", yes))
    assert done.error is not known


async def test_a_result_that_was_cut_does_not_make_a_file_known(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("".join(f"line {number}\n" for number in range(200)))
    rules = [
        {"result": "not read|part", "reply": [{"text": "Done."}]},
        {"result": "", "times": 1, "reply": [WRITE]},
        {"message": "", "reply": [READ]},
    ]
    async with desk(tmp_path, rules, toolCall={"outputTruncation": {"lines": 20}}) as table:
        _, refused = called(await answer(await table.client(), "go", yes))
    assert refused.error


async def test_after_a_summary_the_model_must_read_again_what_it_replaces(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("own words\n")
    rules = [
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "^read", "reply": [READ]},
        {"message": "^write", "reply": [WRITE]},
        {"message": "", "reply": [{"text": "A summary."}]},
    ]
    async with desk(tmp_path, rules) as table:
        client = await table.client()
        await answer(client, "read", yes)
        await answer(client, "/compact")
        (refused,) = called(await answer(client, "write", yes))
    assert "You have not read guide.md" in result(refused)


async def test_an_edit_of_every_place_changes_no_place_that_was_not_shown(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("own words\n")
    everywhere: dict[str, Any] = {"tool": "edit_file", "arguments": {**EDIT["arguments"], "all_occurrences": True}}

    def type_then_approve(call: ToolCallRunContent) -> CallDecision:
        (tmp_path / "guide.md").write_text("own words\nmy own notes\n")
        return yes(call)

    rules = [{"message": "", "reply": [everywhere]}, {"result": "", "reply": [{"text": "Done."}]}]
    async with desk(tmp_path, rules) as table:
        (refused,) = called(await answer(await table.client(), "go", type_then_approve))
    assert "guide.md was changed since the edit was shown" in result(refused)
    assert (tmp_path / "guide.md").read_text() == "own words\nmy own notes\n"


async def test_two_edits_of_one_line_in_one_answer_are_both_made(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("own words\n")
    other = {
        "tool": "edit_file",
        "arguments": {"path": "guide.md", "original_content": "words", "new_content": "notes"},
    }
    rules = [{"message": "", "reply": [EDIT, other]}, {"result": "", "reply": [{"text": "Done."}]}]
    async with desk(tmp_path, rules) as table:
        ended = called(await answer(await table.client(), "go", yes))
    assert [one.error for one in ended] == [False, False]
    assert (tmp_path / "guide.md").read_text() == "ours notes\n"


async def test_the_cells_of_a_mentioned_notebook_that_nobody_has_open_are_known(tmp_path: Path) -> None:
    cell: dict[str, Any] = {
        "id": "a",
        "cell_type": "code",
        "source": "x = 1",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    book: dict[str, Any] = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "closed.ipynb").write_text(json.dumps(book))
    edit = {"tool": "notebook_edit_cell", "arguments": {"path": "closed.ipynb", "cell": "a", "source": "x = 2"}}
    rules = [{"message": "", "reply": [edit]}, {"result": "", "reply": [{"text": "Done."}]}]
    async with desk(tmp_path, rules, NotebookFiles(Files((tmp_path,)))) as table:
        (done,) = called(await answer(await table.client(), "change @closed.ipynb", yes))
    assert not done.error
    assert json.loads((tmp_path / "closed.ipynb").read_text())["cells"][0]["source"] == ["x = 2"]
