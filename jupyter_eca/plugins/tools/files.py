"""The tools that read and change text files: read, write, edit and move. `preview_file_change` shows a change in plan
mode without making it. This module must not decide where a path may lead: `Files.resolve` does.
"""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.errors import StaleSourceError, ToolError
from jupyter_eca.plugins.tools import terminal_transcript
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool, validate
from jupyter_eca.plugins.tools.notebook import check_loaded, notebook_read
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.workspace.files import atomic_write, text_file
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.files.text_replace import replace, split_lines
from jupyter_eca.workspace.head_and_tail import MAX_RESULT_CHARS
from jupyter_eca.workspace.known_versions import KnownVersions, Version, make_file_key
from jupyter_eca.workspace.notebooks.loaded_content import find_loaded_in_file
from jupyter_eca.workspace.reading import pdf
from jupyter_eca.workspace.shielded import run_to_end
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.workspace.ports import Files

# Held while a file is changed. Calls of one turn run in parallel, and each change reads a file before it writes it.
_change_lock = threading.Lock()

# How many files of a moved folder get a checkpoint, at most. Each of them is copied, and the folder of a data set has
# many more files.
MAX_CHECKPOINT_FILES = 1000

# If a file was changed since the model read it, the error shows the file, unless it has more characters than this. The
# model must read a longer file itself.
MAX_STALE_CHARS = 10_000

# The room in a result, in characters, for the line that says which lines of the file it has.
_HEADER_CHARS = 200

# Why a file is not replaced, for the model.
_STALE: Final = {
    Version.CHANGED: "{} was changed since you read it",
    Version.PARTLY: "You have read only a part of {}",
    Version.UNKNOWN: "You have not read {}",
}

# The types of the arguments, with their descriptions for the model.
FilePath = Annotated[str, Field(description="Relative to the workspace, or absolute.")]
Offset = Annotated[int, Field(ge=0, description="How many lines to skip.")]
Limit = Annotated[int, Field(ge=1, description="The most lines to read.")]
Content = Annotated[str, Field(description="The whole text of the file.")]
Original = Annotated[str, Field(min_length=1, description="The text to replace, copied exactly from the file.")]
Proposed = Annotated[str, Field(description="The text to replace, copied exactly from the file; empty for a new file.")]
New = Annotated[str, Field(description="The text to put in its place; empty to delete it.")]
Everywhere = Annotated[bool, Field(description="Replace every occurrence.")]
Source = Annotated[str, Field(description="Path of the file or folder to move.")]
Destination = Annotated[str, Field(description="Its whole new path; must not exist yet.")]


@tool(reads=True, summary="Reading {path}", paths=["path"])
async def read_file(
    context: ToolContext, path: FilePath, line_offset: Offset = 0, limit: Limit = 2000
) -> str | ToolResult:
    """Read a UTF-8 text file, a PDF, or the cells of a notebook.

    The text has no line numbers. If it is only a part of the file, a first line in brackets says which lines it has and
    where to go on.
    """
    if path.lower().endswith(pdf.EXTENSION):
        return await run_read(_read_pdf, context.files, path)
    if path.lower().endswith(".ipynb") and context.has(Need.NOTEBOOKS):
        # A notebook that is damaged is read as it is on the disk.
        with suppress(ToolError):
            return await notebook_read.run(context, {"path": path})
    return await run_read(_read_lines, context.files, context.known, path, line_offset, limit)


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of a file that is computed, but not written yet."""

    real: Path
    """The real path of the file."""
    before: str | None
    """The text before the change, None for a new file."""
    after: str
    """The text after the change."""
    done: str
    """What was done, as the beginning of the result's text."""


# The previews: each returns what a call would change, before the user approves it.


