"""Ruff over the cells of a notebook, or over a file; the source goes through a pipe, under the name of the file."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.protocol.editor import Severity
from jupyter_eca.workspace.diagnostics import linter_process
from jupyter_eca.workspace.diagnostics.location import at, in_cell
from jupyter_eca.workspace.diagnostics.notebook_source import hidden, quoted, written

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.workspace.diagnostics.notebook_state import Sheet

SOURCE: Final = "ruff"
SYNTAX: Final = "invalid-syntax"

# Where nobody has chosen rules: what is, or soon will be, an error when the code runs. No unused imports and variables,
# no star imports, no names that are made anew: a notebook is full of them, and none is a mistake there.
SELECT: Final = "E9,F,PLE,B002,B006,B015,B017,B020,B021,B023,B035,NPY003,NPY201"
IGNORE: Final = "F401,F403,F405,F541,F811,F841"

_ERRORS: Final = ("E9", "F5", "F6", "F7", "F82", "PLE", SYNTAX)
_OWN: Final = ("ruff.toml", ".ruff.toml")


async def of_notebook(path: str, code: Sequence[Sheet], real: Path) -> list[EditorDiagnostic]:
    """`real` is where the notebook is, or would be. Raises: ProgramError."""
    found = await _run(written(code), real)
    broken = {_place(one) for one in found if _code(one) == SYNTAX}
    if broken:
        # Of a source that it cannot parse ruff tells nothing else, and a notebook is one source to it.
        found = [one for one in found if _code(one) == SYNTAX] + await _run(written(code, broken), real)
        unseen = hidden(code, broken)
        found = [one for one in found if _code(one) != "F821" or quoted(str(one["message"])) not in unseen]
    return [_in_cell(path, code[_place(one)], one) for one in found if 0 <= _place(one) < len(code)]


async def of_file(uri: str, real: Path, text: str) -> list[EditorDiagnostic]:
    """Raises: ProgramError."""
    return [
        at(uri, *_spot(one), _severity(one), str(one["message"]), SOURCE, _code(one)) for one in await _run(text, real)
    ]


async def _run(text: str, real: Path) -> list[dict[str, Any]]:
    binary = linter_process.find("ruff")
    if binary is None:
        raise linter_process.ProgramError("ruff is not installed (`pip install 'jupyter-eca[lint]'`)")
    rules = [] if _has_rules(real.parent) else ["--select", SELECT, "--ignore", IGNORE]
    words = ["check", "--no-cache", "--no-fix", "--quiet", "--exit-zero", "--output-format", "json"]
    ended = await linter_process.run([binary, *words, *rules, "--stdin-filename", str(real), "-"], _folder(real), text)
    try:
        return list(json.loads(ended.checked(SOURCE, 0) or "[]"))
    except ValueError as error:
        raise linter_process.ProgramError("ruff answered with what is no JSON") from error


def _has_rules(folder: Path) -> bool:
    """Whether ruff itself will find some, in this folder or in one above it."""
    for one in (folder, *folder.parents):
        if any((one / name).is_file() for name in _OWN):
            return True
        with suppress(OSError, ValueError):
            if "ruff" in tomllib.loads((one / "pyproject.toml").read_text("utf-8")).get("tool", {}):
                return True
    return False


def _folder(real: Path) -> Path:
    return next(one for one in real.parents if one.is_dir())


def _place(one: dict[str, Any]) -> int:
    """Ruff numbers cells from 1."""
    return int(one.get("cell") or 1) - 1


def _code(one: dict[str, Any]) -> str:
    return str(one.get("code") or SYNTAX)


def _spot(one: dict[str, Any]) -> tuple[int, int]:
    place = one.get("location") or {"row": 1, "column": 1}
    return int(place["row"]) - 1, int(place["column"]) - 1


def _severity(one: dict[str, Any]) -> Severity:
    return Severity.ERROR if _code(one).startswith(_ERRORS) else Severity.WARNING


def _in_cell(path: str, sheet: Sheet, one: dict[str, Any]) -> EditorDiagnostic:
    return in_cell(path, sheet.cell, _spot(one), _severity(one), str(one["message"]), SOURCE, _code(one))
