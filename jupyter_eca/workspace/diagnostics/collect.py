"""Collects the diagnostics of a notebook or a file from all sources: the state of its cells, tracebacks, the linter
ruff, the type checker ty, and the user's editor. If a linter cannot run, the report has a note about it, and the
diagnostics of the other sources.

It must not find problems itself: `notebook_state.py`, `tracebacks.py`, `ruff.py` and `ty.py` do. The tool that shows
the result is in `plugins/tools/`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_resolved
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.editor import Severity
from jupyter_eca.workspace.diagnostics import notebook_state, ruff, tracebacks, ty
from jupyter_eca.workspace.diagnostics.linter_process import LinterError
from jupyter_eca.workspace.diagnostics.location import make_cell_diagnostic, make_diagnostic, make_uri
from jupyter_eca.workspace.diagnostics.magics import MAX_SOURCE, parse_cell
from jupyter_eca.workspace.diagnostics.merge import merge
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence
    from pathlib import Path

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.diagnostics.kernel_facts import KernelFacts
    from jupyter_eca.workspace.diagnostics.notebook_state import AnalyzedCell
    from jupyter_eca.workspace.ports import Files

# The endings of the files that the linters check.
_PYTHON_SUFFIXES: Final = (".py", ".pyi", ".pyw")

_LinterOutcome = tuple["list[EditorDiagnostic]", str]
"""The diagnostics of a linter, and a note that says why it could not run; empty when it ran."""


@dataclass(frozen=True, slots=True)
class DiagnosticsReport:
    """All diagnostics of a notebook or a file."""

    diagnostics: tuple[EditorDiagnostic, ...]
    """Each problem once, in the order of the sources."""
    notes: tuple[str, ...] = ()
    """Why a linter could not run, one line each."""


async def check_notebook(
    document: NotebookDocument,
    files: Files,
    kernel_facts: Awaitable[KernelFacts],
    editor_diagnostics: Sequence[EditorDiagnostic] = (),
) -> DiagnosticsReport:
    """Check a notebook. `kernel_facts` is a call of `ask_kernel` that is not awaited yet: the kernel is asked while the
    linters run. `editor_diagnostics` are the diagnostics that an editor already has."""
    facts = asyncio.ensure_future(kernel_facts)
    try:
        cells, (real, root) = await asyncio.gather(
            asyncio.to_thread(notebook_state.analyze_cells, document), asyncio.to_thread(_locate, files, document.path)
        )
        outcomes = await _run_linters(document, cells, real, root, facts)
        known_facts = await facts
    finally:
        facts.cancel()
    notebook_problems = notebook_state.find_problems(document, cells, known_facts.names)
    errors = await asyncio.to_thread(tracebacks.find_errors, document, lambda file: _get_uri(files, file))
    # Python's own parser is asked only where every linter failed, because ruff and ty report syntax errors too.
    syntax_errors = _list_syntax_errors(document.path, cells) if outcomes and all(note for _, note in outcomes) else []
    diagnostics = [
        *notebook_problems,
        *errors,
        *(diagnostic for found, _ in outcomes for diagnostic in found),
        *syntax_errors,
        *editor_diagnostics,
    ]
    return DiagnosticsReport(
        tuple(merge(diagnostics, _list_bound_names(cells, known_facts))), tuple(note for _, note in outcomes if note)
    )


async def _run_linters(
    document: NotebookDocument,
    cells: Sequence[AnalyzedCell],
    real: Path,
    root: Path,
    facts: asyncio.Future[KernelFacts],
) -> list[_LinterOutcome]:
    """Run ruff and ty at the same time, and return the outcome of each; nothing for a notebook of another language.
    `real` is the resolved path of the notebook, and `root` the workspace folder that contains it. `facts` are about its
    kernel."""
    if not (cells and notebook_state.is_python(document)):
        return []

    async def check_types() -> list[EditorDiagnostic]:
        """Run ty with the Python of the kernel or, if that is unknown, with the one of the project."""
        python = (await asyncio.shield(facts)).python or await asyncio.to_thread(ty.choose_python, root)
        return await ty.check_notebook(document.path, cells, real, root, python)

    return list(
        await asyncio.gather(_try_linter(ruff.check_notebook(document.path, cells, real)), _try_linter(check_types()))
    )


async def check_file(
    files: Files, real: Path, editor_diagnostics: Sequence[EditorDiagnostic] = ()
) -> DiagnosticsReport:
    """Check a file. `real` is its resolved path. The linters check only Python files. For other files, the result has
    only the editor's diagnostics.

    Raises: ToolError when the file cannot be read.
    """
    if real.suffix not in _PYTHON_SUFFIXES:
        return DiagnosticsReport(tuple(editor_diagnostics))
    uri = real.as_uri()
    try:
        text = (await run_read(read_resolved, real, MAX_TEXT_BYTES)).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ToolError(f"{files.shorten(real)} cannot be read: {error}.") from error
    root = next((folder.resolve() for folder in files.roots if real.is_relative_to(folder.resolve())), real.parent)
    python = await asyncio.to_thread(ty.choose_python, root)
    outcomes = await asyncio.gather(
        _try_linter(ruff.check_file(uri, real, text)), _try_linter(ty.check_file(uri, real, root, python))
    )
    syntax_errors: list[EditorDiagnostic] = []
    if all(note for _, note in outcomes):
        flaw = (await asyncio.to_thread(parse_cell, text[:MAX_SOURCE])).flaw
        if flaw is not None:
            position = flaw.line, flaw.character
            syntax_errors.append(make_diagnostic(uri, *position, Severity.ERROR, flaw.message, "python"))
    merged = merge(
        [*(diagnostic for found, _ in outcomes for diagnostic in found), *syntax_errors, *editor_diagnostics]
    )
    return DiagnosticsReport(tuple(merged), tuple(note for _, note in outcomes if note))


async def _try_linter(run: Awaitable[list[EditorDiagnostic]]) -> _LinterOutcome:
    """Return what a linter found, or why it could not run."""
    try:
        return await run, ""
    except LinterError as error:
        return [], str(error)


def _list_syntax_errors(path: str, cells: Sequence[AnalyzedCell]) -> list[EditorDiagnostic]:
    """List the errors of Python's own parser, for cells that no linter could check."""
    flaws = [(analyzed.cell, analyzed.flaw) for analyzed in cells if analyzed.flaw]
    return [
        make_cell_diagnostic(path, cell, (flaw.line, flaw.character), Severity.ERROR, flaw.message, "python")
        for cell, flaw in flaws
    ]


def _list_bound_names(cells: Sequence[AnalyzedCell], facts: KernelFacts) -> set[str]:
    """Return the names whose definitions linters cannot see: a magic binds them, or they exist only in the kernel."""
    by_magic = {name for analyzed in cells for name in analyzed.magic_names}
    return by_magic | (facts.names or set())


def _locate(files: Files, path: str) -> tuple[Path, Path]:
    """Return the resolved path of a notebook, and the workspace folder that contains it. If the notebook is not on this
    disk, it is checked as if it were in the first folder."""
    root = files.roots[0].resolve()
    try:
        real = files.contents.resolve(path)
    except ToolError:
        return root / "notebook.ipynb", root
    return real, next((folder.resolve() for folder in files.roots if real.is_relative_to(folder.resolve())), root)


def _get_uri(files: Files, file: str) -> str | None:
    """Return the URI of a file; None when it is outside of the workspace."""
    try:
        real = files.resolve(file)
    except ToolError:
        return None
    return make_uri(files.contents_path(real)) if real.suffix == ".ipynb" else real.as_uri()
