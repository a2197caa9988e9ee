"""Background jobs: listed, read, killed. A client sees those of the chats that it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol import job

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.fronts.eca import EcaSession
    from jupyter_eca.protocol.base import Empty


async def list(session: EcaSession, params: Empty) -> job.JobsListResult:  # noqa: ARG001
    return seen(session, session.host.jobs.list())


async def kill(session: EcaSession, params: job.JobParams) -> job.JobsKillResult:
    known = _knows(session, params.job_id)
    return job.JobsKillResult(killed=known and await session.host.jobs.kill(params.job_id))


async def read_output(session: EcaSession, params: job.JobParams) -> job.JobsReadOutputResult:
    return session.host.jobs.read(params.job_id) if _knows(session, params.job_id) else job.JobsReadOutputResult()


def seen(session: EcaSession, jobs: Iterable[job.Job]) -> job.JobsListResult:
    """As this client writes its chats."""
    return job.JobsListResult(
        jobs=tuple(
            one if one.chat_id is None else one.model_copy(update={"chat_id": session.wire_id(str(one.chat_id))})
            for one in jobs
            if one.chat_id is None or session.sees(str(one.chat_id))
        )
    )


def _knows(session: EcaSession, id: str) -> bool:
    return any(one.id == id for one in seen(session, session.host.jobs.list()).jobs)


HANDLERS: Final = {"jobs/list": list, "jobs/kill": kill, "jobs/readOutput": read_output}
