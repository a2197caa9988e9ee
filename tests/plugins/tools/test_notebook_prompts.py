"""The tools for cells, on notebooks of the kernel `eca`: what they write as code is code there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import FileChangeDetails, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.reading.notebook_text import render_notebook
from tests.support.notebook_page import PATH, Page, code, result, room

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

CELLS = (code("p", "How many are there?", count=1), code("c", "%%python\nx = 1"), code("m", "%matplotlib inline\nx"))


def page(language: str = "markdown") -> Page:
    return Page({PATH: list(CELLS)}, language=language)


@pytest.mark.parametrize(
    ("source", "cell_type", "made"),
    [
        ("z = 3", "code", "%%python\nz = 3"),
        ("%%python\nz = 3", "code", "%%python\nz = 3"),
        ("%%eca\nAnd now?", "code", "%%eca\nAnd now?"),
        ("%pip install x", "code", "%pip install x"),
        ("# Why", "markdown", "# Why"),
    ],
)
async def test_a_cell_that_is_inserted_is_what_it_was_meant_to_be(
    tmp_path: Path, source: str, cell_type: str, made: str
) -> None:
    async with room(tmp_path, page=page()) as there:
        done = await there.call("notebook_insert_cell", source=source, cell_type=cell_type)
        assert there.page.cells()[-1][1] == made
        assert made in result(done)
        assert ": prompt" not in result(done)


async def test_where_cells_were_made_code_nothing_is_added(tmp_path: Path) -> None:
    async with room(tmp_path, page=page("python")) as there:
        await there.call("notebook_insert_cell", source="z = 3")
        await there.call("notebook_edit_cell", cell="c", source="x = 2")
        assert [source for _, source in there.page.cells()] == [CELLS[0].source, "x = 2", CELLS[2].source, "z = 3"]


@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        ({"cell": "c", "source": "x = 2"}, "%%python\nx = 2"),
        ({"cell": "c", "original_content": "%%python\nx = 1", "new_content": "x = 2"}, "%%python\nx = 2"),
        ({"cell": "c", "original_content": "1", "new_content": "2"}, "%%python\nx = 2"),
        ({"cell": "m", "source": "x"}, "%%python\nx"),
        ({"cell": "p", "source": "How many are there now?"}, "How many are there now?"),
        ({"cell": "p", "source": "%%python\nlen(x)"}, "%%python\nlen(x)"),
    ],
)
async def test_an_edited_cell_stays_code_or_prompt_unless_its_source_says_otherwise(
    tmp_path: Path, arguments: dict[str, Any], made: str
) -> None:
    async with room(tmp_path, page=page()) as there:
        await there.call("notebook_edit_cell", **arguments)
        assert dict(there.page.cells())[arguments["cell"]] == made


async def test_the_model_reads_which_cells_are_prompts_and_how_code_begins(tmp_path: Path) -> None:
    async with room(tmp_path, page=page()) as there:
        text = result(await there.call("notebook_read"))
    assert "3 cells, of prompts to an assistant; cells of code begin with %%python" in text
    assert "--- cell 1 [p]: prompt, execution 1 ---\nHow many" in text
    assert "--- cell 2 [c]: code, not run ---\n%%python\nx = 1" in text
    assert "--- cell 3 [m]: code, not run ---" in text


async def test_a_file_that_nobody_has_open_is_known_by_its_kernel(tmp_path: Path) -> None:
    spec = {"name": "eca", "display_name": "ECA (Python)", "language": "python"}
    cell: dict[str, Any] = {"cell_type": "code", "id": "p", "metadata": {}, "outputs": [], "execution_count": None}
    book = {
        "cells": [cell | {"source": "How many?"}],
        "metadata": {"kernelspec": spec},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "p.ipynb").write_text(json.dumps(book))
    assert (
        render_notebook((tmp_path / "p.ipynb").read_text(), "p.ipynb") == "--- cell 1: prompt, not run ---\nHow many?"
    )
    async with room(tmp_path, page=Page({})) as there:
        made = await there.call("notebook_create", path="new.ipynb", cells=["z = 3", "%%eca\nWhy?"])
        assert isinstance(made.details, FileChangeDetails)
        assert "+%%python\n+z = 3" in made.details.diff
    made_book = json.loads((tmp_path / "new.ipynb").read_text())
    assert ["".join(cell["source"]) for cell in made_book["cells"]] == ["%%python\nz = 3", "%%eca\nWhy?"]
    assert made_book["metadata"] == {"kernelspec": spec, "language_info": {"name": "markdown"}}


async def test_what_is_approved_is_shown_with_the_line_that_makes_it_code(tmp_path: Path) -> None:
    shown: list[ToolCallRunContent] = []

    def seen(call: ToolCallRunContent) -> CallDecision:
        shown.append(call)
        return CallDecision(approved=True)

    async with room(tmp_path, page=page()) as there:
        await there.ask([{"tool": "notebook_insert_cell", "arguments": {"source": "z = 3"}}], seen)
    (call,) = shown
    assert isinstance(call.details, FileChangeDetails)
    assert "+%%python\n+z = 3" in call.details.diff
