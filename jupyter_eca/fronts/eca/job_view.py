"""Background jobs as one client is shown them: only those of chats that it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.protocol import job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.fronts.eca.session import EcaSession


async def shown(session: EcaSession, jobs: Iterable[job.Job]) -> job.JobsListResult:
    """As this client writes its chats, and with their titles."""
    return job.JobsListResult(jobs=tuple([await _shown(session, one) for one in jobs if sees(session, one)]))


async def _shown(session: EcaSession, one: job.Job) -> job.Job:
    if one.chat_id is None:
        return one
    chat = str(one.chat_id)
    row = await session.host.chat(chat)
    return one.model_copy(update={"chat_id": session.wire_id(chat), "chat_label": row and row.title})


def sees(session: EcaSession, one: job.Job) -> bool:
    return one.chat_id is None or session.sees(str(one.chat_id))
