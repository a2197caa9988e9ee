"""Merges the diagnostics of several sources: a problem that several report is kept once, from the first source.

It must not know the sources; `collect.py` gives their order.
"""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.editor import Severity
from jupyter_eca.workspace.diagnostics.name_analysis import is_known

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jupyter_eca.protocol.editor import EditorDiagnostic

# How to recognize a report of an undefined name: by the codes of ruff, ty and language servers, by our own codes
# (`notebook_state.py`), and by the message. The message quotes the name.
_UNDEFINED_CODES: Final = frozenset({"F821", "unresolved-reference", "undefined-variable", "reportUndefinedVariable"})
_OWN_CODES: Final = frozenset({"defined-below", "defined-nowhere"})
_UNDEFINED_MESSAGE: Final = re.compile(r"undefined name|not defined|undefined variable", re.IGNORECASE)
_QUOTED: Final = re.compile(r"[`'\"](\w+)[`'\"]")
# How to recognize a report of a syntax error: by its code or the beginning of its message.
_SYNTAX_KIND: Final = "syntax"
_SYNTAX: Final = re.compile(r"(?:Syntax|Indentation|Tab)Error\b|invalid-syntax|E9")

# The rank of each severity when diagnostics are sorted.
_ORDER: Final = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2, Severity.HINT: 3}


def merge(diagnostics: Iterable[EditorDiagnostic], bound_names: Collection[str] = ()) -> list[EditorDiagnostic]:
    """Remove duplicates, and false reports of undefined names. `bound_names` are names whose definition a linter cannot
    see: a magic binds them, or they exist only in the kernel."""
    merged: dict[tuple[str, int, str], EditorDiagnostic] = {}
    for diagnostic in diagnostics:
        name = _find_undefined_name(diagnostic)
        if name and diagnostic.code not in _OWN_CODES and (name in bound_names or is_known(name) or iskeyword(name)):
            continue  # where the syntax is broken, ty reports even keywords as undefined names
        kind = _classify(diagnostic, name)
        # One mistake makes a parser report several errors in the following lines. So only the first syntax error of
        # each file or cell is kept: all of them get the line 0 here.
        merged.setdefault(
            (diagnostic.uri, 0 if kind == _SYNTAX_KIND else diagnostic.range.start.line, kind), diagnostic
        )
    return list(merged.values())


def rank_by_severity(diagnostic: EditorDiagnostic) -> tuple[int, int, int]:
    """Return a sort key: errors come first, and diagnostics of one severity are in the order of their positions."""
    return _ORDER[diagnostic.severity], diagnostic.range.start.line, diagnostic.range.start.character


def _find_undefined_name(diagnostic: EditorDiagnostic) -> str:
    """Return the name that a diagnostic reports as undefined; empty for other diagnostics."""
    if diagnostic.source != "traceback" and (
        diagnostic.code in _UNDEFINED_CODES | _OWN_CODES or _UNDEFINED_MESSAGE.search(diagnostic.message)
    ):
        quoted = _QUOTED.search(diagnostic.message)
        return quoted[1] if quoted else ""
    return ""


def _classify(diagnostic: EditorDiagnostic, name: str) -> str:
    """Return a key that is equal for two reports of the same problem."""
    if name:
        return f"name {name}"
    if _SYNTAX.match(diagnostic.code or "") or _SYNTAX.match(diagnostic.message):
        return _SYNTAX_KIND
    return " ".join(diagnostic.message.split())
