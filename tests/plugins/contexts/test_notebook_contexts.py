"""What a message points at in an open notebook and its kernel, over the wire: a page answers from documents in
memory."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.contexts.resolve import read_materials
from jupyter_eca.protocol.context import ChatQueryContextParams, ChatQueryContextResult, Position, Range
from jupyter_eca.protocol.notebook import CellSelection, Column, NotebookDocument, Variable
from tests.plugins.contexts.near import near, sent
from tests.plugins.contexts.open_notebooks import PATH, Shelf, Variables, code, failed, printed, room, words
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.notebook import NotebookCell

pytestmark = pytest.mark.asyncio

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n and so on").decode()
FIGURE = {"output_type": "display_data", "data": {"image/png": PNG, "text/plain": "<Figure>"}, "metadata": {}}
RED = "\x1b[31m{}\x1b[39m".format
TRACEBACK = failed(
    "ValueError",
    "no such planet",
    RED("ValueError") + "   Traceback (most recent call last)",
    "Cell In[7], line 1\n----> 1 orbit('Vulcan')",
    "Cell In[2], line 2, in orbit(name)\n----> 2     raise ValueError('no such planet')",
    "Cell In[4], line 9, in gone()",
    RED("ValueError") + ": no such planet",
)


def cells() -> tuple[NotebookCell, ...]:
    return (
        words("head", "# Planets"),
        code("def0", "def orbit(name):\n    raise ValueError('no such planet')", count=2),
        code("plot", "draw()", FIGURE, count=3),
        code("bad0", "orbit('Vulcan')", printed("Looking\n"), TRACEBACK, count=7),
        code("next", "later()"),
    )


def selecting(text: str, cell: str = "def0") -> Shelf:
    where = Range(start=Position(line=1, character=4), end=Position(line=1, character=4 + len(text)))
    selection = CellSelection(cell_id=cell, range=where, text=text)
    book = NotebookDocument(path=PATH, cells=cells(), active_cell_id=cell, selection=selection, kernel_id="k")
    return Shelf({PATH: book})


async def test_a_cell_is_given_by_its_number_or_its_id_with_what_it_put_out(tmp_path: Path) -> None:
    async with room(tmp_path, cells()) as there:
        told = await there.told("Why does @cell:4 fail?")
        assert f"<context name=\"{PATH} cell 4\">\n--- cell 4 [bad0]: code, execution 7 ---\norbit('Vulcan')\n" in told
        assert "Looking\nValueError   Traceback" in told
        assert "\x1b" not in told
        assert "cell 3" not in told
        assert "# Planets" in await there.told("What is in @cell:head's text?")


async def test_a_picture_that_a_cell_drew_is_shown_to_the_model(tmp_path: Path) -> None:
    async with room(tmp_path, cells()) as there:
        for message in ("@cell:3", "@output:3", "@notebook"):
            (found,) = await there.material(message)
            assert [image.base64 for image in found.images] == [PNG]


async def test_an_output_is_given_without_its_source(tmp_path: Path) -> None:
    async with room(tmp_path, cells()) as there:
        assert [one.text for one in await there.material("@output:2 @output:3")] == [
            "(it put out nothing)",
            "<Figure>\n[shown to the user: image/png]",
        ]


async def test_the_last_error_comes_with_the_cells_that_it_passed_through(tmp_path: Path) -> None:
    first = code("old0", "1/0", failed("ZeroDivisionError", "division by zero", "old trouble"), count=1)
    async with room(tmp_path, (*cells(), first)) as there:
        (found,) = await there.material("Explain @error.")
        assert found.label == f"error in {PATH} cell 4"
        assert found.text.startswith("ValueError   Traceback (most recent call last)\nCell In[7], line 1")
        assert "--- cell 2 [def0]: code, execution 2 ---\ndef orbit(name):" in found.text
        assert "--- cell 4 [bad0]: code, execution 7 ---\norbit('Vulcan')" in found.text
        assert "[execution 4 is in no cell any more: it was run again, changed or deleted]" in found.text
        assert "old trouble" not in found.text
        assert "draw()" not in found.text


async def test_what_is_selected_comes_with_its_cell(tmp_path: Path) -> None:
    async with room(tmp_path, selecting("raise ValueError")) as there:
        (found,) = await there.material("What does @selection do?")
        assert found.text.startswith("raise ValueError\n\nThat is in line 2 of:\n--- cell 2 [def0]")
        assert "def orbit(name):" in found.text


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("@cell:9", f"{PATH} has no cell 9; it has 2 cells."),
        ("@cell:gone", f"{PATH} has no cell gone; it has 2 cells."),
        ("@error", f"No cell of {PATH} ended with an error."),
        ("@selection", f"Nothing is selected in {PATH}."),
        ("@notebook:work/other.ipynb", "There is no notebook work/other.ipynb."),
    ],
)
async def test_what_is_not_there_is_said_and_not_dropped(tmp_path: Path, message: str, reason: str) -> None:
    async with room(tmp_path, cells()[:2]) as there:
        assert f"(not readable: {reason}" in await there.told(f"Look at {message} please")


@pytest.mark.parametrize("word", ["@cell:3", "@output:3", "@notebook", "@selection", "@error", "@var:df"])
async def test_without_a_notebook_or_kernel_the_model_is_told_that_there_is_none(tmp_path: Path, word: str) -> None:
    async with room(tmp_path, Shelf({})) as there:
        told = await there.told(f"Explain {word} to me")
        assert "(not readable: " in told
        assert "No notebook is open." in told or "There is no live kernel." in told


async def test_without_a_notebook_a_file_of_such_a_name_is_meant(tmp_path: Path) -> None:
    (tmp_path / "notebook").mkdir()
    (tmp_path / "notebook/a.py").touch()
    async with room(tmp_path, Shelf({})) as there:
        assert "a.py" in await there.told("List @notebook")
    async with room(tmp_path / "notebook", cells()) as there:
        assert "# Planets" in await there.told("List @notebook")


async def test_a_sign_that_is_no_at_names_nothing_of_a_notebook(tmp_path: Path) -> None:
    async with room(tmp_path, cells()) as there:
        for message in ("#error #cell:3", "`@error`", "@errors @cell: @selection.py @cell:3/4"):
            assert await there.material(message) == []


async def test_a_cell_that_is_named_and_sent_along_is_given_once(tmp_path: Path) -> None:
    async with room(tmp_path, cells()) as there:
        surroundings = there.table.host.tool_contexts.build_surroundings("chat", None)
        by_id = {"type": "cell", "path": PATH, "cell": "bad0", "label": "cell:4"}
        found = await read_materials(surroundings, sent(by_id, {"type": "cell", "cell": "4"}, {**by_id, "label": ""}))
        assert [one.label for one in found] == [f"{PATH} cell 4"]
        assert there.shelf.reads == 1


# -- variables

FRAME = Variable(
    name="df",
    type="pandas.DataFrame",
    shape=(8, 2),
    memory=1024,
    columns=(Column(name="planet", dtype="object"), Column(name="mass", dtype="float64")),
    sample="planet mass\nearth 1.0",
)
ARRAY = Variable(name="arr", type="numpy.ndarray", shape=(3,), dtype="int64", preview="array([1, 2, 3])")
DRAWN = Variable(name="fig", type="matplotlib.Figure", preview="<Figure>", image=PNG)
NAMED = Variable(name="n", type="int", preview="1234")
HELD = (FRAME, ARRAY, DRAWN, NAMED)

FULL = """\
df: pandas.DataFrame 8 x 2
memory: 1,024 bytes
columns: planet: object, mass: float64
planet mass
earth 1.0
"""


async def test_a_variable_is_given_with_its_schema_and_a_sample(tmp_path: Path) -> None:
    async with room(tmp_path, cells(), Variables(HELD)) as there:
        told = await there.told("Plot @var:df['mass'] and @var:arr.", there.cell)
        assert f'<context name="variable df">\n{FULL}</context>' in told
        assert "arr: numpy.ndarray 3 int64\narray([1, 2, 3])\n" in told
        assert "The kernel has no variable nope." in await there.told("And @var:nope?", there.cell)
        assert "df: pandas.DataFrame" in await there.told("What are @var:df.columns?", there.cell)


@pytest.mark.parametrize(
    ("setting", "hidden", "shown"),
    [
        ("schema", ["earth", "array([", "1234"], ["mass: float64", "arr: numpy.ndarray 3 int64", "n: int"]),
        ("names", ["earth", "float64", "8 x 2", "array([", "1234"], ["df: pandas.DataFrame", "n: int"]),
        ({"table": "schema"}, ["earth"], ["mass: float64", "array([1, 2, 3])", "1234"]),
        ({"array": "names", "value": "names"}, ["array([", "1234"], ["earth", "n: int"]),
    ],
)
async def test_values_are_told_only_as_the_setting_allows(
    tmp_path: Path, setting: Any, hidden: list[str], shown: list[str]
) -> None:
    async with room(tmp_path, cells(), Variables(HELD), notebook={"variables": setting}) as there:
        told = await there.told("@var:df @var:arr @var:n", there.cell)
        assert [text for text in hidden if text in told] == []
        assert [text for text in shown if text not in told] == []


PROFILED = FRAME.model_copy(
    update={"sample": "", "profile": "planet object, 2 values: 'earth' 50%\nmass float64, 1..9"}
)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("full", "memory: 1,024 bytes\nplanet object, 2 values: 'earth' 50%\nmass float64, 1..9\n</context>"),
        ({"array": "names", "value": "names"}, "planet object, 2 values: 'earth' 50%\nmass float64, 1..9\n</context>"),
        ("schema", "memory: 1,024 bytes\ncolumns: planet: object, mass: float64\n[values are not told"),
        ({"table": "names"}, "df: pandas.DataFrame\n[values are not told"),
    ],
)
async def test_a_profile_is_given_only_if_values_of_tables_may_be(tmp_path: Path, setting: Any, told: str) -> None:
    async with room(tmp_path, cells(), Variables((PROFILED,)), notebook={"variables": setting}) as there:
        assert told in await there.told("@var:df", there.cell)


async def test_a_list_of_variables_tells_no_values(tmp_path: Path) -> None:
    async with room(tmp_path, cells(), Variables(HELD)) as there:
        found = [one for one in await there.offered("", there.cell) if one.type == "variable"]
        assert [one.as_json_object() for one in found][:2] == [
            {"type": "variable", "name": "df", "label": "var:df", "description": "pandas.DataFrame 8 x 2"},
            {"type": "variable", "name": "arr", "label": "var:arr", "description": "numpy.ndarray 3 int64"},
        ]


# -- what is offered


def labels(found: Any) -> list[str]:
    return [one.label for one in found if hasattr(one, "label")]


async def test_cells_are_offered_by_number_and_first_line_the_error_before_them(tmp_path: Path) -> None:
    async with room(tmp_path, cells()) as there:
        found = await there.offered("")
        assert found[0].as_json_object() == {
            "type": "error",
            "label": "error",
            "description": "ValueError: no such planet (cell 4)",
        }
        assert {"cell:1", "cell:2", "cell:5", "notebook"} <= set(labels(found))
        (cell,) = [one for one in found if one.type == "cell" and labels([one]) == ["cell:2"]]
        assert cell.as_json_object() == {
            "type": "cell",
            "label": "cell:2",
            "description": "def orbit(name):",
            "path": PATH,
            "cell": "def0",
        }


async def test_an_empty_cell_is_offered_only_by_its_number(tmp_path: Path) -> None:
    async with room(tmp_path, (*cells(), code("none", " \n"))) as there:
        assert "cell:6" not in labels(await there.offered(""))
        assert "cell:6" in labels(await there.offered("cell:6"))


async def test_an_error_that_something_ran_after_is_not_put_first(tmp_path: Path) -> None:
    async with room(tmp_path, (*cells(), code("fine", "fine()", count=8))) as there:
        found = labels(await there.offered(""))
        assert found[0] != "error"
        assert "error" in found


@pytest.mark.parametrize(
    ("query", "first"),
    [("cell:4", "cell:4"), ("vulcan", "cell:4"), ("err", "error"), ("output:", "output:3"), ("sel", "selection")],
)
async def test_what_is_typed_finds_cells_by_word_and_by_text(tmp_path: Path, query: str, first: str) -> None:
    async with room(tmp_path, selecting("raise")) as there:
        assert labels(await there.offered(query))[:1] == [first]


async def test_a_variable_comes_before_the_file_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "df.csv").touch()
    async with room(tmp_path, cells(), Variables(HELD)) as there:
        assert [one.type for one in await there.offered("df", there.cell)][:2] == ["variable", "file"]


async def test_a_client_without_a_notebook_is_offered_none_of_it(tmp_path: Path) -> None:
    async with room(tmp_path, selecting("raise")) as there:
        for query in ("", "cell", "error"):
            assert labels(await there.offered(query, there.strict)) == []


async def test_every_offer_can_be_sent_back(tmp_path: Path) -> None:
    async with room(tmp_path, selecting("raise")) as there:
        for query in ("", "output:"):
            for one in await there.offered(query):
                assert sent(one.as_json_object()) == (one,)


async def test_who_goes_on_typing_does_not_have_the_notebook_read_again(tmp_path: Path) -> None:
    async with room(tmp_path, cells()) as there:
        for query in ("", "c", "ce", "cel"):
            await there.offered(query)
        assert there.shelf.reads == 1


async def test_a_page_and_a_kernel_that_do_not_answer_keep_no_file_from_being_offered(tmp_path: Path) -> None:
    (tmp_path / "model.py").touch()
    never = asyncio.Event()
    variables = Variables((), hold=never)
    async with room(tmp_path, Shelf({}, hold=never), variables) as there:
        for _ in range(3):
            found = await there.offered("model", there.cell)
            assert [one.type for one in found] == ["file"]
        assert len(variables.asked) == 1
        never.set()


async def test_a_list_without_the_variables_of_a_busy_kernel_says_so_until_it_has_them(tmp_path: Path) -> None:
    free = asyncio.Event()
    params = ChatQueryContextParams(query="", chat_id="chat")
    async with room(tmp_path, Shelf({}), Variables(HELD, hold=free)) as there:
        found = await there.cell.request("chat/queryContext", params, ChatQueryContextResult)
        assert found.lacks_variables
        assert "variable" not in {one.type for one in found.contexts}
        free.set()
        async with asyncio.timeout(PATIENCE):
            while found.lacks_variables:
                found = await there.cell.request("chat/queryContext", params, ChatQueryContextResult)
        assert "variable" in {one.type for one in found.contexts}


# -- files


async def test_an_open_notebook_is_given_as_it_is_there_and_not_as_it_was_saved(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / PATH).write_text('{"cells": [{"cell_type": "code", "source": "saved"}], "nbformat": 4}')
    async with room(tmp_path, cells()) as there:
        for path in (PATH, str(tmp_path / PATH), "work/../work/orbits.ipynb"):
            told = await there.told(f"@{path}")
            assert "--- cell 4 [bad0]" in told
            assert "saved" not in told
        assert "draw()" in await there.told(f"@{PATH}:L2-12")
    async with room(tmp_path, Shelf({})) as there:
        assert "saved" in await there.told(f"@{PATH}")


async def test_a_cursor_in_an_open_notebook_is_in_its_cell(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / PATH).write_text("{}")
    spot = {"line": 99, "character": 0}
    cursor = {"type": "cursor", "path": PATH, "position": {"start": spot, "end": spot}}
    async with room(tmp_path, selecting("raise")) as there:
        (found,) = await read_materials(there.table.host.tool_contexts.build_surroundings("chat", None), sent(cursor))
        assert "Active cell 2 [def0], line 2 selected:\nSelected:\nraise\n--- cell 2 [def0]: code" in found.text


async def test_somebody_elses_context_of_the_same_name_is_told_with_what_it_says(tmp_path: Path) -> None:
    async with near(tmp_path) as there:
        (found,) = await read_materials(there, sent({"type": "selection", "content": "mine"}))
        assert '"content": "mine"' in found.text
