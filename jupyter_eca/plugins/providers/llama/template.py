"""Whether the chat template of a GGUF file knows tools. Read from the file itself: loading it takes seconds."""

from __future__ import annotations

import mmap
import re
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

# As GGUF writes a key and the type of what follows: the length of the name, the name, 8 for a string. Templates for
# calls may also have a key of their own, which llama.cpp prefers where there are tools.
_NAMES: Final = (b"tokenizer.chat_template", b"tokenizer.chat_template.tool_use")
_KEYS: Final = tuple(struct.pack("<Q", len(name)) + name + struct.pack("<I", 8) for name in _NAMES)
# The keys come first, and of them a vocabulary is the longest, some 10 MB.
_HEAD_BYTES: Final = 64 << 20
# A Jinja variable; that prose of a template says the word too does no harm, as llama.cpp looks again.
_TOOLS: Final = re.compile(r"\btools\b")


def knows_tools(template: str) -> bool:
    return _TOOLS.search(template) is not None


def file_knows_tools(file: Path) -> bool:
    """Whether the template of a file knows tools; False also for a file that cannot be read."""
    try:
        seen = file.stat()
        return _has_template(file, seen.st_mtime_ns, seen.st_size)
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=64)
def _has_template(file: Path, _changed: int, _size: int) -> bool:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(knows_tools(_find_string(data, key)) for key in _KEYS)


def _find_string(data: mmap.mmap, key: bytes) -> str:
    at = data.find(key, 0, _HEAD_BYTES)
    start = at + len(key) + 8
    if at < 0 or start > len(data):
        return ""
    (length,) = struct.unpack("<Q", data[start - 8 : start])
    return data[start : min(start + length, _HEAD_BYTES)].decode(errors="replace")
