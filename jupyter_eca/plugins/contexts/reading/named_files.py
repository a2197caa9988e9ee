"""Finds the files that the user names in a message without the sign of a mention: "Rename `calc` in shop/prices.py".

Otherwise the model would have to read these files first. If they are sent with the message, this saves a request, which
takes seconds. A file is sent only if it is short, the model may read it without a question to the user, and the model
does not know its present text yet.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import get_size, open_resolved
from jupyter_eca.engine.text.named_paths import find_named_paths
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.context import FileContext
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.known_versions import Version, make_file_key
from jupyter_eca.workspace.reading.text import decode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import ChatContext

# How many paths of a message are looked up, at most. Each costs a look at the disk, and a pasted list may have
# thousands.
_MAX_PATHS: Final = 20

# How many bytes all files together have that are sent with one message, at most. These are about 3,400 tokens. A longer
# file may be needed in part only: the model decides what it reads of it.
_MAX_BYTES: Final = 12_000


async def find_named_files(
    surroundings: Surroundings, message: str, contexts: Iterable[ChatContext]
) -> list[FileContext]:
    """Return the short text files that a message names, in order, without those that are among `contexts`. Notebooks,
    pictures and PDFs are left out: they are sent only if the user mentions them with a sign (`@a.pdf`)."""
    paths = find_named_paths(message)[:_MAX_PATHS]
    if not paths:
        return []
    sent = [context.path for context in contexts if isinstance(context, FileContext)]
    files = await run_read(_list_unknown, surroundings, paths, sent)
    found: list[FileContext] = []
    bytes_left = _MAX_BYTES
    for path, size in files:
        with suppress(ToolError):
            await surroundings.check_reading_file(path)
            if size <= bytes_left:
                found.append(FileContext(path=path))
                bytes_left -= size
    return found


def _list_unknown(surroundings: Surroundings, paths: list[str], sent: list[str]) -> list[tuple[str, int]]:
    """Return those of the paths that are short text files whose present text the model does not know, with their size
    in bytes. `sent` are the paths of files that are sent in any case. Blocks."""
    seen = {_resolve(surroundings, path) for path in sent}
    found: list[tuple[str, int]] = []
    for path in paths:
        real = _resolve(surroundings, path)
        if real is None or real in seen:
            continue
        seen.add(real)
        with suppress(OSError):
            text, size = _read_short_text(real)
            if text and surroundings.known.compare(make_file_key(real), text) is not Version.CURRENT:
                found.append((path, size))
    return found


def _resolve(surroundings: Surroundings, path: str) -> Path | None:
    """Return the real path of a regular file in the workspace, None for anything else. Blocks."""
    with suppress(ToolError, OSError, ValueError):
        real = surroundings.files.resolve(path)
        return real if real.is_file() and not _is_hidden(surroundings, real) else None
    return None


def _is_hidden(surroundings: Surroundings, real: Path) -> bool:
    """Return whether a name in the path begins with a dot: such files often hold keys, or say what programs do."""
    return any(name.startswith(".") for name in PurePath(surroundings.files.shorten(real)).parts)


def _read_short_text(real: Path) -> tuple[str, int]:
    """Return the text of a file and its size in bytes. The text is "" for a file that is too long, is no text, or is a
    notebook. Raises: OSError. Blocks."""
    with open_resolved(real) as file:
        size = get_size(file)
        data = file.read(_MAX_BYTES) if size <= _MAX_BYTES else b""
    return ("" if real.suffix.lower() == ".ipynb" else decode(data) or ""), size
