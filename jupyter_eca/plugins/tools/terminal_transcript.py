"""Collects the output of a program for a model: the beginning and the end. A long output is kept as a whole in a file,
which the model can read. This module must not start a program: `shell` does.
"""

from __future__ import annotations

import codecs
import re
import secrets
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.workspace.head_and_tail import MAX_RESULT_CHARS
from jupyter_eca.workspace.jobs.process_folder import make_process_folder

if TYPE_CHECKING:
    from typing import TextIO

# How many characters and lines a result has, at most. There is room left for the lines that say what was cut.
_MAX_CHARS: Final = MAX_RESULT_CHARS - 1_000
_MAX_LINES: Final = 2_000

# The characters that the file has at most. `read_file` can still read so many, and a program that prints without end
# must not fill the disk.
_MAX_FILE_CHARACTERS: Final = 16_000_000

# Colours, cursor movements and other control characters. They are useless for a model, and do harm in a terminal.
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")


@cache
def _make_folder() -> Path:
    """Return the folder of this process, which the first call makes: private, and deleted with the process."""
    return Path(tempfile.mkdtemp(prefix="outputs-", dir=make_process_folder()))


def find_kept_file(path: str) -> Path | None:
    """Return the file for a path that a transcript has named, None for other paths. A model may read it although it is
    outside of the workspace."""
    if _make_folder.cache_info().currsize:  # the folder was made
        real = Path(path).resolve()
        if real.is_relative_to(_make_folder()) and real.is_file():
            return real
    return None


class TerminalTranscript:
    """The output of one program. It is not thread-safe, so only one reader may feed it."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # The beginning and the end of the output.
        self._head = self._tail = ""
        self._size = 0  # the characters of the whole output
        self._lines = 0  # its lines
        self._kept = 0  # the characters of it that are in the file
        self._file: TextIO | None = None
        self.path: Path | None = None
        """The file with the whole output, None for a short output."""

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Add output. With `final` it is the last one. This may write to the disk."""
        text = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", self._decoder.decode(data, final).replace("\r\n", "\n"))
        self._size += len(text)
        self._lines += text.count("\n")
        if self._file is None and (self._size > _MAX_CHARS or self._lines > _MAX_LINES):
            self.path = _make_folder() / f"{secrets.token_hex(6)}.txt"
            self._file = self.path.open("w", encoding="utf-8", newline="")
            self._keep(self._head + self._tail)
        if self._file is not None:
            self._keep(text)
        room = _MAX_CHARS // 2 - len(self._head)
        self._head += text[:room]
        self._tail = (self._tail + text[room:])[-_MAX_CHARS // 2 :]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def read_end(self, lines: int) -> str:
        """Return the last lines of the output so far. Unlike all other methods, it may be called while another thread
        feeds the transcript."""
        return "\n".join(_as_shown(self._head + self._tail).rstrip("\n").split("\n")[-lines:])

    def as_text(self) -> str:
        """Return the output as a text for the model, without the middle of a long one."""
        if self.path is None:
            return _as_shown(self._head + self._tail)
        half = _MAX_LINES // 2
        head = "".join(self._head.splitlines(keepends=True)[:half])
        tail = "".join(self._tail.splitlines(keepends=True)[-half:])
        file_note = (
            f"{'all of it is' if self._kept == self._size else f'its first {self._kept} characters are'} in {self.path}"
        )
        size = f"{self._lines} lines, {self._size} characters"
        return f"{_as_shown(head)}\n[... the output has {size}; {file_note}: use read_file ...]\n{_as_shown(tail)}"

    def _keep(self, text: str) -> None:
        """Write a text to the file, up to the limit."""
        part = text[: _MAX_FILE_CHARACTERS - self._kept]
        self._kept += len(part)
        if self._file is not None and part:
            self._file.write(part)


def _as_shown(text: str) -> str:
    """Return the text as a terminal shows it: without colours, and without text that was overwritten after a carriage
    return."""
    lines = _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
