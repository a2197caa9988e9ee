"""The tool that reports problems of a notebook or a file. This module must not search for problems:
`workspace/diagnostics` does, and asks the user's editor too.
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
from jupyter_eca.workspace.diagnostics.kernel_facts import ask_kernel
from jupyter_eca.workspace.diagnostics.merge import rank_by_severity
from jupyter_eca.workspace.diagnostics.notebook_state import SOURCE, format_ranges
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks.cell_changes import describe_size, find_number
from jupyter_eca.workspace.notebooks.run_states import mark_run_states

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.diagnostics.collect import DiagnosticsReport
    from jupyter_eca.workspace.ports import Editor, Files

# The seconds to wait for the editor's problems. Some editors never answer.
EDITOR_SECONDS = 3.0

# The result if the editor knows no problem in any file.
_NOTHING: Final = "The editor tells of no diagnostics. Ask for a file by its path: some know only those."

# The type of an argument, with its description for the model.
AnyPath = Annotated[
    str,
    Field(description="A notebook or a file; empty for the open notebooks, and for all files of an editor."),
]


@tool(reads=True, needs=[Need.DIAGNOSTICS], summary="Diagnostics of {path}", paths=["path"])
async def editor_diagnostics(context: ToolContext, path: AnyPath = "") -> str:
    """Errors and warnings of a notebook or a file, without running anything. Look here after you changed code.

    Of a notebook: tracebacks with every cell they passed through, what ruff, ty and the editor find, cells that ran
    out of order, in an earlier kernel or never, or were edited since, and names that only the kernel still has. Lines
    count from 1 in each cell.
    """
    editor = context.editor if context.editor is not None and context.editor.capabilities.diagnostics else None
    if not path.strip():
        return await _check_all(context, editor)
    if path.lower().endswith(".ipynb") and context.notebooks is not None:
        return await _check_document(context, await notebook_at(context, path), editor)
    real = await run_read(resolve_existing, context.files, path)
    if editor is None or editor.in_jupyter:
        name = context.files.shorten(real)
        from_editor = await _ask_editor(editor, location.make_uri(name)) if editor else EditorGetDiagnosticsResult()
        report = await collect.check_file(context.files, real, from_editor.diagnostics)
        lines = [
            _format_problem(context.files, diagnostic)
            for diagnostic in sorted(report.diagnostics, key=rank_by_severity)
        ]
        notes = _format_notes(report.notes, from_editor.message)
        return as_list([*lines, *notes]) or f"Nothing wrong is known of {path}."
    editor_result = await editor.diagnostics(real.as_uri())
    return _format_editor_result(context.files, editor_result, f"The editor has no diagnostics for {path}.")


TOOLS = (editor_diagnostics,)


async def _check_all(context: ToolContext, editor: Editor | None) -> str:
    """Return the problems of all open notebooks, and those that the editor has of other files."""
    opened = await context.notebooks.list() if context.notebooks is not None else ()
    parts = [await _check_notebook(context, info.path, editor) for info in opened]
    if editor is not None:
        editor_result = await (editor.diagnostics(None) if not opened else _ask_editor(editor, None))
        other_diagnostics = [
            diagnostic
            for diagnostic in editor_result.diagnostics
            if not _is_in_notebooks(diagnostic, [info.path for info in opened])
        ]
        # eca-nvim answers a question about all files with nothing, whatever its buffers have.
        parts.append(
            _format_editor_result(
                context.files,
                editor_result.model_copy(update={"diagnostics": tuple(other_diagnostics)}),
                "" if parts else _NOTHING,
            )
        )
    if not parts:
        raise ToolError("No notebook is open here.", "Give the path of a notebook or a file.")
    return "\n\n".join(filter(None, _drop_repeated_notes(parts)))


def _drop_repeated_notes(parts: Iterable[str]) -> Iterator[str]:
    """Yield the parts. A note that an earlier part has already, such as that a linter is not installed, is left out."""
    known: set[str] = set()
    for part in parts:
        lines = part.split("\n")
        yield "\n".join(line for line in lines if not (line.startswith("[") and line in known))
        known.update(line for line in lines if line.startswith("["))


async def _check_notebook(context: ToolContext, path: str, editor: Editor | None) -> str:
    """Return the problems of a notebook, as `_check_document` does. If the notebook cannot be read, because it was
    closed a moment ago, the text says so, and the other notebooks are still checked."""
    try:
        return await _check_document(context, await notebook_at(context, path), editor)
    except ToolError as error:
        return f"{path}: {error}"


async def _check_document(context: ToolContext, document: NotebookDocument, editor: Editor | None) -> str:
    """Return the problems of a notebook: our own checks, and those of the editor."""
    from_editor = EditorGetDiagnosticsResult()
    if editor is not None and (uri := _make_uri(context.files, document.path, editor)):
        from_editor = await _ask_editor(editor, uri)
    document, _ = await mark_run_states(document, context.kernels)
    mapped = [_map_to_cell(document, diagnostic) for diagnostic in from_editor.diagnostics]
    asking = context.kernel if context.from_cell else None
    kernel = ask_kernel(context.chat, document, context.kernels, asking)
    report = await collect.check_notebook(document, context.files, kernel, mapped)
    return _as_text(context.files, document, report, from_editor.message)


async def _ask_editor(editor: Editor, uri: str | None) -> EditorGetDiagnosticsResult:
    """Return the problems that the editor knows in the file with this URI; in all files if `uri` is None. If the editor
    fails or does not answer, the result says so."""
    try:
        async with asyncio.timeout(EDITOR_SECONDS):
            return await editor.diagnostics(uri)
    except ToolError as error:
        return EditorGetDiagnosticsResult(message=str(error))
    except TimeoutError:
        return EditorGetDiagnosticsResult(message="no answer")


def _make_uri(files: Files, path: str, editor: Editor) -> str | None:
    """Return the URI by which the editor may know a notebook, None if there is none."""
    if editor.in_jupyter:
        return location.make_uri(path)
    try:
        return files.contents.resolve(path).as_uri()
    except ToolError:
        return None


def _map_to_cell(document: NotebookDocument, diagnostic: EditorDiagnostic) -> EditorDiagnostic:
    """Return a diagnostic with our URI of a cell, if it has another one, such as VS Code's."""
    cell = location.parse_cell_id(diagnostic.uri)
    return (
        diagnostic.model_copy(update={"uri": location.make_uri(document.path, cell)})
        if document.find_cell(cell)
        else diagnostic
    )


