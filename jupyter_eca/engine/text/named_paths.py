"""Finds the words of a message that look like the path of a file, such as `shop/prices.py`.

It must not know whether the file exists: `plugins/contexts/reading/named_files.py` finds out. A word with the sign of a
mention (`@shop/prices.py`) is left to `mentions`.
"""

from __future__ import annotations

import re
from typing import Final

from jupyter_eca.engine.text.mentions import trim_punctuation

# A block of code, in which paths are mostly those of somebody's log or of a library.
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)

# What may stand before the path in its word: quotes and opening brackets.
_BEFORE: Final = "\"'`([{<"

# A relative path: `prices.py`, `shop/prices.py` or `./shop/prices.py`. A line number may follow it, as in
# `prices.py:12`, or the ending of a genitive.
_PATH = re.compile(r"(?P<path>(?:\./)?[\w+-][\w.+-]*(?:/[\w+-][\w.+-]*)*\.\w+)(?::\d+)*(?:'s)?")


def find_named_paths(message: str) -> list[str]:
    """Return the relative paths with an extension that a message names outside of code blocks, each once, in order.

    Hidden files (`.env`), absolute paths, paths that leave their folder (`../a.py`) and web addresses are left out.
    """
    paths: dict[str, None] = {}
    for word in _CODE_BLOCK.sub(" ", message).split():
        match = _PATH.fullmatch(trim_punctuation(word.lstrip(_BEFORE)))
        if match is not None:
            paths[match["path"].removeprefix("./")] = None
    return list(paths)
