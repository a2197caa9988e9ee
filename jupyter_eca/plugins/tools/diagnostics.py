"""The tool that reports problems: of a notebook, from all sources there are; of a file, from the user's editor.
`workspace/diagnostics` finds them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.plugins.tools.editor import as_list, display_path, resolve_existing
from jupyter_eca.plugins.tools.notebook import read_notebook as notebook_at
from jupyter_eca.protocol.editor import EditorGetDiagnosticsResult, Severity
from jupyter_eca.workspace.diagnostics import collect, location
from jupyter_eca.workspace.diagnostics.kernel import ask_kernel
from jupyter_eca.workspace.diagnostics.merge import rank_by_severity
from jupyter_eca.workspace.diagnostics.notebook_state import SOURCE, format_ranges
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks.cell_changes import number, size
from jupyter_eca.workspace.notebooks.run_states import mark_run_states

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.diagnostics.collect import DiagnosticsReport
    from jupyter_eca.workspace.ports import Editor, Files

# Seconds that an editor has to add to what is found here: some never answer at all.
ADDING_SECONDS = 3.0

_NOTHING: Final = "The editor tells of no diagnostics. Ask for a file by its path: some know only those."

AnyPath = Annotated[
    str,
    Field(
        description="A notebook or a file, relative to the workspace or absolute; empty for the open notebooks, and "
        "for all files of an editor."
    ),
]


@tool(reads=True, needs=[Need.DIAGNOSTICS], summary="Diagnostics of {path}", paths=["path"])
async def editor_diagnostics(context: ToolContext, path: AnyPath = "") -> str:
    """Errors and warnings of a notebook or a file, without running anything. Look here after you changed code.

    Of a notebook: tracebacks with every cell they passed through, what ruff, ty and the editor find, cells that ran
    out of order, in an earlier kernel or never, or were edited since, and names that only the kernel still has. Lines
    count from 1 in each cell.
    """
    editor = context.editor if context.editor is not None and context.editor.can.diagnostics else None
    if not path.strip():
        return await _check_all(context, editor)
    if path.lower().endswith(".ipynb") and context.notebooks is not None:
        return await _notebook(context, await notebook_at(context, path), editor)
    real = await run_read(resolve_existing, context.files, path)
    if editor is None or editor.in_jupyter:
        name = context.files.shorten(real)
        others = await _ask_editor(editor, location.make_uri(name)) if editor else EditorGetDiagnosticsResult()
        report = await collect.check_file(context.files, real, others.diagnostics)
        told = [_problem(context.files, one) for one in sorted(report.diagnostics, key=rank_by_severity)]
        notes = _notes(report.notes, others.message)
        return as_list([*told, *notes]) or f"Nothing wrong is known of {path}."
    found = await editor.diagnostics(real.as_uri())
    return _editors(context.files, found, f"The editor has no diagnostics for {path}.")


TOOLS = (editor_diagnostics,)


async def _check_all(context: ToolContext, editor: Editor | None) -> str:
    opened = await context.notebooks.list() if context.notebooks is not None else ()
    parts = [await _check_notebook(context, info.path, editor) for info in opened]
    if editor is not None:
        found = await (editor.diagnostics(None) if not opened else _ask_editor(editor, None))
        rest = [one for one in found.diagnostics if not _of_notebooks(one, [info.path for info in opened])]
        # eca-nvim answers a question about all files with nothing, whatever its buffers have.
        parts.append(
            _editors(context.files, found.model_copy(update={"diagnostics": tuple(rest)}), "" if parts else _NOTHING)
        )
    if not parts:
        raise ToolError("No notebook is open here.", "Give the path of a notebook or a file.")
    return "\n\n".join(part for part in parts if part)


async def _check_notebook(context: ToolContext, path: str, editor: Editor | None) -> str:
    """Check a notebook. One that was closed just now does not hide the others."""
    try:
        return await _notebook(context, await notebook_at(context, path), editor)
    except ToolError as error:
        return f"{path}: {error}"


async def _notebook(context: ToolContext, document: NotebookDocument, editor: Editor | None) -> str:
    others = EditorGetDiagnosticsResult()
    if editor is not None and (uri := _uri(context.files, document.path, editor)):
        others = await _ask_editor(editor, uri)
    document, _ = await mark_run_states(document, context.kernels)
    mapped = [_map_to_cell(document, one) for one in others.diagnostics]
    asking = context.kernel if context.from_cell else None
    kernel = ask_kernel(context.chat, document, context.kernels, asking)
    report = await collect.check_notebook(document, context.files, kernel, mapped)
    return _as_text(context.files, document, report, others.message)


async def _ask_editor(editor: Editor, uri: str | None) -> EditorGetDiagnosticsResult:
    try:
        async with asyncio.timeout(ADDING_SECONDS):
            return await editor.diagnostics(uri)
    except ToolError as error:
        return EditorGetDiagnosticsResult(message=str(error))
    except TimeoutError:
        return EditorGetDiagnosticsResult(message="no answer")


def _uri(files: Files, path: str, editor: Editor) -> str | None:
    """Return the address by which the editor may know it; None when it has none."""
    if editor.in_jupyter:
        return location.make_uri(path)
    try:
        return files.contents.resolve(path).as_uri()
    except ToolError:
        return None


def _map_to_cell(document: NotebookDocument, one: EditorDiagnostic) -> EditorDiagnostic:
    """Name the cell as it is named here, if the diagnostic names one by another scheme, such as VS Code's."""
    cell = location.parse_cell_id(one.uri)
    return one.model_copy(update={"uri": location.make_uri(document.path, cell)}) if document.cell(cell) else one


