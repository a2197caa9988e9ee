"""Builds and parses the locations of diagnostics. The URI `jupyter:<path>#<cell id>` names a cell. A URI without the
part after `#` names a whole notebook or file.

The path is one of Jupyter's contents API, as in the methods `notebook/*`, because a browser page knows no other path.
Lines and characters count from 0. The module must not know the sources of diagnostics: `collect.py` beside it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote, urlsplit

from jupyter_eca.protocol.context import Position, Range
from jupyter_eca.protocol.editor import EditorDiagnostic, Severity

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookCell

# The scheme of our URIs.
SCHEME: Final = "jupyter"


def make_uri(path: str, cell: str = "") -> str:
    """Return the URI of a notebook or file, or of one of its cells."""
    return f"{SCHEME}:{quote(path)}{f'#{quote(cell)}' if cell else ''}"


def parse_uri(uri: str) -> tuple[str, str] | None:
    """Split a URI into the path and the cell id, which may be empty. Return None for a URI that is not Jupyter's."""
    split = urlsplit(uri)
    return (unquote(split.path), unquote(split.fragment)) if split.scheme == SCHEME else None


def parse_cell_id(uri: str) -> str:
    """Return the id of the cell that a URI names, whatever its scheme; empty when it names none."""
    return unquote(urlsplit(uri).fragment)


def make_diagnostic(
    uri: str, line: int, character: int, severity: Severity, message: str, source: str, code: str | None = None
) -> EditorDiagnostic:
    """Make a diagnostic at a position. Negative positions become 0. `source` is the program that found the problem,
    and `code` is its name for this kind of problem."""
    start = Position(line=max(line, 0), character=max(character, 0))
    span = Range(start=start, end=start)
    return EditorDiagnostic(uri=uri, severity=severity, source=source, range=span, message=message, code=code)


def make_cell_diagnostic(
    path: str, cell: NotebookCell, spot: tuple[int, int], severity: Severity, message: str, source: str, code: str = ""
) -> EditorDiagnostic:
    """Make a diagnostic in a cell. `path` is that of the notebook, and `spot` is the line and the character. If the
    cell no longer has that line, its last line is used."""
    line = min(spot[0], cell.source.count("\n"))
    return make_diagnostic(make_uri(path, cell.id), line, spot[1], severity, message, source, code or None)
