"""What the model is told of where the user is, in the request that it gets: from a panel, from *Fix*, from a cell with
`%%eca`, and from an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.texts import format_context
from jupyter_eca.host.chat.live_chat import Prompt
from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.context import CursorContext, Position, Range
from jupyter_eca.protocol.notebook import CellSelection, CellState, NotebookDocument
from jupyter_eca.workspace.known_versions import Version, make_cell_key
from jupyter_eca.workspace.reading.error_text import shorten_traceback
from jupyter_eca.workspace.reading.place_text import LABEL
from tests.plugins.contexts.open_notebooks import PATH, Room, Shelf, code, failed, printed, room, words
from tests.support.host_and_client import answer, said

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.notebook import NotebookCell

pytestmark = pytest.mark.asyncio

# Characters of one token, as measured over many requests.
CHARS_PER_TOKEN = 3.6

TRACEBACK = failed(
    "KeyError",
    "'price'",
    "\x1b[31m---------------------------------------------------------------------------\x1b[39m",
    "KeyError      Traceback (most recent call last)",
    "Cell In[7], line 1\n----> 1 share(df)",
    "Cell In[2], line 2, in share(df)\n      1 def share(df):\n----> 2     return df['price']",
    "File ~/env/lib/python3.11/site-packages/pandas/core/frame.py:4102, in DataFrame.__getitem__(self, key)\n"
    "   4100     if self.columns.nlevels > 1:\n-> 4102     indexer = self.columns.get_loc(key)\n"
    "   4103     if is_integer(indexer):",
    "File ~/env/lib/python3.11/site-packages/pandas/core/indexes/base.py:3812, in Index.get_loc(self, key)\n"
    "-> 3812     raise KeyError(key) from err",
    "KeyError: 'price'",
)
CELLS = (
    words("h1", "# Load\nThe data."),
    code("c1", "def share(df):\n    return df['price']", count=2),
    words("h2", "## Shares"),
    code("c3", "share(df)", printed("begun\n"), TRACEBACK, count=7),
    code("c4", "df.head()"),
)
PLACE = {"place": True}
LONG = "\n".join(f"value_{number} = {number} * 2" for number in range(3000))


def cursor(cell: str, line: int = 0, end: int | None = None, character: int = 0, path: str = PATH) -> CursorContext:
    start = Position(line=line, character=0)
    to = start if end is None else Position(line=end, character=character)
    return CursorContext(path=path, position=Range(start=start, end=to), cell=cell)


async def told(there: Room, message: str, *contexts: Any) -> str:
    """What the request has behind the message."""
    return said(await answer(there.strict, message, contexts=contexts)).removeprefix(message)


def replace_cells(there: Room, *cells: NotebookCell, **more: Any) -> None:
    there.shelf.books[PATH] = there.shelf.books[PATH].model_copy(update={"cells": cells, **more})


async def test_a_panel_tells_the_cell_with_its_state_its_output_and_the_headings(tmp_path: Path) -> None:
    async with room(tmp_path, (*CELLS[:4], code("c4", "1 + 1", printed("2"), count=8))) as there:
        assert await told(there, "go on", cursor("c4")) == format_context(
            LABEL,
            f"{PATH}: 5 cells, kernel there\nHeadings: 1 Load, 3 Shares\nActive cell 5 [c4], line 1:\n"
            "--- cell 5 [c4]: code, execution 8 ---\n1 + 1\n--- output of cell 5 ---\n2",
        )


async def test_a_cell_that_is_as_before_costs_at_most_fifteen_tokens(tmp_path: Path) -> None:
    async with room(tmp_path, CELLS) as there:
        assert "share(df)" in await told(there, "first", cursor("c3"))
        again = await told(there, "second", cursor("c3"))
        assert again == "\n\n(active cell 4 [c3], line 1, as before)"
        assert len(again) / CHARS_PER_TOKEN <= 15
        assert await told(there, "third", cursor("c3")) == again


async def test_only_what_is_new_is_told_again(tmp_path: Path) -> None:
    async with room(tmp_path, CELLS) as there:
        await told(there, "first", cursor("c1"))
        assert await told(there, "down", cursor("c1", 1)) == "\n\n(active cell 2 [c1], line 2, as before)"
        replace_cells(there, *CELLS, kernel_status="busy")
        kernel = "\n\n(work/orbits.ipynb: 5 cells, kernel busy; active cell 2 [c1], line 2, as before)"
        assert await told(there, "busy", cursor("c1", 1)) == kernel
        assert await told(there, "still", cursor("c1", 1)) == "\n\n(active cell 2 [c1], line 2, as before)"
        edited = code("c1", "def share(df):\n    return 1", count=2).model_copy(update={"state": CellState.EDITED})
        replace_cells(there, CELLS[0], edited, *CELLS[2:], kernel_status="busy")
        new = await told(there, "edited", cursor("c1", 1))
        assert "edited since it ran ---\ndef share(df):\n    return 1" in new
        assert "Headings" not in new


async def test_the_selected_text_stands_before_its_cell(tmp_path: Path) -> None:
    async with room(tmp_path, CELLS) as there:
        new = await told(there, "what", cursor("c1", 1, 1, 10))
        assert "Active cell 2 [c1], line 2 selected:\nSelected:\n    return\n--- cell 2" in new
        again = await told(there, "and that", cursor("c1", 0, 1, 0))
        assert again == "\n\n(active cell 2 [c1], line 1 selected, as before. Selected:\ndef share(df):\n)"


async def test_a_cell_of_three_thousand_lines_costs_at_most_four_hundred_tokens(tmp_path: Path) -> None:
    long = code("big", LONG, printed("x" * 5000 + "\n"), count=1)
    async with room(tmp_path, (*CELLS, long.model_copy(update={"outputs": ()}))) as there:
        new = await told(there, "what is this", cursor("big", 1500))
        assert len(new) / CHARS_PER_TOKEN <= 400
        assert "value_0 = 0 * 2\n" in new
        assert "value_1500 = 1500 * 2\n" in new
        assert "[lines 1-" in new
        assert " of 3000; notebook_read big]" in new
        replace_cells(there, *CELLS, long)
        assert "[its end; all of it: notebook_read big]" in await told(there, "and now", cursor("big", 1500))


async def test_only_a_cell_that_was_shown_whole_counts_as_read(tmp_path: Path) -> None:
    async with room(tmp_path, (*CELLS, code("big", LONG))) as there:
        for message, cell in (("first", "c3"), ("second", "big")):
            await told(there, message, cursor(cell))
        known = (await there.table.host.chats.load("chat")).known_versions
        versions = {
            cell.id: known.compare(make_cell_key(PATH, cell.id), cell.source)
            for cell in there.shelf.books[PATH].cells
            if cell.id in {"c1", "c3", "big"}
        }
        assert versions == {"c1": Version.CURRENT, "c3": Version.CURRENT, "big": Version.UNKNOWN}


async def test_an_error_comes_with_the_cells_that_it_passed_through_and_one_line_for_a_frame_of_a_library(
    tmp_path: Path,
) -> None:
    async with room(tmp_path, CELLS) as there:
        new = await told(there, "Fix what is wrong in cell 4.", cursor("c3"))
        assert "--- cell 4 [c3]: code, execution 7, failed ---\nshare(df)\n" in new
        assert "File pandas/core/frame.py:4102, in DataFrame.__getitem__(self, key)\nFile pandas/core/indexes/" in new
        assert "get_loc(key)" not in new
        assert "the error passed through it ---\ndef share(df):\n    return df['price']" in new
        assert "--------" not in new


SHARE = "def share(df):\n    return df / df.sum()"


async def test_a_cell_comes_with_the_cells_that_define_the_functions_and_classes_it_uses(tmp_path: Path) -> None:
    cells = (
        code("old", "def share(df):\n    return 0", count=1),
        code("new", SHARE, count=2),
        code("other", "class Till:\n    def share(self): ...\n\ndef unused(): ...", count=3),
        code("use", "df = read()\nprint(share(df), [Till() for _ in df])", count=4),
        code("below", "async def read():\n    return 1", count=5),
        words("text", "share(df)"),
    )
    async with room(tmp_path, cells) as there:
        new = await told(there, "why", cursor("use"))
        assert new.partition("--- cell 4 [use]")[2].splitlines()[3:-1] == [
            "--- cell 2 [new]: code, execution 2; it defines share ---",
            *SHARE.splitlines(),
            "--- cell 3 [other]: code, execution 3; it defines Till ---",
            *cells[2].source.splitlines(),
            "--- cell 5 [below]: code, execution 5; it defines read ---",
            *cells[4].source.splitlines(),
        ]
        known = (await there.table.host.chats.load("chat")).known_versions
        versions = [known.compare(make_cell_key(PATH, cell.id), cell.source) for cell in cells]
        shown = [cell.id for cell, version in zip(cells, versions, strict=True) if version is not Version.UNKNOWN]
        assert shown == ["new", "other", "use", "below"]
        assert await told(there, "and", cursor("use")) == "\n\n(active cell 4 [use], line 1, as before)"
        assert "share(df):" not in await told(there, "text", cursor("text"))
        replace_cells(there, cells[0], code("new", f"{SHARE} * 100", count=2), *cells[2:])
        assert f"{SHARE} * 100" in await told(there, "edited", cursor("use"))


async def test_a_long_definition_is_only_named_and_one_that_the_error_passed_through_is_told_once(
    tmp_path: Path,
) -> None:
    long = code("long", "def wide():" + "\n    pass" * 200, count=3)
    async with room(tmp_path, (*CELLS, long, code("use", "wide(share(df))", count=9))) as there:
        new = await told(there, "what", cursor("use"))
        assert "; it defines share ---\ndef share(df):" in new
        assert "\n[cell 6 [long] defines wide]" in new
        assert new.count("pass") == 0
        failed_cell = await told(there, "why", cursor("c3"))
        assert failed_cell.count("def share(df):\n    return df['price']") == 1
        assert "it defines" not in failed_cell


async def test_cells_of_another_language_and_of_invalid_code_come_without_definitions(tmp_path: Path) -> None:
    cells = (code("c1", SHARE), code("c2", "share("), code("c3", "%%bash\nshare df"))
    async with room(tmp_path, cells) as there:
        for cell in ("c2", "c3"):
            assert "def share" not in await told(there, cell, cursor(cell))
        replace_cells(there, cells[0], code("c2", "share(df)"), language="julia")
        assert "def share" not in await told(there, "julia", cursor("c2"))


READS: dict[str, Any] = {"approval": {"allow": {"read_file": {}}}}
CHARTS = """import os