async def _preview_write(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return what `write_file` would change."""
    return await run_read(
        _preview_change, context.files, _plan_write_if_known, arguments["path"], arguments["content"], context.known
    )


async def _preview_edit(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return what `edit_file` would change."""
    edit = validate(edit_file.arguments, arguments)  # parsed as for the call itself: "true" is True
    return await run_read(
        _preview_change, context.files, _plan_edit, edit["path"], *(edit[name] for name in _EDIT_ARGUMENTS)
    )


async def _preview_proposal(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return the change that `preview_file_change` shows."""
    edit = validate(preview_file_change.arguments, arguments)
    original, new, everywhere = (edit[name] for name in _EDIT_ARGUMENTS)
    return await run_read(_propose_edit, context.files, edit["path"], original, new, everywhere=everywhere)


async def _preview_move(context: ToolContext, arguments: dict[str, Any]) -> FileChangeDetails:
    """Return what `move_file` would change."""
    return (await run_read(_plan_move, context.files, arguments["source"], arguments["destination"])).details


# The arguments that `edit_file` and `preview_file_change` have besides the path, in the order of `_plan_edit`.
_EDIT_ARGUMENTS = ("original_content", "new_content", "all_occurrences")


@tool(
    makes_checkpoints=True,
    revertible=True,
    summary="Writing {path}",
    preview=_preview_write,
    approval_covers=ApprovalCoverage.FOLDER,
    paths=["path"],
)
async def write_file(context: ToolContext, path: FilePath, content: Content) -> ToolResult:
    """Create a text file, or replace all of an existing one, which you must have read. Missing folders are made.

    To change a part of a file use edit_file. Does not replace notebooks.
    """
    real = context.files.resolve(path)
    check_loaded(context, await asyncio.to_thread(_find_loaded, real, content))
    await _make_checkpoints(context, real)
    return await run_to_end(asyncio.to_thread(_write_and_report, context.files, context.known, path, content))


@tool(
    makes_checkpoints=True,
    revertible=True,
    summary="Editing {path}",
    preview=_preview_edit,
    approval_covers=ApprovalCoverage.FOLDER,
    paths=["path"],
)
async def edit_file(
    context: ToolContext,
    path: FilePath,
    original_content: Original,
    new_content: New,
    all_occurrences: Everywhere = False,
) -> ToolResult:
    """Replace text in an existing file and show what is then on disk.

    Read the file first. original_content must occur exactly once: add lines around it until it is unique. Does not edit
    notebooks.
    """
    await _make_checkpoints(context, context.files.resolve(path))
    return await run_to_end(
        asyncio.to_thread(_edit_and_report, context, path, original_content, new_content, all_occurrences)
    )


@tool(
    reads=True,
    agents=["plan"],
    replaced_by="edit_file",
    summary="Previewing a change of {path}",
    preview=_preview_proposal,
    paths=["path"],
)
async def preview_file_change(
    context: ToolContext,
    path: FilePath,
    original_content: Proposed,
    new_content: New,
    all_occurrences: Everywhere = False,
) -> ToolResult:
    """Show the user, as a diff, a change that you propose. Nothing is written.

    The arguments are those of an edit: original_content must occur exactly once in the file. For a new file it is
    empty, and new_content is all of it. For cells of a notebook use preview_notebook_change.
    """
    found = await run_read(
        _propose_edit, context.files, path, original_content, new_content, everywhere=all_occurrences
    )
    return ToolResult(f"Shown to the user; nothing was changed:\n{found.diff}", details=found)


@tool(
    makes_checkpoints=True,
    summary="Moving {source} to {destination}",
    preview=_preview_move,
    approval_covers=ApprovalCoverage.FOLDER,
    paths=["source", "destination"],
)
async def move_file(context: ToolContext, source: Source, destination: Destination) -> ToolResult:
    """Move or rename a file or folder. Never overwrites. Missing folders are made."""
    await _make_checkpoints(context, *await run_read(_list_moved, context.files, source, destination))
    return await run_to_end(asyncio.to_thread(_move_and_report, context, source, destination))


TOOLS = (read_file, write_file, edit_file, preview_file_change, move_file)


async def _make_checkpoints(context: ToolContext, *paths: Path) -> None:
    """Make a checkpoint of these files, so that the change can be undone."""
    if context.checkpointer is not None:
        for path in paths:
            await context.checkpointer.keep(path)


def _list_moved(files: Files, source: str, destination: str) -> list[Path]:
    """Return the paths of all files that a move changes, the old and the new ones. For a folder with too many files
    only its own path is returned, and nothing for a move that will be refused."""
    try:
        with text_file.report_os_errors(f"{source} to {destination}"):
            move = _plan_move(files, source, destination)
            if not move.old.is_dir():
                return [move.old, move.new]
            found = list(islice((path for path in move.old.rglob("*") if _is_file(path)), MAX_CHECKPOINT_FILES + 1))
    except ToolError:
        return []
    if len(found) > MAX_CHECKPOINT_FILES:
        return [move.old]
    return [kept for path in found for kept in (path, move.new / path.relative_to(move.old))]


def _is_file(path: Path) -> bool:
    """Return whether a path is anything but a folder. A link counts as a file: it is moved itself."""
    return path.is_symlink() or not path.is_dir()


def _read_lines(files: Files, known: KnownVersions, path: str, offset: int, limit: int) -> str:
    """Return some lines of a file as `read_file` does. `known` remembers that the model has read them."""
    with text_file.report_os_errors(path):
        # The transcript of a terminal may be kept outside of the workspace.
        real = terminal_transcript.find_kept_file(path) or files.resolve(path)
        text = text_file.read(real, path)
    key = make_file_key(real)
    lines = split_lines(text.removeprefix(text_file.BOM).replace("\r\n", "\n"))
    if not lines:
        known.learn(key, text)
        return f"[{path} is empty]"
    if offset >= len(lines):
        raise ToolError(f"{path} has only {len(lines)} lines.", "Use a smaller line_offset.")
    part = lines[offset : offset + _count_fitting(lines[offset : offset + limit])]
    known.learn_lines(key, text, range(offset, offset + len(part)), len(lines))
    if len(part) == len(lines):
        return "".join(part)
    end = offset + len(part)
    more = f"; go on with line_offset={end}" if end < len(lines) else ""
    return f"[lines {offset + 1}-{end} of {len(lines)}{more}]\n{''.join(part)}"


def _read_pdf(files: Files, path: str) -> ToolResult:
    """Return a PDF as a document for the model."""
    with text_file.report_os_errors(path):
        real = files.resolve(path)
        if not real.is_file():
            raise ToolError(f"There is no file {path}.", "Use directory_tree or grep to find it.")
        found = pdf.load_file(real, path)
        return ToolResult(f"{path} is a PDF of {real.stat().st_size} bytes.", documents=(found,))


def _count_fitting(part: list[str]) -> int:
    """Return how many lines fit into a result, at least one. Otherwise the middle of the result would be cut out."""
    room = MAX_RESULT_CHARS - _HEADER_CHARS
    for count, line in enumerate(part):
        room -= len(line)
        if room < 0:
            return max(1, count)
    return len(part)


def _write_and_report(files: Files, known: KnownVersions, path: str, content: str) -> ToolResult:
    """Do the work of `write_file`. Blocks."""
    with _change_lock, text_file.report_os_errors(path):
        change = _plan_write_if_known(files, path, content, known)
        result = _replace(files, change)
        known.learn_own(make_file_key(change.real), text_file.read(change.real, path))
        return result


def _edit_and_report(context: ToolContext, path: str, original: str, new: str, everywhere: bool) -> ToolResult:
    """Do the work of `edit_file`. `everywhere`: replace `original` at all its places, and not at the only one.
    Blocks."""
    files, known = context.files, context.known
    with _change_lock, text_file.report_os_errors(path):
        change = _plan_edit(files, path, original, new, everywhere)
        _check_shown(context, change)
        key = make_file_key(change.real)
        result = _replace(files, change)
        # If the model has never read the file, it knows only this place of it.
        if known.compare(key, change.before or "") is Version.CURRENT:
            known.learn_own(key, text_file.read(change.real, path))
        return result


def _check_shown(context: ToolContext, change: _Change) -> None:
    """Check that an edit changes as many lines as the user was shown. The text may be in more places now.

    Raises: StaleSourceError when it does not.
    """
    shown_details = context.shown_details
    if not isinstance(shown_details, FileChangeDetails):
        return
    now = text_file.describe_change(shown_details.path, change.before, change.after)
    if (now.lines_added, now.lines_removed) != (shown_details.lines_added, shown_details.lines_removed):
        raise StaleSourceError(
            f"{shown_details.path} was changed since the edit was shown: it would now add {now.lines_added} and remove "
            f"{now.lines_removed} lines, not {shown_details.lines_added} and {shown_details.lines_removed}; nothing "
            "was changed.",
            "Read it again, then decide.",
        )


def _preview_change(files: Files, plan: Callable[..., _Change], path: str, *arguments: Any) -> FileChangeDetails:
    """Return what the user sees of a change before it is made. `plan` computes the change from the other arguments."""
    with text_file.report_os_errors(path):
        found = plan(files, path, *arguments)
    details = text_file.describe_change(files.shorten(found.real), found.before, found.after)
    return details.model_copy(update={"loads": _find_loaded(found.real, found.after)})


def _propose_edit(files: Files, path: str, original: str, new: str, *, everywhere: bool) -> FileChangeDetails:
    """Return the diff of an edit, or of a new file. `everywhere`: see `_edit_and_report`."""
    if original:
        return _preview_change(files, _plan_edit, path, original, new, everywhere)
    if files.resolve(path).exists():
        raise ToolError(f"{path} is there already: original_content is empty for a new file only.", "Read it first.")
    return _preview_change(files, _plan_write, path, new)


def _plan_write(files: Files, path: str, content: str) -> _Change:
    """Return the change that writes a whole file."""
    real = files.resolve(path)
    before = None
    if real.exists():
        _refuse_notebook(real, path)
        before = text_file.read(real, path)
    return _Change(real, before, content, "Replaced" if before is not None else "Created")


def _plan_write_if_known(files: Files, path: str, content: str, known: KnownVersions) -> _Change:
    """Return the change that writes a file, which must be new or known to the model as it is now. Raises:
    StaleSourceError."""
    change = _plan_write(files, path, content)
    key = make_file_key(change.real)
    if change.before is None or (version := known.compare(key, change.before)) is Version.CURRENT:
        return change
    display_path = files.shorten(change.real)
    why = _STALE[version].format(display_path)
    # A file that the model has never read is not shown in the error, because rules may deny to read it.
    if version is not Version.CHANGED or len(change.before) > MAX_STALE_CHARS:
        raise StaleSourceError(f"{why}; nothing was written.", "Read it first with read_file, then decide.")
    known.learn(key, change.before)
    raise StaleSourceError(f"{why}; nothing was written. It is now:\n{change.before}\n", "Decide anew with this text.")


def _plan_edit(files: Files, path: str, original: str, new: str, everywhere: bool) -> _Change:
    """Return the change that replaces a text in a file. `everywhere`: see `_edit_and_report`."""
    real = files.resolve(path)
    _refuse_notebook(real, path)
    before = text_file.read(real, path)
    bom = text_file.BOM if before.startswith(text_file.BOM) else ""
    replaced = replace(before.removeprefix(bom), original, new, everywhere=everywhere)
    if bom + replaced.text == before:
        raise ToolError(f"new_content is what {path} has already; nothing was changed.")
    places = f" {replaced.count} places of" if replaced.count > 1 else ""
    loosely = "" if replaced.exact else ", ignoring white space to find the place,"
    return _Change(real, before, bom + replaced.text, f"Edited{places}{loosely}")


def _replace(files: Files, change: _Change) -> ToolResult:
    """Write the file, and report what is on disk then, because another program may have written it too."""
    display_path = files.shorten(change.real)
    text_file.write(change.real, display_path, change.after)
    found = text_file.read(change.real, display_path)
    details = text_file.describe_change(display_path, change.before, found)
    size = f"{len(split_lines(found))} lines, +{details.lines_added} -{details.lines_removed}"
    text = f"{change.done} {display_path} ({size})."
    if found != change.after:
        text = f"Another program wrote {display_path} at the same time; it is not as you wanted it."
    if change.before is not None:
        text += f" What changed on disk:\n{details.diff}"
    return ToolResult(text, error=found != change.after, details=details)


def _is_notebook(real: Path) -> bool:
    """Return whether a file is a notebook, by its name."""
    return real.suffix.lower() == ".ipynb"


def _find_loaded(real: Path, text: str) -> str | None:
    """Return what a page loads as soon as it shows a file with this text; None for nothing. A page that shows a
    notebook reads it again when the file is written."""
    return find_loaded_in_file(text) if _is_notebook(real) else None


def _refuse_notebook(real: Path, path: str) -> None:
    """Check that a file is no notebook. Raises: ToolError."""
    if _is_notebook(real):
        raise ToolError(
            f"{path} is a notebook and is not edited as raw JSON: it may be open with unsaved work.",
            "Read it with notebook_read; change its cells with notebook_change; make a new one with notebook_create.",
        )


def _move_and_report(context: ToolContext, source: str, destination: str) -> ToolResult:
    """Do the work of `move_file`. Blocks."""
    files, known = context.files, context.known
    with _change_lock, text_file.report_os_errors(f"{source} to {destination}"):
        move = _plan_move(files, source, destination)
        check_loaded(context, move.details.loads)
        move.new.parent.mkdir(parents=True, exist_ok=True)
        atomic_write.move(move.old, move.new)
        known.rename(make_file_key(move.old), make_file_key(move.new))
        kind = "a folder" if move.new.is_dir() else f"{move.new.stat().st_size} bytes"
    return ToolResult(f"Moved {files.shorten(move.old)} to {files.shorten(move.new)} ({kind}).", details=move.details)


@dataclass(frozen=True, slots=True)
class _Move:
    """A move that was checked, but not made yet."""

    old: Path
    """The real path of the file or folder now."""
    new: Path
    """Its real path afterwards."""
    details: FileChangeDetails
    """What the user sees of the move."""


def _plan_move(files: Files, source: str, destination: str) -> _Move:
    """Check a move, and return it with a diff like git's. Raises: ToolError when it cannot be made."""
    old, new = _find_movable(files, source), files.resolve(destination)
    if os.path.lexists(_find_entry(files, destination)):
        raise ToolError(f"{destination} exists already; nothing was moved.", "Give the whole path of a new one.")
    if new.is_relative_to(old):
        raise ToolError(f"{source} cannot be moved into itself.")
    old_path, new_path = files.shorten(old), files.shorten(new)
    diff = (
        f"diff --git a/{old_path} b/{new_path}\nsimilarity index 100%\nrename from {old_path}\nrename to {new_path}\n"
    )
    becomes_notebook = _is_notebook(new) and not _is_notebook(old) and old.is_file()
    loads = _find_loaded(new, text_file.read(old, source)) if becomes_notebook else None
    return _Move(old, new, FileChangeDetails(path=new_path, diff=diff, lines_added=0, lines_removed=0, loads=loads))


def _find_movable(files: Files, source: str) -> Path:
    """Return the real path of a file or folder that can be moved. Raises: ToolError."""
    real = files.resolve(source)
    if _find_entry(files, source).is_symlink():
        raise ToolError(f"{source} is a symbolic link; nothing was moved.", f"Move {files.shorten(real)} instead.")
    if not real.exists():
        raise ToolError(f"There is no {source}.", "Use directory_tree to find it.")
    if any(root.resolve().is_relative_to(real) for root in files.roots):
        raise ToolError(f"{source} is the workspace itself and cannot be moved.")
    return real


def _find_entry(files: Files, path: str) -> Path:
    """Return a path whose folders are resolved, but whose last part is not followed if it is a link."""
    return files.resolve(str(Path(path).parent)) / Path(path).name
