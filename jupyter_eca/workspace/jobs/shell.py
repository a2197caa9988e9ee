"""Starts commands in the user's shell, and ends a command together with every process that it started.

It must not know jobs or tools. `files/programs.py` runs programs without a shell.
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
from jupyter_eca.workspace.environment import drop_secrets
from jupyter_eca.workspace.git_settings import add_variables
from jupyter_eca.workspace.jobs.process_records import (
    MARK,
    ProcessRecord,
    import_psutil,
    kill_processes,
    signal_processes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.workspace.jobs.sandbox import SandboxRun

# Shells with the quoting rules of POSIX. No other shell may be used, because approval rules are applied to the command
# as `engine/approval/shell_parser.py` parses it, with these quoting rules.
_POSIX_SHELLS: Final = ("bash", "zsh", "dash", "ksh", "mksh", "sh", "ash")

# Variables for plain output. No command may wait for a key press in a pager.
_PLAIN_OUTPUT: Final = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}

# Bytes of output that are buffered until somebody reads them.
_BUFFER_BYTES: Final = 65_536

# Seconds to wait until the pipes close after the last process has ended.
_DRAIN_SECONDS: Final = 1.0


class _Protocol(SubprocessStreamProtocol):
    """Sets an event when the process has exited. asyncio's own `wait` cannot be used: on some versions of Python it
    also waits until the pipes close, and a background process keeps them open."""

    def __init__(self) -> None:
        super().__init__(limit=_BUFFER_BYTES, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


@dataclass(frozen=True, slots=True)
class ShellProcess:
    """A shell process that was started."""

    output: asyncio.StreamReader
    """What the process writes to stdout."""
    errors: asyncio.StreamReader | None
    """What the process writes to stderr. None when stderr goes to `output` too."""
    exited: asyncio.Event
    """Set when the shell itself has exited. Processes that it started may still run."""
    _transport: asyncio.SubprocessTransport
    """asyncio's connection to the process: its id, its exit code and its pipes."""
    _record: ProcessRecord
    """The record of the process on the disk. Its mark is in the environment of the process and of all processes that
    it starts, so that `kill` finds them. If our program is killed, the next start finds them by the record."""

    @property
    def code(self) -> int | None:
        """The exit code. None while the process runs. If a signal ended it, the negative number of that signal."""
        return self._transport.get_returncode()

    async def kill(self, grace: float = 0.0) -> int:
        """End the process and all processes that it started. If `grace` is not 0, they first get SIGTERM, and have
        `grace` seconds to end before they are killed. Return how many processes had to be killed."""
        pid = self._transport.get_pid()
        if grace and not self.exited.is_set():
            await asyncio.to_thread(signal_processes, self._record.mark, pid, "terminate")
            with suppress(TimeoutError):
                await asyncio.wait_for(self.exited.wait(), grace)
        if not self.exited.is_set() and hasattr(os, "killpg"):
            # The group of the shell is killed at once, because it may be writing. The search for its other processes
            # takes longer.
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        return await asyncio.to_thread(self._kill_all, pid)

    def _kill_all(self, pid: int) -> int:
        """Kill all processes of the command, delete its record, and return how many were killed. This blocks."""
        killed_count = kill_processes(self._record.mark, pid)
        self._record.close()
        return killed_count

    async def close(self, *readers: asyncio.Task[None]) -> None:
        """Close the pipes after all processes have ended. `readers` are the tasks that read the output; they have a
        second to read the rest."""
        if readers:
            _, reading = await asyncio.wait(readers, timeout=_DRAIN_SECONDS)
            for reader in reading:
                reader.cancel()
        self._transport.close()


async def start(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    separate_errors: bool = False,
    input_data: bytes | None = None,
    shell: str = "",
    chat: str = "",
    sandbox: SandboxRun | None = None,
) -> ShellProcess:
    """Start a command in a shell.

    `environment` has its variables: a model can read them, so they must not contain keys of providers and tokens of
    servers. `separate_errors` gives stderr its own stream. `input_data` is what the command reads from stdin. `shell`
    is the shell to use in place of the user's. `chat` is the id of the chat that gets a message if our program is
    killed while the command runs; "" for none. The command runs in `sandbox`, if one is given.

    Raises: ToolError when the command cannot be started.
    """
    if sandbox:
        environment = drop_secrets(environment)  # it may run without the approval of the user
    options: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
    shell = shell or _find_shell()
    await import_psutil()
    stdin = asyncio.subprocess.DEVNULL if input_data is None else await _store_input(input_data)
    record = ProcessRecord.open(command, chat)
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            _Protocol,
            *(sandbox.prefix if sandbox else ()),
            shell,
            "-c",
            command,
            cwd=folder,
            env={**add_variables(environment), **_PLAIN_OUTPUT, MARK: record.mark},
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if separate_errors else asyncio.subprocess.STDOUT,
            **options,
        )
    )
    try:
        transport, protocol = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The process may have started others already. asyncio itself would wait here for every process that has its
        # pipes open.
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


async def _store_input(input_data: bytes) -> IO[bytes]:
    """Store the input in a temporary file. A pipe is not used, because a write to it fails when the program ends before
    it has read everything."""
    writing = asyncio.ensure_future(asyncio.to_thread(_write_input, input_data))
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        (await writing).close()
        raise
    except OSError as error:
        raise ToolError(f"The input of the command cannot be stored: {error}.") from error


def _write_input(input_data: bytes) -> IO[bytes]:
    """Return a temporary file with the input, at its beginning. This blocks."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed once the program has it
    try:
        file.write(input_data)
        file.seek(0)
    except OSError:
        file.close()
        raise
    return file


def _make_process(transport: asyncio.SubprocessTransport, protocol: _Protocol, record: ProcessRecord) -> ShellProcess:
    """Combine what asyncio returned for a process with its record."""
    output: asyncio.StreamReader = protocol.stdout  # type: ignore[assignment]
    return ShellProcess(output, protocol.stderr, protocol.exited, transport, record)


def _find_shell() -> str:
    """Return the user's shell if it is a POSIX shell, else `sh`.

    Raises: ToolError when there is none.
    """
    preferred = os.environ.get("SHELL", "")
    shell = preferred if Path(preferred).name in _POSIX_SHELLS and shutil.which(preferred) else shutil.which("sh")
    if shell is None:
        raise ToolError(
            "No POSIX shell is installed here.", "Ask the user to install one, for example Git for Windows."
        )
    return shell
