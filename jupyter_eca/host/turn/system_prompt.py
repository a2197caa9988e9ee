"""What a model is told at the beginning of a chat stays what it was, byte for byte: vendors keep what a request begins
with, and one that begins otherwise is paid for whole. So it is made once, and kept with the chat.

It is made anew when it is for another: another agent, model or variant, for which the vendor's cache is another too;
when the user says so (`/sync-system-prompt`), or wants that always (`chat.autoSyncSystemPrompt`). A server of tools
that comes later adds its words at the end: its tools have changed the request already. So do the hooks of a chat's
beginning, which run when its first turn has begun.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca import instructions
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions import environment
from jupyter_eca.instructions.pinned import Pinned

if TYPE_CHECKING:
    from jupyter_eca.host.host import Host
    from jupyter_eca.instructions import Place


async def pinned(host: Host, chat: str, place: Place, variant: str, *, anew: bool = False) -> Pinned:
    """What the model is told now: as it was, if it was for this and not to be made `anew`. Nothing is kept yet."""
    made_for = "\n".join((place.agent.name, place.model, variant))
    was = await _kept(host, chat)
    if anew or was is None or was.made_for != made_for or host.config.chat.auto_sync_system_prompt:
        return Pinned(made_for, (*await instructions.sections(place), *host.hooks.sections(chat)))
    later = (*await environment.servers(place), *host.hooks.sections(chat))
    come = [section for section in later if not was.has(section.source)]
    return replace(was, sections=(*was.sections, *come)) if come else was


async def keep(host: Host, chat: str, now: Pinned) -> None:
    live = host.live(chat)
    if live is None or live.pinned == now:
        return
    live.pinned = now
    sections = json.dumps([[section.source, section.text] for section in now.sections], ensure_ascii=False)
    await host.store.do(lambda tables: tables.pin(chat, now.made_for, sections))


async def _kept(host: Host, chat: str) -> Pinned | None:
    live = host.live(chat)
    if live is None or live.pinned is not None:
        return live.pinned if live else None
    row = await host.store.do(lambda tables: tables.pinned(chat))
    if row is not None:
        made_for, sections = row
        live.pinned = Pinned(made_for, tuple(Section(source, text) for source, text in json.loads(sections)))
    return live.pinned
