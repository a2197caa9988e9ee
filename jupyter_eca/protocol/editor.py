"""Owns the requests of the server to an editor: diagnostics, definitions and references.

It must not know how a client finds them. Only a client that has declared a request receives it. `notebook` is its
neighbour: it has the requests to a live notebook.

Some clients send a failure in the shape of a result (`{"status": "error", "message": ...}`, seen in Emacs). Such a
result has no `diagnostics`. It counts as an empty list, and `message` says why.

A client that has also declared `notebook` sends and receives URIs of Jupyter's contents: `jupyter:<path>` for a file or
a notebook, and `jupyter:<path>#<cell id>` for a cell. The path is the one of `notebook/*`, percent-encoded.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import field_validator

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.context import Position, Range


class Severity(StrEnum):
    """How serious a diagnostic is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    HINT = "hint"


class EditorDiagnostic(Model):
    """An error, a warning or a hint that an editor shows in a file."""

    uri: str
    severity: Severity = Severity.ERROR
    source: str = ""
    """The program that found it, for example a linter."""
    range: Range
    """Where it is, counted from 0. Clients of older revisions of ECA count from 1; `dialect` corrects that."""
    message: str
    code: str | None = None
    """The program's name for this kind of problem. Some clients send a number."""

    @field_validator("code", mode="before")
    @classmethod
    def _convert_code_to_text(cls, value: Any) -> Any:
        return value if value is None else str(value)


class EditorGetDiagnosticsParams(Model):
    """Asks for the diagnostics of a file, or of all files."""

    uri: str | None = None
    """The file; absent for all files."""


class EditorGetDiagnosticsResult(Model):
    """The diagnostics."""

    diagnostics: tuple[EditorDiagnostic, ...] = ()
    message: str | None = None
    """Why there are none."""


class Location(Model):
    """A place in a file."""

    uri: str
    range: Range


class LookupStatus(StrEnum):
    """Whether the editor could look up a symbol. `starting` and `no-server` are about its language server."""

    SUCCESS = "success"
    STARTING = "starting"
    NO_SERVER = "no-server"
    ERROR = "error"


class EditorGetDefinitionParams(Model):
    """Asks where the symbol at a position is defined."""

    uri: str
    position: Position
    """Counted from 1, in UTF-16 units."""


class EditorGetReferencesParams(EditorGetDefinitionParams):
    """Asks where the symbol at a position is used."""

    include_declaration: bool = False
    """Whether the place where the symbol is defined is returned too."""


class EditorLookupResult(Model):
    """The places that were found."""

    status: LookupStatus = LookupStatus.SUCCESS
    locations: tuple[Location, ...] = ()
    message: str | None = None
    """Why nothing was found."""
