"""Owns the list of protected paths: files and folders that decide what may run without the user's approval.

These are our configuration and instructions, and the files of git, shells and editors that name programs to run. This
module must not open a file or follow links: its neighbour `call_targets` gets resolved paths from its caller.

Upper and lower case are equal, and characters that some file systems ignore are removed before names are compared.
"""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from itertools import pairwise
from typing import Final

# Folders of these names are protected with all that is in them. `.git` has hooks and a configuration that name
# programs, `.husky` and `.githooks` are where projects keep such hooks, and `.vscode` has tasks. `.ssh` names programs,
# and the keys that may log in.
FOLDERS: Final = frozenset(
    {
        *(".eca", ".agents", ".claude", ".codex", ".cursor", ".gemini", ".opencode"),
        *(".git", ".githooks", ".husky", ".vscode", ".jupyter", ".ipython", ".ssh"),
    },
)
# Files of these names are protected in any folder. Shells and git read their files from the home folder, which may be
# the workspace: zsh runs `.zshenv` before each command, and `.gitconfig` names programs that `git status` runs.
FILES: Final = frozenset(
    {
        *(".mcp.json", "agents.md", "claude.md", "opencode.json", "opencode.jsonc", ".gitconfig", ".envrc", ".profile"),
        *(".bashrc", ".bash_profile", ".bash_login", ".zshenv", ".zshrc", ".zprofile", ".zlogin"),
    }
)
# Folders of the user's own configuration, wherever the home folder is.
_USER_FOLDERS: Final = frozenset((".config", name) for name in ("eca", "fish", "git", "opencode"))

_NAMES: Final = "|".join(map(re.escape, (*sorted(FOLDERS), *sorted(FILES), *sorted(map("/".join, _USER_FOLDERS)))))
# Finds a protected name in code, or in a command that cannot be parsed. `x.git` and `.gitignore` are other names.
_IN_TEXT: Final = re.compile(rf"(?<![\w.)\]-])(?:{_NAMES})(?![\w-]|\.\w)", re.IGNORECASE)
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_QUOTES: Final = re.compile(r"""['"\\]""")
# If braces stand for more words than this, they are treated as if they stood for any word.
_MAX_WORDS: Final = 100


def is_protected(path: str) -> bool:
    """Return whether a path is a protected file or folder, or is in a protected folder."""
    parts = [_normalize(part) for part in re.split(r"[/\\]", path) if part not in {"", "."}]
    in_user_folder = not _USER_FOLDERS.isdisjoint(pairwise(parts))
    return bool(parts) and (parts[-1] in FILES or in_user_folder or not FOLDERS.isdisjoint(parts))


def find_in_text(text: str) -> str:
    """Return the first protected name in a text; empty when there is none."""
    found = _IN_TEXT.search(text)
    return found[0] if found else ""


def is_protected_by_pattern(word: str) -> bool:
    """Return whether a word that the shell expands (`.e*/x`, `.e{c,d}a`) may become a protected path.

    A part that is only `*` does not count, because otherwise every command with `*` would need approval.
    """
    words = _expand_braces(_QUOTES.sub("", word))
    parts = {_normalize(part) for expanded in words for part in expanded.split("/")}
    return any(
        part.strip("*") and fnmatch.fnmatchcase(name, part) and part.startswith(".") == name.startswith(".")
        for part in parts
        for name in (*FOLDERS, *FILES)
    )


def _expand_braces(word: str) -> list[str]:
    """Return the words to which the shell expands the braces in a word, or patterns for them: `{a..f}` becomes `*`."""
    words = [word]
    while (found := next(((text, match) for text in words if (match := _BRACES.search(text))), None)) is not None:
        text, match = found
        choices = match[1].split(",") if "," in match[1] else ["*"]
        words.remove(text)
        words += [text[: match.start()] + choice + text[match.end() :] for choice in choices]
        if len(words) > _MAX_WORDS:
            return [".*"]
    return words


def _normalize(part: str) -> str:
    """Return a name in the form in which the most tolerant file system would compare it.

    Windows ignores blanks and dots at the end, and a colon begins the name of a stream (CVE-2019-1352). HFS+ ignores
    invisible characters (CVE-2014-9390).
    """
    visible = (letter for letter in unicodedata.normalize("NFKC", part) if unicodedata.category(letter) != "Cf")
    return "".join(visible).casefold().partition(":")[0].rstrip(" .")
