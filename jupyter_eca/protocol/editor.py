"""What the server asks an editor: diagnostics, definitions, references. Only of clients that declared it.

A client whose answer is a failure in the shape of a result (`{"status": "error", "message": ...}`, seen in emacs) has
no `diagnostics` in it: then there are none, and `message` says why.

A client that declared `notebook` too is asked with, and answers with, URIs of Jupyter's contents: `jupyter:<path>` for
a file or a notebook and `jupyter:<path>#<cell id>` for a cell, the path as in `notebook/*`, percent-encoded.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import field_validator

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.context import Position, Range


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    HINT = "hint"


class EditorDiagnostic(Model):
    """The range counts from 0; clients of the older dialects count from 1 and are put right in `dialect`."""

    uri: str
    severity: Severity = Severity.ERROR
    source: str = ""
    range: Range
    message: str
    code: str | None = None

    @field_validator("code", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        return value if value is None else str(value)


class EditorGetDiagnosticsParams(Model):
    uri: str | None = None


class EditorGetDiagnosticsResult(Model):
    diagnostics: tuple[EditorDiagnostic, ...] = ()
    message: str | None = None


class Location(Model):
    uri: str
    range: Range


class LookupStatus(StrEnum):
    SUCCESS = "success"
    STARTING = "starting"
    NO_SERVER = "no-server"
    ERROR = "error"


class EditorGetDefinitionParams(Model):
    """`position` counts from 1, characters in UTF-16 units."""

    uri: str
    position: Position


class EditorGetReferencesParams(EditorGetDefinitionParams):
    include_declaration: bool = False


class EditorLookupResult(Model):
    status: LookupStatus = LookupStatus.SUCCESS
    locations: tuple[Location, ...] = ()
    message: str | None = None
