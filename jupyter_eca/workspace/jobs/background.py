"""Background jobs: their output, their end, and the guarantee that none of them outlives the host.

It must not know tools or chats beyond their ids. Processes are started and ended in `shell.py`.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.job import Job, JobLine, JobsReadOutputResult, JobStatus
from jupyter_eca.workspace.jobs import shell
from jupyter_eca.workspace.ports import CELLS, Ending, NewJob

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from pathlib import Path

_log = logging.getLogger(__name__)

Stream = Literal["stdout", "stderr"]

MAX_RUNNING: Final = 10

# The output of so many ended jobs can still be read.
_MAX_ENDED: Final = 40

# As many lines as ECA's clients show.
MAX_LINES: Final = 2_000

# A progress bar can be a single endless line.
_MAX_LINE: Final = 4_000

_CHUNK: Final = 65_536


class _JobOutput:
    """The newest lines of both streams of a process, in the order in which they arrived."""

    def __init__(self) -> None:
        self._lines: deque[JobLine] = deque(maxlen=MAX_LINES)
        self._unfinished: dict[Stream, str] = {}

    def add(self, stream: Stream, text: str) -> None:
        *whole, rest = (self._unfinished.get(stream, "") + text).split("\n")
        while len(rest) > _MAX_LINE:
            whole.append(rest[:_MAX_LINE])
            rest = rest[_MAX_LINE:]
        self._lines.extend(JobLine(text=render_line(line), stream=stream) for line in whole[-MAX_LINES:])
        self._unfinished[stream] = rest

    def lines(self) -> tuple[JobLine, ...]:
        unfinished = (
            JobLine(text=render_line(rest), stream=stream) for stream, rest in self._unfinished.items() if rest
        )
        return (*self._lines, *unfinished)[-MAX_LINES:]


def render_line(line: str) -> str:
    """Return a line as a terminal shows it in the end: without the text that a carriage return overwrote."""
    return line.rstrip("\r").rpartition("\r")[2][:_MAX_LINE]


@dataclass
class _RunningJob:
    """A job that runs, or has ended."""

    job: Job
    spec: NewJob
    read_lines: Callable[[], tuple[JobLine, ...]]
    kill: Callable[[float], Awaitable[object]]
    """Ends the job. The argument is the number of seconds that it has to end by itself."""
    start_time: float = field(default_factory=time.monotonic)
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set before the first signal is sent: however the process ends then, it counts as killed and not as failed."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def snapshot(self) -> Job:
        """Return the job as clients see it, with the time that it has been running."""
        if self.ended.is_set():
            return self.job
        return self.job.model_copy(update={"elapsed": elapsed(time.monotonic() - self.start_time)})


class BackgroundJobs:
    """Implements the port `Jobs`.

    `on_change` is called with all jobs whenever one starts or ends, and the callback for ends with each job that ended
    and its last error. Both must not block. `grace` is the number of seconds that a killed job has to end by itself.
    """

    def __init__(
        self,
        on_change: Callable[[tuple[Job, ...]], None] = lambda _: None,
        grace: float = 3.0,
        ended: Callable[[Job, str], None] = lambda _job, _note: None,
    ) -> None:
        self._on_change = on_change
        self._on_end = ended
        self._grace = grace
        self._jobs: dict[str, _RunningJob] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._closed = False

    async def start(self, chat: str, command: str, folder: Path, label: str, call: str = "") -> Job:
        """Raises: ToolError when it cannot be started, or too many run."""
        async with self._starting:
            self._check_capacity()
            process = await shell.start(command, folder, apart=True)
            about, output = NewJob(chat, label, command, call), _JobOutput()
            running = _RunningJob(_make_job(about), about, output.lines, process.kill)
            return self._track(running, self._watch_process(running, process, output))

    def adopt(
        self,
        about: NewJob,
        doing: asyncio.Future[Any],
        ending: Callable[[], Ending],
        lines: Callable[[], tuple[JobLine, ...]],
    ) -> Job:
        self._check_capacity()

        async def cancel(_grace: float = 0) -> None:
            doing.cancel()

        running = _RunningJob(_make_job(about), about, lines, cancel, about.began or time.monotonic())
        return self._track(running, self._watch_future(running, doing, ending))

    def _check_capacity(self) -> None:
        if self._closed:
            raise ToolError("The server is shutting down; no job can be started.")
        if sum(not one.ended.is_set() for one in self._jobs.values()) >= MAX_RUNNING:
            raise ToolError(f"{MAX_RUNNING} background jobs are running already.", "Kill one that is not needed.")

    def _track(self, running: _RunningJob, watching: Coroutine[None, None, None]) -> Job:
        self._jobs[running.job.id] = running
        watch = asyncio.create_task(watching, name=running.job.id)
        self._tasks.add(watch)
        watch.add_done_callback(self._tasks.discard)
        self._on_change(self.list())
        return running.job

    def holder(self, kernel: str | None, path: str = "") -> Job | None:
        for one in self._jobs.values():
            about = one.spec
            same = not (kernel and about.kernel) or kernel == about.kernel
            if about.type == CELLS and not one.ended.is_set() and (same or (path and path == about.path)):
                return one.snapshot()
        return None

    def list(self) -> tuple[Job, ...]:
        return tuple(running.snapshot() for running in self._jobs.values())

    def read(self, id: str) -> JobsReadOutputResult:
        running = self._jobs.get(id)
        if running is None:
            return JobsReadOutputResult()
        job = running.job
        return JobsReadOutputResult(lines=running.read_lines()[-MAX_LINES:], status=job.status, exit_code=job.exit_code)

    async def kill(self, id: str) -> bool:
        """End a job with all its child processes. Return when it has ended."""
        running = self._jobs.get(id)
        if running is None or running.ended.is_set():
            return False
        running.killed.set()
        await running.kill(self._grace)
        await running.ended.wait()
        return True

    async def close(self) -> None:
        """End all jobs. No job can be started afterwards."""
        async with self._starting:
            self._closed = True
        unfinished = [one for one in self._jobs.values() if not one.ended.is_set()]
        for one in unfinished:
            one.killed.set()
        await asyncio.gather(*(one.kill(0) for one in unfinished))
        await asyncio.gather(*self._tasks)

    async def _watch_future(
        self, running: _RunningJob, doing: asyncio.Future[Any], ending: Callable[[], Ending]
    ) -> None:
        try:
            await asyncio.wait((doing,))
            if doing.cancelled():
                running.killed.set()
            error = None if doing.cancelled() else doing.exception()
            if error is not None and not isinstance(error, ToolError):
                _log.error("a background job failed inside", exc_info=error)
            how = Ending() if doing.cancelled() else Ending(failed=True, note=str(error)) if error else ending()
            self._end(running, JobStatus.FAILED if how.failed else JobStatus.COMPLETED, how.note)
        finally:
            doing.cancel()

    async def _watch_process(self, running: _RunningJob, process: shell.ShellProcess, output: _JobOutput) -> None:
        """Watch a process until it has ended and nobody holds its output open any more. `server &` is therefore a
        job for as long as the server runs."""
        streams = {"stdout": process.output, "stderr": process.errors}
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = {
                    tasks.create_task(_read_stream(stream, "stderr" if name == "stderr" else "stdout", output))
                    for name, stream in streams.items()
                    if stream is not None
                }
                killed = tasks.create_task(_wait_for(running.killed))
                await process.exited.wait()
                while reading and not killed.done():
                    done, _ = await asyncio.wait({killed, *reading}, return_when=asyncio.FIRST_COMPLETED)
                    reading -= done
                killed.cancel()
                await process.kill()
                await process.close(*reading)
        finally:
            code = process.code
            printed = [line.text for line in output.lines() if line.text.strip()]
            note = " ".join(part for part in (f"exit code {code}.", *printed[-1:]) if part) if code else ""
            self._end(running, JobStatus.COMPLETED if code == 0 else JobStatus.FAILED, note, code)

    def _end(self, running: _RunningJob, status: JobStatus, note: str = "", code: int | None = None) -> None:
        killed = running.killed.is_set()
        running.job = running.snapshot().model_copy(
            update={"status": JobStatus.KILLED if killed else status, "exit_code": code}
        )
        running.ended.set()
        ended = [id for id, one in self._jobs.items() if one.ended.is_set()]
        for id in ended[: max(0, len(ended) - _MAX_ENDED)]:
            del self._jobs[id]
        self._on_change(self.list())
        why = "the server it ran in was ended" if self._closed else ""
        self._on_end(running.job, why if killed else note)


def _make_job(about: NewJob) -> Job:
    return Job(
        id=f"job-{uuid.uuid4().hex[:8]}",
        type=about.type,
        status=JobStatus.RUNNING,
        label=about.label,
        summary=about.summary,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        elapsed=elapsed(0),
        chat_id=about.chat,
        tool_call_id=about.call or None,
    )


async def _wait_for(event: asyncio.Event) -> None:
    await event.wait()


async def _read_stream(stream: asyncio.StreamReader, name: Stream, output: _JobOutput) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while data := await stream.read(_CHUNK):
        output.add(name, decoder.decode(data).replace("\0", "\N{REPLACEMENT CHARACTER}"))
    output.add(name, decoder.decode(b"", final=True))


def elapsed(seconds: float) -> str:
    """Format a duration for a reader: 12s, 1m 20s, 2h 5m."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s" if minutes else f"{rest}s"
