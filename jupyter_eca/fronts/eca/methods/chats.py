"""Owns the methods of ECA on the chats of the workspace: list, open, roll back, fork, flag and delete them, and rate
their answers. A flag is a named mark at a message. To fork means to copy a chat up to a message.

It must not know how chats are stored: `host/operations/` and `host/store/` do.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.policy.document import Feature
from jupyter_eca.errors import RemoteError, UnknownChat
from jupyter_eca.fronts.eca import choices
from jupyter_eca.fronts.eca.config_rights import check_may_approve
from jupyter_eca.fronts.eca.projection import make_content, merge_subagents, place_flags
from jupyter_eca.host.chat.live_chat import Choice, get_stored_choice
from jupyter_eca.host.operations.chat_search import find_chats
from jupyter_eca.host.operations.chats import CursorExpired
from jupyter_eca.protocol import chats, lifecycle
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.content import MetadataContent, RatingContent, Role
from jupyter_eca.protocol.dialect import Dialect
from jupyter_eca.protocol.event import Event, Outcome, merge_pieces
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from jupyter_eca.engine.chat.pagination import Page
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.host.turn.subagents import Span
    from jupyter_eca.protocol.chat import ChatContentReceivedParams


async def open(session: EcaSession, params: chats.ChatOpenParams) -> chats.ChatOpenResult:
    """Send a chat, or a page of it, to the client again.

    A client with the capability `envelope` (it understands the numbers of events) sends the number of the last event
    that it knows, and gets the events after it. If this event is gone, the client gets the whole chat.
    """
    id = session.find_chat(params.chat_id)
    before, after = _parse_cursor(params.before), _parse_cursor(params.after)
    operations = session.host.chat_operations
    async with session.replaying():
        try:
            # Since the client connected again, it has already got events after the one that it names. Missed pieces of
            # a text would be joined with these events, whose text would then be sent twice. So the whole chat is sent.
            if after is not None and session.capabilities.envelope and session.last_shown.get(id, 0) > after:
                after = None
            page = await operations.read_page(id, params.limit, before, after)
        except UnknownChat:
            return chats.ChatOpenResult(found=False)
        except CursorExpired as error:
            if not session.capabilities.envelope:
                expired = chats.PageError(code=chats.PageErrorCode.CURSOR_EXPIRED, message=str(error))
                return chats.ChatOpenResult(found=True, chat_id=params.chat_id, error=expired)
            after, page = None, await operations.read_page(id, params.limit, None, None)
        # A client without `envelope` draws a flag where it receives it. So it gets each flag right after its message.
        flags = () if session.capabilities.envelope else await operations.list_flags(id)
        row = await session.host.chats.read_row(id)
        title = row.title if row else None
        session.wire_ids.setdefault(id, params.chat_id)
        within = _find_span(page, after)
        await session.send_past_events(id, title, page.events, flags, clear_first=after is None, within=within)
        live = session.host.chats.get_live(id)
        selection = _make_selection(session, live.choice if live else get_stored_choice(row))
        await _notify_selection(session, id, title, selection)
        if options := session.host.outside_agents.list_options(id):
            config = lifecycle.ChatConfig(agent_options=options)
            await session.notify("config/updated", lifecycle.ConfigUpdatedParams(chat=config), id)
        if unsaved := session.host.notices.describe_unsaved(id):
            await session.notify("$/showMessage", unsaved, id)
        usage, tasks = None, None
        if session.capabilities.envelope and page.before is not None and page.events:
            usage, tasks = await operations.read_earlier_state(id, page.events[0].seq)
    return chats.ChatOpenResult(
        found=True,
        chat_id=params.chat_id,
        title=title,
        selection=selection,
        meta=_make_page_meta(page),
        usage=usage,
        tasks=tasks,
    )


async def read_selection(session: EcaSession, params: chats.ChatSelectionParams) -> chats.ChatSelection:
    """Return what the next turn of a chat runs with. A new chat begins with what the user has chosen before."""
    id = None if params.chat_id is None else session.host_id(params.chat_id)
    known = id if id is not None and session.sees(id) else None
    return _make_selection(session, await choices.read_choice(session, known, params.notebook))


def _make_selection(session: EcaSession, chosen: Choice) -> chats.ChatSelection:
    """Return the model, agent, variant and trust of a turn that runs with a choice."""
    choice = session.host.setups.fill_defaults(chosen)
    variants = session.host.catalog.variants(choice.model)
    # An agent may name a variant that the model does not have. The model ignores it, so it is not shown.
    variant = choice.variant if choice.variant in {chosen.variant, *variants} else None
    return chats.ChatSelection(
        model=choice.model or None, agent=choice.agent, variant=variant, variants=variants, trust=bool(choice.trust)
    )


async def _notify_selection(session: EcaSession, id: str, title: str | None, selection: chats.ChatSelection) -> None:
    """Send the selection as notifications, in the order of the reference server: title, model and variants, trust."""
    if title is not None and not session.capabilities.envelope:
        event = Event(chat=id, turn="", role=Role.SYSTEM, content=MetadataContent(title=title))
        await session.notify("chat/contentReceived", make_content(event, session.wire_id(id), envelope=False))
    for config in (
        lifecycle.ChatConfig(
            select_model=selection.model,
            select_agent=selection.agent,
            variants=selection.variants,
            select_variant=selection.variant or "",
        ),
        lifecycle.ChatConfig(select_trust=selection.trust),
    ):
        await session.notify("config/updated", lifecycle.ConfigUpdatedParams(chat=config), id)


async def read_history(session: EcaSession, params: chats.ChatHistoryParams) -> chats.ChatHistoryResult:
    """Return a page of a chat, without any notification."""
    id = session.find_chat(params.chat_id)
    try:
        page = await session.host.chat_operations.read_page(
            id,
            params.limit,
            _parse_cursor(params.before),
            _parse_cursor(params.after),
            since_summary=params.after == LAST_SUMMARY,
        )
    except UnknownChat as error:
        code = chats.PageErrorCode.CHAT_NOT_FOUND
        return chats.ChatHistoryResult(error=chats.PageError(code=code, message=str(error)))
    except CursorExpired as error:
        code = chats.PageErrorCode.CURSOR_EXPIRED
        return chats.ChatHistoryResult(error=chats.PageError(code=code, message=str(error)))
    if session.capabilities.envelope:
        subagent_events = merge_pieces(
            await session.host.subagents.read_events(id, *_find_span(page, _parse_cursor(params.after)))
        )
        contents = [_make_page_content(session, id, event) for event in merge_subagents(page.events, subagent_events)]
    else:
        events = place_flags(page.events, await session.host.chat_operations.list_flags(id))
        contents = [
            make_content(event, session.wire_id(id), envelope=False)
            for event in events
            if not isinstance(event.content, RatingContent)
        ]
    return chats.ChatHistoryResult(contents=tuple(contents), meta=_make_page_meta(page))


def _make_page_content(session: EcaSession, id: str, event: Event) -> ChatContentReceivedParams:
    """Make the content of an event of a page. An event of a subagent names the parent's chat."""
    parent = None if event.chat == id else session.wire_id(id)
    return make_content(event, session.wire_id(event.chat), envelope=True, parent=parent)


