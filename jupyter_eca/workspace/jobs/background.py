"""Owns the background jobs: their output, their end, and the guarantee that no job continues after the host has ended.

A job is a shell command, or code in a kernel that continues to run after a tool has returned. The module must not know
tools, and of chats it knows only their ids. Processes are started and ended in `shell.py`.
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
from jupyter_eca.workspace.environment import inherit_environment
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.jobs import shell
from jupyter_eca.workspace.ports import CELLS, JobEnding, NewJob

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from pathlib import Path

    from jupyter_eca.workspace.jobs.sandbox import SandboxRun

_log = logging.getLogger(__name__)

Stream = Literal["stdout", "stderr"]

# The largest number of jobs that run at a time.
MAX_RUNNING: Final = 10

# How many ended jobs are kept, so that their output can still be read. Older ones are forgotten, so that they do not
# fill the memory.
_MAX_ENDED: Final = 40

# How many of the newest lines of a job are kept. ECA's clients show as many.
MAX_LINES: Final = 2_000

# The most characters of one line. A progress bar can write a single line without end.
_MAX_LINE: Final = 4_000

# Bytes that are read from a pipe at a time.
_CHUNK: Final = 65_536


class _JobOutput:
    """The newest lines of stdout and stderr of a process, in the order in which they arrived."""

    def __init__(self) -> None:
        self._lines: deque[JobLine] = deque(maxlen=MAX_LINES)
        # The last line of each stream, as long as it is not complete.
        self._unfinished: dict[Stream, str] = {}

    def add(self, stream: Stream, text: str) -> None:
        """Add text of a stream. Its last line is kept apart until it is complete."""
        *complete, last = (self._unfinished.get(stream, "") + text).split("\n")
        while len(last) > _MAX_LINE:
            complete.append(last[:_MAX_LINE])
            last = last[_MAX_LINE:]
        self._lines.extend(JobLine(text=render_line(line), stream=stream) for line in complete[-MAX_LINES:])
        self._unfinished[stream] = last

    def list_lines(self) -> tuple[JobLine, ...]:
        """Return the newest lines, with the incomplete lines at the end."""
        unfinished = (
            JobLine(text=render_line(line), stream=stream) for stream, line in self._unfinished.items() if line
        )
        return (*self._lines, *unfinished)[-MAX_LINES:]


def render_line(line: str) -> str:
    """Return a line as a terminal shows it in the end: without the text that a carriage return overwrote."""
    return line.rstrip("\r").rpartition("\r")[2][:_MAX_LINE]


@dataclass
class _JobEntry:
    """A job that runs, or has ended."""

    job: Job
    """The job as clients see it. While it runs, only `snapshot` has its present duration."""
    spec: NewJob
    """The description with which the job was registered."""
    read_lines: Callable[[], tuple[JobLine, ...]]
    """Returns the output so far."""
    kill: Callable[[float], Awaitable[object]]
    """Ends the job. The argument is the number of seconds that it has to end by itself."""
    start_time: float = field(default_factory=time.monotonic)
    """When the job began, in seconds of the monotonic clock."""
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set before the job is killed. However it ends after that, it counts as killed and not as failed."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the job has ended, and `job` has its result."""

    def snapshot(self) -> Job:
        """Return the job as clients see it, with the time that it has been running."""
        if self.ended.is_set():
            return self.job
        return self.job.model_copy(update={"elapsed": format_elapsed(time.monotonic() - self.start_time)})


