"""The tool that makes a new notebook file, and lets a client open it. `cell_edits` changes cells afterwards."""

from __future__ import annotations

import asyncio
import json
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from jupyter_eca.config.disk.regular_file import read_regular
from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.plugins.tools.notebook import check_loaded, get_notebooks
from jupyter_eca.protocol.notebook import CellType, format_cell
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.known_versions import make_cell_key
from jupyter_eca.workspace.notebooks.file import detect_language
from jupyter_eca.workspace.notebooks.loaded_content import find_loaded
from jupyter_eca.workspace.notebooks.prompt_cells import as_code, choose_default_kind
from jupyter_eca.workspace.reading.cell_text import as_object
from jupyter_eca.workspace.shielded import run_to_end
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from jupyter_eca.protocol.content import FileChangeDetails
    from jupyter_eca.workspace.ports import Files

# The kernelspec of a new notebook if no other notebook says which kernel the user wants.
PYTHON: Final = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}

# How many notebooks of the same folder are read to find out their kernel, at most, and how many bytes each may have.
_MAX_SIBLINGS: Final = 5
_MAX_SIBLING_BYTES: Final = 5_000_000


# A cell of the new notebook. No docstring: it would be sent to the model in the schema.
class InitialCell(BaseModel):
    model_config = ConfigDict(extra="forbid")

    source: str
    cell_type: CellType = CellType.CODE


def _accept_source(value: Any) -> Any:
    """Accept a plain source instead of a cell, because models write that too."""
    return {"source": value} if isinstance(value, str) else value


# The types of the arguments, with their descriptions for the model.
NewPath = Annotated[str, Field(description="Where; ends with .ipynb, and must not exist yet.")]
Cells = Annotated[
    list[Annotated[InitialCell, BeforeValidator(_accept_source)]],
    Field(description="In order."),
]


