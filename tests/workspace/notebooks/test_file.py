"""Notebook files: what they do beside the contract, and every bad thing that happens to files."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import EditCell, InsertCell, MoveCell, NewCell
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.workspace.notebooks.answers import write
from tests.workspace.notebooks.books import book, code, stream, text, usual

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

EDIT = EditCell(cell_id="new", was="1 + 1", source="2 + 2")

PATIENCE = 30


@pytest.fixture
def notebooks(tmp_path: Path) -> NotebookFiles:
    write(tmp_path, "a.ipynb", usual())
    return NotebookFiles(Files((tmp_path,)))


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


async def check_refused(
    notebooks: NotebookFiles, folder: Path, why: str, change: Any = EDIT, path: str = "a.ipynb"
) -> None:
    """Check that a change is refused, and that no file in the folder changed or is new."""
    before = read_files(folder)
    with pytest.raises(ToolError, match=why):
        await notebooks.edit("chat", path, (change,))
    assert read_files(folder) == before


async def test_a_file_is_written_as_jupyter_writes_it(notebooks: NotebookFiles, tmp_path: Path) -> None:
    await notebooks.read("a.ipynb")
    await notebooks.edit("chat", "a.ipynb", (EDIT,))
    meant = usual()
    meant["cells"][2]["source"] = "2 + 2"
    write(tmp_path, "b.ipynb", meant)
    assert (tmp_path / "a.ipynb").read_bytes() == (tmp_path / "b.ipynb").read_bytes()
    assert sorted(read_files(tmp_path)) == ["a.ipynb", "b.ipynb"]


async def test_a_file_that_changed_since_it_was_read_must_be_read_again(
    notebooks: NotebookFiles, tmp_path: Path
) -> None:
    await check_refused(notebooks, tmp_path, "was not read")
    await notebooks.read("a.ipynb")
    write(tmp_path, "a.ipynb", usual() | {"cells": [*usual()["cells"], text("theirs", "by hand")]})
    await check_refused(notebooks, tmp_path, "changed since.*Read the notebook again")
    await notebooks.read("a.ipynb")
    told = await notebooks.edit("chat", "a.ipynb", (EDIT,))
    assert [cell.id for cell in told.cells] == ["intro", "ran", "new", "theirs"]


async def test_two_edits_in_a_row_need_no_read_in_between(notebooks: NotebookFiles) -> None:
    await notebooks.read("a.ipynb")
    await notebooks.edit("chat", "a.ipynb", (EDIT,))
    told = await notebooks.edit("chat", "a.ipynb", (EditCell(cell_id="new", was="2 + 2", source="3"),))
    assert told.cells[2].source == "3"


async def test_two_edits_at_once_are_both_made(notebooks: NotebookFiles) -> None:
    await notebooks.read("a.ipynb")
    added = [InsertCell(index=0, cell=NewCell(id=f"new-{n}", source=str(n))) for n in range(5)]
    await asyncio.gather(*(notebooks.edit("chat", "a.ipynb", (change,)) for change in added))
    assert {cell.id for cell in (await notebooks.read("a.ipynb")).cells} >= {change.cell.id for change in added}


async def test_a_write_by_somebody_else_in_the_middle_of_an_edit_is_not_lost(
    notebooks: NotebookFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await notebooks.read("a.ipynb")
    theirs, sync = json.dumps(book(text("theirs", "by hand"))), os.fsync

    def write_at_last(descriptor: int) -> None:
        sync(descriptor)
        (tmp_path / "a.ipynb").write_text(theirs)

    monkeypatch.setattr(os, "fsync", write_at_last)
    with pytest.raises(ToolError, match="by somebody else"):
        await notebooks.edit("chat", "a.ipynb", (EDIT,))
    assert read_files(tmp_path) == {"a.ipynb": theirs.encode()}


async def test_a_deleted_or_renamed_file_is_not_created_again(notebooks: NotebookFiles, tmp_path: Path) -> None:
    await notebooks.read("a.ipynb")
    (tmp_path / "a.ipynb").rename(tmp_path / "b.ipynb")
    await check_refused(notebooks, tmp_path, "no notebook a.ipynb")
    assert sorted(read_files(tmp_path)) == ["b.ipynb"]


async def test_a_file_deleted_in_the_middle_of_an_edit_is_not_created_again(
    notebooks: NotebookFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await notebooks.read("a.ipynb")
    sync = os.fsync

    def delete_at_last(descriptor: int) -> None:
        sync(descriptor)
        (tmp_path / "a.ipynb").unlink()

    monkeypatch.setattr(os, "fsync", delete_at_last)
    with pytest.raises(ToolError, match=r"a\.ipynb cannot be written"):
        await notebooks.edit("chat", "a.ipynb", (EDIT,))
    assert read_files(tmp_path) == {}


OLD: dict[str, Any] = {
    "nbformat": 3,
    "nbformat_minor": 0,
    "metadata": {"name": ""},
    "worksheets": [
        {
            "metadata": {},
            "cells": [
                {"cell_type": "heading", "level": 2, "metadata": {}, "source": "Old"},
                {"cell_type": "code", "collapsed": False, "input": "1", "language": "python", "metadata": {},
                 "outputs": [], "prompt_number": 4},
            ],
        }
    ],
}  # fmt: skip


async def test_nbformat_3_is_read_by_ids_that_stay_and_not_edited(notebooks: NotebookFiles, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(OLD))
    read = await notebooks.read("a.ipynb")
    assert [cell.source for cell in read.cells] == ["## Old", "1"]
    assert (await NotebookFiles(Files((tmp_path,))).read("a.ipynb")).cells == read.cells
    await check_refused(notebooks, tmp_path, "format 3", MoveCell(cell_id=read.cells[0].id, index=1))


BAD = ("", "{", "[]", "null", "7", '"text"', "{}", '{"nbformat": 4}', '{"nbformat": "4", "cells": []}',
       '{"nbformat": 9}', '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [1]}',
       '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": {}}',
       "[" * 100_000, '{"nbformat": 3}', '{"nbformat": []}')  # fmt: skip
# The parts of a notebook have the types of others. Its cells can be identified, and not be shown.
ODD = (
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": [], "cells": []}',
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": "x"}, "cells": []}',
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"source": {"a": 1}}]}',
    '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"source": "x", "attachments": 3}]}',
    '{"nbformat": 3, "nbformat_minor": "x", "metadata": {}, "worksheets": []}',
)


@pytest.mark.parametrize("content", ODD)
async def test_a_part_of_a_wrong_type_is_reported(notebooks: NotebookFiles, tmp_path: Path, content: str) -> None:
    (tmp_path / "a.ipynb").write_text(content)
    with pytest.raises(ToolError, match=r"a\.ipynb is not a valid notebook"):
        await notebooks.read("a.ipynb")


@pytest.mark.parametrize("content", BAD, ids=range(len(BAD)))
async def test_a_file_that_is_no_notebook_is_reported_and_not_changed(
    notebooks: NotebookFiles, tmp_path: Path, content: str
) -> None:
    await notebooks.read("a.ipynb")
    (tmp_path / "a.ipynb").write_text(content)
    with pytest.raises(ToolError, match=r"a\.ipynb is not a valid notebook"):
        await notebooks.read("a.ipynb")
    await check_refused(notebooks, tmp_path, "not a valid notebook")


async def test_bytes_that_are_no_text_are_reported(notebooks: NotebookFiles, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ToolError, match="not a valid notebook"):
        await notebooks.read("a.ipynb")


async def test_a_folder_is_no_notebook(notebooks: NotebookFiles, tmp_path: Path) -> None:
    (tmp_path / "folder.ipynb").mkdir()
    with pytest.raises(ToolError, match="cannot be read"):
        await notebooks.read("folder.ipynb")


async def test_a_notebook_without_ids_gets_some_that_stay_and_keeps_its_format(
    notebooks: NotebookFiles, tmp_path: Path
) -> None:
    def without(id: str, source: str) -> dict[str, Any]:
        return {name: value for name, value in code(id, source).items() if name != "id"}

    write(tmp_path, "a.ipynb", book(without("", "same"), without("", "same"), without("", "other"), minor=2))
    first, second, other = (await notebooks.read("a.ipynb")).cells
    assert len({first.id, second.id, other.id}) == 3
    told = await notebooks.edit(
        "chat",
        "a.ipynb",
        (
            EditCell(cell_id=second.id, was="same", source="changed"),
            InsertCell(index=0, cell=NewCell(id="made", source="top")),
        ),
    )
    assert [cell.id for cell in told.cells] == ["made", first.id, second.id, other.id]
    assert (await notebooks.read("a.ipynb")).cells == told.cells
    written = json.loads((tmp_path / "a.ipynb").read_text("utf-8"))
    assert written["nbformat_minor"] == 2
    assert ["id" in cell for cell in written["cells"]] == [False] * 4
    assert [cell.id for cell in (await NotebookFiles(Files((tmp_path,))).read("a.ipynb")).cells][3] == other.id


@pytest.mark.parametrize("source", ["half \ud83d of it"])
async def test_half_an_emoji_in_the_file_does_not_break_an_edit(
    notebooks: NotebookFiles, tmp_path: Path, source: str
) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(book(code("new", "1 + 1"), code("odd", source))))
    await notebooks.read("a.ipynb")
    await check_refused(notebooks, tmp_path, "surrogates not allowed")


async def test_an_invalid_cell_id_is_refused(notebooks: NotebookFiles, tmp_path: Path) -> None:
    await notebooks.read("a.ipynb")
    await check_refused(notebooks, tmp_path, "not a valid cell id", InsertCell(index=0, cell=NewCell(id="a b")))
    await check_refused(notebooks, tmp_path, "no position", InsertCell(index=-1, cell=NewCell(id="a")))


async def test_a_path_out_of_the_workspace_is_refused_also_through_a_link(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    write(tmp_path, "out.ipynb", usual())
    (inside / "link.ipynb").symlink_to(tmp_path / "out.ipynb")
    notebooks = NotebookFiles(Files((inside,)))
    for path in ("../out.ipynb", "link.ipynb", str(tmp_path / "out.ipynb")):
        with pytest.raises(ToolError, match="outside of the workspace"):
            await notebooks.read(path)
        await check_refused(notebooks, tmp_path, "outside of the workspace", path=path)


async def test_a_link_stays_a_link_and_the_mode_stays(notebooks: NotebookFiles, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").chmod(0o640)
    (tmp_path / "link.ipynb").symlink_to("a.ipynb")
    await notebooks.read("link.ipynb")
    await notebooks.edit("chat", "link.ipynb", (EDIT,))
    assert (tmp_path / "link.ipynb").is_symlink()
    assert (tmp_path / "a.ipynb").stat().st_mode & 0o777 == 0o640
    assert (await notebooks.read("a.ipynb")).cells[2].source == "2 + 2"


async def test_a_cell_is_not_run_without_a_kernel(notebooks: NotebookFiles, tmp_path: Path) -> None:
    before = read_files(tmp_path)
    with pytest.raises(ToolError, match="run_code"):
        await notebooks.run("chat", "a.ipynb", ("new",))
    assert read_files(tmp_path) == before


async def test_a_hundred_megabytes_of_outputs_are_kept(notebooks: NotebookFiles, tmp_path: Path) -> None:
    write(tmp_path, "a.ipynb", book(code("new", "1 + 1"), code("big", "x", [stream("0123456789abcdef" * 6_250_000)])))
    async with asyncio.timeout(PATIENCE):
        await notebooks.read("a.ipynb")
        told = await notebooks.edit("chat", "a.ipynb", (EDIT,))
    assert len(told.cells[1].outputs[0]["text"]) == 100_000_000