def _of_notebooks(one: EditorDiagnostic, paths: Sequence[str]) -> bool:
    parts = location.parse_uri(one.uri)
    return parts is not None and parts[0] in paths


def _as_text(files: Files, document: NotebookDocument, report: DiagnosticsReport, message: str | None) -> str:
    """Return the problems as text. What is the same in many cells is said once."""
    alike: dict[tuple[object, ...], list[EditorDiagnostic]] = {}
    for one in sorted(report.diagnostics, key=lambda one: (rank_by_severity(one)[0], _number(document, one))):
        same = _number(document, one) and _is_of_cell(one)
        alike.setdefault((one.severity, one.message) if same else (id(one),), []).append(one)
    told = [_line(files, document, group) for group in alike.values()]
    notes = _notes(report.notes, message)
    count = Counter(one.severity for one in report.diagnostics)
    kinds = ", ".join(f"{count[kind]} {kind}{'s' if count[kind] > 1 else ''}" for kind in Severity if count[kind])
    return as_list([f"{document.path} ({size(document)}): {kinds or 'nothing wrong is known'}", *told, *notes])


def _line(files: Files, document: NotebookDocument, alike: Sequence[EditorDiagnostic]) -> str:
    one = alike[0]
    if len(alike) > 1:
        return f"cells {format_ranges(_number(document, each) for each in alike)}: {_as_line(one)}"
    cell = _number(document, one)
    if not cell:
        parts = location.parse_uri(one.uri)
        return _as_line(one) if parts and parts[0] == document.path else _problem(files, one)
    spot = "" if _is_of_cell(one) else f" {one.range.start.line + 1}:{one.range.start.character + 1}"
    id = location.parse_cell_id(one.uri)
    return f"cell {cell} [{id}]{spot}: {_as_line(one)}"


def _is_of_cell(one: EditorDiagnostic) -> bool:
    """Whether the problem is one of the whole cell, not of a place in it."""
    return one.source == SOURCE and (one.range.start.line, one.range.start.character) == (0, 0)


def _number(document: NotebookDocument, one: EditorDiagnostic) -> int:
    """Return the number of the cell, from 1; 0 when it is not a cell of this notebook."""
    parts = location.parse_uri(one.uri)
    return number(document, parts[1]) if parts is not None and parts[0] == document.path else 0


def _problem(files: Files, one: EditorDiagnostic) -> str:
    parts = location.parse_uri(one.uri)
    path = (f"{parts[0]}{f' [{parts[1]}]' if parts[1] else ''}") if parts else display_path(files, one.uri)[0]
    start = one.range.start
    return f"{path}:{start.line + 1}:{start.character + 1}: {_as_line(one)}"


def _as_line(one: EditorDiagnostic) -> str:
    origin = " ".join(part for part in (one.source, one.code) if part)
    return f"{one.severity}: {one.message}{f' [{origin}]' if origin else ''}"


def _editors(files: Files, found: EditorGetDiagnosticsResult, nothing: str) -> str:
    told = [_problem(files, one) for one in found.diagnostics]
    if found.message:
        return "\n".join([f"The editor says: {found.message}", *told])
    return as_list(told) or nothing


def _notes(notes: Iterable[str], message: str | None) -> list[str]:
    said = [f"the editor says: {message}"] if message else []
    return [f"[{note}]" for note in (*notes, *said)]