async def _preview(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return the cells of the new notebook as a diff, which the user sees before the approval."""
    values = notebook_create.arguments.model_validate(arguments)
    path, cells = getattr(values, "path", ""), getattr(values, "cells", [])
    real = await run_read(_find_free_path, context.files, path)
    new_cells = _resolve_cells(cells, await _choose_kernelspec(context, real))
    details = text_file.describe_change(context.files.contents_path(real), None, _format_cells(new_cells))
    return details.model_copy(update={"loads": _find_loaded(new_cells)})


@tool(
    makes_checkpoints=True,
    needs=[Need.NOTEBOOKS],
    summary="Creating {path}",
    preview=_preview,
    approval_covers=ApprovalCoverage.FOLDER,
    paths=["path"],
    code=["cells"],
)
async def notebook_create(
    context: ToolContext,
    path: NewPath,
    cells: Cells = [],  # noqa: B006  # read only
) -> ToolResult:
    """Make a new notebook with these cells and open it for the user. Nothing is run. Its kernel is that of the other
    notebooks here.
    """
    real = await run_read(_find_free_path, context.files, path)
    spec = await _choose_kernelspec(context, real)
    new_cells = _resolve_cells(cells, spec)
    check_loaded(context, _find_loaded(new_cells))
    if context.checkpointer is not None:
        await context.checkpointer.keep(real)
    display_path = context.files.contents_path(real)
    written_cells = await run_to_end(asyncio.to_thread(_write, real, display_path, new_cells, spec))
    for number, (_, source) in enumerate(written_cells, 1):
        context.known.learn_own(make_cell_key(display_path, f"cell-{number}"), source)
    await get_notebooks(context).show(display_path)
    text = (
        f"Created {display_path}: {len(written_cells)} {'cell' if len(written_cells) == 1 else 'cells'}, "
        f"kernel {spec['name']}."
    )
    if written_cells != [(cell.cell_type, cell.source) for cell in new_cells]:
        return ToolResult(f"{text} It is not as you wanted it: another program wrote it too.", error=True)
    return ToolResult(text, details=text_file.describe_change(display_path, None, _format_cells(new_cells)))


TOOLS = (notebook_create,)


def _find_free_path(files: Files, path: str) -> Path:
    """Return the path of a new notebook. Raises: ToolError when none can be made there."""
    real = files.resolve(path)
    if real.suffix != ".ipynb":
        raise ToolError(f"{path} does not end with .ipynb.")
    if real.exists():
        raise ToolError(f"{path} exists already; nothing was written.", "Choose another name, or edit its cells.")
    return real


def _resolve_cells(cells: Sequence[InitialCell], spec: Mapping[str, str]) -> list[InitialCell]:
    """Return the cells with a mark before each code that would count as a prompt. In notebooks of some kernels, a cell
    without a mark is a prompt. `spec` is the kernelspec."""
    default_kind = choose_default_kind(detect_language({"kernelspec": spec}))
    sources = [as_code(cell.source, default_kind) if cell.cell_type is CellType.CODE else cell.source for cell in cells]
    return [cell.model_copy(update={"source": source}) for cell, source in zip(cells, sources, strict=True)]


def _write(real: Path, display_path: str, cells: Sequence[InitialCell], spec: dict[str, str]) -> list[tuple[str, str]]:
    """Write the notebook, and return the type and the source of each cell that is then on disk. `spec` is the
    kernelspec: the kernel that Jupyter starts for the notebook."""
    language = detect_language({"kernelspec": spec})
    document = {
        "cells": [_as_stored(number, cell) for number, cell in enumerate(cells, 1)],
        "metadata": {"kernelspec": spec} | ({"language_info": {"name": language}} if language else {}),
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    with text_file.report_os_errors(display_path):
        real.parent.mkdir(parents=True, exist_ok=True)
        try:
            # This fails if another program has made the file meanwhile.
            real.open("x").close()
        except FileExistsError:
            raise ToolError(f"{display_path} exists already; nothing was written.", "Choose another name.") from None
        try:
            text_file.write(real, display_path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        except (ToolError, OSError):
            real.unlink(missing_ok=True)
            raise
        written = json.loads(text_file.read(real, display_path))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in written]


def _as_stored(number: int, cell: InitialCell) -> dict[str, Any]:
    """Return a cell in the format of notebook files. Its id is `cell-NUMBER`."""
    stored: dict[str, Any] = {"cell_type": cell.cell_type, "id": f"cell-{number}", "metadata": {}}
    if cell.cell_type is CellType.CODE:
        stored |= {"execution_count": None, "outputs": []}
    return stored | {"source": cell.source.splitlines(keepends=True)}


async def _choose_kernelspec(context: ToolContext, real: Path) -> dict[str, str]:
    """Return the kernelspec for a new notebook at this path."""
    opened = [info.path for info in await get_notebooks(context).list()]
    return await run_read(_find_kernelspec, context.files, real, opened)


def _find_kernelspec(files: Files, real: Path, opened: Iterable[str]) -> dict[str, str]:
    """Return the kernelspec of an open notebook, else of one in the same folder, else that of Python."""
    siblings = real.parent.glob("*.ipynb") if real.parent.is_dir() else iter(())
    paths = [*(files.roots[0] / path for path in opened), *islice(siblings, _MAX_SIBLINGS)]
    return next(_read_kernelspecs(paths), PYTHON)


def _read_kernelspecs(paths: Iterable[Path]) -> Iterator[dict[str, str]]:
    """Yield the kernelspecs of those notebooks that can be read and have one."""
    for path in paths:
        try:
            document: Any = json.loads(read_regular(path, _MAX_SIBLING_BYTES))
            spec = as_object(as_object(as_object(document).get("metadata")).get("kernelspec"))
            if isinstance(spec.get("name"), str) and isinstance(spec.get("display_name"), str):
                yield {name: value for name, value in spec.items() if isinstance(value, str)}
        except (OSError, ValueError, RecursionError):
            continue


def _find_loaded(cells: Iterable[InitialCell]) -> str | None:
    """Return what the Markdown cells load as soon as they are shown; None for nothing."""
    texts = (cell.source for cell in cells if cell.cell_type is CellType.MARKDOWN)
    return ", ".join(filter(None, map(find_loaded, texts))) or None


def _format_cells(cells: Sequence[InitialCell]) -> str:
    """Return the cells as a text for the diff that the user sees."""
    count = len(cells)
    headings = (f"cell {number} of {count} {cell.cell_type}" for number, cell in enumerate(cells, 1))
    return "".join(map(format_cell, headings, (cell.source for cell in cells)))
