"""Shows what a call of an outside agent changes in a file, as a diff against the file on the disk.

An agent describes a change as the whole text before and after it, or as the part that is replaced. The description
comes before the change is made, or after it. In each case the card shows the same diff. `diffs` in this module are
these descriptions as the agent has sent them: `path`, `oldText` and `newText`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.workspace.files import text_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jupyter_eca.workspace.ports import Files


def describe_changes(files: Files, diffs: Sequence[Mapping[str, Any]]) -> FileChangeDetails | None:
    """Return the changes of a call for its card; None if it has described none. Several files are in one diff, under
    the path of the first one. Blocks: it reads the files."""
    changes = [_describe_change(files, diff) for diff in diffs]
    if not changes:
        return None
    return FileChangeDetails(
        path=changes[0].path,
        diff="".join(change.diff for change in changes),
        lines_added=sum(change.lines_added for change in changes),
        lines_removed=sum(change.lines_removed for change in changes),
    )


def matches_description(files: Files, diff: Mapping[str, Any], content: str) -> bool:
    """Return whether `content` is the text of a file after the described change. A line break at its end is ignored.
    Blocks: it reads the file."""
    _, _, after = _get_texts(files, diff)
    return normalize_line_breaks(after) == normalize_line_breaks(content)


def normalize_line_breaks(text: str) -> str:
    """Return a text with one kind of line break, and without a line break at its end. A diff shows neither
    difference."""
    return text.replace("\r\n", "\n").removesuffix("\n")


def compute_texts_after(files: Files, diffs: Sequence[Mapping[str, Any]]) -> dict[Path, str]:
    """Return the text that each file will have after the changes of a call, which are described before they are made. A
    file is left out if the description is not clear. Blocks: it reads the files."""
    texts: dict[Path, str] = {}
    unclear: set[Path] = set()
    for diff in diffs:
        path, old, new = str(diff["path"]), diff.get("oldText"), diff.get("newText")
        try:
            real = files.resolve(path)
        except ToolError:
            continue
        text = texts[real] if real in texts else _read(files, path)[1]
        new = new if isinstance(new, str) else ""
        if text is None or not old or text == old:
            texts[real] = new
        elif isinstance(old, str) and text.count(old) == 1:
            texts[real] = text.replace(old, new)
        else:
            unclear.add(real)
    return {real: text for real, text in texts.items() if real not in unclear}


def _describe_change(files: Files, diff: Mapping[str, Any]) -> FileChangeDetails:
    """Return the change of one file, which an agent has described as `diff` (see the top of the module)."""
    return text_file.describe_change(*_get_texts(files, diff))


def _get_texts(files: Files, diff: Mapping[str, Any]) -> tuple[str, str | None, str]:
    """Return the name of a file for the user, and its text before the change, None for no file, and after it."""
    path, old, new = str(diff["path"]), diff.get("oldText"), diff.get("newText")
    before = old if isinstance(old, str) else None
    after = new if isinstance(new, str) else ""
    name, text = _read(files, path)
    if before is None and text is not None and text != after:
        before = text  # the agent says that the file is new, but there is one
    if text is not None and before and text != before:
        # A part of the file: before the change the old part is in it, after the change the new part.
        if text.count(before) == 1:
            before, after = text, text.replace(before, after)
        elif after and text.count(after) == 1 and text != after:
            before, after = text.replace(after, before), text
    return name, before, after


def _read(files: Files, path: str) -> tuple[str, str | None]:
    """Return the name of a file for the user, and its text; None if it cannot be read as text."""
    try:
        real = files.resolve(path)
    except ToolError:
        return path, None
    try:
        return files.shorten(real), text_file.read(real, path)
    except (ToolError, OSError):
        return files.shorten(real), None


def is_notebook(path: str) -> bool:
    """Return whether a path is that of a notebook."""
    return Path(path).suffix == ".ipynb"
