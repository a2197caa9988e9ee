"""Finds the programs that the configuration of a repository makes git run, even when git only reads: for `git diff`,
`git log` and `git status`. If there is one, such a command of the model needs the approval of the user. Blocks.

Only the configuration of the repository and of its submodules counts, not that of the user or the system. What
`git_settings` switches off for each command line, such as `core.fsmonitor`, is left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from jupyter_eca.workspace.files.programs import build_environment, build_git_command

if TYPE_CHECKING:
    from pathlib import Path

# Seconds that git has. If it does not answer, it counts as running programs.
_TIMEOUT_SECONDS: Final = 10.0

# So many submodules are looked at. A repository with more counts as one whose git runs programs.
_MAX_SUBMODULES: Final = 100

# The settings, in small letters, whose value is a program that git may run when it reads.
_PROGRAM_SETTINGS: Final = re.compile(
    r"diff\.external|diff\..+\.(?:command|textconv)|filter\..+\.(?:clean|process|smudge)"
    r"|gpg\.program|gpg\..+\.program|gpg\.ssh\.defaultkeycommand",
    re.DOTALL,
)
# The settings of a repository that fetches missing files while it reads (a partial clone), and the programs for it.
_PARTIAL: Final = re.compile(r"extensions\.partialclone|remote\..+\.promisor", re.DOTALL)
_FETCHING: Final = re.compile(
    r"core\.(?:sshcommand|gitproxy|askpass)|remote\..+\.(?:uploadpack|vcs)|credential\.(?:.+\.)?helper"
    r"|protocol\.(?:.+\.)?allow",
    re.DOTALL,
)
# The values of these settings that count as safe: the user has installed these programs, and they only convert or
# compare files.
_KNOWN_PROGRAMS: Final = frozenset(
    {"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process", "git-nbdiffdriver diff"}
)
# The hook that git runs when it has written its list of files, as `git status` does.
_HOOK: Final = "hooks/post-index-change"

# The mode of a submodule in the list of `git ls-files --stage`.
_SUBMODULE: Final = b"160000 "


def find_git_program(folder: Path) -> str:
    """Return the name of the setting or of the hook that makes git run a program when it reads in a folder, such as
    `diff.external`; "" for none. If not all can be checked, return a few words that say why.

    A folder without a repository has nothing.
    """
    if shutil.which("git") is None or not folder.is_dir():
        return ""
    try:
        return _find(folder, {folder})
    except (OSError, ValueError, subprocess.SubprocessError):
        return "a configuration that cannot be read"


def _find(folder: Path, seen: set[Path]) -> str:
    """Search a folder and the submodules of its repository. See `find_git_program` for the result. `seen` has the
    folders that were looked at, so that none is looked at twice; it is changed. Raises: OSError, ValueError,
    subprocess.SubprocessError."""
    found = _run_git(folder, "rev-parse", "--git-path", _HOOK)
    if found.returncode != 0:
        return ""  # no repository, or one that git refuses
    if (folder / found.stdout.decode().rstrip("\n")).is_file():
        return _HOOK
    if setting := _find_setting(folder):
        return setting
    for submodule in _list_submodules(folder):
        if submodule not in seen:
            seen.add(submodule)
            if len(seen) > _MAX_SUBMODULES:
                return f"more than {_MAX_SUBMODULES} submodules"
            if (submodule / ".git").exists() and (setting := _find(submodule, seen)):
                return setting
    return ""


def _find_setting(folder: Path) -> str:
    """Return the first setting of a repository that makes git run a program; "" for none."""
    listed = _run_git(folder, "config", "--list", "--show-scope", "--null")
    listed.check_returncode()  # a git of before 2020 does not know the option
    # The output alternates: the scope of a setting, and then its name and its value with a line break between them.
    fields = listed.stdout.decode("utf-8", "replace").split("\0")
    # The settings of the repository itself, by their names in small letters.
    own: dict[str, str] = {}
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = setting.partition("\n")
        if scope in {"local", "worktree"}:
            own[name.casefold()] = value
    is_partial = any(map(_PARTIAL.fullmatch, own))
    for name, value in own.items():
        names_program = _PROGRAM_SETTINGS.fullmatch(name) or (is_partial and _FETCHING.fullmatch(name))
        if names_program and value and value not in _KNOWN_PROGRAMS:
            return name
    return ""


def _list_submodules(folder: Path) -> list[Path]:
    """Return the folders of the submodules, of which git reads the configuration, too."""
    listed = _run_git(folder, "ls-files", "--stage", "-z")
    names = [record.partition(b"\t")[2] for record in listed.stdout.split(b"\0") if record.startswith(_SUBMODULE)]
    # The names are relative to the folder in which git runs.
    return [folder / os.fsdecode(name) for name in names]


def _run_git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder. Raises: OSError, subprocess.SubprocessError when it takes too long."""
    return subprocess.run(  # noqa: S603  # git, with words of ours
        build_git_command(*arguments),
        cwd=folder,
        env=build_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
