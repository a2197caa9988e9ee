"""Owns the methods that list contexts while a user types `@`, and files while a user types `#`.

`plugins/contexts/` owns the contexts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.plugins.contexts.resolve import MAX_OFFERED, list_offers
from jupyter_eca.protocol import context

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.base import ChatId


async def query_contexts(session: EcaSession, params: context.ChatQueryContextParams) -> context.ChatQueryContextResult:
    _begin_query(session, params.chat_id)
    live = session.capabilities.notebook or session.capabilities.kernel
    offers = await list_offers(_make_context(session, params.chat_id), params.query, params.contexts, live=live)
    return context.ChatQueryContextResult(contexts=tuple(offers), chat_id=params.chat_id)


async def query_files(session: EcaSession, params: context.ChatQueryFilesParams) -> context.ChatQueryFilesResult:
    _begin_query(session, params.chat_id)
    entries = await _make_context(session, params.chat_id).index.search(params.query, MAX_OFFERED)
    queried = tuple(
        context.QueriedFile(type="directory" if entry.is_directory else "file", path=entry.path) for entry in entries
    )
    return context.ChatQueryFilesResult(files=queried, chat_id=params.chat_id)


def _begin_query(session: EcaSession, chat_id: ChatId | None) -> None:
    """Warm up the model of the chat, because the user is typing a prompt."""
    chat = "" if chat_id is None else str(chat_id)
    chosen = session.choices.get(chat) or session.choices.get("")
    session.start(session.host.warming.warm(chat, chosen.model if chosen else ""))


def _make_context(session: EcaSession, chat_id: ChatId | None) -> Surroundings:
    """Return what the contexts are listed from. Nothing of the chat itself is used, because it may not exist yet."""
    return session.host.tool_contexts.build_surroundings("" if chat_id is None else str(chat_id), session.kernel)


HANDLERS: Final = {"chat/queryContext": query_contexts, "chat/queryFiles": query_files}
