"""Owns the settings that keep git from running programs which a repository names. They are given to git in two ways: as
options where we call git, and as environment variables where a command line may call it.

It must not start git: `files/programs.py` does, and `jobs/shell.py` runs command lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Without `safe.bareRepository`, git takes any folder with the right files for a bare repository. The configuration of
# such a repository can name programs, and even `git status` would run them. A bare repository that `--git-dir` names is
# still used. `core.fsmonitor` names a program that finds changed files faster. A repository can set it too, and even
# `git status` runs that program.
_SETTINGS: Final = {"safe.bareRepository": "explicit", "core.fsmonitor": "false"}


def list_options() -> list[str]:
    """Return the options for git, such as `-c core.fsmonitor=false`. They are used where we call git ourselves, because
    git before 2.31 does not know the environment variables that `add_variables` sets."""
    return [part for key, value in _SETTINGS.items() for part in ("-c", f"{key}={value}")]


def add_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with our settings, for a command line that may call git. They are added to the settings
    for git that the environment already contains, which git counts in `GIT_CONFIG_COUNT`."""
    known = environment.get("GIT_CONFIG_COUNT", "")
    first = int(known) if known.isdecimal() else 0
    added = {"GIT_CONFIG_COUNT": str(first + len(_SETTINGS))}
    for number, (key, value) in enumerate(_SETTINGS.items(), first):
        added |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**environment, **added}
