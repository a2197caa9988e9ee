"""Owns the list of background jobs that one client gets: only jobs of the chats that it sees, with the client's own ids
of these chats. A background job is a program that a tool call has started, and that continues after the call.

This module must not know the methods or the session, which it sees only as a `JobViewer`. `methods/jobs.py` answers
requests with this list, and `session.py` sends the list in notifications.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jupyter_eca.protocol import job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.base import ChatId


class JobViewer(Protocol):
    """The session of the client that gets the list. `EcaSession` implements it."""

    @property
    def host(self) -> Host:
        """The object that runs all chats."""
        ...

    def sees(self, chat: str) -> bool:
        """Return whether the client may know about a chat."""
        ...

    def wire_id(self, chat: str) -> ChatId:
        """Return the id that the client uses for a chat."""
        ...


async def list_visible(viewer: JobViewer, jobs: Iterable[job.Job]) -> job.JobsListResult:
    """Return the jobs that the client may see, with its own chat ids and the titles of the chats."""
    return job.JobsListResult(jobs=tuple([await _adapt(viewer, known) for known in jobs if is_visible(viewer, known)]))


def is_visible(viewer: JobViewer, job: job.Job) -> bool:
    """Return whether the client sees the chat that started the job. Every client sees jobs without a chat."""
    return job.chat_id is None or viewer.sees(str(job.chat_id))


async def _adapt(viewer: JobViewer, job: job.Job) -> job.Job:
    """Return a job with the client's own id of its chat, and the title of the chat."""
    if job.chat_id is None:
        return job
    chat = str(job.chat_id)
    row = await viewer.host.chats.read_row(chat)
    return job.model_copy(update={"chat_id": viewer.wire_id(chat), "chat_label": row and row.title})
