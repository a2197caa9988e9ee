"""Owns the list of protected paths: files and folders that decide what may run without the user's approval.

These are our configuration and instructions, and the files of git, shells and editors that name programs to run. This
module must not open a file or follow links: its neighbour `path_resolver` does, and has the files that are protected
only on this machine.

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
        *(".eca", ".agents", ".claude", ".codex", ".copilot", ".cursor", ".gemini", ".opencode", ".qwen"),
        *(".git", ".hg", ".githooks", ".husky", ".vscode", ".idea", ".zed", ".devcontainer", ".vim", ".emacs.d"),
        *(".jupyter", ".ipython", ".ssh"),
    },
)
# Files of these names are protected in any folder. Shells and git read their files from the home folder, which may be
# the workspace: zsh runs `.zshenv` before each command, and `.gitconfig` names programs that `git status` runs. R and
# the debugger of Python read `.Rprofile` and `.pdbrc` in the folder where a kernel works.
FILES: Final = frozenset(
    {
        *(".mcp.json", "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md"),
        ".goosehints",
        *("opencode.json", "opencode.jsonc", ".gitconfig", ".hgrc", ".envrc", ".profile", ".xprofile", ".kshrc"),
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".cshrc", ".tcshrc"),
        *(".zshenv", ".zshrc", ".zprofile", ".zlogin", ".zlogout"),
        *(".vimrc", ".exrc", ".gdbinit", ".pdbrc", ".rprofile"),
    }
)
# Names that are protected in one folder, wherever that folder is: the user's own configuration, and a file for agents.
_NAMES_IN_FOLDER: Final = frozenset(
    {
        *(
            (".config", name)
            for name in ("autostart", "eca", "fish", "git", "goose", "nvim", "opencode", "systemd", "zed")
        ),
        (".github", "copilot-instructions.md"),
    }
)

# The last part of each protected path has one of these names.
_LAST_NAMES: Final = FOLDERS | FILES | {name for _, name in _NAMES_IN_FOLDER}
_NAMES: Final = "|".join(map(re.escape, (*sorted(FOLDERS), *sorted(FILES), *sorted(map("/".join, _NAMES_IN_FOLDER)))))
# Finds a protected name in code, or in a command that cannot be parsed. `x.git` and `.gitignore` are other names.
_IN_TEXT: Final = re.compile(rf"(?<![\w.)\]-])(?:{_NAMES})(?![\w-]|\.\w)", re.IGNORECASE)
# `{a,b}` and `[ab]`, which the shell replaces.
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_BRACKETS: Final = re.compile(r"\[[!^]?\]?(?:\[:\w*:\]|[^\]/]){0,100}\]")
_QUOTES: Final = re.compile(r"""['"\\]""")
# A longer pattern counts as one that matches: comparing it would take long, and nobody writes such a pattern.
_MAX_PATTERN_CHARS: Final = 1000
# If a word has more braces than this, or if they stand for more words, they count as a pattern that matches any
# protected name.
_MAX_WORDS: Final = 100
# This pattern matches each protected name with a dot at its beginning.
_ANY_HIDDEN: Final = ".*"


def is_protected(path: str) -> bool:
    """Return whether a path is a protected file or folder, or is in a protected folder."""
    parts = [_normalize(part) for part in re.split(r"[/\\]", path) if part not in {"", "."}]
    is_in_folder = not _NAMES_IN_FOLDER.isdisjoint(pairwise(parts))
    return bool(parts) and (parts[-1] in FILES or is_in_folder or not FOLDERS.isdisjoint(parts))


def may_be_protected(name: str) -> bool:
    """Return whether the name of a file or folder may be that of a protected one. This is much faster than
    `is_protected`. If it returns True, call `is_protected` with the whole path."""
    return not name.isascii() or name.lower().partition(":")[0].rstrip(" .") in _LAST_NAMES


def find_protected_name(text: str) -> str:
    """Return the first protected name in a text; empty when there is none."""
    found = _IN_TEXT.search(text)
    return found[0] if found else ""


def list_protected_names(text: str) -> frozenset[str]:
    """Return all protected names in a text."""
    return frozenset(found[0] for found in _IN_TEXT.finditer(text))


def is_protected_by_pattern(word: str, *, any_name: bool) -> bool:
    """Return whether a word that the shell replaces (`.e*/x`, `.e{c,d}a`) may become a protected path.

    `*` alone does not count, because it is in many harmless lines. Without `any_name`, no pattern that begins with `*`
    counts, such as `*.md`.
    """
    words = expand_braces(_simplify_brackets(_QUOTES.sub("", word)))
    parts = {_normalize(part) for expanded in words for part in expanded.split("/")}
    patterns = [part for part in parts if any_name or not part.startswith("*")]
    return any(_matches(name, pattern) for pattern in patterns for name in (*FOLDERS, *FILES))


def is_matched_by_pattern(pattern: str, path: str) -> bool:
    """Return whether a pattern of the shell may become a path, or a path below it. Both are absolute."""
    patterns, names = _simplify_brackets(pattern).casefold().split("/"), path.casefold().split("/")
    return len(patterns) >= len(names) and all(
        name == part or _matches(name, part) for name, part in zip(names, patterns, strict=False)
    )


def _matches(name: str, pattern: str) -> bool:
    """Return whether a pattern matches a name. As in the shell, a name that begins with a dot is matched only by a
    pattern that begins with a dot too. A pattern of more than `_MAX_PATTERN_CHARS` characters counts as one that
    matches."""
    if len(pattern) > _MAX_PATTERN_CHARS:
        return True
    is_hidden = name.startswith(".")
    return bool(pattern.strip("*")) and fnmatch.fnmatchcase(name, pattern) and pattern.startswith(".") == is_hidden


def _simplify_brackets(pattern: str) -> str:
    """Replace `[…]` in a pattern by `?`, because `[^a]` and `[[:lower:]]` mean something else in Python."""
    return _BRACKETS.sub("?", pattern)


def expand_braces(word: str) -> list[str]:
    """Return the words that the shell makes from the braces in a word: `a{b,c}` -> `["ab", "ac"]`. `{a..f}` counts as
    `*`."""
    if word.count("{") > _MAX_WORDS:
        return [_ANY_HIDDEN]  # each pair takes a search of the whole word
    words = [word]
    # Replace one pair of braces in one of the words at a time, until there is none left.
    while (found := next(((text, match) for text in words if (match := _BRACES.search(text))), None)) is not None:
        text, match = found
        choices = match[1].split(",") if "," in match[1] else ["*"]
        words.remove(text)
        words += [text[: match.start()] + choice + text[match.end() :] for choice in choices]
        if len(words) > _MAX_WORDS:
            return [_ANY_HIDDEN]
    return words


def _normalize(part: str) -> str:
    """Return a name in the form in which the most tolerant file system would compare it.

    Windows ignores blanks and dots at the end, and a colon begins the name of a stream (CVE-2019-1352). HFS+ ignores
    invisible characters (CVE-2014-9390).
    """
    visible = (letter for letter in unicodedata.normalize("NFKC", part) if unicodedata.category(letter) != "Cf")
    return "".join(visible).casefold().partition(":")[0].rstrip(" .")
