"""Owns the system prompt of each chat: the text that a model reads before the conversation, in named sections. It is
composed once, stored with the chat, and then not changed by a byte.

Vendors cache the beginning of a request, and a request that begins with other bytes costs the full price. Therefore the
prompt is composed again only

- for another agent, model or variant, because the vendor's cache is another one then, or
- when the user runs `/sync-system-prompt`, or has set `chat.autoSyncSystemPrompt`.

Two sections may be appended later: the instructions of an MCP server that starts during the chat, whose tools change
the request anyway, and the texts of `chatStart` hooks, which run when the first turn has begun. `instructions/`
composes the sections.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca import instructions
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions import environment
from jupyter_eca.instructions.pinned_prompt import PinnedPrompt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks.runner import Hooks
    from jupyter_eca.host.store import Store
    from jupyter_eca.instructions import InstructionContext


class SystemPrompts:
    """Composes and stores the system prompts of all chats."""

    def __init__(self, store: Store, chats: Chats, hooks: Hooks) -> None:
        self._store = store
        self._chats = chats
        self._hooks = hooks
        # The system prompt that was composed last, in any chat.
        self._last_composed: PinnedPrompt | None = None

    async def compose(
        self,
        chat: str,
        owner: str,
        made_for: str,
        servers: Collection[tuple[str, str]],
        build_context: Callable[[], InstructionContext],
        *,
        recompose: bool = False,
    ) -> PinnedPrompt:
        """Return the system prompt for the next request, without storing it.

        It is the stored one if that was composed for the same agent, model and variant (`made_for`), and `recompose` is
        false. `owner` is the chat whose hooks add sections: for a subagent, its parent. `servers` are the names of the
        MCP servers and their instructions. `build_context` is called only if sections must be written.
        """
        stored = await self._read(chat)
        if recompose or stored is None or stored.made_for != made_for:
            sections = (*await instructions.list_sections(build_context()), *self._hooks.list_sections(owner))
            composed = PinnedPrompt(made_for, sections)
            # Chats in memory keep their system prompts, and most are equal: then they have one in common.
            if self._last_composed is not None and self._last_composed == composed:
                return self._last_composed
            self._last_composed = composed
            return composed
        from_servers = await environment.list_server_sections(build_context()) if servers else ()
        appended = (*from_servers, *self._hooks.list_sections(owner))
        added = [section for section in appended if not stored.has_section(section.source)]
        return replace(stored, sections=(*stored.sections, *added)) if added else stored

    async def save(self, chat: str, pinned: PinnedPrompt) -> None:
        """Save the system prompt of a chat, in memory and in the store."""
        live = self._chats.get_live(chat)
        if live is None or live.pinned_prompt == pinned:
            return
        live.pinned_prompt = pinned
        sections = json.dumps([[section.source, section.text] for section in pinned.sections], ensure_ascii=False)
        await self._store.do(lambda tables: tables.save_system_prompt(chat, pinned.made_for, sections))

    async def _read(self, chat: str) -> PinnedPrompt | None:
        """Return the stored system prompt of a chat, None when there is none. It is read from the database once."""
        live = self._chats.get_live(chat)
        if live is None or live.pinned_prompt is not None:
            return live.pinned_prompt if live else None
        row = await self._store.do(lambda tables: tables.read_system_prompt(chat))
        if row is not None:
            made_for, sections = row
            # A damaged row counts as none: then the prompt is composed again.
            with suppress(ValueError, TypeError):
                read = tuple(Section(source, text) for source, text in json.loads(sections))
                live.pinned_prompt = PinnedPrompt(made_for, read)
        return live.pinned_prompt
