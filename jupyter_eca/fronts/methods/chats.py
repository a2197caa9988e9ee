"""The chats of the workspace: listed, opened again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.audience import Notice
from jupyter_eca.errors import UnknownChat
from jupyter_eca.protocol import chats

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca import EcaSession


async def open(session: EcaSession, params: chats.ChatOpenParams) -> chats.ChatOpenResult:
    """Everything that had been shown, in order; with `after`, what came after that sequence number."""
    id = session.known(params.chat_id)
    after = int(params.after or 0)
    try:
        events = await session.host.replay(id, after)
    except UnknownChat:
        return chats.ChatOpenResult(found=False)
    row = await session.host.chat(id)
    title = row.title if row else None
    before = [
        Notice("chat/cleared", chats.ChatClearedParams(chat_id=params.chat_id)),
        Notice("chat/opened", chats.ChatOpenedParams(chat_id=params.chat_id, title=title)),
    ]
    await session.replay(id, after, [] if after else before, events)
    return chats.ChatOpenResult(found=True, chat_id=params.chat_id, title=title)


async def list(session: EcaSession, params: chats.ChatListParams) -> chats.ChatListResult:
    rows = [row for row in await session.host.chats() if session.sees(row.id)]
    return chats.ChatListResult(
        chats=tuple(
            chats.ChatSummary(
                id=session.wire_id(row.id),
                title=row.title,
                status=chats.ChatStatus.RUNNING if session.host.running(row.id) else chats.ChatStatus.IDLE,
                created_at=row.created,
                updated_at=row.updated,
                model=row.model,
                message_count=row.prompts,
            )
            for row in rows[: params.limit]
        )
    )


HANDLERS: Final = {"chat/open": open, "chat/list": list}