# The cursor that ECA calls `lastCompaction`: the place of the last summary of the conversation.
LAST_SUMMARY: Final = "lastCompaction"


def _parse_cursor(cursor: chats.Cursor | None) -> int | None:
    """Return the number in a cursor; None if there is no cursor. A cursor that is not a number gives -1, the beginning
    of the chat."""
    if cursor in (None, "", 0, "0", LAST_SUMMARY):
        return None
    return int(cursor) if str(cursor).isascii() and str(cursor).isdecimal() else -1


def _find_span(page: Page, after: int | None) -> Span:
    """Return the part of the chat that a page shows: the number of the event before it, and of its last event, or None
    if it goes to the end. `after` is the number that the client has sent."""
    first, last = (page.events[0].seq - 1, page.events[-1].seq) if page.events else (0, 0)
    return after or (first if page.before is not None else 0), last if page.after is not None else None


def _make_page_meta(page: Page) -> chats.PageMeta:
    """Describe a page for the client: its size, and the cursors of its neighbours."""
    return chats.PageMeta(
        total=page.total,
        returned=len(page.events),
        before_cursor=page.before,
        after_cursor=page.after,
        compaction_cursor=page.summary,
    )


async def list(session: EcaSession, params: chats.ChatListParams) -> chats.ChatListResult:
    """List the chats that the client may see. The chat that was used last comes first, unless another order is asked
    for."""
    if params.notebook and session.door.sees_all_chats:
        await session.host.notebook_ids.follow_move(params.notebook)
    rows = [row for row in await session.host.chats.list_rows() if session.sees(row.id)]
    if params.sort_by == "createdAt":
        rows.sort(key=lambda row: row.created, reverse=True)
    names_people = session.dialect is Dialect.OWN and session.door.sends_user_names
    # Only the chats that match the query have an excerpt here.
    excerpts = await find_chats(session.host.services.store, rows, params.query or "")
    return chats.ChatListResult(
        chats=tuple(
            chats.ChatSummary(
                id=session.wire_id(row.id),
                title=row.title,
                status=session.host.chats.get_status(row.id),
                created_at=row.created,
                updated_at=row.updated,
                model=row.model,
                message_count=row.prompts,
                notebook=row.notebook,
                waiting=session.host.chats.is_waiting(row.id) or None,
                asked_by=session.host.chats.find_asker(row.id) if names_people else None,
                outcome=Outcome(row.outcome) if row.outcome else None,
                excerpt=excerpts[row.id] or None,
            )
            for row in [row for row in rows if row.id in excerpts][: params.limit]
        )
    )