def _is_in_notebooks(diagnostic: EditorDiagnostic, paths: Sequence[str]) -> bool:
    """Return whether a problem is in one of these notebooks."""
    parts = location.parse_uri(diagnostic.uri)
    return parts is not None and parts[0] in paths


def _as_text(files: Files, document: NotebookDocument, report: DiagnosticsReport, message: str | None) -> str:
    """Return the problems as text. A problem that many cells have is written once."""
    # Problems of whole cells with the same message are one group. Each other problem is a group of its own.
    groups: dict[tuple[object, ...], list[EditorDiagnostic]] = {}
    for diagnostic in sorted(
        report.diagnostics,
        key=lambda diagnostic: (rank_by_severity(diagnostic)[0], _get_cell_number(document, diagnostic)),
    ):
        same = _get_cell_number(document, diagnostic) and _is_of_cell(diagnostic)
        groups.setdefault((diagnostic.severity, diagnostic.message) if same else (id(diagnostic),), []).append(
            diagnostic
        )
    lines = [_format_group(files, document, group) for group in groups.values()]
    notes = _format_notes(report.notes, message)
    count = Counter(diagnostic.severity for diagnostic in report.diagnostics)
    kinds = ", ".join(f"{count[kind]} {kind}{'s' if count[kind] > 1 else ''}" for kind in Severity if count[kind])
    return as_list(
        [f"{document.path} ({describe_size(document)}): {kinds or 'nothing wrong is known'}", *lines, *notes]
    )


def _format_group(files: Files, document: NotebookDocument, group: Sequence[EditorDiagnostic]) -> str:
    """Return the line of a group: `cell 3 [id] 2:5: error: ...`, or `cells 3, 5-7: ...` for several cells."""
    diagnostic = group[0]
    if len(group) > 1:
        return f"cells {format_ranges(_get_cell_number(document, other) for other in group)}: {_as_line(diagnostic)}"
    cell = _get_cell_number(document, diagnostic)
    if not cell:
        parts = location.parse_uri(diagnostic.uri)
        return _as_line(diagnostic) if parts and parts[0] == document.path else _format_problem(files, diagnostic)
    spot = (
        "" if _is_of_cell(diagnostic) else f" {diagnostic.range.start.line + 1}:{diagnostic.range.start.character + 1}"
    )
    id = location.parse_cell_id(diagnostic.uri)
    return f"cell {cell} [{id}]{spot}: {_as_line(diagnostic)}"


def _is_of_cell(diagnostic: EditorDiagnostic) -> bool:
    """Return whether a problem is about the whole cell, and not about a place in it."""
    return diagnostic.source == SOURCE and (diagnostic.range.start.line, diagnostic.range.start.character) == (0, 0)


def _get_cell_number(document: NotebookDocument, diagnostic: EditorDiagnostic) -> int:
    """Return the number of the cell, counted from 1; 0 if it is no cell of this notebook."""
    parts = location.parse_uri(diagnostic.uri)
    return find_number(document, parts[1]) if parts is not None and parts[0] == document.path else 0


def _format_problem(files: Files, diagnostic: EditorDiagnostic) -> str:
    """Return the line of a problem in a file: `path:line:column: error: ...`, both counted from 1."""
    parts = location.parse_uri(diagnostic.uri)
    path = (f"{parts[0]}{f' [{parts[1]}]' if parts[1] else ''}") if parts else display_path(files, diagnostic.uri)[0]
    start = diagnostic.range.start
    return f"{path}:{start.line + 1}:{start.character + 1}: {_as_line(diagnostic)}"


def _as_line(diagnostic: EditorDiagnostic) -> str:
    """Return a problem without its place: `error: the message [source code]`."""
    origin = " ".join(part for part in (diagnostic.source, diagnostic.code) if part)
    return f"{diagnostic.severity}: {diagnostic.message}{f' [{origin}]' if origin else ''}"


def _format_editor_result(files: Files, editor_result: EditorGetDiagnosticsResult, nothing: str) -> str:
    """Return the editor's problems as lines, or the text `nothing` if there are none."""
    lines = [_format_problem(files, diagnostic) for diagnostic in editor_result.diagnostics]
    if editor_result.message:
        return "\n".join([f"The editor says: {editor_result.message}", *lines])
    return as_list(lines) or nothing


def _format_notes(notes: Iterable[str], message: str | None) -> list[str]:
    """Return notes as lines in brackets. `message` is what the editor says, None for nothing."""
    editor_note = [f"the editor says: {message}"] if message else []
    return [f"[{note}]" for note in (*notes, *editor_note)]
