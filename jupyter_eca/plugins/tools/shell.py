"""The tools for shell commands: one runs a command, and one lists, reads, awaits and ends background jobs. This module
must not manage processes: `workspace/jobs` does.
"""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from jupyter_eca.engine.approval.approval_scope import ScopeKind
from jupyter_eca.engine.approval.shell_parser import parse_commands
from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.errors import StoppedRunError, ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool, validate
from jupyter_eca.plugins.tools.terminal_transcript import TerminalTranscript
from jupyter_eca.plugins.tools.waited_code import (
    JOB_STARTED,
    REPORT_SECONDS,
    RunWatch,
    as_last_lines,
    describe_job,
    wait_or_detach,
)
from jupyter_eca.protocol.content import SandboxState, ShellCommandDetails, ShellCommandPart
from jupyter_eca.protocol.job import Job
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.jobs import shell
from jupyter_eca.workspace.jobs.sandbox import SandboxRun, find_sandbox_program
from jupyter_eca.workspace.ports import JobEnding, NewJob
from jupyter_eca.workspace.tool_result import Report, ToolResult

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from pathlib import Path

    from jupyter_eca.workspace.ports import Files, Jobs

# The seconds that a command may run. A longer one must be a background job.
MAX_SECONDS: Final = 600

# How many bytes of the output are read at once, at most.
_CHUNK_BYTES: Final = 65_536

# How many of the last lines of a running command are shown.
_WATCHED_LINES: Final = 200

# How many characters a label has, at most. It is one line in a list of jobs.
_LABEL_LENGTH: Final = 60

# The types of the arguments, with their descriptions for the model.
Command = Annotated[str, Field(min_length=1, description="One or more lines for the user's POSIX shell.")]
Folder = Annotated[str, Field(description="Where it runs, by default the workspace.")]
Seconds = Annotated[float, Field(gt=0, description=f"Seconds until it is ended, {MAX_SECONDS} at most.")]
Background = Annotated[bool, Field(description="Start a job and do not wait: for servers and long work.")]
Outside = Annotated[bool, Field(description="Run it outside of the sandbox, which the user must approve.")]
Action = Literal["list", "read_output", "wait", "kill"]
JobId = Annotated[str, Field(description="Not needed to list them.")]


async def _preview(context: ToolContext, arguments: dict[str, Any]) -> ShellCommandDetails:
    """Return the command and its parts, which the user sees before the approval."""
    values = validate(shell_command.arguments, arguments)  # parsed as for the call itself: "true" is True
    await run_read(_resolve_folder, context.files, values["working_directory"])
    state = await run_read(_choose_sandbox_state, context, outside=values["outside"])
    return _make_details(context, values["command"], background=values["background"], sandbox=state)


def _choose_sandbox_state(context: ToolContext, *, outside: bool) -> SandboxState | None:
    """Return whether a command runs in the sandbox; None if the user wants none. `outside`: the model asks to run the
    command outside of it. Blocks when it is first called."""
    sandbox = context.sandbox
    if sandbox is None:
        return None
    if not find_sandbox_program():
        return SandboxState.MISSING
    if outside:
        return SandboxState.OUTSIDE
    return SandboxState.TRUSTED if context.trusts_sandbox and not sandbox.explain_unsafe() else SandboxState.INSIDE


async def find_sandbox(context: ToolContext, *, outside: bool = False) -> tuple[SandboxState | None, SandboxRun | None]:
    """Return whether a command runs in the sandbox, and how it is started there; None for a start without it. The
    command runs as it was shown to the user, also if the settings have changed since then. Raises: ToolError when that
    is no longer possible."""
    shown_details = context.shown_details
    if isinstance(shown_details, ShellCommandDetails):
        state = shown_details.sandbox
    else:
        state = await run_read(_choose_sandbox_state, context, outside=outside)
    if state not in {SandboxState.INSIDE, SandboxState.TRUSTED}:
        return state, None
    if context.sandbox is None:
        raise ToolError("The sandbox was switched off after this call was shown; it did not run.", "Call it again.")
    return state, await run_read(context.sandbox.prepare)


