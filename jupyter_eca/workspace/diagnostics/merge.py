"""What several sources tell of one place, told once: the first one that tells it keeps it."""

from __future__ import annotations

import re
from keyword import iskeyword
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.editor import Severity
from jupyter_eca.workspace.diagnostics.name_analysis import is_known

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from jupyter_eca.protocol.editor import EditorDiagnostic

_UNDEFINED: Final = frozenset({"F821", "unresolved-reference", "undefined-variable", "reportUndefinedVariable"})
_NAMES: Final = frozenset({"defined-below", "defined-nowhere"})
_UNDEFINED_SAID: Final = re.compile(r"undefined name|not defined|undefined variable", re.IGNORECASE)
_QUOTED: Final = re.compile(r"[`'\"](\w+)[`'\"]")
_SYNTAX_KIND: Final = "syntax"
_SYNTAX: Final = re.compile(r"(?:Syntax|Indentation|Tab)Error\b|invalid-syntax|E9")

_ORDER: Final = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2, Severity.HINT: 3}


def merged(found: Iterable[EditorDiagnostic], bound: Collection[str] = ()) -> list[EditorDiagnostic]:
    """`bound` are names that are defined, though a linter cannot see it: by a magic, or in the kernel."""
    kept: dict[tuple[str, int, str], EditorDiagnostic] = {}
    for one in found:
        name = _undefined(one)
        if name and one.code not in _NAMES and (name in bound or is_known(name) or iskeyword(name)):
            continue  # a keyword is what ty makes of broken syntax
        kind = _kind(one, name)
        # Of one mistake a parser makes several, line after line.
        kept.setdefault((one.uri, 0 if kind == _SYNTAX_KIND else one.range.start.line, kind), one)
    return list(kept.values())


def first_errors(one: EditorDiagnostic) -> tuple[int, int, int]:
    return _ORDER[one.severity], one.range.start.line, one.range.start.character


def _undefined(one: EditorDiagnostic) -> str:
    if one.source != "traceback" and (one.code in _UNDEFINED | _NAMES or _UNDEFINED_SAID.search(one.message)):
        quoted = _QUOTED.search(one.message)
        return quoted[1] if quoted else ""
    return ""


def _kind(one: EditorDiagnostic, name: str) -> str:
    if name:
        return f"name {name}"
    if _SYNTAX.match(one.code or "") or _SYNTAX.match(one.message):
        return _SYNTAX_KIND
    return " ".join(one.message.split())
