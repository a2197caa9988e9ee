"""Owns the methods of ECA on agents: list all agents, write the Markdown file of one, remove it. A change takes effect
immediately.

It must not know the format of the files: `host/operations/` does.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.eca.config_rights import check_may_change_config, find_config_sources
from jupyter_eca.host.operations import agent_files
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.settings import own_files as wire

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Model


async def list(session: EcaSession, _params: Model) -> wire.AgentsListResult:
    """Return all agents."""
    host = session.host
    return await asyncio.to_thread(agent_files.list_agents, host.current.resolved, find_config_sources(host))


async def write(session: EcaSession, params: wire.AgentsWriteParams) -> wire.WrittenFile:
    """Write an agent to a new file, or change its file. Raises: RemoteError, LocalError, ConfigError."""
    check_may_change_config(session)
    host = session.host
    # The user makes this change, so a folder whose settings the user trusts stays trusted with it.
    file = await host.folder_trust.keep_trust_during(
        partial(agent_files.write_agent, host.current.resolved, find_config_sources(host), params)
    )
    await host.reload()
    return wire.WrittenFile(file=file)


async def remove(session: EcaSession, params: wire.SeenFile) -> Done:
    """Remove the file of an agent. `params` has the file, and a digest of the text that the user has seen. Raises:
    RemoteError, LocalError, ConfigError."""
    check_may_change_config(session)
    host = session.host
    await host.folder_trust.keep_trust_during(
        partial(agent_files.remove_agent, host.current.resolved, find_config_sources(host), params)
    )
    await host.reload()
    return Done()


HANDLERS: Final = {"agents/list": list, "agents/write": write, "agents/remove": remove}