def _make_details(
    context: ToolContext, command: str, *, background: bool, sandbox: SandboxState | None
) -> ShellCommandDetails:
    """Return the details of a command. A line that cannot be parsed is shown as it is."""
    parsed = parse_commands(command)
    programs = {scope.value for scope in context.remembered if scope.kind is ScopeKind.PROGRAM}
    parts = tuple(
        ShellCommandPart(command=part.command, args=part.args, approval_key=part.key, remembered=part.key in programs)
        for part in parsed or ()
    )
    return ShellCommandDetails(
        commands=parts or (ShellCommandPart(command=command),),
        background=background,
        line=command,
        parsed=tuple(part.whole_text for part in parsed) if parsed is not None else None,
        sandbox=sandbox,
    )


@tool(
    summary="Running {command}",
    approval_covers=ApprovalCoverage.COMMANDS,
    preview=_preview,
    paths=["working_directory"],
    about_sandbox=["outside"],
)
async def shell_command(
    context: ToolContext,
    command: Command,
    working_directory: Folder = "",
    timeout: Seconds = 60,  # noqa: ASYNC109  # ECA's name for it, and told to the model
    background: Background = False,
    outside: Outside = False,
) -> ToolResult:
    """Run a command in the user's shell. Returns what it printed, and its exit code if that is not 0.

    Each call is a fresh shell without a terminal or input: give options that make programs ask nothing. What it starts
    ends with it, unless it is a background job. For code that needs the notebook's variables use run_code; to read,
    search or change files use the tools for that.
    """
    folder = await run_read(_resolve_folder, context.files, working_directory)
    state, sandbox = await find_sandbox(context, outside=outside)
    details = _make_details(context, command, background=background, sandbox=state)
    if background:
        job = await _get_jobs(context).start(context.chat, command, folder, _make_label(command), context.call, sandbox)
        return ToolResult(JOB_STARTED.format(job.id), details=details)
    environment = context.get_environment()
    run = ShellCommandRun(command, folder, environment, min(timeout, MAX_SECONDS), context.chat, sandbox)
    watch = RunWatch(clock=context.clock)
    watch("", run.read_end)  # "" is the cell of code that is in no cell
    finishing = asyncio.ensure_future(run.finish())
    new_job = NewJob(context.chat, _make_label(command), command, context.call)
    try:
        done = await wait_or_detach(context, finishing, watch, new_job, _describe_ending, background=False)
    except StoppedRunError:
        done = finishing.result()  # it has all that the command had printed
    if isinstance(done, Job):
        run.lift_limit()
        return ToolResult(describe_job(done, watch, background=False), details=details)
    text = f"{done.text}\n{_IN_SANDBOX}" if sandbox and done.error else done.text
    return ToolResult(text, error=done.error, details=details)


def _make_label(command: str) -> str:
    """Return the label of a command: one line, shortened."""
    label = " ".join(command.split())
    return label if len(label) <= _LABEL_LENGTH else label[: _LABEL_LENGTH - 1] + "…"


def _describe_ending(run: EndedCommand) -> JobEnding:
    """Return how a command has ended that was moved to the background."""
    return JobEnding(failed=run.error, note=run.text.rpartition("\n")[2] if run.error else "")


async def _check_job(context: ToolContext, arguments: dict[str, Any]) -> None:
    """Check before the user is asked that there is such a job. There is nothing to preview, so this returns None.
    Raises: ToolError when there is none."""
    if arguments.get("action") != "list":
        _find_job(context, str(arguments.get("job_id", "")))


