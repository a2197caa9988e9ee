"""The kernel `eca`: a notebook whose cells are prompts, and its way back to plain Python."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, cast

import nbformat
import pytest
import pytest_asyncio
from nbclient import NotebookClient

from jupyter_eca.apps.cli import main
from tests.apps.kernel.nbclient_notebook import PATIENCE, surround
from tests.apps.kernel.prompts import Seat, book, seated
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.cold_start]

LOAD = "loaded = 42\nprint('rows', loaded)"
PICTURE = "from IPython.display import HTML, display\ndisplay(HTML('<b>seen</b>'))\nloaded"


def runs(code: str) -> dict[str, Any]:
    return {"tool": "run_code", "arguments": {"code": code}}


RULES: list[dict[str, Any]] = [
    {"message": "^load", "reply": [{"text": "Let me."}, runs(LOAD)]},
    {"message": "^load", "result": "rows 42", "reply": [{"text": "`loaded` is there."}]},
    {"message": "^show", "reply": [runs(PICTURE), runs("1 / 0"), {"text": "Look."}]},
    {"message": "^show", "result": "", "reply": [{"text": "Seen, 1 < 2."}]},
    {"message": "^slow", "reply": [{"text": "and so on " * 1000, "chunk": 5, "delay": 0.05}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seat(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Seat]:
    folder = tmp_path_factory.mktemp("prompts")
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, folder, settings(folder, RULES))
        (folder / "notes.md").write_text("Notes")
        (folder / "typing.py").write_text("raise ImportError('of the notebook, not of Python')")
        async with asyncio.timeout(PATIENCE * 3), seated(folder) as seat:
            yield seat


async def test_a_cell_of_words_is_answered(seat: Seat) -> None:
    shown = await seat.run("It's a question,\nisn't it?")
    assert (shown.status, shown.text.strip()) == ("ok", "I heard: It's a question,\nisn't it?")


async def test_code_that_was_approved_ran_where_the_cells_of_code_run(seat: Seat) -> None:
    shown = await seat.run("load it", says="y")
    assert "Run it?" in shown.asked[0]
    assert "`loaded` is there." in shown.text
    assert (await seat.run("%%python\nloaded + 1")).text == "43"


async def test_an_error_in_a_cell_of_code_names_the_line_that_the_reader_sees(seat: Seat) -> None:
    (error,) = (await seat.run("%%python\nx = 1\n1 / 0")).outputs
    assert "----> 3" in "".join(error["traceback"]).replace("\x1b[39m", "").replace("\x1b[32m", "")


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%eca help", "%eca QUESTION"),
        ("%%eca\nhello", "I heard: hello"),
        ("%eca hello", "I heard: hello"),
        ("!echo it is $((40 + 2))", "it is 42"),
        ("%who_ls dict\nprint('and code')", "and code"),
        ("%%bash\necho from bash", "from bash"),
        ("/help", "/compact"),
        ("# Parameters\nof the model", "I heard: # Parameters"),
        ("", ""),
    ],
)
async def test_a_magic_at_the_start_of_a_cell_is_what_it_always_is(seat: Seat, cell: str, says: str) -> None:
    shown = await seat.run(cell)
    assert shown.status == "ok"
    assert says in shown.text


async def test_a_cell_of_parameters_is_code(seat: Seat) -> None:
    assert (await seat.run("# Parameters\ncity = 'Bonn'")).status == "ok"
    assert "in Bonn" in (await seat.run("%%python\nprint('in', city)")).text


async def test_what_a_program_runs_is_code(seat: Seat) -> None:
    assert (await seat.run("print('of a program')", store_history=False)).text == "of a program\n"
    reply = await seat.client.execute_interactive("", silent=True, user_expressions={"a": "1 + 1"}, timeout=PATIENCE)
    assert reply["content"]["user_expressions"]["a"]["data"] == {"text/plain": "2"}


async def test_an_interrupt_stops_the_answer_and_the_next_prompt_is_answered(seat: Seat) -> None:
    shown = await seat.run("slow", until="so on")
    assert (shown.status, shown.outputs[-1].get("evalue")) == ("error", "Stopped.")
    assert "I heard: there?" in (await seat.run("there?")).text


async def test_tab_offers_commands_files_and_in_code_what_ipython_offers(seat: Seat) -> None:
    assert "compact" in (await seat.ask("complete", "/com", 4))["matches"]
    found = await seat.ask("complete", "read this:\nand @not", 19)
    assert (found["matches"][0], found["cursor_start"], found["cursor_end"]) == ("notes.md", 16, 19)
    assert (await seat.ask("complete", "prin", 4))["matches"] == []
    assert "print" in (await seat.ask("complete", "%%python\nprin", 13))["matches"]


async def test_a_console_sends_a_prompt_when_enter_is_pressed_unless_there_is_more_to_come(seat: Seat) -> None:
    async def status(code: str) -> str:
        return (await seat.ask("is_complete", code))["status"]

    assert await status("Why is it (so?") == "complete"
    assert await status("Read this:\n```python\nx = [") == "incomplete"
    assert await status("one line\\") == "incomplete"
    assert await status("%%python\nfor x in y:") == "incomplete"
    assert await status("%eca status") == "complete"


async def test_asking_about_a_word_of_a_prompt_runs_nothing(seat: Seat) -> None:
    assert (await seat.ask("inspect", "What is print(1/0)?", 10))["found"]
    assert not (await seat.ask("inspect", "What isn't there", 9))["found"]


async def test_editors_show_prompts_as_markdown(seat: Seat) -> None:
    info = await seat.ask("kernel_info")
    assert info["implementation"] == "jupyter_eca"
    assert (info["language_info"]["name"], info["language_info"]["file_extension"]) == ("markdown", ".md")


async def test_the_setting_turns_it_round(seat: Seat) -> None:
    assert (await seat.run("%eca cells code")).text.startswith("Cells are code.")
    try:
        assert (await seat.run("6 * 7")).text == "42"
        assert "I heard: hello" in (await seat.run("%%eca\nhello")).text
        assert (await seat.ask("kernel_info"))["language_info"]["name"] == "python"
    finally:
        assert (await seat.run("%eca cells prompts")).text.startswith("Cells are prompts.")
    assert (await seat.run("%eca cells upside")).text.startswith("Write `%eca cells prompts`")


async def test_a_notebook_of_prompts_becomes_one_of_python_that_runs_without_us(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, plain = tmp_path / "story.ipynb", tmp_path / "story-python.ipynb"
    allowed: dict[str, Any] = {"toolCall": {"approval": {"allow": {"run_code": {}}}}}
    cells = ["load it", "%%python\nloaded += 1\nloaded", "show -> it", "%eca status", "%eca load again"]
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, tmp_path, settings(tmp_path, RULES, **allowed))
        ran = book("eca", *cells, f"%eca to-python {file.name}")
        file.write_text(json.dumps(ran))
        client: Any = NotebookClient(ran, timeout=PATIENCE, resources={"metadata": {"path": str(tmp_path)}})
        await client.async_execute()
        assert "`story-python.ipynb`" in ran.cells[-1].outputs[0]["data"]["text/plain"]
        plain.unlink()
        file.write_text(json.dumps(ran))
        assert await asyncio.to_thread(main, ["to-python", str(file)]) == 0
        assert await asyncio.to_thread(main, ["to-python", str(file)]) == 1
        assert "story-python.ipynb exists already" in capsys.readouterr().err
        made = cast("Any", nbformat).read(plain, as_version=4)
        cast("Any", nbformat).validate(made)
        shape = [(cell.cell_type, cell.source.partition("\n")[0]) for cell in made.cells]
        outputs = [
            [output.get("data", output.get("text")) for output in cell.get("outputs", ())] for cell in made.cells
        ]
        await NotebookClient(made, timeout=PATIENCE).async_execute()
    assert shape == [
        ("markdown", "load it"),
        ("code", "loaded = 42"),
        ("markdown", "Let me."),
        ("code", "loaded += 1"),
        ("markdown", "show -> it"),
        ("code", "from IPython.display import HTML, display"),
        ("code", "1 / 0"),
        ("markdown", "Look.Seen, 1 &#60; 2."),
        ("markdown", "load again"),
        ("code", "loaded = 42"),
        ("markdown", "Let me."),
    ]
    shown = {"text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>seen</b>"}
    value = {"text/plain": "43"}
    assert outputs[1:6] == [["rows 42\n"], [], [value], [], [shown, value]]
    assert made.cells[6].metadata.tags == ["raises-exception"]
