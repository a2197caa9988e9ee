"""Owns the process of an outside agent: it starts the program, connects its standard streams to a link, keeps the end
of what it writes to stderr, and ends it together with every process that it started.

It must not know the protocol: `session.py` does. Threads read and write the pipes (`transport/stdio.py`), because
Jupyter's event loop cannot do it on Windows.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from jupyter_eca.errors import AgentError
from jupyter_eca.transport.stdio import StdioLink
from jupyter_eca.workspace.jobs.process_records import MARK, ProcessRecord, kill_processes, signal_processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from io import FileIO
    from pathlib import Path
    from typing import IO, BinaryIO

# The last bytes of stderr that are kept.
_MAX_TAIL: Final = 4_000

# Variables of our own process that would confuse an agent, or lead it into our set-up: those of an agent that runs us,
# and those of npm and Node.
_DROPPED: Final = frozenset({"CLAUDECODE", "NODE_OPTIONS"})
_DROPPED_PREFIXES: Final = ("CLAUDE_CODE_", "npm_config_", "JUPYTERHUB_", "JPY_")

# How many seconds a program has to end after its stdin was closed, and as many again after it was asked to terminate.
CLOSE_SECONDS: Final = 2.0


def choose_environment(inherited: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an agent: the inherited variables without those that it must not have, and the added
    ones."""
    kept = {
        name: value
        for name, value in inherited.items()
        if name not in _DROPPED and not name.startswith(_DROPPED_PREFIXES)
    }
    return {**kept, **added}


class AgentProcess:
    """The running program of an outside agent."""

    def __init__(self, process: subprocess.Popen[bytes], record: ProcessRecord) -> None:
        """Called by `start` only. `process` is the program. `record` is a note on disk: if our own process is killed,
        our next start finds the program by this note, and ends it."""
        self._process = process
        self._record = record
        self._loop = asyncio.get_running_loop()
        self._tail = bytearray()
        self.exited = asyncio.Event()
        """Set when the program has exited. Processes that it started may still run."""
        self._errors_read = asyncio.Event()
        """Set when stderr was read to its end."""
        # The pipes are opened without a buffer, so they are files.
        self.link = StdioLink(cast("FileIO", process.stdout), cast("BinaryIO", process.stdin), lines=True)
        """The link to the program."""
        self._stderr = threading.Thread(
            target=self._read_stderr, args=(process.stderr,), name="acp stderr", daemon=True
        )
        self._stderr.start()
        threading.Thread(target=self._wait, name="acp wait", daemon=True).start()

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str], folder: Path, chat: str
    ) -> AgentProcess:
        """Start a program in a folder. `chat` is the chat that gets a message if our program is killed meanwhile.

        Raises: AgentError when it cannot be started.
        """
        record = ProcessRecord.open(" ".join(command), chat)
        starting = asyncio.ensure_future(
            asyncio.to_thread(_open, list(command), {**environment, MARK: record.mark}, folder)
        )
        try:
            process = await asyncio.shield(starting)
        except asyncio.CancelledError:
            with suppress(OSError, ValueError):
                await cls(await starting, record).kill()
            raise
        except (OSError, ValueError) as error:
            record.close()
            reason = "it was not found" if isinstance(error, FileNotFoundError) else str(error)
            raise AgentError(f"{command[0]!r} cannot be started: {reason}.") from error
        await asyncio.to_thread(record.note_process, process.pid)
        return cls(process, record)

    @property
    def last_error_line(self) -> str:
        """The last line that the program wrote to stderr, "" for none."""
        lines = bytes(self._tail).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    async def wait_for_last_line(self) -> None:
        """Wait until the program has exited and `last_error_line` is known. If the program does not exit, or if its
        children hold its stderr open, the wait ends after a few seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self.exited.wait()
                await self._errors_read.wait()

    async def close(self) -> None:
        """Close the stdin of the program, which ends it, and kill what is left after a while."""
        await self.link.close()
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            await asyncio.wait_for(self.exited.wait(), CLOSE_SECONDS)
        except TimeoutError:
            await asyncio.to_thread(signal_processes, self._record.mark, self._process.pid, "terminate")
            with suppress(TimeoutError):
                await asyncio.wait_for(self.exited.wait(), CLOSE_SECONDS)
        await self.kill()

    async def kill(self) -> None:
        """End the program, and all processes that it started, at once."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await asyncio.to_thread(kill_processes, self._record.mark, self._process.pid)
        await self.exited.wait()
        self._record.close()
        await self.link.close()
        await asyncio.to_thread(self._close_pipes)

    def _close_pipes(self) -> None:
        """Close the pipes that no thread uses any more. A process that has left the session of the program may hold
        them open forever. Blocks."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()
        if self.link.read_ended.wait(CLOSE_SECONDS) and self._process.stdout is not None:
            self._process.stdout.close()
        self._stderr.join(CLOSE_SECONDS)
        if not self._stderr.is_alive() and self._process.stderr is not None:
            self._process.stderr.close()

    def _wait(self) -> None:
        """Wait until the program has exited, so that it is no zombie. Runs in a daemon thread."""
        self._process.wait()
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self.exited.set)

    def _read_stderr(self, pipe: IO[bytes]) -> None:
        """Read stderr to its end, so that a program that writes much does not block. Runs in a daemon thread."""
        while piece := pipe.read(65_536):
            self._tail += piece
            del self._tail[:-_MAX_TAIL]
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._errors_read.set)


def _open(command: list[str], environment: Mapping[str, str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a program. It leads its own session, so that all its processes are found. Blocks."""
    return subprocess.Popen(  # noqa: S603  # the user has configured it, or it is a known agent
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=sys.platform != "win32",
    )