@tool(
    needs=[Need.JOBS],
    summary="Background jobs: {action} {job_id}",
    preview=_check_job,
    approval_covers=ApprovalCoverage.ARGUMENTS,
)
async def bg_job(context: ToolContext, action: Action, job_id: JobId = "") -> ToolResult:
    """List the background jobs that you started, read the newest lines that one printed, wait for its end, or kill it
    with all that it started. You are told when one ends: wait only when you have nothing else to do.
    """
    jobs = _get_jobs(context)
    if action == "list":
        own = _list_jobs(context)
        return ToolResult("\n".join(map(_describe_job, own)) or "There are no background jobs in this chat.")
    job = _find_job(context, job_id)
    if action == "kill":
        killed = await jobs.kill(job_id)
        return ToolResult(f"{job_id} was killed." if killed else f"{job_id} had ended before.")
    if action == "wait":
        return ToolResult(await _wait_for_end(context, job_id))
    lines = jobs.read(job_id).lines
    printed = "\n".join(f"[stderr] {line.text}" if line.stream == "stderr" else line.text for line in lines)
    return ToolResult(f"{_describe_job(job)}\n{printed or '(no output)'}")


TOOLS = (shell_command, bg_job)

# The last line of a result if the user has stopped the command.
_BY_USER: Final = "[ended by the user]"

# The last line of a result if a command has failed in the sandbox.
_IN_SANDBOX: Final = (
    "[It ran in the sandbox: it can change only the workspace without .git, and /tmp, sees no keys, and may have no "
    "network. If that is why it failed, `outside` runs it outside, which the user must approve.]"
)


@dataclass(frozen=True, slots=True)
class EndedCommand:
    """A command that has ended."""

    text: str
    """What it printed, and how it ended, for the model."""
    error: bool
    """Whether it failed or was ended."""


class ShellCommandRun:
    """A command that runs to its end, and what it has printed so far."""

    def __init__(
        self,
        command: str,
        folder: Path,
        environment: Mapping[str, str],
        seconds: float,
        chat: str = "",
        sandbox: SandboxRun | None = None,
    ) -> None:
        """`environment` has the variables of the command. After `seconds` it is killed. `chat` is the chat that runs
        it. It runs in `sandbox`, if that is given."""
        self._sandbox = sandbox
        self._command = command
        self._folder = folder
        self._environment = environment
        self._seconds: float | None = seconds
        self._chat = chat
        self._transcript = TerminalTranscript()
        self._limit: asyncio.Timeout | None = None  # kills the command after `seconds`; None before it runs

    def lift_limit(self) -> None:
        """Let the command run for as long as it takes."""
        self._seconds = None
        if self._limit is not None:
            self._limit.reschedule(None)

    def read_end(self) -> str:
        """Return the last lines that it has printed so far."""
        return self._transcript.read_end(_WATCHED_LINES)

    async def finish(self) -> EndedCommand:
        """Run the command to its end. If it runs for too long, or the turn is stopped, it is killed with all that it
        started. Even then, what it has printed is returned."""
        starting = shell.start(self._command, self._folder, self._environment, chat=self._chat, sandbox=self._sandbox)
        process, note = await _wait_for_start(starting)
        transcript, seconds = self._transcript, self._seconds
        async with asyncio.TaskGroup() as tasks:
            reader = tasks.create_task(_feed_output(process.output, transcript))
            try:
                # With a note, the turn was stopped while the command was started: it is killed at once.
                async with asyncio.timeout(0 if note else self._seconds) as self._limit:
                    await process.exited.wait()
            except TimeoutError:
                timed_out = (
                    f"[ended after {seconds:g} s, with all that it had started: raise timeout, or use background]"
                )
                note = note or timed_out
            except asyncio.CancelledError:
                _uncancel()
                note = _BY_USER
            was_running = await process.kill()
            await process.close(reader)
        # All processes in a sandbox end with the command: what is still there is the sandbox itself.
        if was_running and not note and self._sandbox is None:
            note = "[what it left running was ended: use background for that]"
        await asyncio.to_thread(transcript.close)
        changes = "" if self._sandbox is None else await run_read(self._sandbox.describe_changes)
        code = process.code
        ending = note if note.startswith("[ended") else _describe_exit(code)
        parts = (transcript.as_text().rstrip("\n"), "" if note == ending else note, changes, ending)
        return EndedCommand("\n".join(part for part in parts if part) or "(no output)", error=ending != "")


