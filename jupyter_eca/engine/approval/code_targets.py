"""Finds the protected path that the code of a cell may change, if the code contains the path. Pure.

A protected file decides what may run without approval. Some are protected by their name everywhere, such as `.git` and
`.eca` (`protected_paths`). Such a name counts at any place in the code. Others are protected because the settings name
them, such as a script that a hook runs (`PathResolver.machine_paths`). Such a file counts if a text in quotes is its
path. Lines that a cell passes to a shell (`!cp x y`, `%%bash`) are read as command lines, by the neighbour
`line_targets`.

A path that the code puts together while it runs is not found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.line_targets import find_protected_in_line
from jupyter_eca.engine.approval.path_resolver import guess_paths
from jupyter_eca.engine.approval.protected_paths import find_protected_name, list_protected_names
from jupyter_eca.protocol.content import FileChangeDetails, RunCellsDetails
from jupyter_eca.protocol.notebook import EditCell, InsertCell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.approval.path_resolver import PathResolver
    from jupyter_eca.protocol.content import ToolCallDetails

# A text in quotes; its second group is the text. The pattern also matches a backslash outside of quotes with the
# character after it, because code with many `\"` would take too long otherwise.
_QUOTED: Final = re.compile(r"""\\.|(["'])((?:(?!\1)[^\\\n]|\\.)+)\1""")
# A cell that is a shell script as a whole. The group is the script.
_SHELL_CELL: Final = re.compile(r"\s*%%(?:bash|sh|script|sx|system|!)[^\n]*\n(.*)", re.DOTALL)
# A line of Python that runs a shell: `!cp x y`, `files = !ls`, `%sx ls`. The group is the command line.
_SHELL_LINE: Final = re.compile(r"^[^\n'\"#]*?(?:!|%(?:sx|system)\s)(.+)$", re.MULTILINE)


def find_protected_in_code(code: str, folders: tuple[str, ...], resolver: PathResolver) -> str:
    """Return a protected path that code may change, "" for none.

    `folders` are the folders in which the kernel may work. Relative paths in the code start there.
    """
    if found := find_protected_name(code):
        return found
    quoted = [found[2] or "" for found in _QUOTED.finditer(code)]
    for path in guess_paths([text for text in quoted if "/" in text or "." in text]):
        for folder in folders:
            if any(map(resolver.is_protected, resolver.resolve(path, folder))):
                return path
    cell = _SHELL_CELL.fullmatch(code)
    lines = (cell[1],) if cell else tuple(found[1] for found in _SHELL_LINE.finditer(code))
    # In a shell line within Python (`!cp $x y`), `$x` may be a variable of Python. Its value is not known here.
    is_shell = cell is not None
    results = (
        find_protected_in_line(line, folder, resolver, counts_unknown=is_shell) for line in lines for folder in folders
    )
    return next(filter(None, results), "")


def list_shown_code(details: ToolCallDetails | None) -> Iterator[str]:
    """Yield the code that a call runs or writes into cells, as the card of the call shows it.

    An edited cell counts only if the edit adds a protected name. For protected names that the cell had before the edit,
    the user is asked when the cell runs: the edit itself does not run it.
    """
    match details:
        case RunCellsDetails(cells=cells):
            yield from (cell.source for cell in cells)
        case FileChangeDetails(cells=changes, runs=runs) if changes:
            yield from (cell.source for cell in runs or ())
            for change in changes:
                match change:
                    case InsertCell(cell=cell):
                        yield cell.source
                    case EditCell(was=before, source=after) if list_protected_names(after) - list_protected_names(
                        before
                    ):
                        yield after
                    case _:
                        pass
        case _:
            pass
