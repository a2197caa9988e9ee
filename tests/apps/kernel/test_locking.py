"""Locked answers in notebooks that nobody watches: recorded with a model, replayed by a fresh kernel that has none."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.apps.kernel.nbclient_notebook import PATIENCE, Book, Ran, opened, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio(loop_scope="module")

CODE = "lucky = 6 * 7\nprint('lucky', lucky)"
RULES: list[dict[str, Any]] = [
    {
        "message": "^add",
        "reply": [
            {"reasoning": "Six times seven."},
            {"text": "Let me."},
            {"tool": "run_code", "arguments": {"code": CODE}},
            {"tool": "write_file", "arguments": {"path": "made.txt", "content": "once"}},
        ],
    },
    {"message": "^add", "result": "", "reply": [{"text": "It is **42**, 1 < 2."}]},
    {"message": "^forbidden", "reply": [{"tool": "run_code", "arguments": {"code": "forbidden = 1"}}]},
    {"message": "^forbidden", "result": "nobody is there", "reply": [{"text": "I may not."}]},
    {"message": "^again", "times": 1, "reply": [{"text": "One."}]},
    {"message": "^again", "times": 1, "reply": [{"text": "Two."}]},
    {"message": "^again", "reply": [{"text": "Three."}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]
ALLOW = {"run_code": {"argsMatchers": {"code": ["lucky.*"]}}, "write_file": {}}

CELLS = (
    "%%eca --lock -> answer\nadd it up",
    "%eca --lock -n again",
    "%eca --lock -n again",
    "%eca --lock forbidden",
    "%eca --lock what is in @sales.csv",
)


@asynccontextmanager
async def notebook(folder: Path, home: str, config: dict[str, Any]) -> AsyncGenerator[Book]:
    """A fresh kernel, as after a restart; whatever a user has of their own is in their `home`."""
    (folder / home).mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, folder / home, config)
        async with asyncio.timeout(PATIENCE * 2), opened(folder) as book:
            yield book


@asynccontextmanager
async def without_model(folder: Path, home: str) -> AsyncGenerator[Book]:
    async with notebook(folder, home, {"providers": {"ollama": {"url": "http://127.0.0.1:9"}}}) as book:
        await book.run("import sys\nsys.modules['xllamacpp'] = None  # as if it were not installed")
        yield book


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("locking")
    (folder / "sales.csv").write_text("city,sold\nLyon,120\n")
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def recorded(folder: Path) -> list[Ran]:
    (folder / "author").mkdir()
    config = settings(folder / "author", RULES, toolCall={"approval": {"allow": ALLOW}})
    async with notebook(folder, "author", config) as book:
        ran = [await book.run(source) for source in CELLS]
        assert (await book.run("%eca --lock=mine.eca.lock hello")).failure == ""
        assert (await book.run("%eca --lock=mine.txt hello")).traceback[0].endswith("must end in .eca.lock.")
        await book.run(f"import os\nos.environ['JPY_SESSION_NAME'] = {str(folder / 'story.ipynb')!r}")
        assert (await book.run("%eca --lock -n hello")).failure == ""
    assert (folder / "made.txt").read_text() == "once"
    (folder / "made.txt").unlink()
    return ran


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def book(folder: Path, recorded: list[Ran]) -> AsyncGenerator[Book]:
    assert recorded
    async with without_model(folder, "reader") as book:
        yield book


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def replayed(book: Book) -> list[Ran]:
    return [await book.run(source) for source in CELLS]


async def test_the_same_outputs_are_left_in_the_notebook(recorded: list[Ran], replayed: list[Ran]) -> None:
    assert [ran.failure for ran in replayed] == [""] * len(CELLS)
    assert [ran.displays for ran in replayed] == [ran.displays for ran in recorded]
    assert [ran.markdown for ran in replayed[1:3]] == ["One.", "Two."]


async def test_the_next_cell_finds_what_the_assistant_defined_but_no_file_is_written_again(
    folder: Path, book: Book, replayed: list[Ran]
) -> None:
    assert "lucky 42" in replayed[0].markdown
    assert (await book.run("lucky, 'forbidden' in globals()")).displays == [{"text/plain": "(42, False)"}]
    assert not (folder / "made.txt").exists()


async def test_the_name_is_bound_to_the_answer_which_says_that_it_was_replayed(book: Book, replayed: list[Ran]) -> None:
    assert replayed
    ran = await book.run(
        "(answer.text, [call.output for call in answer.tool_calls][0], answer.outcome, answer.replayed)"
    )
    expected = ("Let me.\n\nIt is **42**, 1 < 2.", "lucky 42", "completed", True)
    assert ran.displays == [{"text/plain": str(expected)}]
    assert (await book.run("answer.usage.last_message_cost")).displays == [{"text/plain": "'0.0000'"}]


async def test_status_counts_what_was_replayed(book: Book, replayed: list[Ran]) -> None:
    assert replayed
    told = (await book.run("%eca lock")).displays[0]["text/plain"]
    assert "the `*.eca.lock` of this folder" in told
    assert "Replayed: 5" in told


async def test_a_changed_question_is_one_line_that_says_so_and_what_to_do(book: Book, replayed: list[Ran]) -> None:
    assert replayed
    (line,) = (await book.run("%%eca --lock -n\nadd it up, please")).traceback
    assert line.startswith("No answer: notebook.eca.lock has no answer to this question (")
    assert line.endswith("Run the cell in JupyterLab, or once with `--relock`, and keep the file with the notebook.")
    (line,) = (await book.run("%eca --relock -n add it up")).traceback
    assert line.endswith("and no model gave one: No model is set up yet. Choose one of these, then ask again:")


async def test_a_notebook_is_locked_and_unlocked_by_a_command(book: Book, replayed: list[Ran]) -> None:
    assert replayed
    assert (await book.run("%eca lock on")).displays[0]["text/plain"].startswith("Locking is on.")
    assert (
        (await book.run("%eca -n what is in @sales.csv, exactly")).traceback[0].startswith("No answer: notebook.eca.")
    )
    assert (await book.run("%eca lock off")).displays[0]["text/plain"].startswith("Locking is off.")
    advice = "Write `%eca lock on` or `%eca lock off`, or `%eca lock` to see the state."
    assert (await book.run("%eca lock maybe")).displays[0]["text/plain"] == advice
    assert (await book.run("%eca -n add it up")).traceback[0].startswith("No answer: No model is set up yet.")


async def test_the_lock_file_has_the_name_of_the_notebook_or_the_one_it_is_given(
    folder: Path, recorded: list[Ran]
) -> None:
    assert recorded
    names = {name for name in os.listdir(folder) if name.endswith(".lock")}  # noqa: PTH208  # as text
    assert names == {"mine.eca.lock", "notebook.eca.lock", "story.eca.lock"}


async def test_nothing_of_the_machine_is_in_the_lock_file(folder: Path, recorded: list[Ran]) -> None:
    assert recorded
    text = (folder / "notebook.eca.lock").read_text()
    assert str(folder) not in text
    assert json.loads(text)["turns"][0]["replies"][0]["parts"][2]["arguments"]["code"]["$lines"][0] == "lucky = 6 * 7\n"
