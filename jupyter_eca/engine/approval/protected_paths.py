"""Which paths change what may run without asking: our configuration and instructions, and those of git and editors.

The names are data. Names are compared without regard to case, and without the characters that some file systems ignore.
It must not open a file: `call_targets` resolves paths with a function of its caller.
"""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from itertools import pairwise
from typing import Final

# Everything below folders of these names. `.git` has hooks and a configuration that name programs; `.vscode` has tasks.
FOLDERS: Final = frozenset(
    {".eca", ".agents", ".claude", ".cursor", ".git", ".vscode", ".jupyter", ".ipython"},
)
# Files of these names, in any folder.
FILES: Final = frozenset({".mcp.json", "agents.md", "claude.md"})
# The user's own folder of the configuration, wherever the home folder is.
_USER_FOLDER: Final = (".config", "eca")

_NAMES: Final = "|".join(re.escape(name) for name in (*sorted(FOLDERS), *sorted(FILES), "/".join(_USER_FOLDER)))
# A name in a text that is code, or a command that is not understood. `x.git` and `.gitignore` are other names.
_IN_TEXT: Final = re.compile(rf"(?<![\w.)\]-])(?:{_NAMES})(?![\w-]|\.\w)", re.IGNORECASE)
_BRACES: Final = re.compile(r"\{[^{}]*\}")


def is_protected(path: str) -> bool:
    """Return whether a path is one of these files, or one of these folders or below it."""
    parts = [_fold(part) for part in re.split(r"[/\\]", path) if part not in {"", "."}]
    in_user_folder = any(pair == _USER_FOLDER for pair in pairwise(parts))
    return bool(parts) and (parts[-1] in FILES or in_user_folder or not FOLDERS.isdisjoint(parts))


def find_in_text(text: str) -> str:
    """Return the first of these names in a text; empty when there is none."""
    found = _IN_TEXT.search(text)
    return found[0] if found else ""


def is_protected_by_pattern(word: str) -> bool:
    """Return whether a word that the shell replaces (`.e*/x`, `.e{c,d}a`) may become one of these paths. `*` alone
    stands for nothing in particular, and does not count."""
    parts = [_fold(part) for part in _BRACES.sub("*", word).split("/")]
    return any(
        part.strip("*") and fnmatch.fnmatchcase(name, part) and part.startswith(".") == name.startswith(".")
        for part in parts
        for name in (*FOLDERS, *FILES)
    )


def _fold(part: str) -> str:
    """Return a name as the most tolerant file system compares it: Windows ignores blanks and dots at the end, HFS+
    ignores invisible characters (as in CVE-2014-9390)."""
    visible = (letter for letter in unicodedata.normalize("NFKC", part) if unicodedata.category(letter) != "Cf")
    return "".join(visible).casefold().rstrip(" .")