async def clear(session: EcaSession, params: chats.ChatClearParams) -> Done:
    """Remove the messages of a chat, or only its numbers of tokens and costs, as the params say. The chat itself
    stays."""
    await session.host.chat_operations.clear(session.find_chat(params.chat_id), messages=params.messages)
    return Done()


async def delete(session: EcaSession, params: chats.ChatDeleteParams) -> Done:
    """Delete a chat. Succeeds also for a chat that does not exist."""
    if params.chat_id is not None:
        id = session.find_chat(params.chat_id)
        if params.undoable:
            await session.host.deletions.delete(id)
        else:
            await session.host.chat_operations.delete(id)
    return Done()


async def restore(session: EcaSession, params: chats.ChatRestoreParams) -> Done:
    """Bring back a deleted chat. Raises: UnknownChat when that is not possible any more."""
    await session.host.deletions.restore(session.find_chat(params.chat_id))
    return Done()


async def rollback(session: EcaSession, params: chats.ChatRollbackParams) -> Done:
    """Remove a message and all messages after it, or undo what their tools have changed, or both."""
    include = params.include or ("messages", "tools")
    await session.host.chat_operations.rollback(
        session.find_chat(params.chat_id), params.content_id, messages="messages" in include, files="tools" in include
    )
    return Done()


async def fork(session: EcaSession, params: chats.ChatForkParams) -> Done:
    """Copy a chat up to the end of a turn into a new chat."""
    new = uuid.uuid4().hex
    id = session.find_chat(params.chat_id)
    session.wire_ids[new] = new
    await session.host.chat_operations.fork(id, params.content_id, new)
    return Done()


async def add_flag(session: EcaSession, params: chats.ChatAddFlagParams) -> Done:
    """Set a named mark at a message."""
    await session.host.chat_operations.flag(session.find_chat(params.chat_id), params.content_id, params.text)
    return Done()


async def remove_flag(session: EcaSession, params: chats.ChatRemoveFlagParams) -> Done:
    """Remove the mark at a message."""
    await session.host.chat_operations.unflag(session.find_chat(params.chat_id), params.content_id)
    return Done()


async def rate_answer(session: EcaSession, params: chats.ChatRateAnswerParams) -> Done:
    """Rate the answer after a message."""
    id = session.find_chat(params.chat_id)
    await session.host.chat_operations.rate_answer(id, params.content_id, params.rating)
    return Done()


async def update(session: EcaSession, params: chats.ChatUpdateParams) -> Done:
    """Change the title of a chat, or whether its tool calls run without approval."""
    id = session.find_chat(params.chat_id)
    if params.title is not None:
        await session.host.chat_operations.rename(id, params.title)
    if params.trust is not None:
        check_may_approve(session)
        if params.trust and (refusal := session.host.config.policy.find_feature_refusal(Feature.TRUST)):
            raise RemoteError(refusal, ErrorCode.REFUSED)
        await session.host.chats.load(id)
        session.host.turns.choose(id, Choice(trust=params.trust))
    return Done()


HANDLERS: Final = {
    "chat/open": open,
    "chat/history": read_history,
    "chat/list": list,
    "chat/selection": read_selection,
    "chat/clear": clear,
    "chat/delete": delete,
    "chat/restore": restore,
    "chat/rollback": rollback,
    "chat/fork": fork,
    "chat/addFlag": add_flag,
    "chat/removeFlag": remove_flag,
    "chat/rateAnswer": rate_answer,
    "chat/update": update,
}
