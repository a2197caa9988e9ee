"""Owns the settings that keep git from running programs of a repository, and the two ways to give them to git.

It must not start git: `files/programs.py` does, and `jobs/shell.py` runs command lines that may.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Without this, git takes a folder with the right files for a bare repository. The configuration of such a repository
# can name programs, and even `git status` would run them. git still uses one that `--git-dir` names.
_FOR_COMMANDS: Final = {"safe.bareRepository": "explicit"}

# When we call git ourselves, it does not need the program that finds changed files for a user's git either.
_FOR_US: Final = {**_FOR_COMMANDS, "core.fsmonitor": "false"}


def list_options() -> list[str]:
    """Return the options for a git that we call. Git also knows them where it is older than such variables."""
    return [part for key, value in _FOR_US.items() for part in ("-c", f"{key}={value}")]


def add_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a command line that may call git, after the settings that it has for git already."""
    known = environment.get("GIT_CONFIG_COUNT", "")
    first = int(known) if known.isdecimal() else 0
    added = {"GIT_CONFIG_COUNT": str(first + len(_FOR_COMMANDS))}
    for number, (key, value) in enumerate(_FOR_COMMANDS.items(), first):
        added |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**environment, **added}
