"""Runs ty, a type checker for Python, on the cells of a notebook or on a file. ty also reports imports that the kernel
would not find.

ty reads only files, so a notebook is written to a temporary folder outside of the workspace. ty's concise format is
parsed, because its other formats do not contain the line in a notebook cell (version 0.0.105). The module must not
start processes: `linter_process.py` does. In this module, a problem is one line of that format as a dict, with the keys
`cell`, `line`, `character`, `severity`, `code` and `message`.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.editor import Severity
from jupyter_eca.workspace.diagnostics import linter_process
from jupyter_eca.workspace.diagnostics.location import make_cell_diagnostic, make_diagnostic
from jupyter_eca.workspace.diagnostics.notebook_source import build_notebook_json, collect_words, extract_quoted_name
from jupyter_eca.workspace.jobs.process_folder import make_process_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.workspace.diagnostics.notebook_state import AnalyzedCell

# The name of this source of diagnostics.
SOURCE: Final = "ty"

# `notebook.ipynb:cell 2:3:1: error[unresolved-import] Cannot resolve imported module`; a file has no `cell 2:`.
_LINE: Final = re.compile(
    r"^.*?:(?:cell (?P<cell>\d+):)?(?P<line>\d+):(?P<character>\d+): (?P<severity>\w+)\[(?P<code>[\w-]+)\] "
    r"(?P<message>.*)$",
    re.MULTILINE,
)
# Our severity for each severity of ty. All others are INFO.
_SEVERITY: Final = {"error": Severity.ERROR, "fatal": Severity.ERROR, "warning": Severity.WARNING}


async def check_notebook(
    path: str, cells: Sequence[AnalyzedCell], real: Path, root: Path, python: str | None
) -> list[EditorDiagnostic]:
    """Check a notebook.

    `path` is the path of the notebook in Jupyter's contents API. `real` is its path on the disk, whose folder is
    searched for imports. `root` is the workspace folder, where ty looks for the configuration of the project. `python`
    is the interpreter of the kernel; None lets ty choose one.

    Raises: LinterError.
    """
    # If ty cannot parse one cell, its reports about the other cells are wrong too. So broken cells become empty, and
    # names that they may define are not reported as undefined.
    broken = {place for place, analyzed in enumerate(cells) if analyzed.flaw}
    unseen = collect_words(cells, broken)
    folder = await asyncio.to_thread(_make_folder)
    try:
        copy = Path(folder.name) / "notebook.ipynb"
        await asyncio.to_thread(copy.write_text, build_notebook_json(cells, broken), "utf-8")
        problems = await _run(copy, root, python, real.parent)
    finally:
        await asyncio.to_thread(folder.cleanup)
    return [
        make_cell_diagnostic(
            path,
            cells[int(problem["cell"]) - 1].cell,
            _get_spot(problem),
            _choose_severity(problem),
            problem["message"],
            SOURCE,
            problem["code"],
        )
        for problem in problems
        if problem["cell"]
        and 0 < int(problem["cell"]) <= len(cells)
        and not (problem["code"] == "unresolved-reference" and extract_quoted_name(problem["message"]) in unseen)
    ]


async def check_file(uri: str, real: Path, root: Path, python: str | None) -> list[EditorDiagnostic]:
    """Check a file. See `check_notebook` for the arguments.

    Raises: LinterError.
    """
    problems = await _run(real, root, python, real.parent)
    return [
        make_diagnostic(
            uri, *_get_spot(problem), _choose_severity(problem), problem["message"], SOURCE, problem["code"]
        )
        for problem in problems
    ]


def choose_python(root: Path) -> str | None:
    """Return the Python whose packages ty searches when the Python of the kernel is unknown. Return None for a project
    that configures its own, and the Python of this process for all others."""
    if (root / ".venv").exists() or (root / "ty.toml").exists():
        return None
    return None if linter_process.is_configured("ty", root) else sys.executable


def _make_folder() -> TemporaryDirectory[str]:
    """Return a new folder for a copy of the notebook. Blocks."""
    return TemporaryDirectory(prefix="lint-", dir=make_process_folder())


async def _run(file: Path, root: Path, python: str | None, beside: Path) -> list[dict[str, str]]:
    """Return the problems of a file. `root` and `python` are those of `check_notebook`. ty also searches the folder
    `beside` for imports.

    Raises: LinterError.
    """
    binary = linter_process.find("ty")
    if binary is None:
        raise linter_process.LinterError("ty is not installed (`pip install 'jupyter-eca[lint]'`)")
    options = ["check", "--project", str(root), "--output-format", "concise", "--no-progress", "--exit-zero"]
    if beside != root and await asyncio.to_thread(beside.is_dir):
        options += ["--extra-search-path", str(beside)]
    options += ["--python", python] if python else []
    output = (await linter_process.run([binary, *options, str(file)], root)).check_output(SOURCE, 0)
    return [match.groupdict() for match in _LINE.finditer(output)]


def _get_spot(problem: dict[str, str]) -> tuple[int, int]:
    """Return the line and the character, counted from 0. ty counts from 1."""
    return int(problem["line"]) - 1, int(problem["character"]) - 1


def _choose_severity(problem: dict[str, str]) -> Severity:
    """Return the severity that ty reports."""
    return _SEVERITY.get(problem["severity"], Severity.INFO)
