"""Runs programs that read files for us, such as git and ripgrep. It uses no shell, and always ends the processes that
it started.

It must not know what the programs are used for. `jobs/shell.py` runs commands in the user's shell.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from contextlib import asynccontextmanager, suppress
from typing import IO, TYPE_CHECKING

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.environment import build_helper_environment
from jupyter_eca.workspace.git_settings import list_options

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

# Seconds that a program has. A search that takes longer searches too much.
TIMEOUT_S = 20.0

# Bytes of output that are read at a time.
_CHUNK = 65_536

# The bytes that are kept of one record of output: a path (at most 4,096 bytes on Linux) and a line. Longer records are
# cut, so that memory stays bounded.
_MAX_RECORD = 8_192


@asynccontextmanager
async def run_program(arguments: Sequence[str], folder: Path, errors: IO[bytes] | int) -> AsyncGenerator[Process]:
    """Run a program while the block runs. `errors` is a file for its stderr, or a constant of `asyncio.subprocess`.
    When the block ends, in whatever way, the whole process group is killed.

    Raises: ToolError when the program cannot be started.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *arguments,
            cwd=folder,
            env=build_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The process may have started others already. asyncio itself would wait here for every process that has its
        # pipes open.
        with suppress(OSError, ValueError, NotImplementedError):
            await _end(await starting)
        raise
    except (OSError, ValueError, NotImplementedError) as error:  # not implemented: the selector loop on Windows
        raise ToolError(f"{arguments[0]} cannot be started: {error}.") from error
    try:
        yield process
    finally:
        await _end(process)


async def _end(process: Process) -> None:
    """Kill the process with its whole group."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()


async def read_records(process: Process, end: bytes) -> AsyncGenerator[bytes]:
    """Yield the records in the output of a program. Each record ends with the byte `end`, such as a line break."""
    stream, unfinished = process.stdout, b""
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        *complete, unfinished = (unfinished + chunk).split(end)
        for record in complete:
            yield record
        unfinished = unfinished[:_MAX_RECORD]
    if unfinished:
        yield unfinished


def build_git_command(*arguments: str) -> list[str]:
    """Return the command for git. It runs no program that a repository names, see `git_settings`."""
    return ["git", "--no-pager", *list_options(), *arguments]


async def run_git(folder: Path, *arguments: str) -> bytes | None:
    """Return the output of git in a folder. Return None when git is not installed, fails, or takes too long."""
    if shutil.which("git") is None:
        return None
    with suppress(ToolError, TimeoutError):
        async with (
            asyncio.timeout(TIMEOUT_S),
            run_program(build_git_command(*arguments), folder, asyncio.subprocess.DEVNULL) as process,
        ):
            output, _ = await process.communicate()
            return output if process.returncode == 0 else None
    return None


async def is_in_work_tree(folder: Path) -> bool:
    """Return whether a folder is in a work tree of git."""
    return await run_git(folder, "rev-parse", "--is-inside-work-tree") == b"true\n"


def build_environment() -> dict[str, str]:
    """Return our environment without keys and passwords, and without the variables that could direct git to another
    repository. Programs also get variables for English messages and UTF-8, and git takes no locks for reads."""
    variables = {name: value for name, value in build_helper_environment().items() if not name.startswith("GIT_")}
    return {**variables, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}
