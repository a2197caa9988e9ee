"""Finds out whether the chat template of a GGUF file supports tools. GGUF is the file format of llama.cpp's models. The
chat template is a text in Jinja, a template language. It turns the messages of a chat, and perhaps the list of tools,
into the prompt of the model. This module reads the template from the file, because loading the model takes seconds.
`providers.local` uses this module.
"""

from __future__ import annotations

import mmap
import re
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

# The keys of templates as GGUF writes them: the length of the name, the name, and 8, which means that the value is a
# string. A file may have a second template for requests with tools, under a key of its own. llama.cpp prefers it then.
_NAMES: Final = (b"tokenizer.chat_template", b"tokenizer.chat_template.tool_use")
_KEYS: Final = tuple(struct.pack("<Q", len(name)) + name + struct.pack("<I", 8) for name in _NAMES)
# How many bytes at the beginning of the file are searched. All keys and their values are there. The longest value is
# the vocabulary, with 10 MB.
_HEAD_BYTES: Final = 64 << 20
# The variable with the list of tools in a Jinja template. A template may also have this word in its text, although it
# does not support tools. That does no harm, because llama.cpp checks it again.
_TOOLS: Final = re.compile(r"\btools\b")


def mentions_tools(template: str) -> bool:
    """Return whether a chat template uses the list of tools, so that the model can call them."""
    return _TOOLS.search(template) is not None


def file_mentions_tools(file: Path) -> bool:
    """Return whether a chat template in a GGUF file uses the list of tools. False also for a file that cannot be
    read."""
    try:
        stat = file.stat()
        return _has_template_with_tools(file, stat.st_mtime_ns, stat.st_size)
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=64)
def _has_template_with_tools(file: Path, _modified: int, _size: int) -> bool:
    """Return whether a template in the file uses the list of tools. `_modified` and `_size` are not read: they are a
    part of the key of the cache, so that a changed file is searched again."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(mentions_tools(_find_string(data, key)) for key in _KEYS)


def _find_string(data: mmap.mmap, key: bytes) -> str:
    """Return the string that follows a key in the file, "" if the file does not have the key. After the key come 8
    bytes with the length of the string, and then the string."""
    found = data.find(key, 0, _HEAD_BYTES)
    start = found + len(key) + 8
    if found < 0 or start > len(data):
        return ""
    (length,) = struct.unpack("<Q", data[start - 8 : start])
    return data[start : min(start + length, _HEAD_BYTES)].decode(errors="replace")
