"""The user's shell as a child process: how it is started, and how every process that it started is ended with it.

It must not know jobs or tools. Programs that we run without a shell are in `files/programs.py`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import SubprocessStreamProtocol
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.environment import inherit_environment
from jupyter_eca.workspace.jobs.process_records import MARK, ProcessRecord, kill_processes, signal_processes

if TYPE_CHECKING:
    from collections.abc import Mapping

# Shells with the quoting rules of POSIX. Approval rules are decided from a command line that
# `engine/approval/shell_parser.py` read by these rules.
_POSIX_SHELLS: Final = ("bash", "zsh", "dash", "ksh", "mksh", "sh", "ash")

# Nothing may wait for a key press in a pager.
_PLAIN_OUTPUT: Final = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}

# A command in a folder must not take files of this folder for a repository: its configuration names programs, and
# `git status` would run them. git still takes one that is named with `--git-dir`.
_NO_BARE_REPOSITORY: Final = ("safe.bareRepository", "explicit")

# Bytes that are read ahead of whoever consumes the output.
_LIMIT: Final = 65_536

# Seconds that the pipes have to close after the last process has ended.
_DRAIN_SECONDS: Final = 1.0


class _Protocol(SubprocessStreamProtocol):
    """Sets an event when the process has exited. asyncio's own `wait` also waits for the pipes on some versions of
    Python, and a background process holds those open."""

    def __init__(self) -> None:
        super().__init__(limit=_LIMIT, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


@dataclass(frozen=True, slots=True)
class ShellProcess:
    """A shell process that was started."""

    output: asyncio.StreamReader
    errors: asyncio.StreamReader | None
    """None when errors are part of `output`, in the order in which they were written."""
    exited: asyncio.Event
    """Set when the shell itself has exited. Processes that it started may still run."""
    _transport: asyncio.SubprocessTransport
    _record: ProcessRecord

    @property
    def code(self) -> int | None:
        """The exit code. None while the process runs; the negative number of the signal that ended it."""
        return self._transport.get_returncode()

    async def kill(self, grace: float = 0.0) -> int:
        """End the process and all that it started. With a `grace`, they are first asked to end, and killed after so
        many seconds. Return how many had to be killed."""
        pid = self._transport.get_pid()
        if grace and not self.exited.is_set():
            await asyncio.to_thread(signal_processes, self._record.mark, pid, "terminate")
            with suppress(TimeoutError):
                await asyncio.wait_for(self.exited.wait(), grace)
        if not self.exited.is_set() and hasattr(os, "killpg"):
            with suppress(ProcessLookupError):  # at once, before we look for others: it may be writing
                os.killpg(pid, signal.SIGKILL)
        return await asyncio.to_thread(self._kill_all, pid)

    def _kill_all(self, pid: int) -> int:
        killed_count = kill_processes(self._record.mark, pid)
        self._record.close()
        return killed_count

    async def close(self, *readers: asyncio.Task[None]) -> None:
        """Close the pipes once all processes have ended, after the readers came to the end of the output."""
        if readers:
            _, reading = await asyncio.wait(readers, timeout=_DRAIN_SECONDS)
            for reader in reading:
                reader.cancel()
        self._transport.close()


async def start(
    command: str,
    folder: Path,
    *,
    separate_errors: bool = False,
    input_data: bytes | None = None,
    shell: str = "",
    chat: str = "",
) -> ShellProcess:
    """Start a command in a shell.

    `separate_errors` gives errors a stream of their own. `input_data` is what the command reads on its standard input.
    `shell` is the shell, if it is not to be that of the user. `chat` is the chat that is told if this program is killed
    while the command runs.

    Raises: ToolError when the command cannot be started.
    """
    environment = inherit_environment()  # a model may read it, so it has no token of a server
    options: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
    shell = shell or _find_shell()
    stdin = asyncio.subprocess.DEVNULL if input_data is None else await _store_input(input_data)
    record = ProcessRecord.open(command, chat)
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            _Protocol,
            shell,
            "-c",
            command,
            cwd=folder,
            env={**environment, **_PLAIN_OUTPUT, **_configure_git(environment), MARK: record.mark},
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if separate_errors else asyncio.subprocess.STDOUT,
            **options,
        )
    )
    try:
        transport, protocol = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The process may have started others already. asyncio itself would wait here for all that hold its pipes.
        with suppress(OSError, ValueError, NotImplementedError):
            transport, protocol = await starting
            await _make_process(transport, protocol, record).kill()
            transport.close()
        record.close()
        raise
    except (OSError, ValueError, NotImplementedError) as error:  # not implemented: the selector loop on Windows
        record.close()
        raise ToolError(f"The command cannot be started: {error}.") from error
    finally:
        if not isinstance(stdin, int):
            stdin.close()
    record.note_process(transport.get_pid())
    return _make_process(transport, protocol, record)


def _configure_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables that add one setting to those which the environment has for git."""
    known = environment.get("GIT_CONFIG_COUNT", "")
    number = int(known) if known.isdecimal() else 0
    key, value = _NO_BARE_REPOSITORY
    return {
        "GIT_CONFIG_COUNT": str(number + 1),
        f"GIT_CONFIG_KEY_{number}": key,
        f"GIT_CONFIG_VALUE_{number}": value,
    }


async def _store_input(input_data: bytes) -> IO[bytes]:
    """Store the input in a temporary file. With a pipe, writing would fail when the program ends before it has read
    everything."""
    writing = asyncio.ensure_future(asyncio.to_thread(_write_input, input_data))
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        (await writing).close()
        raise
    except OSError as error:
        raise ToolError(f"The input of the command cannot be stored: {error}.") from error


def _write_input(input_data: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed once the program has it
    try:
        file.write(input_data)
        file.seek(0)
    except OSError:
        file.close()
        raise
    return file


def _make_process(transport: asyncio.SubprocessTransport, protocol: _Protocol, record: ProcessRecord) -> ShellProcess:
    output: asyncio.StreamReader = protocol.stdout  # type: ignore[assignment]
    return ShellProcess(output, protocol.stderr, protocol.exited, transport, record)


def _find_shell() -> str:
    preferred = os.environ.get("SHELL", "")
    shell = preferred if Path(preferred).name in _POSIX_SHELLS and shutil.which(preferred) else shutil.which("sh")
    if shell is None:
        raise ToolError(
            "No POSIX shell is installed here.", "Ask the user to install one, for example Git for Windows."
        )
    return shell