def line(values, title="", *, color: str = "navy"):
    return _draw(values)

async def load(path): ...

class Sheet:
    def __init__(self, width, height=400): ...

class Plain: ...

def _draw(values): ...
"""
OUTLINE = "line(values, title='', *, color: str='navy'), async load(path), class Sheet(width, height=400), class Plain"
IMPORTS = (code("c1", "import os, charts as ch\nfrom shop.prices import total\nimport gone", count=1), code("c2", "1"))


def write_modules(folder: Path) -> None:
    (folder / "work" / "shop").mkdir(parents=True)
    (folder / "work" / "charts.py").write_text(CHARTS)
    (folder / "work" / "shop" / "prices.py").write_text("def total(lines): ...\n")
    # It is in the folder of the project, but not in that of the notebook, from which the kernel does not import it.
    (folder / "gone.py").write_text("def gone(): ...\n")


async def test_the_users_own_modules_come_once_with_what_they_offer(tmp_path: Path) -> None:
    write_modules(tmp_path)
    async with room(tmp_path, IMPORTS, toolCall=READS) as there:
        new = await told(there, "plot", cursor("c2"))
        line = f"Own modules: work/charts.py: {OUTLINE}; work/shop/prices.py: total(lines)"
        assert new.partition("kernel there\n")[2].splitlines()[:2] == [line, "Active cell 2 [c2], line 1:"]
        assert await told(there, "and", cursor("c2")) == "\n\n(active cell 2 [c2], line 1, as before)"
        assert "modules" not in await told(there, "up", cursor("c1"))


@pytest.mark.parametrize(
    "rules",
    [
        {"ask": {"read_file": {}}},
        {"allow": {"read_file": {}}, "deny": {"read_file": {"argsMatchers": {"path": [r".*\.py"]}}}},
    ],
    ids=["asked", "denied"],
)
async def test_of_a_module_that_may_not_be_read_without_a_question_nothing_is_told(
    tmp_path: Path, rules: dict[str, Any]
) -> None:
    write_modules(tmp_path)
    async with room(tmp_path, IMPORTS, toolCall={"approval": rules}) as there:
        new = await told(there, "plot", cursor("c2"))
        assert "Active cell 2 [c2]" in new
        assert "charts.py" not in new


@pytest.mark.parametrize(
    "source", ["def line(", "\0", "x = 1", f"def line({'a' * 500}): ...", "#" * 200_000], ids=lambda text: text[:8]
)
async def test_a_module_without_a_short_outline_is_left_out(tmp_path: Path, source: str) -> None:
    write_modules(tmp_path)
    (tmp_path / "work" / "charts.py").write_text(source)
    async with room(tmp_path, IMPORTS, toolCall=READS) as there:
        assert "\nOwn modules: work/shop/prices.py: total(lines)\n" in await told(there, "plot", cursor("c2"))


async def test_a_module_outside_of_the_workspace_is_not_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write_modules(project)
    (tmp_path / "secret.py").write_text("def secret(): ...\n")
    (project / "work" / "charts.py").unlink()
    (project / "work" / "charts.py").symlink_to(tmp_path / "secret.py")
    async with room(project, IMPORTS, toolCall=READS) as there:
        assert "secret" not in await told(there, "plot", cursor("c2"))


async def test_a_traceback_is_told_once_when_it_is_mentioned_too(tmp_path: Path) -> None:
    async with room(tmp_path, CELLS) as there:
        new = await told(there, "Explain @error.", cursor("c3"))
        assert new.count("Traceback (most recent call last)") == new.count("def share(df):\n    return") == 1
        assert "--- output of cell 4 ---\nbegun\n[its error is below]" in new
        assert "get_loc(key)" not in new


async def test_of_many_frames_of_libraries_the_middle_ones_are_left_out() -> None:
    frames = [f"File /x/site-packages/dep/a.py:{line}, in f()\n-> {line} f()" for line in range(9)]
    assert shorten_traceback(["RecursionError", *frames, "RecursionError: deep"]).split("\n") == [
        "RecursionError",
        "File dep/a.py:0, in f()",
        "File dep/a.py:1, in f()",
        "[5 more frames of libraries]",
        "File dep/a.py:7, in f()",
        "File dep/a.py:8, in f()",
        "RecursionError: deep",
    ]
    own = ['  File "/home/me/a.py", line 3, in g', "    g()", "ValueError: no"]
    assert shorten_traceback(own).split("\n") == own


def asking(folder: Path, cell: str) -> AnswerLock:
    return AnswerLock(notebook="orbits.ipynb", folder=str(folder / "work"), cell=cell)


async def test_a_cell_that_asks_says_where_it_stands_and_what_is_above_and_failed(tmp_path: Path) -> None:
    asks = code("ask", "%%eca\nwhy?").model_copy(update={"state": CellState.RUNNING})
    async with room(tmp_path, (*CELLS[:4], code("e", ""), asks), notebook=PLACE) as there:
        received = await answer(there.cell, "why?", lock=asking(tmp_path, "ask"))
        new = said(received)
        assert "Asked from cell 6 [ask]; the cell above is 4 [c3]:\n--- cell 4 [c3]: code, execution 7" in new
        assert "KeyError: 'price'" in new
        assert "the error passed through it ---\ndef share(df):" in new
        again = said(await answer(there.cell, "and?", lock=asking(tmp_path, "ask.1")))
        assert again == "and?\n\n(asked from cell 6 [ask]; the cell above is 4 [c3], as before)"


async def test_the_place_of_a_cell_is_told_only_as_the_setting_says(tmp_path: Path) -> None:
    async with room(tmp_path, CELLS, notebook={"place": False}) as there:
        assert said(await answer(there.cell, "why?", lock=asking(tmp_path, "c4"))) == "why?"


async def test_a_cell_that_asks_further_down_names_the_cell_that_failed_last(tmp_path: Path) -> None:
    there_above = code("ok", "x = 1", count=8)
    async with room(tmp_path, (*CELLS[:4], there_above, code("ask", "%%eca\nwhy?")), notebook=PLACE) as there:
        new = said(await answer(there.cell, "why?", lock=asking(tmp_path, "ask")))
        assert "the cell above is 5 [ok]; cell 4 [c3] failed last: KeyError: 'price':\n--- cell 5 [ok]" in new


async def test_an_editor_whose_notebook_is_not_open_in_a_page_gets_the_file(tmp_path: Path) -> None:
    async with room(tmp_path, CELLS) as there:
        absolute = cursor("c4", path=str(tmp_path / PATH))
        (tmp_path / "work").mkdir()
        (tmp_path / PATH).write_text("{}")
        assert "Active cell 5 [c4], line 1:" in await told(there, "go", absolute)
        assert (await there.table.host.chats.load("chat")).notebook.endswith("orbits.ipynb")


async def test_without_the_id_of_a_cell_the_page_says_where_the_cursor_is(tmp_path: Path) -> None:
    spot = Position(line=1, character=4)
    selection = CellSelection(cell_id="c1", range=Range(start=spot, end=spot))
    book = NotebookDocument(path=PATH, cells=CELLS, active_cell_id="c1", selection=selection, kernel_id="k")
    async with room(tmp_path, Shelf({PATH: book})) as there:
        assert "Active cell 2 [c1], line 2:" in await told(there, "go", cursor("", 99))


@pytest.mark.parametrize("rule", [{"notebook_read": {"argsMatchers": {"path": [r".*orbits\.ipynb"]}}}, {"eca": {}}])
async def test_a_rule_that_denies_to_read_a_notebook_holds_for_the_place(tmp_path: Path, rule: dict[str, Any]) -> None:
    async with room(tmp_path, CELLS, toolCall={"approval": {"deny": rule}}, notebook=PLACE) as there:
        panel = await told(there, "go", cursor("c3"))
        cell = said(await answer(there.cell, "why?", lock=asking(tmp_path, "c4"))).removeprefix("why?")
        text = f"{PATH}. Its cells are not shown: a rule of the user's forbids to read it."
        assert (panel, cell) == (format_context(LABEL, text), format_context(LABEL, text))


async def test_a_rule_for_the_notebook_must_be_fetched_before_its_cells_are_told(tmp_path: Path) -> None:
    (tmp_path / ".eca/rules").mkdir(parents=True)
    rule = '---\npaths: ["**/*.ipynb", "*.ipynb"]\nenforce: [read]\n---\nNames are secret.'
    (tmp_path / ".eca/rules/names.md").write_text(rule)
    async with room(tmp_path, CELLS) as there:
        panel = await told(there, "go", cursor("c3"))
        assert "Its cells are not shown: work/orbits.ipynb is not read before the user's rules" in panel
        assert "share(df)" not in panel


async def test_what_is_shown_before_a_message_is_sent_is_what_is_sent(tmp_path: Path) -> None:
    async with room(tmp_path, CELLS) as there:
        for message in ("first", "second"):
            prompt = Prompt("chat", message, contexts=(cursor("c3"),))
            request = (await there.table.host.estimates.estimate_exactly(prompt)).request
            shown = request.messages[-1].text
            assert shown == message + await told(there, message, cursor("c3"))


async def test_when_the_conversation_is_gone_the_model_is_told_again(tmp_path: Path) -> None:
    async with room(tmp_path, CELLS) as there:
        first = await told(there, "first", cursor("c3"))
        assert "as before" in await told(there, "second", cursor("c3"))
        await there.table.host.chat_operations.clear("chat")
        assert await told(there, "third", cursor("c3")) == first
