"""Keeps the whole outputs of tools that are too long for a model. The tool `read_output` reads them.

The names of the folders and files are digests of the ids of the chat and the call, so that no id can lead to another
folder. Only the user of the process can read the files. They are deleted with the chat.

It must not know the tools. `output_limit` cuts the outputs, and passes the whole ones on to this module.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.files.programs import run_program
from jupyter_eca.workspace.ports import FoundLines, OutputPart

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from jupyter_eca.config.schema import OutputConfig

# The characters that are encoded and written at once, so that a long text is not in memory twice.
_PIECE_CHARS: Final = 1_000_000

# The characters of an output that are kept. A tool that writes without end must not fill the disk.
MAX_KEPT_CHARS: Final = 256_000_000

# The characters that a tool such as `read_output` may write before the part of the output.
_HEADER_CHARS: Final = 200

# The lines that a search in an output returns, and the characters of each.
MAX_FOUND_LINES: Final = 100
MAX_FOUND_CHARS: Final = 300

# The seconds that a search for a regular expression has. A log of a hundred megabytes takes a second or two.
MATCH_SECONDS: Final = 10.0

# The characters of an expression. It is an argument of a program, which must not be much longer on Windows.
_MAX_PATTERN_CHARS: Final = 4_000

# The program that searches for a regular expression.
_MATCH_PROGRAM: Final = Path(__file__).with_name("match_lines.py")

# The age at which the folder of an unknown chat is deleted. A younger one may belong to a chat that has just begun in
# another process.
_GRACE_SECONDS: Final = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class ChatOutputs:
    """The outputs of one chat. Implements `workspace.ports.StoredOutputs`."""

    outputs: ToolOutputs
    """The outputs of the host."""
    chat: str
    """The id of the chat."""
    limits: OutputConfig
    """The limits of what the model gets at once."""

    async def read(self, id: str, offset: int, limit: int) -> OutputPart:
        """Return a part of an output that is short enough for the model: at most `limit` bytes after the byte `offset`.
        A negative offset counts from the end."""
        size = min(limit, max(self.limits.size_kb * 1_000 - _HEADER_CHARS, 1))
        return await self.outputs.read(self.chat, id, offset, size, self.limits.lines)

    async def find(self, id: str, text: str) -> FoundLines:
        """Return the lines of an output that contain a text, with their offsets in bytes."""
        return await self.outputs.find(self.chat, id, text)

    async def match(self, id: str, pattern: str) -> FoundLines:
        """Return the lines of an output that match a regular expression. See `StoredOutputs.match`."""
        return await self.outputs.match(self.chat, id, pattern)


class ToolOutputs:
    """The kept outputs of all chats of one host."""

    def __init__(self, folder: Path) -> None:
        """The outputs are kept in `folder`, which is made when it is first needed."""
        self._folder = folder

    def write(self, chat: str, call: str, text: str) -> str:
        """Write the output of a call to a file, and return the id by which the model reads it. Only the user of this
        process can read the file. Blocks. Raises: OSError."""
        folder, id = self._get_folder(chat), make_output_id(call)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / f"{id}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for start in range(0, min(len(text), MAX_KEPT_CHARS), _PIECE_CHARS):
                file.write(text[start : start + _PIECE_CHARS].encode("utf-8", "replace"))
        return id

    async def read(self, chat: str, id: str, offset: int, limit: int, lines: int | None = None) -> OutputPart:
        """Return a part of an output: at most `limit` bytes and `lines` lines after the byte `offset`. A
        negative offset counts from the end.

        Raises: ToolError when there is no such output, or it was deleted.
        """
        return await asyncio.to_thread(self._read_part, chat, id, offset, limit, lines)

    async def find(self, chat: str, id: str, text: str) -> FoundLines:
        """Return the lines of an output that contain a text, with the bytes at which they begin.

        Raises: ToolError when there is no such output, or it was deleted.
        """
        return await asyncio.to_thread(self._find_lines, chat, id, text)

    async def match(self, chat: str, id: str, pattern: str) -> FoundLines:
        """Return the lines of an output that match a regular expression of Python, with the bytes at which they begin.

        Raises: ToolError when there is no such output, or it was deleted; when the expression is wrong, or the search
        with it takes too long.
        """
        if len(pattern) > _MAX_PATTERN_CHARS:
            raise ToolError(f"The pattern has more than {_MAX_PATTERN_CHARS} characters.", "Search with a shorter one.")
        file = await asyncio.to_thread(self._find_file, chat, id)
        wanted = {"file": str(file), "pattern": pattern, "maxLines": MAX_FOUND_LINES, "maxChars": MAX_FOUND_CHARS}
        # Isolated (`-I`), so that no module of the user hides one of Python.
        command = [sys.executable, "-I", "-S", str(_MATCH_PROGRAM), json.dumps(wanted)]
        try:
            async with (
                asyncio.timeout(MATCH_SECONDS),
                run_program(command, self._folder, asyncio.subprocess.DEVNULL) as running,
            ):
                printed, _ = await running.communicate()
        except TimeoutError:
            message = f"The search took more than {MATCH_SECONDS:g} s and was ended."
            raise ToolError(message, "Use a simpler pattern, or contains.") from None
        if not printed:
            raise ToolError("The output could not be searched.", "Search with contains.")
        found = json.loads(printed)
        if error := found.get("error"):
            raise ToolError(f"The pattern is wrong: {error}.", "Correct it, or search with contains.")
        lines = tuple((offset, line) for offset, line in found["lines"])
        return FoundLines(lines, found["leftOut"], found["total"])

    async def forget(self, chats: Iterable[str]) -> None:
        """Delete the outputs of these chats."""
        for chat in chats:
            await asyncio.to_thread(shutil.rmtree, self._get_folder(chat), ignore_errors=True)

    def list_files(self, chat: str) -> list[Path]:
        """Return the files with the outputs of a chat. Blocks."""
        return sorted(self._get_folder(chat).glob("*.txt"))

    def purge(self, chats: Iterable[str] | None) -> None:
        """Delete the outputs of these chats; None deletes those of all chats, also of chats that are not known any
        more. Blocks. Raises: OSError when something could not be deleted, unlike `forget`."""
        for folder in (self._folder,) if chats is None else map(self._get_folder, chats):
            if folder.exists():
                shutil.rmtree(folder)

    async def copy(self, chat: str, new_id: str) -> None:
        """Copy the outputs of a chat for the chat `new_id`, which is a copy of it."""
        await asyncio.to_thread(self._copy, chat, new_id)

    async def sweep(self, known: Iterable[str]) -> None:
        """Delete the outputs of all chats but the `known` ones."""
        await asyncio.to_thread(self._sweep, {self._get_folder(chat) for chat in known})

    # -- in a thread

    def _read_part(self, chat: str, id: str, offset: int, limit: int, lines: int | None) -> OutputPart:
        """Do the work of `read`."""
        with self._open(chat, id) as file:
            total = os.fstat(file.fileno()).st_size
            offset = max(total + offset, 0) if offset < 0 else offset
            file.seek(min(offset, total))
            data = file.read(limit)
        # A character may be cut at both ends of the part. The rest of a character at the beginning is left out, because
        # the part before this one ends with that character.
        offset = min(offset, total)
        while data and data[0] & 0xC0 == 0x80:  # 10xxxxxx: not the first byte of a character in UTF-8
            data, offset = data[1:], offset + 1
        text = "".join(data.decode("utf-8", "ignore").splitlines(keepends=True)[:lines])
        return OutputPart(text, offset, offset + len(text.encode()), total)

    def _find_lines(self, chat: str, id: str, text: str) -> FoundLines:
        """Do the work of `find`."""
        wanted, found, offset, left_out = text.encode("utf-8", "replace"), list[tuple[int, str]](), 0, 0
        with self._open(chat, id) as file:
            for line in file:
                if wanted in line:
                    if len(found) < MAX_FOUND_LINES:
                        found.append((offset, line.decode("utf-8", "replace").rstrip("\r\n")[:MAX_FOUND_CHARS]))
                    else:
                        left_out += 1
                offset += len(line)
        return FoundLines(tuple(found), left_out, offset)

    def _find_file(self, chat: str, id: str) -> Path:
        """Return the file of an output. Raises: ToolError when there is none, or it cannot be read."""
        with self._open(chat, id) as file:
            return Path(file.name).resolve()

    @contextmanager
    def _open(self, chat: str, id: str) -> Generator[IO[bytes]]:
        """Open the file of an output. Raises: ToolError when there is none, or it cannot be read."""
        if not (id.isascii() and id.isalnum()):
            raise ToolError(f"{id!r} is no id of an output.")
        try:
            with (self._get_folder(chat) / f"{id}.txt").open("rb") as file:
                yield file
        except OSError:
            raise ToolError(
                f"There is no output {id!r} in this chat, or not any more.", "Run what made it again."
            ) from None

    def _copy(self, chat: str, new_id: str) -> None:
        """Do the work of `copy`. An output that cannot be copied is missing in the new chat."""
        if (old := self._get_folder(chat)).is_dir():
            with suppress(OSError):
                shutil.copytree(old, self._get_folder(new_id), copy_function=_link_or_copy, dirs_exist_ok=True)

    def _sweep(self, known: set[Path]) -> None:
        """Delete all old folders that are not `known`."""
        with suppress(OSError):
            for folder in self._folder.iterdir():
                if folder not in known and folder.stat().st_mtime < time.time() - _GRACE_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)

    def _get_folder(self, chat: str) -> Path:
        """Return the folder with the outputs of a chat."""
        return self._folder / hashlib.sha256(chat.encode("utf-8", "replace")).hexdigest()[:32]


def make_output_id(call: str) -> str:
    """Return the id by which the model reads the output of a call."""
    return hashlib.sha256(call.encode("utf-8", "replace")).hexdigest()[:12]


def _link_or_copy(old: str, new: str) -> None:
    """Let both chats share a file, if the file system can. This is safe, because an output is never changed."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copy2(old, new)
