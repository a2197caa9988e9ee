"""Background jobs: shell commands that go on while the chat does."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from jupyter_eca.protocol.base import ChatId, Model


class JobStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"


class Job(Model):
    """`started_at` is ISO 8601, `elapsed` a text for the reader ("1m 20s"). `tool_call_id` is the call that started it,
    whose mark Emacs changes when it ends."""

    id: str
    type: str = "shell"
    status: JobStatus
    label: str
    summary: str = ""
    started_at: str
    elapsed: str
    exit_code: int | None = None
    chat_id: ChatId | None = None
    chat_label: str | None = None
    tool_call_id: str | None = None


class JobsListResult(Model):
    jobs: tuple[Job, ...]


class JobParams(Model):
    job_id: str


class JobsKillResult(Model):
    killed: bool


class JobLine(Model):
    text: str
    stream: Literal["stdout", "stderr"]


class JobsReadOutputResult(Model):
    """The newest lines; an unknown job has none, and no status."""

    lines: tuple[JobLine, ...] = ()
    status: JobStatus | None = None
    exit_code: int | None = None
