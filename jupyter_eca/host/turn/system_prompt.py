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
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks.runner import Hooks
    from jupyter_eca.host.store import Store
    from jupyter_eca.instructions import InstructionContext


class SystemPrompts:
    def __init__(self, store: Store, chats: Chats, hooks: Hooks) -> None:
        self._store = store
        self._chats = chats
        self._hooks = hooks

    async def compose(self, chat: str, place: InstructionContext, variant: str, *, anew: bool = False) -> Pinned:
        """Return what the model is told now: what it was told before, if that was made for the same agent, model and
        variant and `anew` is not wanted. Nothing is kept yet."""
        made_for = "\n".join((place.agent.name, place.model, variant))
        before = await self._read(chat)
        if anew or before is None or before.made_for != made_for or place.config.chat.auto_sync_system_prompt:
            return Pinned(made_for, (*await instructions.sections(place), *self._hooks.sections(chat)))
        later = (*await environment.servers(place), *self._hooks.sections(chat))
        added = [section for section in later if not before.has(section.source)]
        return replace(before, sections=(*before.sections, *added)) if added else before

    async def keep(self, chat: str, pinned: Pinned) -> None:
        """Keep what the model of a chat is told, in memory and in the store."""
        live = self._chats.live(chat)
        if live is None or live.pinned == pinned:
            return
        live.pinned = pinned
        sections = json.dumps([[section.source, section.text] for section in pinned.sections], ensure_ascii=False)
        await self._store.do(lambda tables: tables.pin(chat, pinned.made_for, sections))

    async def _read(self, chat: str) -> Pinned | None:
        live = self._chats.live(chat)
        if live is None or live.pinned is not None:
            return live.pinned if live else None
        row = await self._store.do(lambda tables: tables.read_pinned(chat))
        if row is not None:
            made_for, sections = row
            live.pinned = Pinned(made_for, tuple(Section(source, text) for source, text in json.loads(sections)))
        return live.pinned
