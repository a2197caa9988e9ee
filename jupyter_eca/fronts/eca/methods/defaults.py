"""Owns the methods on the user's defaults: list them, set one. A change takes effect immediately.

It must not know the format of the files: `host/operations/` does.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.eca.config_rights import check_may_change_config, find_sources
from jupyter_eca.host.operations import user_defaults

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol import lifecycle as wire
    from jupyter_eca.protocol.base import Model


async def list(session: EcaSession, _params: Model) -> wire.ConfigDefaultsResult:
    """Return all defaults."""
    return await asyncio.to_thread(user_defaults.list_defaults, session.host.config, find_sources(session.host))


async def set(session: EcaSession, params: wire.ConfigSetDefaultParams) -> wire.ConfigDefaultsResult:
    """Set a default, and return all of them. Raises: RemoteError, LocalError."""
    check_may_change_config(session)
    await session.host.folder_trust.keep(partial(user_defaults.set_default, find_sources(session.host), params))
    await session.host.reload()
    return await list(session, params)


HANDLERS: Final = {"config/defaults": list, "config/setDefault": set}
