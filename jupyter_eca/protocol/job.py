"""Owns the messages about background jobs, such as shell commands that run while the chat continues.

It must not know how a job runs: `workspace.jobs` does. `tool` is its neighbour: a job begins as a tool call.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from jupyter_eca.protocol.base import ChatId, Model


class JobStatus(StrEnum):
    """Whether a job is running, or how it ended."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"


class Job(Model):
    """A background job."""

    id: str
    type: str = "shell"
    """`shell`, or `cells` for code that runs in a kernel."""
    status: JobStatus
    label: str
    """A short name for lists of jobs."""
    summary: str = ""
    """The command or the code that it runs."""
    started_at: str
    """When it started, in ISO 8601."""
    elapsed: str
    """How long it has run, as a text for the user (`1m 20s`)."""
    exit_code: int | None = None
    """The exit status of the program; absent while the job runs, and for a job that has none."""
    chat_id: ChatId | None = None
    """The chat that started it."""
    chat_label: str | None = None
    """The title of that chat."""
    tool_call_id: str | None = None
    """The call that started it. Emacs changes the mark of this call when the job ends."""


class JobsListResult(Model):
    """All jobs."""

    jobs: tuple[Job, ...]


class JobParams(Model):
    """Names a job."""

    job_id: str


class JobsKillResult(Model):
    """Whether the job was killed. It is false when the job had ended, or is not known."""

    killed: bool


class JobLine(Model):
    """A line of a job's output."""

    text: str
    stream: Literal["stdout", "stderr"]


class JobsReadOutputResult(Model):
    """The newest lines of a job's output. An unknown job has no lines and no status."""

    lines: tuple[JobLine, ...] = ()
    status: JobStatus | None = None
    exit_code: int | None = None
