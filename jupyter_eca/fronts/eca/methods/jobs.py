"""Owns the methods of ECA on background jobs, which are programs that continue after their tool call: list them, read
their output, and kill them.

`job_view.py` decides which jobs a client may see, and `workspace/jobs/` runs the jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.eca.job_view import is_visible, list_visible
from jupyter_eca.protocol import job

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Empty


async def list(session: EcaSession, params: Empty) -> job.JobsListResult:  # noqa: ARG001
    """Return the jobs that the client may see."""
    return await list_visible(session, session.host.jobs.list())


async def kill(session: EcaSession, params: job.JobParams) -> job.JobsKillResult:
    """Kill a job that the client may see, and return whether it was killed."""
    visible = _has_visible(session, params.job_id)
    return job.JobsKillResult(killed=visible and await session.host.jobs.kill(params.job_id))


async def read_output(session: EcaSession, params: job.JobParams) -> job.JobsReadOutputResult:
    """Return the output of a job. For a job that the client may not see, the output is empty."""
    if not _has_visible(session, params.job_id):
        return job.JobsReadOutputResult()
    return session.host.jobs.read(params.job_id)


def _has_visible(session: EcaSession, id: str) -> bool:
    """Return whether there is a job of this id that the client may see."""
    return any(known.id == id and is_visible(session, known) for known in session.host.jobs.list())


HANDLERS: Final = {"jobs/list": list, "jobs/kill": kill, "jobs/readOutput": read_output}
