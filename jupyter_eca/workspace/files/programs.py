"""Runs programs that read files for us, such as git and ripgrep: without a shell, with limited output, and with no
process left behind.

It must not know what the programs are asked. Commands of the user run in `jobs/shell.py`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from contextlib import asynccontextmanager, suppress
from typing import IO, TYPE_CHECKING

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

# Seconds. A search that takes longer was too wide.
TIMEOUT_S = 20.0

_CHUNK = 65_536

# A record has a path (at most 4,096 bytes on Linux) and a line. The rest is cut, so that memory stays bounded.
_MAX_RECORD = 8_192


@asynccontextmanager
async def run_program(arguments: Sequence[str], folder: Path, errors: IO[bytes] | int) -> AsyncGenerator[Process]:
    """Run a program. Its whole process group is killed when the block ends, however it ends.

    Raises: ToolError when the program cannot be started.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *arguments,
            cwd=folder,
            env=_build_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
    )
    try:
        process = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The process may have started others already. asyncio itself would wait here for all that hold its pipes.
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
    """Yield the output of a program, split at `end`."""
    stream, rest = process.stdout, b""
    while stream is not None and (chunk := await stream.read(_CHUNK)):
        *complete, rest = (rest + chunk).split(end)
        for record in complete:
            yield record
        rest = rest[:_MAX_RECORD]
    if rest:
        yield rest


def build_git_command(*arguments: str) -> list[str]:
    """Return the command for git. It runs no program that a repository names."""
    return ["git", "--no-pager", "-c", "core.fsmonitor=false", *arguments]


async def run_git(folder: Path, *arguments: str) -> bytes | None:
    """Return the output of git in a folder; None where there is no git, no work tree, or no answer in time."""
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


def _build_environment() -> dict[str, str]:
    """Return our environment, without variables that could direct git to another repository. Messages are in
    English, and text is UTF-8."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**variables, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}
