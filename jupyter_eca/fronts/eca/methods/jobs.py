"""Background jobs: listed, read, killed. A client sees those of the chats that it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.eca.job_view import sees, shown
from jupyter_eca.protocol import job

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Empty


async def list(session: EcaSession, params: Empty) -> job.JobsListResult:  # noqa: ARG001
    return await shown(session, session.host.jobs.list())


async def kill(session: EcaSession, params: job.JobParams) -> job.JobsKillResult:
    known = _knows(session, params.job_id)
    return job.JobsKillResult(killed=known and await session.host.jobs.kill(params.job_id))


async def read_output(session: EcaSession, params: job.JobParams) -> job.JobsReadOutputResult:
    return session.host.jobs.read(params.job_id) if _knows(session, params.job_id) else job.JobsReadOutputResult()


def _knows(session: EcaSession, id: str) -> bool:
    return any(one.id == id and sees(session, one) for one in session.host.jobs.list())


HANDLERS: Final = {"jobs/list": list, "jobs/kill": kill, "jobs/readOutput": read_output}
