"""Runs linters as processes. It finds the program of a linter beside this Python or on the PATH, passes a source to it,
and kills it when it takes too long.

It must not know what a linter prints: `ruff.py` and `ty.py` do.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sysconfig
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular
from jupyter_eca.workspace.environment import build_helper_environment
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Seconds that a linter has. Linting takes 50 ms, so a program that needs longer hangs, for example in the file system.
LIMIT_SECONDS: Final = 10.0

# Beginnings of the names of environment variables that would make linters use other settings, or print colours.
_UNWANTED_PREFIXES: Final = ("RUFF_", "TY_", "FORCE_COLOR", "CLICOLOR")


class LinterError(Exception):
    """A linter did not do its work. The message says why."""


@dataclass(frozen=True, slots=True)
class LinterResult:
    """How a linter ended, and what it printed."""

    code: int
    """The exit code."""
    output: str
    """What it wrote to stdout."""
    errors: str
    """What it wrote to stderr."""

    def check_output(self, name: str, *good: int) -> str:
        """Return the output. `good` are the exit codes that mean success.

        Raises: LinterError with what the linter reported.
        """
        if self.code not in good:
            errors = " ".join(self.errors.removeprefix(f"{name} failed").split())
            raise LinterError(f"{name} failed: {errors[:300] or f'exit status {self.code}'}")
        return self.output


def find(name: str) -> str | None:
    """Return the path of a program: first where pip installs programs, then on the PATH of the user. Return None when
    it is not installed."""
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    search_path = os.pathsep.join(folder for folder in folders if folder)
    return shutil.which(name, path=search_path) or shutil.which(name)


def is_configured(name: str, folder: Path) -> bool:
    """Return whether `pyproject.toml` in a folder has settings for a linter."""
    with suppress(OSError, ValueError):
        text = read_regular(folder / "pyproject.toml", MAX_TEXT_BYTES).decode("utf-8")
        return name in tomllib.loads(text).get("tool", {})
    return False


async def run(arguments: Sequence[str], folder: Path, text: str = "", *, limit: float | None = None) -> LinterResult:
    """Run a linter in a folder. `text` is its input, and `limit` the number of seconds that it has; None for
    `LIMIT_SECONDS`. When the caller is cancelled, the process is killed first.

    Raises: LinterError when the linter cannot be started, or does not end.
    """
    inherited = build_helper_environment()
    environment = {name: value for name, value in inherited.items() if not name.startswith(_UNWANTED_PREFIXES)}
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments, cwd=folder, env={**environment, "NO_COLOR": "1"}, stdin=pipe, stdout=pipe, stderr=pipe
        )
    except (OSError, ValueError, NotImplementedError) as error:  # not implemented: the selector loop on Windows
        raise LinterError(f"{arguments[0]} cannot be started: {error}") from error
    seconds = LIMIT_SECONDS if limit is None else limit
    try:
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate(text.encode("utf-8", "replace"))
    except TimeoutError as error:
        raise LinterError(f"{arguments[0]} did not end in {seconds:g} seconds") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await run_to_end(process.communicate())  # also frees the pipes
    return LinterResult(process.returncode or 0, output.decode("utf-8", "replace"), errors.decode("utf-8", "replace"))
