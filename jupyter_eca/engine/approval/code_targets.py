"""Finds the protected path that code of a notebook may change, as far as it is written there. Pure.

A name of `protected_paths` counts wherever it stands. A script that the settings run, or another file of the user's for
us, counts where a text in quotes is its path. Lines that a cell gives to a shell (`!cp x y`, `%%bash`) are read as
command lines.

`line_targets` is the neighbour: it reads command lines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.line_targets import find_in_line
from jupyter_eca.engine.approval.path_resolver import guess_paths
from jupyter_eca.engine.approval.protected_paths import find_in_text, list_names_in_text
from jupyter_eca.protocol.content import FileChangeDetails, RunCellsDetails
from jupyter_eca.protocol.notebook import EditCell, InsertCell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.approval.path_resolver import PathResolver
    from jupyter_eca.protocol.content import ToolCallDetails

# Quoted text. A backslash outside of it takes the next character with it: otherwise many of `\"` would take long.
_QUOTED: Final = re.compile(r"""\\.|(["'])((?:(?!\1)[^\\\n]|\\.)+)\1""")
_SHELL_CELL: Final = re.compile(r"\s*%%(?:bash|sh|script|sx|system|!)[^\n]*\n(.*)", re.DOTALL)
_SHELL_LINE: Final = re.compile(r"^[^\n'\"#]*?(?:!|%(?:sx|system)\s)(.+)$", re.MULTILINE)


def find_in_code(code: str, folders: tuple[str, ...], resolver: PathResolver) -> str:
    """Return a protected path that code may change, "" for none. `folders` are those in which the kernel may work."""
    if found := find_in_text(code):
        return found
    for path in guess_paths(
        [text for found in _QUOTED.finditer(code) if (text := found[2] or "") and ("/" in text or "." in text)]
    ):
        for folder in folders:
            if any(map(resolver.is_protected, resolver.resolve(path, folder))):
                return path
    cell = _SHELL_CELL.fullmatch(code)
    lines = (cell[1],) if cell else tuple(found[1] for found in _SHELL_LINE.finditer(code))
    # In a line for the shell within Python, `$x` is a variable of Python.
    results = (find_in_line(line, folder, resolver, looks_up=cell is not None) for line in lines for folder in folders)
    return next(filter(None, results), "")


def list_shown_code(details: ToolCallDetails | None) -> Iterator[str]:
    """Yield the code that a call runs or leaves in cells, as its card shows it. A cell that is edited counts only if it
    then names something that it did not name before: whether it runs is another question."""
    match details:
        case RunCellsDetails(cells=cells):
            yield from (cell.source for cell in cells)
        case FileChangeDetails(cells=changes) if changes:
            for change in changes:
                if isinstance(change, InsertCell):
                    yield change.cell.source
                elif isinstance(change, EditCell) and list_names_in_text(change.source) - list_names_in_text(
                    change.was
                ):
                    yield change.source
        case _:
            pass