async def _wait_for_start(start: Coroutine[Any, Any, shell.ShellProcess]) -> tuple[shell.ShellProcess, str]:
    """Return the process of a command that is being started, and a note, "" for none. If the turn is stopped meanwhile,
    the note says so: the process is then ended at once, but what it has printed counts."""
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting), ""
    except asyncio.CancelledError:
        _uncancel()
        return await starting, _BY_USER


def _uncancel() -> None:
    """Undo the cancellation of this task, which the caller has caught. The caller ends the processes itself and returns
    a result, and the engine already knows that the turn is stopped."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


def _describe_exit(code: int | None) -> str:
    """Return how a process ended, "" for success. A negative code is the number of the signal that ended it."""
    if not code:
        return ""
    if code < 0:
        with suppress(ValueError):
            return f"[ended by {signal.Signals(-code).name}]"
    return f"[exit code {code}]"


async def _feed_output(stream: asyncio.StreamReader, transcript: TerminalTranscript) -> None:
    """Read a stream to its end, and add what is read to the transcript."""
    while data := await stream.read(_CHUNK_BYTES):
        await asyncio.to_thread(transcript.feed, data)
    await asyncio.to_thread(transcript.feed, b"", final=True)


def _resolve_folder(files: Files, path: str) -> Path:
    """Return the real path of a folder, "" for the workspace. Raises: ToolError when there is no such folder."""
    folder = files.resolve(path or ".")
    if not folder.is_dir():
        raise ToolError(f"There is no folder {path}.", "Use directory_tree to find it.")
    return folder


def _list_jobs(context: ToolContext) -> list[Job]:
    """Return the jobs of the chat."""
    return [job for job in _get_jobs(context).list() if job.chat_id == context.chat]


def _find_job(context: ToolContext, id: str) -> Job:
    """Return a job of the chat. Raises: ToolError when there is none with this id."""
    if (job := next((job for job in _list_jobs(context) if job.id == id), None)) is None:
        raise ToolError(
            f"There is no job {id!r} in this chat.",
            "Use the action list to see them; those of a server that was started anew are gone.",
        )
    return job


def _get_jobs(context: ToolContext) -> Jobs:
    """Return the background jobs. Raises: ToolError when there can be none here."""
    if context.jobs is None:
        raise ToolError("There are no background jobs here.", "Run the command without background.")
    return context.jobs


async def _wait_for_end(context: ToolContext, id: str) -> str:
    """Wait until a job has ended, or the user has sent a message. Return how the job is then, for the model. The last
    lines of a job that has ended come with the note of its end."""
    jobs = _get_jobs(context)
    ending, message = asyncio.ensure_future(jobs.wait(id)), asyncio.ensure_future(context.steered.wait())
    try:
        while not (ending.done() or message.done()):
            await asyncio.wait((ending, message), timeout=REPORT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            context.report(Report("\n".join(line.text for line in jobs.read(id).lines[-_WATCHED_LINES:])))
        job = _describe_job(_find_job(context, id))
        return job if ending.done() else f"{job}\n{as_last_lines(jobs.read(id).lines)}".rstrip()
    finally:
        ending.cancel()
        message.cancel()


def _describe_job(job: Job) -> str:
    """Return the line of a job: its id, its state, how long it has run, and its label."""
    code = "" if job.exit_code is None else f", exit code {job.exit_code}"
    return f"{job.id}: {job.status} for {job.elapsed}{code}: {job.label}"
