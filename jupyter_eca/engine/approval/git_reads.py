"""Finds the folders in which a command line lets git read a repository. Pure.

The configuration of a repository can name programs that even `git diff` runs (`diff.external`, `textconv`, filters). A
repository that was unpacked from an archive has the configuration of the person who packed it. So the caller looks at
the configuration of these folders (`workspace/git_programs.py`), and the policy asks about a command that would run
such a program. Settings of the user, which are not in a repository, do not matter.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval import known_programs
from jupyter_eca.engine.approval.shell_parser import parse_commands, split_roughly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.approval.shell_parser import ParsedCommand

# The subcommands of git that only read: `diff`, `log`, `status`. From others, such as `commit`, the user expects that
# they run hooks.
_READING: Final = frozenset(name.split()[1] for name in known_programs.READ_ONLY if name.startswith("git "))

# Commands of the shell that enter a folder.
_CD_PROGRAMS: Final = frozenset({"cd", "pushd"})

# Options of git that name a folder: the repository, or where git starts.
_FOLDER_OPTIONS: Final = ("-C", "--git-dir", "--work-tree")

# Each `cd` may double the number of folders. A line that may be in more than this is asked about anyway, see
# `line_targets`.
_MAX_FOLDERS: Final = 100


def list_git_folders(line: str, folder: str) -> tuple[str, ...]:
    """Return the folders in which a command line may call git to read, each once. `folder` is where the line starts.
    The folders may not exist. Empty when the line does not call git to read."""
    commands = parse_commands(line) or split_roughly(line)
    if not any(map(_calls_git_to_read, commands)):
        return ()
    folders = (folder,)
    for named in (named for command in commands for named in _list_named_folders(command)):
        # It may start in each of the folders so far, because `cd x` may fail.
        joined = (posixpath.join(start, named) for start in folders)
        folders = tuple(dict.fromkeys((*folders, *joined)))[:_MAX_FOLDERS]
    return folders


def _calls_git_to_read(command: ParsedCommand) -> bool:
    """Return whether a command calls git to read, also behind another program: `env git diff`."""
    words = (command.command, *command.args)
    return any(word.rpartition("/")[2] == "git" for word in words) and not _READING.isdisjoint(words)


def _list_named_folders(command: ParsedCommand) -> Iterator[str]:
    """Yield the folders that a command enters (`cd x`), or that it names for git (`git -C x`)."""
    if command.program in _CD_PROGRAMS:
        yield from (word for word in command.args if not word.startswith("-"))
        return
    for before, word in zip(("", *command.args), command.args, strict=False):
        if before in _FOLDER_OPTIONS:
            yield word
        name, _, value = word.partition("=")
        if value and name in _FOLDER_OPTIONS:
            yield value
