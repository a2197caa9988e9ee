"""Owns the methods of ECA on the user's defaults, such as the default model: list them, set one. A change takes effect
immediately.

It must not know the format of the files: `host/operations/` does.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.agents import CODE
from jupyter_eca.engine.chat.remembered_choices import ChoiceName
from jupyter_eca.fronts.eca.config_rights import check_may_change_config, find_config_sources
from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.host.operations import user_defaults
from jupyter_eca.host.turn.setup import choose_model
from jupyter_eca.protocol import lifecycle as wire

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.base import Model

# For each default that a user can replace by a choice for a chat, the name of that choice.
_CHOICES: Final = {
    wire.DefaultName.MODEL: ChoiceName.MODEL,
    wire.DefaultName.AGENT: ChoiceName.AGENT,
    wire.DefaultName.VARIANT: ChoiceName.VARIANT,
}


async def list(session: EcaSession, _params: Model) -> wire.ConfigDefaultsResult:
    """Return all defaults."""
    host = session.host
    # The default variant is a setting of the agent `code`. So the variants to choose from are those of the model that
    # this agent has where the user has chosen nothing else.
    model = await choose_model(host.current.resolved, host.catalog, Choice(agent=CODE))
    choices = {
        wire.DefaultName.AGENT: host.current.resolved.list_selectable(),
        wire.DefaultName.VARIANT: host.catalog.variants(model),
    }
    return await asyncio.to_thread(user_defaults.list_defaults, host.config, find_config_sources(host), choices)


async def set(session: EcaSession, params: wire.ConfigSetDefaultParams) -> wire.ConfigDefaultsResult:
    """Set a default, and return all of them.

    Raises: RemoteError when the client may not change the configuration, LocalError for a value of the wrong kind,
    ConfigError when the file cannot be changed.
    """
    check_may_change_config(session)
    host = session.host
    before = user_defaults.read_default(host.config, params.name)
    # The user makes this change, so a folder whose settings the user trusts stays trusted with it.
    await host.folder_trust.keep_trust_during(
        partial(user_defaults.set_default, host.config, find_config_sources(host), params)
    )
    await host.reload()
    if user_defaults.read_default(host.config, params.name) != before:
        await _forget_choices(host, params.name)
    return await list(session, params)


async def _forget_choices(host: Host, name: wire.DefaultName) -> None:
    """Forget what the user has chosen earlier in place of this default. The default was set later, so it counts.

    A choice is stored with the default that it replaced. A choice that replaced another value is kept, for example one
    that replaced the default of a project. A default that is not set any more counts as "".
    """
    if (choice := _CHOICES.get(name)) is not None:
        default = user_defaults.read_default(host.config, name)
        await host.choice_memory.forget_replaced(choice, default or "")


HANDLERS: Final = {"config/defaults": list, "config/setDefault": set}
