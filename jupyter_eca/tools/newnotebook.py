"""The tool that makes a new notebook file and has it opened."""

from __future__ import annotations

import asyncio
import json
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from jupyter_eca.contexts.reading.cells import objects_in
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellType
from jupyter_eca.tools import textfile
from jupyter_eca.tools.base import Need, ToolContext, ToolResult, tool
from jupyter_eca.tools.notebook import notebooks
from jupyter_eca.whole import whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_eca.protocol.content import FileChangeDetails
    from jupyter_eca.workspace.base import Files

PYTHON: Final = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}

# Notebooks of the folder that are looked into for the kernel they are for; each is read whole.
_LOOKED_AT: Final = 5
_MOST_BYTES: Final = 5_000_000


class NewCells(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: str
    cell_type: CellType = CellType.CODE


def _cell(value: Any) -> Any:
    """Models also write a bare source."""
    return {"source": value} if isinstance(value, str) else value


Path_ = Annotated[str, Field(description="Where; ends with .ipynb, and must not exist yet.")]
Cells = Annotated[
    list[Annotated[NewCells, BeforeValidator(_cell)]], Field(description="Its cells, in order; may be empty.")
]


async def _preview(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    given = notebook_create.arguments.model_validate(arguments)
    path, cells = getattr(given, "path", ""), getattr(given, "cells", [])
    real = await asyncio.to_thread(_free, context.files, path)
    return textfile.change(context.files.shown(real), None, _text(cells))


@tool(keeps=True, needs=[Need.NOTEBOOKS], summary="Creating {path}", preview=_preview)
async def notebook_create(
    context: ToolContext,
    path: Path_,
    cells: Cells = [],  # noqa: B006  # read only
) -> ToolResult:
    """Make a new notebook with these cells and open it before the user. Never overwrites. Nothing is run: use
    notebook_run_cells. Its kernel is that of the other notebooks here.
    """
    real = await asyncio.to_thread(_free, context.files, path)
    opened = [info.path for info in await notebooks(context).list()]
    if context.keeper is not None:
        await context.keeper.keep(real)
    shown = PurePosixPath(context.files.shown(real)).as_posix()
    kernel, found = await whole(asyncio.to_thread(_write, context.files, real, shown, cells, opened))
    await notebooks(context).show(shown)
    text = f"Created {shown}: {len(found)} {'cell' if len(found) == 1 else 'cells'}, kernel {kernel}."
    made = [(cell.cell_type, cell.source) for cell in cells]
    if found != made:
        return ToolResult(f"{text} It is not as you wanted it: another program wrote it too.", error=True)
    return ToolResult(text, details=textfile.change(shown, None, _text(cells)))


TOOLS = (notebook_create,)


def _free(files: Files, path: str) -> Path:
    """Raises: ToolError when no new notebook can be made there."""
    real = files.resolve(path)
    if real.suffix != ".ipynb":
        raise ToolError(f"{path} does not end with .ipynb.")
    if real.exists():
        raise ToolError(f"{path} exists already; nothing was written.", "Choose another name, or edit its cells.")
    return real


def _write(
    files: Files, real: Path, shown: str, cells: Sequence[NewCells], opened: Iterable[str]
) -> tuple[str, list[tuple[str, str]]]:
    """The name of its kernel, and the cells that are then on disk."""
    spec = _kernelspec(files, real, opened)
    book = {
        "cells": [_stored(number, cell) for number, cell in enumerate(cells, 1)],
        "metadata": {"kernelspec": spec}
        | ({"language_info": {"name": spec["language"]}} if "language" in spec else {}),
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    with textfile.reported(shown):
        real.parent.mkdir(parents=True, exist_ok=True)
        try:
            # Whoever made it meanwhile keeps it.
            real.open("x").close()
        except FileExistsError:
            raise ToolError(f"{shown} exists already; nothing was written.", "Choose another name.") from None
        try:
            textfile.write(real, shown, json.dumps(book, indent=1, ensure_ascii=False) + "\n")
        except (ToolError, OSError):
            real.unlink(missing_ok=True)
            raise
        there = json.loads(textfile.read(real, shown))["cells"]
    return spec["name"], [(cell["cell_type"], "".join(cell["source"])) for cell in there]


def _stored(number: int, cell: NewCells) -> dict[str, Any]:
    stored: dict[str, Any] = {"cell_type": cell.cell_type, "id": f"cell-{number}", "metadata": {}}
    if cell.cell_type is CellType.CODE:
        stored |= {"execution_count": None, "outputs": []}
    return stored | {"source": cell.source.splitlines(keepends=True)}


def _kernelspec(files: Files, real: Path, opened: Iterable[str]) -> dict[str, str]:
    """Of the notebooks that are open, then of those beside it."""
    beside = real.parent.glob("*.ipynb") if real.parent.is_dir() else iter(())
    paths = [*(files.roots[0] / path for path in opened), *islice(beside, _LOOKED_AT)]
    return next(_kernelspecs(paths), PYTHON)


def _kernelspecs(paths: Iterable[Path]) -> Iterator[dict[str, str]]:
    for path in paths:
        try:
            if path.stat().st_size <= _MOST_BYTES:
                book: Any = json.loads(path.read_bytes())
                spec = objects_in(objects_in(objects_in(book).get("metadata")).get("kernelspec"))
                if isinstance(spec.get("name"), str) and isinstance(spec.get("display_name"), str):
                    yield {name: value for name, value in spec.items() if isinstance(value, str)}
        except (OSError, ValueError, RecursionError):
            continue


def _text(cells: Iterable[NewCells]) -> str:
    return "".join(f"# %% {cell.cell_type}\n{cell.source}\n" for cell in cells)
