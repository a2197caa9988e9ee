"""Owns the methods of ECA that list contexts while a user types `@`, and files while a user types `#`.

A context is what the model reads together with a prompt, such as a file, a cell or a variable. `plugins/contexts/` owns
the contexts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.plugins.contexts.resolve import MAX_OFFERED, list_offers
from jupyter_eca.protocol import context

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.base import ChatId


async def query_contexts(session: EcaSession, params: context.ChatQueryContextParams) -> context.ChatQueryContextResult:
    """Return the contexts that match what the user has typed. Contexts of a live notebook, such as variables, are
    offered only to clients that have a live notebook."""
    _warm_up(session, params.chat_id)
    live = session.capabilities.notebook or session.capabilities.kernel
    surroundings = _build_surroundings(session, params.chat_id)
    offers = await list_offers(surroundings, params.query, params.contexts, live=live)
    # Whether the variables are missing among the offers, because the kernel did not answer in time.
    lacks_variables = live and surroundings.recent_looks.lacks_variables(surroundings)
    return context.ChatQueryContextResult(
        contexts=tuple(offers), chat_id=params.chat_id, lacks_variables=lacks_variables or None
    )


async def query_files(session: EcaSession, params: context.ChatQueryFilesParams) -> context.ChatQueryFilesResult:
    """Return the files and folders that match what the user has typed."""
    _warm_up(session, params.chat_id)
    surroundings = _build_surroundings(session, params.chat_id)
    entries = await surroundings.index.search(params.query, MAX_OFFERED)
    start = str(surroundings.files.start.resolve())
    queried = tuple(
        context.QueriedFile(
            type="directory" if entry.is_directory else "file",
            path=entry.path,
            relative_path=_make_relative(entry.path, start),
        )
        for entry in entries
    )
    return context.ChatQueryFilesResult(files=queried, chat_id=params.chat_id)


def _make_relative(path: str, start: str) -> str | None:
    """Return a path relative to `start`, the folder in which relative paths of a message begin; None if the path is on
    another drive."""
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:
        return None


def _warm_up(session: EcaSession, chat_id: ChatId | None) -> None:
    """Prepare the model of the chat, so that it answers sooner: the user is typing a prompt."""
    chat = "" if chat_id is None else str(chat_id)
    chosen = session.choices.get(chat) or session.choices.get("")
    session.start(session.host.warmup.warm(chat, chosen.model if chosen else ""))


def _build_surroundings(session: EcaSession, chat_id: ChatId | None) -> Surroundings:
    """Return what the contexts are listed from: files, notebooks and kernels. Nothing of the chat itself is used,
    because it may not exist yet."""
    return session.host.tool_contexts.build_surroundings("" if chat_id is None else str(chat_id), session.kernel)


HANDLERS: Final = {"chat/queryContext": query_contexts, "chat/queryFiles": query_files}
