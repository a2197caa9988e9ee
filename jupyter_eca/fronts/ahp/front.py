"""Owns the sessions of all clients of the Agent Host Protocol. Each chat of the host is one session. The front is one
subscriber of the host, and passes the events of a chat on to its session. The states of the sessions are JSON objects
that the clients share. They are in the hub (`hub.py`), which changes them by actions.

A session also has a summary, which clients show in their lists of sessions: its title, its status, its model and so on.
And it has a note: the facts that the events of its chat do not contain, such as queued messages. `persistence.py`
writes the notes to disk, so that they survive a restart of the server.

This module must not know the connections: `connection.py` calls the front, and the front sends through `hub.py`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import NotSaved, RemoteError
from jupyter_eca.fronts.ahp.customizations import list_customizations
from jupyter_eca.fronts.ahp.dialect import make_session_uri, parse_chat
from jupyter_eca.fronts.ahp.hub import Hub
from jupyter_eca.fronts.ahp.persistence import NoteStore
from jupyter_eca.fronts.ahp.reducers.base import Json, get_object, omit_none
from jupyter_eca.fronts.ahp.resources.files import Resources
from jupyter_eca.fronts.ahp.session import config as settings
from jupyter_eca.fronts.ahp.session import notes
from jupyter_eca.fronts.ahp.session.extras import disable_customizations, list_tools
from jupyter_eca.fronts.ahp.session.session import AhpSession
from jupyter_eca.fronts.ahp.terminals.terminals import Terminals
from jupyter_eca.fronts.guarded_work import GuardedWork
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.protocol.ahp import PROVIDER, ROOT, actions
from jupyter_eca.protocol.ahp.commands import AhpErrorCode
from jupyter_eca.protocol.chat import SUBAGENT
from jupyter_eca.protocol.lifecycle import ConfigUpdatedParams, ShowMessageParams
from jupyter_eca.protocol.mcp import ToolServerRemovedParams, ToolServerUpdatedParams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine
    from pathlib import Path
    from typing import Any

    from jupyter_eca.fronts.ahp.ports import NotedSession
    from jupyter_eca.fronts.base import Shells
    from jupyter_eca.fronts.client_access import AccessLevel
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.store import ChatRow
    from jupyter_eca.host.subscribers import ChatReload
    from jupyter_eca.protocol.ahp import commands
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks


_log = logging.getLogger(__name__)

# Seconds between two notifications about changed summaries. The changes in between are sent as one notification.
SUMMARY_PAUSE_SECONDS: Final = 0.1
# The fields of a summary that can change after the session was created.
_MUTABLE_FIELDS: Final = ("title", "status", "activity", "modifiedAt", "model", "project", "workingDirectory", "diffs")


class AhpFront:
    """A subscriber of the host (`host/subscribers.py`), and the owner of all sessions and terminals."""

    # A subscriber may offer these to the tools of the model. The clients of this protocol offer none of them.
    kernel: Kernel | None = None
    editor: Editor | None = None
    notebooks: Notebooks | None = None
    hub: Hub
    """The states of all sessions and terminals. It is made by `run`."""

    def __init__(self, host: Host, shells: Shells | None = None) -> None:
        self.host = host
        self.sessions: dict[str, AhpSession] = {}
        """The sessions in memory, by their URIs."""
        self.levels: dict[str, AccessLevel] = {}
        """The ids that clients have had, each with the highest access level of a client with this id."""
        self.last_client_seqs: dict[str, int] = {}
        """For each client, the number of its last action that was handled."""
        self.languages: dict[str, str] = {}
        """The language of each client whose language is not English."""
        # The tasks that drop sessions without subscribers, by the URI of the session.
        self.dropping: dict[str, asyncio.Task[None]] = {}
        self.terminals = Terminals(self, shells)
        self.resources = Resources(host)
        self._notes = NoteStore(host.store)
        # The ids of all chats that clients see as sessions, also of those that are not in memory.
        self._chats: set[str] = set()
        # For each session whose summary has changed since the last notification, the summary before the change.
        self._changed_summaries: dict[str, Json] = {}
        self._summary_changed = asyncio.Event()  # set when a summary has changed
        self._has_ended = False  # whether the server is ending, so that no session needs to be dropped any more
        self._work = GuardedWork("Agent Host Protocol")

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        """Serve clients while this context lasts. At the end, write the notes of the sessions to disk."""
        last_number = await self._notes.open()
        self._chats = {row.id for row in await self.host.chats.list_rows()} | self._notes.notes.keys()
        root: Json = {"agents": await settings.list_agents(self.host), "activeSessions": len(self._chats)}
        root = omit_none(**root, terminals=[] if self.terminals.is_available else None)
        self.hub = Hub(last_number, root, self._mark_summary_changed, self._reserve_numbers)
        self.hub.reserve_at = self._notes.reserve_at
        self.host.connect(self)
        self.host.changes.on_decision.append(self._refresh_sessions)
        try:
            async with asyncio.TaskGroup() as self._tasks:
                self.start(self._notes.run())
                self.start(self._publish_summaries())
                try:
                    yield
                finally:
                    self._has_ended = True
                    self._work.cancel()
        finally:
            self.host.changes.on_decision.remove(self._refresh_sessions)
            self.host.disconnect(self)
            await self.terminals.close()
            try:
                await self._notes.save()
            except NotSaved as error:
                _log.warning("notes of sessions are lost: %s", error)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        """Run work in a task. The task is cancelled when the front ends. An error in it is logged, and ends no other
        task."""
        return self._work.start(self._tasks, work)

    # -- sessions

    async def find_session(self, uri: str) -> AhpSession | None:
        """Return the session of a URI, and mark it as needed. Read it from the store if it is not in memory. Return
        None if there is no such session."""
        session = self.sessions.get(uri)
        if session is None:
            chat = parse_chat(uri)
            if chat is None:
                return None
            row = await self.host.chats.read_row(chat)
            session = self.sessions.get(uri)  # another client may have opened it in the meantime
            if session is None:
                is_foreign = row is not None and row.workspace != self.host.store.workspace
                if is_foreign or (row is None and chat not in self._notes.notes):
                    return None
                session = self._open_session(chat)
        session.is_needed = True
        await session.opened.wait()
        return session if self.hub.has(uri) else None

    def _open_session(self, chat: str) -> AhpSession:
        """Put a session into memory, and start to read its events from the store. New events that come meanwhile are
        applied after the stored ones."""
        note = self._notes.notes.get(chat, {})
        session = AhpSession(self, chat, dict(get_object(note, "messages")))
        self.sessions[session.uri] = session
        self.start(self._load(session, note))
        return session

    async def _load(self, session: AhpSession, note: Json) -> None:
        """Read the events of a session, and put it into the hub. If this fails, the session is not in memory any
        more."""
        try:
            await self.host.store.settle()  # wait until all events so far are in the database
            row = await self.host.chats.read_row(session.chat)
            await session.load(await self._build_state(session.uri, row, note))
            self._add_to_list(session)
        finally:
            if not self.hub.has(session.uri):
                self.sessions.pop(session.uri, None)
            session.opened.set()
            self._drop_later(session)

    def add_to_hub(self, session: NotedSession, state: Json) -> None:
        """Put the state of a session, which was built from stored events, into the hub. Add the fields that only the
        note contains."""
        self.hub.add_session(
            make_session_uri(session.chat), notes.apply_note(state, self._notes.notes.get(session.chat, {}))
        )

    async def _build_state(self, uri: str, row: ChatRow | None, note: Json) -> Json:
        """Build the state of a session without its turns.

        `row` is the row of its chat in the store, or None before its first turn. `note` is the note of the session, {}
        if there is none.
        """
        summary = notes.make_summary(uri, PROVIDER, row, note)
        schema = settings.describe_schema(self.host, str(get_object(summary, "model").get("id", "")))
        values: Json = {"agent": row.agent, "effort": row.variant} if row else {}
        values |= {"approval": settings.AUTO} if row and row.trust else {}
        config = {
            "schema": schema,
            "values": settings.complete_values(schema, {**values, **get_object(note, "values")}),
        }
        # The field `off` of a note has the URIs of the customizations that are disabled in the session.
        offered = disable_customizations(await list_customizations(self.host), set(note.get("off", ())))
        state: Json = {"summary": summary, "lifecycle": "ready", "turns": [], "config": config}
        state |= {"customizations": offered}
        return {**state, "serverTools": list_tools(self.host, parse_chat(uri) or "", state)}

    async def create(self, params: commands.CreateSession, folder: Path | None) -> AhpSession:
        """Create a session without a turn. The chat is created later, by its first prompt. `folder` is the working
        directory.

        Raises: RemoteError when another client has created a session with this URI.
        """
        chat, at = parse_chat(params.session) or "", now()
        if chat in self._notes.notes:
            raise RemoteError(f"{params.session} exists.", AhpErrorCode.SESSION_ALREADY_EXISTS)
        model = params.model.as_json_object() if params.model else None
        folder_uri = folder.as_uri() if folder else None
        note = omit_none(created=at, modified=at, title="", folder=folder_uri, model=model, values=params.config)
        self._notes.set_note(chat, note)
        session = AhpSession(self, chat)
        state = await self._build_state(session.uri, None, note)
        self.sessions[session.uri] = session
        self.hub.add_session(session.uri, {**state, "lifecycle": "creating"})
        session.begin_empty()
        self._drop_later(session)
        self._add_to_list(session)
        session.dispatch(actions.SessionReady(session=session.uri), at)
        await self._notes.save()
        return session

    def _add_to_list(self, session: AhpSession) -> None:
        """Notify all clients of a session that is new to them."""
        if session.chat not in self._chats:
            self._chats.add(session.chat)
            self.hub.notify({"type": "notify/sessionAdded", "summary": session.state["summary"]})
            self._publish_count()

    def _publish_count(self) -> None:
        """Update the number of sessions in the root."""
        self.hub.dispatch(ROOT, actions.ActiveSessionsChanged(active_sessions=len(self._chats)), now())

    def _remove_session(self, chat: str) -> None:
        """Forget a session whose chat was deleted, and notify all clients."""
        uri = make_session_uri(chat)
        self._notes.forget(chat)
        self._changed_summaries.pop(uri, None)
        self.host.toolbox.set_client_tools(chat, ())  # the model gets no tools of clients in this chat any more
        if session := self.sessions.pop(uri, None):
            session.close()
        if self.hub.has(uri):
            self.hub.remove(uri)
        if chat in self._chats:
            self._chats.discard(chat)
            self.hub.notify({"type": "notify/sessionRemoved", "session": uri})
            self._publish_count()

    async def list_summaries(self) -> list[Json]:
        """Return the summaries of all sessions. The session that was used last comes first."""
        await self.host.store.settle()
        rows = {row.id: row for row in await self.host.chats.list_rows()}
        known = self._notes.notes
        summaries = {
            chat: notes.make_summary(make_session_uri(chat), PROVIDER, rows.get(chat), known.get(chat, {}))
            for chat in {**rows, **known}
        }
        summaries |= {
            session.chat: session.state["summary"] for session in self.sessions.values() if self.hub.has(session.uri)
        }
        return sorted(summaries.values(), key=lambda summary: int(summary["modifiedAt"]), reverse=True)

    def has_session(self, uri: str) -> bool:
        """Return whether clients see a session with this URI. It may be only in the store."""
        return parse_chat(uri) in self._chats

    async def exists(self, uri: str) -> bool:
        """Return whether a URI is taken by a session, or by a chat of any workspace."""
        chat = parse_chat(uri) or ""
        return uri in self.sessions or chat in self._notes.notes or await self.host.chats.read_row(chat) is not None

    async def dispose(self, session: AhpSession) -> None:
        """Delete a session, its chat and its terminals. Raises: BusyError when another program runs a turn in the
        chat."""
        await self.terminals.dispose_of_session(session.uri)
        await self.host.chat_operations.delete(session.chat)

    def schedule_note(self, session: NotedSession) -> None:
        """Write the note of a session to disk soon."""
        self._notes.schedule(session)

    async def save_note(self, session: NotedSession, state: Json) -> None:
        """Write the note of a session to disk now. `state` is the state that the session will have next. Raises:
        NotSaved."""
        self._notes.set_note(session.chat, notes.make_note(state, session.messages, session.starting))
        await self._notes.save()

    def _reserve_numbers(self) -> int:
        """Start to reserve more numbers for actions. Return the number at which the hub must call this again."""
        self.start(self._notes.reserve_more())
        return self._notes.reserve_at

    def _mark_summary_changed(self, uri: str, before: Json) -> None:
        """Remember that the summary of a session has changed, for `_publish_summaries`. The hub calls this for each
        state that changed, with the state `before` the change."""
        if uri in self.sessions and self.hub.get_state(uri)["summary"] is not before["summary"]:
            self._changed_summaries.setdefault(uri, before["summary"])
            self._summary_changed.set()

    async def _publish_summaries(self) -> None:
        """Notify all clients of changed summaries, with a pause of `SUMMARY_PAUSE_SECONDS` between notifications."""
        while True:
            await self._summary_changed.wait()
            await asyncio.sleep(SUMMARY_PAUSE_SECONDS)
            self._summary_changed.clear()
            changed, self._changed_summaries = self._changed_summaries, {}
            for uri, before in changed.items():
                after = self.hub.get_state(uri)["summary"]
                # The notification cannot remove a field. So an activity that has ended is sent as an empty text.
                changes = {name: after.get(name, "") for name in _MUTABLE_FIELDS if after.get(name) != before.get(name)}
                if changes:
                    self.hub.notify({"type": "notify/sessionSummaryChanged", "session": uri, "changes": changes})

    async def wait_until_done(self) -> None:
        """Wait until all work that clients have started in sessions is done."""
        for session in list(self.sessions.values()):
            await session.wait_until_done()

    # -- the subscriber: the host calls these methods, which `host/subscribers.py` describes

    def sees(self, chat: str) -> bool:
        """Return whether clients see the chat as a session. They do not see the chat of a subagent, because its result
        is part of a tool call."""
        return not chat.startswith(SUBAGENT)

    def approves(self, chat: str) -> bool:
        """Return whether a client that may approve tool calls is subscribed to the chat's session."""
        return self.hub.has_approver(make_session_uri(chat))

    # A client that may approve may answer questions too.
    answers = approves

    def reviews(self, chat: str) -> bool:  # noqa: ARG002  # sessions do not list changes with Keep and Undo
        """Return False: the sessions of AHP have no list of changes with Keep and Undo."""
        return False

    def show(self, events: list[Event]) -> None:
        """Pass new events to their sessions. A session that is not in memory is opened."""
        for event in events:
            session = self.sessions.get(make_session_uri(event.chat)) or self._open_session(event.chat)
            session.show([event])

    def tell(self, notice: Notice) -> None:
        """React to a notice of the host that sessions have to show. All other notices are for clients of ECA."""
        match notice:
            case Notice(method="chat/deleted", chat=str(chat)):
                self._remove_session(chat)
            case Notice(params=ShowMessageParams(message=message), chat=str(chat)):
                if (session := self.sessions.get(make_session_uri(chat))) and self.hub.has(session.uri):
                    session.show_message(message)
            case Notice(params=ConfigUpdatedParams()):
                self.start(self._publish_agents())
                self._refresh_sessions()
            case Notice(params=ToolServerUpdatedParams(type="mcp") | ToolServerRemovedParams()):
                self._refresh_sessions()
            case _:
                pass

    def reload_chat(self, reload: ChatReload) -> None:
        """Read a chat again after turns were removed from it. Open it if it is a new copy of another chat."""
        if session := self.sessions.get(make_session_uri(reload.chat)):
            self.start(session.reread())
        else:
            self._open_session(reload.chat)

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the users of a session a question, and wait for the answer. Raises: RemoteError."""
        session = await self.find_session(make_session_uri(str(question.chat_id)))
        if session is None:
            raise RemoteError("there is no such session")
        return await session.input_requests.ask(question)

    async def _publish_agents(self) -> None:
        """Update the agents in the root, after the configuration has changed."""
        agents = await settings.list_agents(self.host)
        if agents != self.hub.get_state(ROOT)["agents"]:
            self.hub.dispatch(ROOT, actions.AgentsChanged(agents=agents), now())

    def _refresh_sessions(self, chat: str | None = None) -> None:
        """Refresh all parts of the sessions except their turns. Called without a chat when the configuration or the
        tool servers have changed. Called with a chat when the user has kept or reverted changes in this chat."""
        for session in self.sessions.values():
            if chat in {None, session.chat}:
                session.refresh()

    # -- clients

    def handle_unsubscribe(self, uri: str) -> None:
        """Drop a session later if it has no subscriber any more. Called after a client has unsubscribed."""
        if self._has_ended:
            return
        if (session := self.sessions.get(uri)) and not self.hub.is_watched(uri):
            self.host.unattended_calls.restart_timer(session.chat)
            self._drop_later(session)

    def _drop_later(self, session: AhpSession) -> None:
        """Start the task that drops a session from memory, unless it runs already."""
        if session.uri not in self.dropping:
            self.dropping[session.uri] = self.start(self._drop(session))

    async def _drop(self, session: AhpSession) -> None:
        """Wait until a session has no subscriber and is idle, and drop it from memory. It is read from the store again
        when it is needed. If a client subscribes while this waits, the session stays in memory."""
        uri = session.uri
        try:
            while self.sessions.get(uri) is session:
                session.is_needed = False
                await asyncio.sleep(self.host.unattended_calls.grace)  # the seconds in which a client may come back
                if self.hub.is_watched(uri):
                    return
                session.input_requests.cancel_all()
                if self.sessions.get(uri) is session and session.is_idle and uri not in self._changed_summaries:
                    self._notes.make_pending_note(session)
                    self.hub.forget(uri)
                    del self.sessions[uri]
        finally:
            del self.dropping[uri]

    def remove_client(self, client: str, subscriptions: set[str]) -> None:
        """Forget a client that has left. `subscriptions` are the URIs of the resources that it was subscribed to."""
        for uri in subscriptions:
            self.handle_unsubscribe(uri)
        for session in list(self.sessions.values()):
            if self.hub.has(session.uri):
                session.remove_client(client)
