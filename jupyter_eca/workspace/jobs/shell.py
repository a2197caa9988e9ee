"""The user's shell as a program of ours: how it is started, and how everything that it started is ended with it."""

from __future__ import annotations

import asyncio
import os
import secrets
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

if TYPE_CHECKING:
    import psutil

# Those that quote as POSIX says: rules and what was remembered are decided from a line read that way (`engine.shell`).
_POSIX_SHELLS: Final = ("bash", "zsh", "dash", "ksh", "mksh", "sh", "ash")

# Every process that a command starts inherits it, so that one which leaves its group and its session is found as well.
_MARK: Final = "JUPYTER_ECA_COMMAND"

# No server token enters what a model may read; nothing may wait for a key press in a pager.
_SECRET_VARIABLES: Final = frozenset({"JUPYTER_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN"})
_PLAIN_OUTPUT: Final = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}

# Bytes read ahead of whoever takes the output.
_LIMIT: Final = 65_536

# A process can start another one while it is being looked for: seen gone in the second round, if it ever is.
_ROUNDS: Final = 5

# Seconds that pipes have to close after the last process is dead.
_DRAIN_SECONDS: Final = 1.0


class _Protocol(SubprocessStreamProtocol):
    """asyncio's own `wait` also waits for the pipes on some versions, and a process in the background holds those."""

    def __init__(self) -> None:
        super().__init__(limit=_LIMIT, loop=asyncio.get_running_loop())
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


@dataclass(frozen=True, slots=True)
class ShellProcess:
    """`errors` is None when they come with the output, in the order in which they were written."""

    output: asyncio.StreamReader
    errors: asyncio.StreamReader | None
    exited: asyncio.Event
    _transport: asyncio.SubprocessTransport
    _mark: str

    @property
    def code(self) -> int | None:
        """None while it runs; the negative number of the signal that ended it."""
        return self._transport.get_returncode()

    async def kill(self, grace: float = 0.0) -> int:
        """End it and all that it started: asked to at first, if there is a `grace`, killed at the latest after so many
        seconds. Gives how many were left."""
        pid = self._transport.get_pid()
        if grace and not self.exited.is_set():
            await asyncio.to_thread(_signal_all, pid, self._mark, "terminate")
            with suppress(TimeoutError):
                await asyncio.wait_for(self.exited.wait(), grace)
        if not self.exited.is_set() and hasattr(os, "killpg"):
            with suppress(ProcessLookupError):  # at once, before anything is looked for: it may be writing
                os.killpg(pid, signal.SIGKILL)
        left = 0
        for _ in range(_ROUNDS):
            killed = await asyncio.to_thread(_signal_all, pid, self._mark, "kill")
            left += killed
            if not killed:
                break
        return left

    async def close(self, *readers: asyncio.Task[None]) -> None:
        """Once all is dead: let the readers come to the end of the output, and free the pipes."""
        if readers:
            _, reading = await asyncio.wait(readers, timeout=_DRAIN_SECONDS)
            for reader in reading:
                reader.cancel()
        self._transport.close()


async def start(
    command: str, folder: Path, *, apart: bool = False, given: bytes | None = None, program: str = ""
) -> ShellProcess:
    """`apart`: errors in a stream of their own. `given` is what it reads on its standard input. `program` is the shell,
    if not the user's.

    Raises: ToolError when it cannot be started.
    """
    mark = secrets.token_hex(8)
    environment = {name: value for name, value in os.environ.items() if name not in _SECRET_VARIABLES}
    options: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
    program = program or _find_shell()
    stdin = asyncio.subprocess.DEVNULL if given is None else await _store_input(given)
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            _Protocol,
            program,
            "-c",
            command,
            cwd=folder,
            env={**environment, **_PLAIN_OUTPUT, _MARK: mark},
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if apart else asyncio.subprocess.STDOUT,
            **options,
        )
    )
    try:
        transport, protocol = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # It may have started others already, and asyncio's own way out of here waits for all who hold its pipes.
        with suppress(OSError, ValueError, NotImplementedError):
            transport, protocol = await starting
            await _make_process(transport, protocol, mark).kill()
            transport.close()
        raise
    except (OSError, ValueError, NotImplementedError) as error:  # not implemented: the selector loop on Windows
        raise ToolError(f"The command cannot be started: {error}.") from error
    finally:
        if not isinstance(stdin, int):
            stdin.close()
    return _make_process(transport, protocol, mark)


async def _store_input(input_data: bytes) -> IO[bytes]:
    """A file, not a pipe: a program that does not read it, or ends before it has, breaks nothing."""
    writing = asyncio.ensure_future(asyncio.to_thread(_write_input, input_data))
    try:
        return await asyncio.shield(writing)
    except asyncio.CancelledError:
        (await writing).close()
        raise
    except OSError as error:
        raise ToolError(f"What the command is to read cannot be stored: {error}.") from error


def _write_input(input_data: bytes) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115  # closed once the program has it
    try:
        file.write(input_data)
        file.seek(0)
    except OSError:
        file.close()
        raise
    return file


def _make_process(transport: asyncio.SubprocessTransport, protocol: _Protocol, mark: str) -> ShellProcess:
    output: asyncio.StreamReader = protocol.stdout  # type: ignore[assignment]
    return ShellProcess(output, protocol.stderr, protocol.exited, transport, mark)


def _find_shell() -> str:
    preferred = os.environ.get("SHELL", "")
    found = preferred if Path(preferred).name in _POSIX_SHELLS and shutil.which(preferred) else shutil.which("sh")
    if found is None:
        raise ToolError("There is no POSIX shell here.", "Ask the user to install one, such as Git's for Windows.")
    return found


def _signal_all(pid: int, mark: str, method: str) -> int:
    """Send it to all that bear the mark or are in the session; gives their number. 10 ms for 200 processes."""
    import psutil

    sent = 0
    for other in psutil.pids():
        with suppress(psutil.Error, OSError):  # ended in between, or another user's
            process = psutil.Process(other)
            if _belongs_to(process, pid, mark) and process.status() != psutil.STATUS_ZOMBIE:
                getattr(process, method)()
                sent += 1
    return sent


def _belongs_to(process: psutil.Process, pid: int, mark: str) -> bool:
    in_session = hasattr(os, "getsid") and os.getsid(process.pid) == pid
    return in_session or process.environ().get(_MARK) == mark