class BackgroundJobs:
    """Implements the interface `Jobs` of `workspace/ports.py`.

    `on_change` is called with all jobs whenever a job starts or ends. `on_end` is called with each job that ended and
    its last error. Both must not block. `grace` is the number of seconds that a killed job has to end by itself.
    `get_environment` returns the variables of a command.
    """

    def __init__(
        self,
        on_change: Callable[[tuple[Job, ...]], None] = lambda _: None,
        grace: float = 3.0,
        on_end: Callable[[Job, str], None] = lambda _job, _note: None,
        get_environment: Callable[[], Mapping[str, str]] = inherit_environment,
    ) -> None:
        self._on_change = on_change
        self._on_end = on_end
        self._grace = grace
        self._get_environment = get_environment
        self._entries: dict[str, _JobEntry] = {}  # the running and the ended jobs, by their ids
        self._tasks: set[asyncio.Task[None]] = set()  # the tasks that wait for the ends of jobs
        # Held while a job is started, so that not too many start at once, and none starts after `close`.
        self._starting = asyncio.Lock()
        self._closed = False

    async def start(
        self, chat: str, command: str, folder: Path, label: str, call: str = "", sandbox: SandboxRun | None = None
    ) -> Job:
        """Start a shell command as a job, in `sandbox` if that is given.

        Raises: ToolError when it cannot be started, or too many jobs run.
        """
        async with self._starting:
            self._check_capacity()
            process = await shell.start(
                command, folder, self._get_environment(), separate_errors=True, chat=chat, sandbox=sandbox
            )
            spec, output = NewJob(chat, label, command, call), _JobOutput()
            entry = _JobEntry(_make_job(spec), spec, output.list_lines, process.kill)
            return self._track(entry, self._watch_process(entry, process, output, sandbox))

    def adopt(
        self,
        spec: NewJob,
        work: asyncio.Future[Any],
        get_ending: Callable[[], JobEnding],
        read_lines: Callable[[], tuple[JobLine, ...]],
    ) -> Job:
        """Register work that has already begun. Killing the job cancels `work`. `get_ending` is called when the work
        ends by itself, and `read_lines` whenever somebody reads the output so far.

        Raises: ToolError when too many jobs run.
        """
        self._check_capacity()

        async def cancel(_grace: float = 0) -> None:
            """Kill the job. Its work is cancelled at once, whatever the grace is."""
            work.cancel()

        entry = _JobEntry(_make_job(spec), spec, read_lines, cancel, spec.began or time.monotonic())
        return self._track(entry, self._watch_future(entry, work, get_ending))

    def _check_capacity(self) -> None:
        """Raises: ToolError when no job can be started now."""
        if self._closed:
            raise ToolError("The server is shutting down; no job can be started.")
        if sum(not entry.ended.is_set() for entry in self._entries.values()) >= MAX_RUNNING:
            raise ToolError(f"{MAX_RUNNING} background jobs are running already.", "Kill one that is not needed.")

    def _track(self, entry: _JobEntry, work: Coroutine[None, None, None]) -> Job:
        """Start the task that waits for the end of a job, and report that the job started."""
        self._entries[entry.job.id] = entry
        task = asyncio.create_task(work, name=entry.job.id)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._on_change(self.list())
        return entry.job

    def find_holder(self, kernel: str | None, path: str = "") -> Job | None:
        """Return the job that uses this kernel or this notebook; None if there is no such job. A job whose kernel is
        unknown counts as using every kernel. If `kernel` is None, every job that runs in a kernel counts."""
        for entry in self._entries.values():
            spec = entry.spec
            may_share_kernel = not (kernel and spec.kernel) or kernel == spec.kernel
            uses_notebook = bool(path) and path == spec.path
            if spec.type == CELLS and not entry.ended.is_set() and (may_share_kernel or uses_notebook):
                return entry.snapshot()
        return None

    def is_running_for(self, chat: str) -> bool:
        """Return whether a job of a chat runs. `chat` is the id of the chat."""
        return any(str(entry.job.chat_id) == chat and not entry.ended.is_set() for entry in self._entries.values())

    def list(self) -> tuple[Job, ...]:
        """List the running jobs, and the last ones that ended."""
        return tuple(entry.snapshot() for entry in self._entries.values())

    def read(self, id: str) -> JobsReadOutputResult:
        """Return the newest lines of a job and its status. The result is empty when there is no such job."""
        entry = self._entries.get(id)
        if entry is None:
            return JobsReadOutputResult()
        job = entry.job
        return JobsReadOutputResult(lines=entry.read_lines()[-MAX_LINES:], status=job.status, exit_code=job.exit_code)

    async def wait(self, id: str) -> None:
        """Wait until a job has ended. Return at once when there is no such job."""
        if (entry := self._entries.get(id)) is not None:
            await entry.ended.wait()

    async def kill(self, id: str) -> bool:
        """End a job with all its child processes, and wait for its end. Return False when it has already ended, or
        there is no such job."""
        entry = self._entries.get(id)
        if entry is None or entry.ended.is_set():
            return False
        entry.killed.set()
        await entry.kill(self._grace)
        await entry.ended.wait()
        return True

    async def close(self) -> None:
        """End all jobs. No job can be started afterwards."""
        async with self._starting:
            self._closed = True
        unfinished = [entry for entry in self._entries.values() if not entry.ended.is_set()]
        for entry in unfinished:
            entry.killed.set()
        await asyncio.gather(*(entry.kill(0) for entry in unfinished))
        await asyncio.gather(*self._tasks)

    async def _watch_future(
        self, entry: _JobEntry, work: asyncio.Future[Any], get_ending: Callable[[], JobEnding]
    ) -> None:
        """Wait for the end of work that was adopted, and store its result."""
        try:
            await asyncio.wait((work,))
            if work.cancelled():
                entry.killed.set()
                result = JobEnding()
            elif (error := work.exception()) is not None:
                if not isinstance(error, ToolError):
                    _log.error("a background job failed inside", exc_info=error)
                result = JobEnding(failed=True, note=str(error))
            else:
                result = get_ending()
            self._end(entry, JobStatus.FAILED if result.failed else JobStatus.COMPLETED, result.note)
        finally:
            work.cancel()

    async def _watch_process(
        self, entry: _JobEntry, process: shell.ShellProcess, output: _JobOutput, sandbox: SandboxRun | None
    ) -> None:
        """Watch a process until it has ended and no other process has its output open any more. So `server &` is a
        running job for as long as the server runs."""
        streams = {"stdout": process.output, "stderr": process.errors}
        changes = ""
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = {
                    tasks.create_task(_read_stream(stream, "stderr" if name == "stderr" else "stdout", output))
                    for name, stream in streams.items()
                    if stream is not None
                }
                killed = tasks.create_task(_wait_for(entry.killed))
                await process.exited.wait()
                # The shell has exited. Wait until all its output is read, or somebody kills the job.
                while reading and not killed.done():
                    finished, _ = await asyncio.wait({killed, *reading}, return_when=asyncio.FIRST_COMPLETED)
                    reading -= finished
                killed.cancel()
                await process.kill()
                await process.close(*reading)
            if sandbox is not None:
                changes = await run_read(sandbox.describe_changes)
        finally:
            code = process.code
            printed = [line.text for line in output.list_lines() if line.text.strip()]
            note = " ".join(part for part in (f"exit code {code}.", *printed[-1:]) if part) if code else ""
            note = " ".join(filter(None, (note, changes)))
            self._end(entry, JobStatus.COMPLETED if code == 0 else JobStatus.FAILED, note, code)

    def _end(self, entry: _JobEntry, status: JobStatus, note: str = "", code: int | None = None) -> None:
        """Store the result of a job, forget the oldest ended jobs, and report the end. `note` is the last error, for
        the user, and `code` the exit code of a process."""
        killed = entry.killed.is_set()
        entry.job = entry.snapshot().model_copy(
            update={"status": JobStatus.KILLED if killed else status, "exit_code": code}
        )
        entry.ended.set()
        ended = [id for id, entry_of_job in self._entries.items() if entry_of_job.ended.is_set()]
        for id in ended[: max(0, len(ended) - _MAX_ENDED)]:
            del self._entries[id]
        self._on_change(self.list())
        shutdown_note = "the server it ran in was ended" if self._closed else ""
        self._on_end(entry.job, shutdown_note if killed else note)


def _make_job(spec: NewJob) -> Job:
    """Return a new job that is running, as clients see it."""
    return Job(
        id=f"job-{uuid.uuid4().hex[:8]}",
        type=spec.type,
        status=JobStatus.RUNNING,
        label=spec.label,
        summary=spec.summary,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        elapsed=format_elapsed(0),
        chat_id=spec.chat,
        tool_call_id=spec.call or None,
    )


async def _wait_for(event: asyncio.Event) -> None:
    """Wait for an event. Unlike `event.wait`, it returns nothing, as the tasks that read the streams do."""
    await event.wait()


async def _read_stream(stream: asyncio.StreamReader, name: Stream, output: _JobOutput) -> None:
    """Add all that a process writes to a stream to the output, until the stream is closed."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while data := await stream.read(_CHUNK):
        output.add(name, decoder.decode(data).replace("\0", "\N{REPLACEMENT CHARACTER}"))
    output.add(name, decoder.decode(b"", final=True))


def format_elapsed(seconds: float) -> str:
    """Format a duration for a reader: 12s, 1m 20s, 2h 5m."""
    minutes, whole_seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {whole_seconds}s" if minutes else f"{whole_seconds}s"
