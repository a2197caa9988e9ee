"""`%eca diff` and `%eca undo` in a notebook, on files and on the cells of another notebook."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.apps.kernel.nbclient_notebook import PATIENCE, Book, opened, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "^look", "reply": [{"tool": "read_file", "arguments": {"path": "other.txt"}}]},
    {
        "message": "^two",
        "reply": [
            {"tool": "write_file", "arguments": {"path": "notes.txt", "content": "<b>new</b>\n"}},
            {"tool": "write_file", "arguments": {"path": "other.txt", "content": "x = 2  # ```\n"}},
        ],
    },
    {"message": "", "reply": [{"text": "Yes?"}]},
]
ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"allow": {"write_file": {}}}}}


@pytest_asyncio.fixture(loop_scope="module")
async def book(tmp_path: Path) -> AsyncGenerator[Book]:
    (tmp_path / "other.txt").write_text("x = 1\n")
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, tmp_path, settings(tmp_path, RULES, **ALLOWED))
        async with asyncio.timeout(PATIENCE * 3), opened(tmp_path) as book:
            yield book


def source(folder: Path) -> str:
    return (folder / "other.txt").read_text().strip()


async def test_what_the_assistant_changed_is_shown_and_taken_back_by_number(book: Book, tmp_path: Path) -> None:
    assert "Nothing was asked in this chat yet" in (await book.run("%eca diff")).markdown
    await book.run("%eca look")
    await book.run("%eca two changes")
    assert source(tmp_path) == "x = 2  # ```"
    (shown,) = (await book.run("%eca diff")).displays
    assert "```diff\n@@ -0,0 +1 @@\n+<b>new</b>\n```" in shown["text/markdown"], "inert: inside of a block of code"
    assert "````diff\n@@ -1 +1 @@\n-x = 1" in shown["text/markdown"]
    assert shown["text/plain"].startswith("1. notes.txt, created (+1 -0)\n@@ -0,0 +1 @@\n+<b>new</b>\n\n2. other.txt")
    undone = (await book.run("%eca undo 2 7")).displays[0]["text/plain"]
    assert undone == "- Taken back: other.txt\n- Change 7 is not in the list of changes."
    assert (source(tmp_path), (tmp_path / "notes.txt").exists()) == ("x = 1", True)
    assert "taken back changes that you made" in (await book.run("%eca /prompt-show")).displays[0]["text/plain"]
    (tmp_path / "notes.txt").write_text("mine")
    left = (await book.run("%eca undo")).displays[0]["text/plain"]
    assert left == "- Left as it is: notes.txt (it was changed since)"
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert "Write `%eca undo`" in (await book.run("%eca undo everything")).displays[0]["text/plain"]
    assert (await book.run("%eca undo my last idea")).markdown == "Yes?"
