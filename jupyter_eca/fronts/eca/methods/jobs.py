"""Background jobs: listed, read, killed. A client sees those of the chats that it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol import job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Empty


async def list(session: EcaSession, params: Empty) -> job.JobsListResult:  # noqa: ARG001
    return await shown(session, session.host.jobs.list())


async def kill(session: EcaSession, params: job.JobParams) -> job.JobsKillResult:
    known = _knows(session, params.job_id)
    return job.JobsKillResult(killed=known and await session.host.jobs.kill(params.job_id))


async def read_output(session: EcaSession, params: job.JobParams) -> job.JobsReadOutputResult:
    return session.host.jobs.read(params.job_id) if _knows(session, params.job_id) else job.JobsReadOutputResult()


async def shown(session: EcaSession, jobs: Iterable[job.Job]) -> job.JobsListResult:
    """As this client writes its chats, and with their titles."""
    return job.JobsListResult(jobs=tuple([await _shown(session, one) for one in jobs if _sees(session, one)]))


async def _shown(session: EcaSession, one: job.Job) -> job.Job:
    if one.chat_id is None:
        return one
    chat = str(one.chat_id)
    row = await session.host.chats.read_row(chat)
    return one.model_copy(update={"chat_id": session.wire_id(chat), "chat_label": row and row.title})


def _sees(session: EcaSession, one: job.Job) -> bool:
    return one.chat_id is None or session.sees(str(one.chat_id))


def _knows(session: EcaSession, id: str) -> bool:
    return any(one.id == id and _sees(session, one) for one in session.host.jobs.list())


HANDLERS: Final = {"jobs/list": list, "jobs/kill": kill, "jobs/readOutput": read_output}
