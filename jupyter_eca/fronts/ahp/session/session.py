"""Owns one session of the Agent Host Protocol: events of its chat become actions for the clients, and actions of
clients become calls of the host. An action is a message that changes the state of the session, which is a JSON object
that all clients share. To dispatch an action means to apply it to the state and to send it to all clients.

It must not know the front, which it sees only as `ports.SessionFront`. `projection.py` makes actions of events,
`action_rules.py` decides which actions of clients are allowed, `input_requests.py` owns the questions to the user, and
`client_tools.py` owns the tools that a client offers.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.errors import EcaError, NotSaved, UnknownChat
from jupyter_eca.fronts.ahp.dialect import make_session_uri
from jupyter_eca.fronts.ahp.locales import ENGLISH, LANGUAGES
from jupyter_eca.fronts.ahp.reducers import reduce_session
from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object, replace_fields
from jupyter_eca.fronts.ahp.reducers.status import list_calls
from jupyter_eca.fronts.ahp.resources import client_files
from jupyter_eca.fronts.ahp.resources.client_files import ClientCustomizations
from jupyter_eca.fronts.ahp.session import config
from jupyter_eca.fronts.ahp.session.action_rules import refuse_session_action
from jupyter_eca.fronts.ahp.session.client_tools import GRACE_SECONDS, ClientTools, make_denied_result
from jupyter_eca.fronts.ahp.session.extras import SessionExtras
from jupyter_eca.fronts.ahp.session.input_requests import InputRequests
from jupyter_eca.fronts.ahp.session.notes import NOTED_ACTIONS
from jupyter_eca.fronts.ahp.session.projection import SessionProjection
from jupyter_eca.fronts.ahp.session.tool_calls import REMEMBER, describe_denial
from jupyter_eca.host.chat.live_chat import Prompt, now
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.ahp.content import ErrorInfo, ModelSelection, UserMessage
from jupyter_eca.protocol.ahp.state import ActiveClient
from jupyter_eca.protocol.content import MetadataContent
from jupyter_eca.protocol.event import Outcome, merge_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from typing import Any

    from jupyter_eca.fronts.ahp.hub import ActionOrigin
    from jupyter_eca.fronts.ahp.locales import Wording
    from jupyter_eca.fronts.ahp.ports import SessionFront
    from jupyter_eca.fronts.ahp.resources.client_files import SendRequest
    from jupyter_eca.protocol.event import Event, Person

_log = logging.getLogger(__name__)

# The actions that contain a text of the user. The text must not be lost, even if the server crashes.
_USER_TEXTS: Final = (actions.TurnStarted, actions.PendingMessageSet, actions.TitleChanged)

# The client sees this text when it approves a call of its own tool that has to wait for earlier calls.
QUEUED: Final = "This call is approved. It starts when the calls before it have ended."

# The error of a turn that could not begin because of a bug.
_FAILED: Final = "The turn could not begin: %r"

# The actions that change the tools or the customizations of a session.
_SETUP_ACTIONS: Final = (actions.ConfigChanged, actions.CustomizationToggled, actions.ActiveClientChanged)


class AhpSession:
    """One session. It is also the `PromptSender` of the turns that its clients start: the host's name for the client
    that has sent a prompt."""

    def __init__(self, front: SessionFront, chat: str, messages: dict[str, Json] | None = None) -> None:
        """Make a session of a chat. `messages` are the stored messages with attachments, by the id of the turn."""
        self.chat = chat
        """The id of the chat."""
        self.uri = make_session_uri(chat)
        self.messages = messages or {}
        """The messages with attachments, by the id of the turn. The events of the chat have only their texts."""
        self.client_tools = ClientTools(self._find_tool_client)
        """The tools that the active client offers to the model."""
        self.opened = asyncio.Event()
        """Set when the stored events were read, or could not be read."""
        self.is_needed = False
        """Whether a request has asked for the session since the last attempt to drop it from memory."""
        self._front = front
        self._host = front.host
        # The state until the stored events are read. After that, the hub has the state.
        self._draft: Json = {}
        # While stored events are read, new events wait here. None at all other times.
        self._waiting_events: list[Event] | None = []
        # The number of the last event that was projected.
        self._last_seq = 0
        # Operations on the chat run in the order in which clients requested them.
        self._order = asyncio.Lock()  # a lock of asyncio is given to the tasks in the order in which they ask for it
        # The turns that clients have started and that have no event yet. The turn of a refused prompt never has one.
        self._turns_without_events: set[str] = set()
        self.starting: dict[str, Json] = {}
        """The messages of turns that have not begun yet, by the id of the turn."""
        # The tasks that start turns, by the id of the turn.
        self._start_tasks: dict[str, asyncio.Task[None]] = {}
        self.input_requests = InputRequests(self.uri, lambda: self.state, self.dispatch)
        """The open questions to the users of the session."""
        # The tasks that end the tools and the calls of clients that have left, by the id of the client.
        self._leaving: dict[str, asyncio.Task[None]] = {}
        self._refresh_pending = False  # whether a refresh was requested that has not begun
        # Titles that clients have set, and whose events have not come back from the chat yet: the title, the action of
        # the client, and its origin.
        self._pending_renames: list[tuple[str, Json, ActionOrigin]] = []
        self._work: set[asyncio.Task[None]] = set()  # the operations on the chat that wait or run
        # Updates the customizations, the tools and the changed files in the state.
        self._extras = SessionExtras(front.host, chat, self.uri, lambda: self.state, self.dispatch)
        # Reads the files with which the active client customizes the session.
        self._client_customizations = ClientCustomizations(self.uri, lambda: self.state, self.dispatch)
        root = front.host.workspace.files.roots[0]
        # Makes actions of the events of the chat.
        self._projection = SessionProjection(
            self.uri, lambda: self.state, root, self.messages, lambda: self.client_tools.owner, self._get_wording
        )

    @property
    def state(self) -> Json:
        """The current state, which clients see."""
        return self._front.hub.get_state(self.uri) if self._front.hub.has(self.uri) else self._draft

    @property
    def is_idle(self) -> bool:
        """Whether the session can be dropped from memory: nothing runs in it, and everything about it is on disk. A
        session that `is_needed` may be used at any moment, so it is not idle."""
        live = self._host.chats.get_live(self.chat)
        has_work = (
            self._order.locked()
            or self._start_tasks
            or self.input_requests.has_open
            or self.client_tools.owner
            or self._waiting_events
        )
        return self.opened.is_set() and not (
            self.is_needed or self.turn or has_work or (live is not None and live.is_busy)
        )

    @property
    def turn(self) -> str:
        """The id of the active turn; "" if no turn is active."""
        return str(get_object(self.state, "activeTurn").get("id", ""))

    def _get_wording(self) -> Wording:
        """Return the texts for users, in the language of the newest subscriber."""
        return LANGUAGES[self._front.hub.find_language(self.uri) or ENGLISH]

    # -- the events of the chat

    def begin_empty(self) -> None:
        """Open a session whose chat has no events."""
        self._waiting_events = None
        self.opened.set()

    async def load(self, state: Json) -> None:
        """Build the state from the stored events, and put it into the hub. `state` is the state without turns."""
        self._draft = state
        # Reading closes a turn that was running when the server died. It fails if the chat has no turn yet, or if
        # another program answers in it.
        with suppress(EcaError):
            await self._host.chats.load(self.chat, must_exist=True)
        events = await self._host.chats.read_events(self.chat)
        for event in merge_pieces(events):
            for action in self._projection.project(event):
                self._draft = reduce_session(self._draft, action.as_json_object(), event.at)
        modified = max(state["summary"]["modifiedAt"], self._draft["summary"]["modifiedAt"])
        self._draft = replace_fields(self._draft, summary=replace_fields(self._draft["summary"], modifiedAt=modified))
        self._front.add_to_hub(self, self._draft)
        self._catch_up(events)
        self._show_unsaved()
        self.refresh()

    def show_message(self, message: str) -> None:
        """Show a message to the user. The protocol has no messages, so it is sent as the activity, which clients show
        beside a session."""
        self.dispatch(actions.ActivityChanged(session=self.uri, activity=message))

    def _show_unsaved(self) -> None:
        """Show a message if the chat cannot be stored now."""
        if unsaved := self._host.notices.describe_unsaved(self.chat):
            self.show_message(unsaved.message)

    def _catch_up(self, events: list[Event]) -> None:
        """Project the events that came while the stored `events` were read. An event that is stored too is not
        projected a second time."""
        self._last_seq = max([self._last_seq, *(event.seq for event in events)])
        new_events, self._waiting_events = self._waiting_events or [], None
        self.show(new_events)

    def show(self, events: Iterable[Event]) -> None:
        """Project new events of the chat. An event that was projected before is ignored."""
        for event in events:
            if self._waiting_events is not None:
                self._waiting_events.append(event)
            elif not 0 < event.seq <= self._last_seq:  # an event without a number (0) is never stored
                self._last_seq = max(self._last_seq, event.seq)
                self._project(event)

    def _project(self, event: Event) -> None:
        """Dispatch the actions of a new event. After a turn has ended, refresh the session and start the next queued
        message."""
        if not self._echo_rename(event):
            for action in self._projection.project(event):
                self.dispatch(action, event.at)
        if event.is_message:
            self._turns_without_events.discard(event.turn)
            self.starting.pop(event.turn, None)
            self._cancel_other_starts(event.turn)
            self._publish_model()
        if event.outcome is Outcome.FAILED:
            self._start(self._publish_next_model)
        if event.outcome is not None:
            self._show_unsaved()
            self.refresh()
        if event.outcome is Outcome.COMPLETED:
            self.start_next_turn()

    def _echo_rename(self, event: Event) -> bool:
        """If the event is a title that a client has set, send the client's own action to all clients, and return True.
        The protocol requires that a client can recognise its own action when it comes back."""
        if not isinstance(event.content, MetadataContent):
            return False
        for rename in self._pending_renames:
            title, raw, origin = rename
            if title == event.content.title:
                self._pending_renames.remove(rename)
                self._apply(raw, event.at, origin)
                return True
        return False

    def _publish_model(self) -> None:
        """Show the model that the turn runs with. A prompt from another program may have chosen another model than the
        session shows."""
        live = self._host.chats.get_live(self.chat)
        model = live.state.setup.model if live else ""
        if model and get_object(self.state["summary"], "model").get("id") != model:
            self.dispatch(actions.ModelChanged(session=self.uri, model=ModelSelection(id=model)))

    async def _publish_next_model(self) -> None:
        """Show the model that the next turns will run with. If the chosen model does not exist, it is another one."""
        with suppress(EcaError):
            model = await self._host.turns.get_model(self.chat)
            shown = get_object(self.state["summary"], "model").get("id") if self._front.hub.has(self.uri) else model
            if model and shown != model and not self.turn:
                self.dispatch(actions.ModelChanged(session=self.uri, model=ModelSelection(id=model)))

    async def reread(self) -> None:
        """Read the chat again after turns were removed from it: remove these turns, and add the turns that are new."""
        async with self._order:
            self._waiting_events = self._waiting_events or []
            events: list[Event] = []
            try:
                events = await self._host.chats.read_events(self.chat)
                if self._front.hub.has(self.uri):  # the session may have been deleted meanwhile
                    self._apply_stored(events)
            finally:
                self._catch_up(events)

    def _apply_stored(self, events: list[Event]) -> None:
        """Make the turns of the state the same as those in the stored events."""
        kept_turns = self._find_kept_turns(list(dict.fromkeys(event.turn for event in events if event.turn)))
        if kept_turns is not None:
            self.dispatch(actions.TurnsTruncated(session=self.uri, turn_id=kept_turns[-1] if kept_turns else None))
            self._projection.forget()
        present = {*(str(turn["id"]) for turn in get_list(self.state, "turns")), self.turn}
        new_events = (
            event for event in events if event.seq > self._last_seq or (event.turn and event.turn not in present)
        )
        for event in merge_pieces(new_events):
            self._project(event)

    def _find_kept_turns(self, stored: list[str]) -> list[str] | None:
        """Return the ids of those turns of the state that come before the first turn which is no longer stored. Return
        None if all are stored. `stored` has the ids of the stored turns, in their order."""
        known = [str(turn["id"]) for turn in get_list(self.state, "turns")] + ([self.turn] if self.turn else [])
        kept_turns: list[str] = []
        remaining = iter(stored)
        for id in known:
            # A turn that was just started has no stored event yet.
            if id not in self._turns_without_events and next(remaining, None) != id:
                return kept_turns
            kept_turns.append(id)
        return None

    def dispatch(self, action: actions.AhpAction, at: int | None = None) -> None:
        """Apply an action of the server. `at` is its time in milliseconds; by default it is the current time."""
        self._apply(action.as_json_object(), now() if at is None else at)

    def _apply(self, action: Json, at: int, origin: ActionOrigin | None = None) -> None:
        """Apply an action and send it to all clients. If the action changes something that the note of the session
        contains, write the note soon. `origin` is None for an action of the server."""
        self._front.hub.apply(self.uri, action, at, origin)
        if str(action["type"]) in NOTED_ACTIONS:
            self._front.schedule_note(self)

    def refresh(self) -> None:
        """Refresh all parts except the turns soon. Several calls before the refresh begins lead to one refresh."""
        if not self._refresh_pending:
            self._refresh_pending = True
            self._start(self._refresh)

    async def _refresh(self) -> None:
        """Refresh all parts except the turns, and read the files with which the active client customizes the
        session."""
        self._refresh_pending = False
        if self._front.hub.has(self.uri):
            await self._extras.refresh()
            active_client = get_object(self.state, "activeClient").get("clientId", "")
            if send_request := self._find_request_sender(active_client):
                self._front.start(self._client_customizations.load(send_request))

    def _find_request_sender(self, client: str) -> SendRequest | None:
        """Return the function that sends requests to a client; None if the client is not connected."""
        connection = self._front.hub.find_client(client)
        return connection.request if connection else None

    def _find_person(self, client: str) -> Person | None:
        """Return the user of a client; None if the client is not connected, or its user is not known."""
        connection = self._front.hub.find_client(client)
        return connection.access.user if connection else None

    # -- the actions of clients

    async def save_before_echo(self, raw: Json, action: actions.SessionAction, client: str) -> None:
        """Write the user's text in an action to disk, before `handle` sends the action to the clients. So a client that
        gets its action back knows that the text cannot be lost. `raw` is the same action as JSON."""
        if not isinstance(action, _USER_TEXTS) or refuse_session_action(self.state, action, client):
            return
        if isinstance(action, actions.TurnStarted):
            self.starting.setdefault(action.turn_id, raw["userMessage"])
        with suppress(NotSaved):  # then the turn will not begin, and its error tells the client why
            await self._front.save_note(self, reduce_session(self.state, raw, now()))

    def handle(self, raw: Json, action: actions.SessionAction, origin: ActionOrigin) -> None:
        """Apply an action of a client, or refuse it. `raw` is the same action as JSON, as the client sent it."""
        if reason := refuse_session_action(self.state, action, origin.client):
            self._front.hub.refuse(self.uri, raw, origin, reason)
            # A client denies a call that already runs if it does not know the tool. Then the call must end.
            if isinstance(action, actions.ToolCallDenied) and (
                declined := make_denied_result(self.state, action, origin.client)
            ):
                turn, call = action.turn_id, action.tool_call_id
                self.dispatch(
                    actions.ToolCallComplete(session=self.uri, turn_id=turn, tool_call_id=call, result=declined)
                )
                self.client_tools.complete(call, declined)
            return
        if isinstance(action, actions.TitleChanged):
            self._start(partial(self._rename, action.title, raw, origin))
            return
        before = self.state
        # The host decides first, because another client may have decided meanwhile. The events of the decision come
        # after the action was sent to the clients.
        if isinstance(action, actions.ToolCallApproved | actions.ToolCallDenied):
            is_accepted = self._decide(action, origin.client)
            # The client that owns the tool starts to run it when it gets the approval. So it must not get the approval
            # before the earlier calls have ended. The later event `ToolCallRunningContent` sends the approval then.
            if self._is_queued(action.tool_call_id) and action.tool_call_id in self._list_client_calls():
                self._front.hub.refuse(self.uri, raw, origin, QUEUED)
                return
            if not is_accepted:
                self._front.hub.refuse(self.uri, raw, origin, "Another client has decided about this call.")
                return
        self._apply(raw, now(), origin)
        self._carry_out(raw, action, before, origin.client)
        if isinstance(action, _SETUP_ACTIONS):
            self.refresh()
        # An activity that was shown between turns, such as an earlier message, is outdated now.
        if not self.turn and self.state["summary"].get("activity"):
            self.dispatch(actions.ActivityChanged(session=self.uri))
            self._show_unsaved()

    def _carry_out(self, raw: Json, action: actions.SessionAction, before: Json, client: str) -> None:
        """Call the host for an action of a client. The action is already applied to the state. `before` is the state
        before the action."""
        match action:
            case actions.TurnStarted(turn_id=turn):
                self._begin_turn(turn, raw["userMessage"], client)
            case actions.TurnCancelled(turn_id=turn):
                self._cancel_turn(turn)
            case actions.ToolCallComplete(tool_call_id=call, result=result):
                self.client_tools.complete(call, result)
            case actions.ModelChanged() | actions.ConfigChanged():
                self._host.turns.choose(self.chat, config.read_choice(self.state))
            case actions.ActiveClientChanged() | actions.ActiveClientToolsChanged():
                self.offer_client_tools()
            case actions.TurnsTruncated():
                self._truncate()
            case actions.PendingMessageSet(kind=kind):
                if kind == "queued":
                    self.start_next_turn()
                else:
                    self._steer()
            case actions.PendingMessageRemoved(kind="steering"):
                self._host.turns.steer(self.chat, "")
            case actions.InputCompleted(request_id=id, response=response):
                request = next(pending for pending in get_list(before, "inputRequests") if pending["id"] == id)
                self.input_requests.resolve(request, response, get_object(raw, "answers"))
            case _:
                pass

    def _decide(self, action: actions.ToolCallApproved | actions.ToolCallDenied, client: str) -> bool:
        """Approve or reject a call. Return False if the host ignored it, because the call does not wait any more."""
        live = self._host.chats.get_live(self.chat)
        before = live.state if live else None
        by = self._find_person(client)
        if isinstance(action, actions.ToolCallApproved):
            remember = action.selected_option_id == REMEMBER
            self._host.turns.approve(self.chat, action.tool_call_id, remember=remember, by=by)
        else:
            self._host.turns.reject(self.chat, action.tool_call_id, describe_denial(action), by)
        # A decision that was ignored leaves the state as it is.
        return live is not None and live.state is not before

    def _is_queued(self, call: str) -> bool:
        """Return whether a call is approved and waits for the calls before it."""
        live = self._host.chats.get_live(self.chat)
        return live is not None and any(
            known.id == call and known.status is ToolCallStatus.QUEUED for known in live.state.calls
        )

    def _list_client_calls(self) -> set[str]:
        """Return the ids of the calls in the active turn whose tools belong to a client."""
        return {call for call, client in self._list_tool_clients().items() if client}

    def _list_tool_clients(self) -> dict[str, str]:
        """Return the clients that run the calls of the active turn, by the id of the call. "" stands for the server."""
        calls = list_calls(get_object(self.state, "activeTurn"))
        return {str(call["toolCallId"]): str(call.get("toolClientId", "")) for call in calls}

    def _find_tool_client(self, call: str) -> str:
        """Return the id of the client that runs a call of the active turn; "" if no client runs it."""
        return self._list_tool_clients().get(call, "")

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Run work in a task. It begins when all work that was started before it is done."""

        async def work_in_order() -> None:
            """Wait for the earlier work, and do this work."""
            async with self._order:
                await work()

        task = self._front.start(work_in_order())
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    def close(self) -> None:
        """End all work for the session. Called when its chat was deleted."""
        self.input_requests.cancel_all()
        for task in (*self._work, *self._leaving.values()):
            task.cancel()

    async def wait_until_done(self) -> None:
        """Wait until all work that was started before is done."""
        async with self._order:
            pass

    # -- turns

    def _begin_turn(self, turn: str, message: Json, client: str = "") -> None:
        """Start a turn in the host, after the state already shows it as started. `client` is the id of the client that
        sent the message; "" for a queued message."""
        if message.get("attachments"):
            self.messages[turn] = message
        self._turns_without_events.add(turn)
        self.starting[turn] = message
        task = self._start_tasks[turn] = self._start(
            partial(self._prompt, turn, UserMessage.model_validate(message), client)
        )
        task.add_done_callback(lambda ended: self._forget_start(turn, ended))

    def _forget_start(self, turn: str, task: asyncio.Task[None]) -> None:
        """Forget the task that has started a turn."""
        # After a turn was removed, a client can begin it again with the same id. Then the task is another one.
        if self._start_tasks.get(turn) is task:
            del self._start_tasks[turn]

    async def _prompt(self, turn: str, message: UserMessage, client: str) -> None:
        """Prompt the host, unless the turn was cancelled meanwhile. If this fails, the turn fails."""
        state = self.state
        try:
            if not await self._prompt_host(turn, message, client):
                return
        except Exception as error:  # noqa: BLE001  # the boundary to clients: without its error the turn would never end
            if not isinstance(error, EcaError):
                _log.exception("the turn %s of %s could not begin", turn, self.uri)
            self._client_customizations.forget()
            self._fail_turn(turn, str(error) if isinstance(error, EcaError) else redaction.redact(_FAILED % error))
            return
        if state["summary"]["title"] and not get_list(state, "turns"):
            # The user set this title before the chat existed.
            with suppress(EcaError):
                await self._host.chat_operations.rename(self.chat, state["summary"]["title"])
        self._steer()

    async def _prompt_host(self, turn: str, message: UserMessage, client: str) -> bool:
        """Read what is attached to a message, and prompt the host with both. Return whether the turn has begun. It does
        not begin if it was cancelled meanwhile."""
        if self.turn != turn:
            return False
        contexts = (
            *self._client_customizations.take_contexts(),
            *await client_files.read_contexts(message, self._find_request_sender(client)),
        )
        if self.turn != turn:
            return False
        bounds, choice = config.make_bounds(self._host, self.state), config.read_choice(self.state)
        by = self._find_person(client)
        prompt = Prompt(self.chat, message.text, choice, contexts, self, bounds, turn=turn, author=by)
        await self._host.turns.prompt(prompt)
        return True

    def _cancel_other_starts(self, begun: str) -> None:
        """Cancel the starts of turns whose chat was prompted by another client first. Clients see these turns as
        failed, so none of them may begin when the turn `begun` has ended."""
        for turn, task in list(self._start_tasks.items()):
            if turn != begun:
                self._drop_starting(turn)
                task.cancel()

    def _drop_starting(self, turn: str) -> None:
        """Forget the message of a turn that will not begin, because it was refused or cancelled. Otherwise a restarted
        server would queue it."""
        if self.starting.pop(turn, None) is not None:
            self._front.schedule_note(self)

    def _fail_turn(self, turn: str, message: str) -> None:
        """Show that a turn could not begin, if it is still active."""
        self._drop_starting(turn)
        if self.turn == turn:
            error = ErrorInfo(error_type="refused", message=message)
            self.dispatch(actions.AhpTurnError(session=self.uri, turn_id=turn, error=error))

    def _cancel_turn(self, turn: str) -> None:
        """Stop a turn in the host, or cancel its start."""
        self._drop_starting(turn)
        if task := self._start_tasks.get(turn):
            task.cancel()
        live = self._host.chats.get_live(self.chat)
        if live is not None and live.state.turn == turn:
            self._host.turns.stop(self.chat)

    def start_next_turn(self) -> None:
        """Start a turn with the first queued message, if no turn is active."""
        queue = get_list(self.state, "queuedMessages")
        if not queue or self.turn or self.state["lifecycle"] != "ready":
            return
        first, turn = queue[0], uuid.uuid4().hex
        self.dispatch(actions.PendingMessageRemoved(session=self.uri, kind="queued", id=first["id"]))
        message = UserMessage.model_validate(first["userMessage"])
        self.dispatch(
            actions.TurnStarted(session=self.uri, turn_id=turn, user_message=message, queued_message_id=first["id"])
        )
        self._begin_turn(turn, first["userMessage"])

    def _steer(self) -> None:
        """Pass the steering message, which the model reads while the turn runs, to the host. A session has at most one
        such message, so the old message is removed first."""
        steering = self.state.get("steeringMessage")
        live = self._host.chats.get_live(self.chat)
        if steering and live is not None and live.state.turn == self.turn:
            self._host.turns.steer(self.chat, "")
            self._host.turns.steer(self.chat, steering["userMessage"]["text"])

    def _truncate(self) -> None:
        """Remove the turns from the chat that a client has removed from the state, and stop the turn that runs."""
        self._client_customizations.forget()
        for turn, task in self._start_tasks.items():
            self._drop_starting(turn)
            task.cancel()
        remaining = {str(turn["id"]) for turn in get_list(self.state, "turns")}
        self._host.turns.stop(self.chat)
        self._start(partial(self._keep_turns, remaining))

    async def _keep_turns(self, turns: set[str]) -> None:
        """Wait until the chat is idle, then remove all turns from it except these."""
        if live := self._host.chats.get_live(self.chat):
            await asyncio.gather(*live.tasks.values(), return_exceptions=True)
        try:
            await self._host.chat_operations.delete_other_turns(self.chat, turns)
        except UnknownChat:
            pass  # the chat has no turn yet
        except EcaError:
            _log.warning("%s could not be rolled back", self.uri, exc_info=True)
            self._front.start(self.reread())

    async def _rename(self, title: str, raw: Json, origin: ActionOrigin) -> None:
        """Give the chat a title. The clients get the action when the title is stored."""
        rename = (title, raw, origin)
        self._pending_renames.append(rename)
        try:
            await self._host.chat_operations.rename(self.chat, title)
        except EcaError:
            # The session keeps the title until the chat exists.
            self._pending_renames.remove(rename)
            self._apply(raw, now(), origin)

    # -- the `PromptSender` of its turns

    def sees(self, chat: str) -> bool:  # noqa: ARG002  # clients list all sessions
        """Return whether the clients may know of a chat."""
        return True

    def resume(self, chat: str) -> None:
        """Do nothing, because each client decides itself which session it shows."""

    # -- the active client: the client whose tools the model can call in this session

    def offer_client_tools(self) -> None:
        """Offer the tools of the active client to the model. Without an active client, no client tools are offered."""
        active = self.state.get("activeClient")
        client = ActiveClient.model_validate(active) if active else None
        self.client_tools.owner = client.client_id if client else ""
        self.restore_client(self.client_tools.owner)  # the client may have left before, and be back now
        self._host.toolbox.set_client_tools(self.chat, self.client_tools.make_tools(client.tools) if client else ())

    def remove_client(self, client: str) -> None:
        """Continue after a client has left. Its calls wait for a while, because the client may come back. It may have
        calls although another client is active now."""
        if get_object(self.state, "activeClient").get("clientId") == client:
            self.dispatch(actions.ActiveClientChanged(session=self.uri, active_client=None))
            self.refresh()
        if client not in self._leaving and client in {self.client_tools.owner, *self._list_tool_clients().values()}:
            self._leaving[client] = self._front.start(self._abandon(client))

    def restore_client(self, client: str) -> None:
        """Continue the calls of a client that has come back."""
        self.client_tools.departed.discard(client)
        if (leaving := self._leaving.pop(client, None)) is not None:
            leaving.cancel()

    async def _abandon(self, client: str) -> None:
        """Wait a while for a client that has left. Then end its calls with an error, and no longer offer its tools."""
        await asyncio.sleep(min(GRACE_SECONDS, self._host.unattended_calls.grace))
        del self._leaving[client]
        self.client_tools.abandon(client)
        if self.client_tools.owner == client:
            self.client_tools.owner = ""
            self._host.toolbox.set_client_tools(self.chat, ())
