"""Runs ruff, a linter for Python, on the cells of a notebook or on a file. Ruff receives the source through a pipe, and
the path of the file as an option.

The module must not start processes: `linter_process.py` does. In this module, a problem is a report of ruff as a JSON
object.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.protocol.editor import Severity
from jupyter_eca.workspace.diagnostics import linter_process
from jupyter_eca.workspace.diagnostics.location import make_cell_diagnostic, make_diagnostic
from jupyter_eca.workspace.diagnostics.notebook_source import build_notebook_json, collect_words, extract_quoted_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.workspace.diagnostics.notebook_state import AnalyzedCell

# The name of this source of diagnostics, and ruff's code for a syntax error.
SOURCE: Final = "ruff"
SYNTAX_CODE: Final = "invalid-syntax"

# The rules for users who configured none. They report code that fails when it runs, or will fail with newer versions.
# They do not report unused imports and variables, star imports and redefined names: notebooks are full of these, and in
# a notebook they are no mistakes.
SELECT: Final = "E9,F,PLE,B002,B006,B015,B017,B020,B021,B023,B035,NPY003,NPY201"
IGNORE: Final = "F401,F403,F405,F541,F811,F841"

# The beginnings of the codes of rules that report code which fails when it runs.
_ERROR_CODES: Final = ("E9", "F5", "F6", "F7", "F82", "PLE", SYNTAX_CODE)
# Files in which a user configures ruff, besides `pyproject.toml`.
_CONFIG_FILES: Final = ("ruff.toml", ".ruff.toml")


async def check_notebook(path: str, cells: Sequence[AnalyzedCell], real: Path) -> list[EditorDiagnostic]:
    """Check a notebook. `path` is its path in Jupyter's contents API. `real` is its path on the disk, which need not
    exist.

    Raises: LinterError.
    """
    problems = await _run(build_notebook_json(cells), real)
    broken = {_get_cell_index(problem) for problem in problems if _get_code(problem) == SYNTAX_CODE}
    if broken:
        # For ruff a notebook is one source, and it reports nothing else about a source that it cannot parse. So the
        # other cells are checked again without the broken ones.
        problems = [problem for problem in problems if _get_code(problem) == SYNTAX_CODE] + await _run(
            build_notebook_json(cells, broken), real
        )
        # A name that a broken cell may define is not reported as undefined (F821).
        unseen = collect_words(cells, broken)
        problems = [
            problem
            for problem in problems
            if _get_code(problem) != "F821" or extract_quoted_name(str(problem["message"])) not in unseen
        ]
    return [
        _make_diagnostic(path, cells[_get_cell_index(problem)], problem)
        for problem in problems
        if 0 <= _get_cell_index(problem) < len(cells)
    ]


async def check_file(uri: str, real: Path, text: str) -> list[EditorDiagnostic]:
    """Check a file. `real` is its resolved path, and `text` its content.

    Raises: LinterError.
    """
    return [
        make_diagnostic(
            uri, *_get_spot(problem), _choose_severity(problem), str(problem["message"]), SOURCE, _get_code(problem)
        )
        for problem in await _run(text, real)
    ]


async def _run(text: str, real: Path) -> list[dict[str, Any]]:
    """Return the problems of a source that is, or could be, the file `real`.

    Raises: LinterError.
    """
    binary = linter_process.find("ruff")
    if binary is None:
        raise linter_process.LinterError("ruff is not installed (`pip install 'jupyter-eca[lint]'`)")
    rules = [] if _has_rules(real.parent) else ["--select", SELECT, "--ignore", IGNORE]
    options = ["check", "--no-cache", "--no-fix", "--quiet", "--exit-zero", "--output-format", "json"]
    ended = await linter_process.run(
        [binary, *options, *rules, "--stdin-filename", str(real), "-"], _find_folder(real), text
    )
    try:
        return list(json.loads(ended.check_output(SOURCE, 0) or "[]"))
    except ValueError as error:
        raise linter_process.LinterError("ruff answered with text that is not JSON") from error


def _has_rules(folder: Path) -> bool:
    """Return whether the user configured ruff in this folder, or in one above it."""
    for parent in (folder, *folder.parents):
        if any((parent / name).is_file() for name in _CONFIG_FILES):
            return True
        if linter_process.is_configured("ruff", parent):
            return True
    return False


def _find_folder(real: Path) -> Path:
    """Return the nearest existing folder above a path."""
    return next(folder for folder in real.parents if folder.is_dir())


def _get_cell_index(problem: dict[str, Any]) -> int:
    """Return the index of the cell. Ruff counts cells from 1."""
    return int(problem.get("cell") or 1) - 1


def _get_code(problem: dict[str, Any]) -> str:
    """Return the code of the rule that was broken, such as `F821`; `SYNTAX_CODE` for a syntax error, which has no code
    in older versions of ruff."""
    return str(problem.get("code") or SYNTAX_CODE)


def _get_spot(problem: dict[str, Any]) -> tuple[int, int]:
    """Return the line and the character, counted from 0. Ruff counts from 1."""
    place = problem.get("location") or {"row": 1, "column": 1}
    return int(place["row"]) - 1, int(place["column"]) - 1


def _choose_severity(problem: dict[str, Any]) -> Severity:
    """Return ERROR for a problem that makes the code fail when it runs, and WARNING for all others."""
    return Severity.ERROR if _get_code(problem).startswith(_ERROR_CODES) else Severity.WARNING


def _make_diagnostic(path: str, cell: AnalyzedCell, problem: dict[str, Any]) -> EditorDiagnostic:
    """Convert a problem in a cell to a diagnostic. `path` is that of the notebook."""
    return make_cell_diagnostic(
        path,
        cell.cell,
        _get_spot(problem),
        _choose_severity(problem),
        str(problem["message"]),
        SOURCE,
        _get_code(problem),
    )
