"""Tells Jupyter that the server is in use while the assistant works. Jupyter can be configured to end a server that
nobody uses, and the idle culler of a JupyterHub ends such servers. Without this module, a turn or a background job
would be lost if no page is open.

It must not know who ends servers. A chat that waits for its user does not count: otherwise one forgotten question would
keep a server running without end.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.protocol.job import JobStatus

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from jupyter_eca.host.host import Host

# Our entry in Jupyter's table of activities.
NAME: Final = "jupyter_eca"

# Seconds between two checks. Hubs end idle servers only after many minutes.
_CHECK_SECONDS: Final = 10.0


def is_working(host: Host) -> bool:
    """Return whether a tool or a background job runs, or a chat has a turn that does not wait for its user."""
    chats = host.chats
    for chat in chats.list_live():
        runs = any(call.status is ToolCallStatus.RUNNING for call in chat.state.calls)
        if chat.is_busy and (runs or not chats.is_waiting(chat.state.id)):
            return True
    return any(job.status is JobStatus.RUNNING for job in host.jobs.list())


async def report_activity(host: Host, times: MutableMapping[str, datetime]) -> None:
    """Record the present time at intervals while the assistant works, until this task is cancelled. `times` is the
    setting `last_activity_times` of Jupyter. Its newest time counts as the last activity of the server."""
    while True:
        if is_working(host):
            times[NAME] = datetime.now(UTC)
        await asyncio.sleep(_CHECK_SECONDS)
