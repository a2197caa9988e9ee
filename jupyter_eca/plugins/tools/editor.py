"""The tools that ask the user's editor where a name is defined and where it is used. `diagnostics` asks it for
problems."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.protocol.context import Position
from jupyter_eca.protocol.editor import EditorGetDefinitionParams, EditorGetReferencesParams, LookupStatus
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.files.text_replace import split_lines
from jupyter_eca.workspace.paths import decode_uri_path

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from jupyter_eca.protocol.editor import EditorLookupResult, Location
    from jupyter_eca.workspace.ports import Editor, Files

# The seconds to wait for a language server that is starting, as in ECA, and the seconds between two questions. The
# editor answers `starting` until the server has started.
STARTING_SECONDS: Final = 30.0
POLL_SECONDS: Final = 2.0

# The places that a result has, and the characters of each line. More places of a common name would not help.
_MAX_SHOWN: Final = 200
_MAX_LINE_CHARACTERS: Final = 200

# The types of the arguments, with their descriptions for the model.
FilePath = Annotated[str, Field(description="The file, relative to the workspace or absolute.")]
Line = Annotated[int, Field(ge=1, description="The line that the name stands in; the first one is 1.")]
Symbol = Annotated[str, Field(min_length=1, description="The name as it is written in that line.")]
Character = Annotated[int, Field(ge=0, description="Its column, when the line has it twice; the first one is 1.")]
Declaration = Annotated[bool, Field(description="Also the place where it is declared.")]


@tool(reads=True, needs=[Need.DEFINITION], summary="Definition of {symbol}", paths=["path"])
async def editor_definition(
    context: ToolContext, path: FilePath, line: Line, symbol: Symbol, character: Character = 0
) -> str:
    """Where a name is defined, by the user's editor: path:line:column: text. More exact than a search for the name."""
    editor = _get_able_editor(context, "definition")
    spot = await run_read(_find_spot, context.files, path, line, symbol, character)
    params = EditorGetDefinitionParams(uri=spot.uri, position=spot.position)
    return await _look_up(context.files, symbol, lambda: editor.definition(params))


@tool(reads=True, needs=[Need.REFERENCES], summary="References to {symbol}", paths=["path"])
async def editor_references(
    context: ToolContext,
    path: FilePath,
    line: Line,
    symbol: Symbol,
    character: Character = 0,
    include_declaration: Declaration = False,
) -> str:
    """Where a name is used, by the user's editor: path:line:column: text. Look here before you rename or change what
    others use.
    """
    editor = _get_able_editor(context, "references")
    spot = await run_read(_find_spot, context.files, path, line, symbol, character)
    params = EditorGetReferencesParams(uri=spot.uri, position=spot.position, include_declaration=include_declaration)
    return await _look_up(context.files, symbol, lambda: editor.references(params))


TOOLS = (editor_definition, editor_references)


@dataclass(frozen=True, slots=True)
class _Spot:
    """A place in a file."""

    uri: str
    """The URI of the file."""
    position: Position
    """The line and the column, both counted from 1."""


def _get_able_editor(context: ToolContext, ability: str) -> Editor:
    """Return the user's editor. Raises: ToolError when it does not have this ability."""
    if context.editor is None or not getattr(context.editor.capabilities, ability):
        raise ToolError(f"The user's editor cannot tell {ability}.", "Use grep and read_file instead.")
    return context.editor


async def _look_up(files: Files, symbol: str, ask: Callable[[], Awaitable[EditorLookupResult]]) -> str:
    """Return the places that the editor finds for a name, one a line. `ask` asks the editor.

    Raises: ToolError when the editor cannot say.
    """
    result = await _ask_until_ready(ask)
    if result.status is not LookupStatus.SUCCESS:
        reason = result.message or {
            LookupStatus.STARTING: "its language server is still starting",
            LookupStatus.NO_SERVER: "it has no language server for this file",
        }.get(result.status, "it failed")
        raise ToolError(f"The editor cannot say: {reason}.", "Use grep and read_file instead.")
    entries = await run_read(_describe_locations, files, result.locations)
    return as_list(entries) or f"The editor knows no place for {symbol}."


async def _ask_until_ready(ask: Callable[[], Awaitable[EditorLookupResult]]) -> EditorLookupResult:
    """Ask again and again while the language server is starting, for at most `STARTING_SECONDS`."""
    result = await ask()
    until = asyncio.get_running_loop().time() + STARTING_SECONDS
    while result.status is LookupStatus.STARTING and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(POLL_SECONDS)
        result = await ask()
    return result


def resolve_existing(files: Files, path: str) -> Path:
    """Return the real path of an existing file. Raises: ToolError."""
    real = files.resolve(path)
    if not real.exists():
        raise ToolError(f"There is no file {path}.", "Use directory_tree or grep to find it.")
    return real


def _find_spot(files: Files, path: str, line: int, symbol: str, character: int) -> _Spot:
    """Return the place of a name in a line. Columns are counted in UTF-16 units, as by language servers, but from 1."""
    real = resolve_existing(files, path)
    with text_file.report_os_errors(path):
        lines = split_lines(text_file.read(real, path).removeprefix(text_file.BOM))
    text = lines[line - 1] if line <= len(lines) else ""
    columns = [found.start() for found in re.finditer(rf"(?<!\w){re.escape(symbol)}(?!\w)", text)]
    if not columns:
        nearby = [number for number, other in enumerate(lines, 1) if symbol in other][:5]
        hint = f"It is in line {', '.join(map(str, nearby))}." if nearby else "Read the file again."
        raise ToolError(f"{symbol} is not in line {line} of {path}.", hint)
    nearest = min(columns, key=lambda start: abs(start + 1 - character)) if character else columns[0]
    return _Spot(real.as_uri(), Position(line=line, character=_count_utf16_units(text[:nearest]) + 1))


def _count_utf16_units(text: str) -> int:
    """Return the length of a text in UTF-16 units. Characters such as emojis count as two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _describe_locations(files: Files, locations: Sequence[Location]) -> list[str]:
    """Return the places as `path:line:column: text of the line`. Each file is read once. Blocks."""
    texts: dict[Path, list[str]] = {}
    entries: list[str] = []
    for location in locations[: _MAX_SHOWN + 1]:
        path, real = display_path(files, location.uri)
        start = location.range.start
        if real is not None and real not in texts:
            texts[real] = _read_lines(real, path)
        text = (texts.get(real) if real else None) or []
        line = text[start.line - 1].strip()[:_MAX_LINE_CHARACTERS] if 0 < start.line <= len(text) else ""
        entries.append(f"{path}:{start.line}:{start.character}{f': {line}' if line else ''}")
    return entries


def _read_lines(real: Path, path: str) -> list[str]:
    """Return the lines of a file, none if it cannot be read: the place alone is still useful."""
    try:
        return split_lines(text_file.read(real, path))
    except (ToolError, OSError):
        return []


def display_path(files: Files, uri: str) -> tuple[str, Path | None]:
    """Return the path of a URI as tools accept it, and the real path. The real path is None for a file outside of the
    workspace, which must not be opened."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return uri, None
    try:
        path = decode_uri_path(parts.path)
    except ValueError:
        return uri, None
    try:
        real = files.resolve(path)
    except ToolError:
        return path, None
    return files.shorten(real), real


def as_list(entries: Sequence[str]) -> str:
    """Return entries as lines, cut to a readable number."""
    more = [f"[only the first {_MAX_SHOWN} are shown]"] if len(entries) > _MAX_SHOWN else []
    return "\n".join([*entries[:_MAX_SHOWN], *more])
