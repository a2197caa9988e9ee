"""Finds out whether the chat template of a GGUF file knows tools. GGUF is the file format of llama.cpp's models, and
the template is the Jinja text that turns messages into a prompt. The file is read here, because to load the model takes
seconds. `providers.local` uses this module.
"""

from __future__ import annotations

import mmap
import re
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

# The keys of templates as GGUF writes them: the length of the name, the name, and 8 for a string. A template for calls
# may have its own key, which llama.cpp prefers for requests with tools.
_NAMES: Final = (b"tokenizer.chat_template", b"tokenizer.chat_template.tool_use")
_KEYS: Final = tuple(struct.pack("<Q", len(name)) + name + struct.pack("<I", 8) for name in _NAMES)
# The bytes at the beginning of the file that are searched. The keys are there; the longest is the vocabulary with 10
# MB.
_HEAD_BYTES: Final = 64 << 20
# The variable in a Jinja template. A template may also have this word in its text. That does no harm, because llama.cpp
# checks it again.
_TOOLS: Final = re.compile(r"\btools\b")


def mentions_tools(template: str) -> bool:
    """Return whether a chat template knows tools."""
    return _TOOLS.search(template) is not None


def file_mentions_tools(file: Path) -> bool:
    """Return whether the template of a GGUF file knows tools. False also for a file that cannot be read."""
    try:
        stat = file.stat()
        return _has_template(file, stat.st_mtime_ns, stat.st_size)
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=64)
def _has_template(file: Path, _changed: int, _size: int) -> bool:
    """Return whether a template in the file knows tools. `_changed` and `_size` only belong to the key of the cache."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(mentions_tools(_find_string(data, key)) for key in _KEYS)


def _find_string(data: mmap.mmap, key: bytes) -> str:
    """Return the text of a key, "" if the file does not have it. After the key come 8 bytes with the length of the
    text, and then the text."""
    found = data.find(key, 0, _HEAD_BYTES)
    start = found + len(key) + 8
    if found < 0 or start > len(data):
        return ""
    (length,) = struct.unpack("<Q", data[start - 8 : start])
    return data[start : min(start + length, _HEAD_BYTES)].decode(errors="replace")
