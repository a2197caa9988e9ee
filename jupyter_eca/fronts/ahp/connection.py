"""Owns the connection to one client of the Agent Host Protocol. It handles the client's messages in the order in which
they came, and sends actions to the client in the order of their numbers. An action is a JSON object that changes a
state which host and clients share, such as a session. An envelope is an action with its number.

It must not know what a command does (`commands.py`) or what an action does (`session/`, `terminals/`). The hub
(`hub.py`) sends its actions through the connections.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError

from jupyter_eca import redaction
from jupyter_eca.errors import BusyError, EcaError, FrameError, RemoteError, UnknownChat
from jupyter_eca.fronts.ahp import dialect, locales
from jupyter_eca.fronts.ahp.commands import COMMANDS, CommandOrder
from jupyter_eca.fronts.ahp.completions import TRIGGERS
from jupyter_eca.fronts.ahp.hub import ActionOrigin, Envelope
from jupyter_eca.fronts.ahp.session.action_rules import is_approval
from jupyter_eca.fronts.client_access import FULL_ACCESS
from jupyter_eca.log_fields import LOG_FIELDS, LogFields
from jupyter_eca.protocol.ahp import ROOT, VERSION, actions
from jupyter_eca.protocol.ahp import commands as requests
from jupyter_eca.protocol.ahp.commands import AhpErrorCode
from jupyter_eca.protocol.base import MAX_DEPTH, find_fault, is_nested_too_deeply, replace_half_surrogates
from jupyter_eca.protocol.jsonrpc import ErrorResponse, Id, Message, Notification, Request, Result
from jupyter_eca.transport.send_limit import NOT_READING, SendLimit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from jupyter_eca.fronts.ahp.front import AhpFront
    from jupyter_eca.fronts.ahp.reducers.base import Json
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.protocol.ahp.base import AhpModel
    from jupyter_eca.transport.link import Link

_log = logging.getLogger(__name__)

T = TypeVar("T", bound="AhpModel")  # the model of the params of a request

# For how many clients the number of the last action and the language are remembered, in case they reconnect.
MAX_CLIENTS: Final = 1_000

# Ends a sentence about an action or about params.
_TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"

# The protocol's error codes of our own errors. All other errors of ours have the code INTERNAL.
_CODES: Final[dict[type[EcaError], AhpErrorCode]] = {
    BusyError: AhpErrorCode.TURN_IN_PROGRESS,
    UnknownChat: AhpErrorCode.SESSION_NOT_FOUND,
}


class AhpConnection:
    """The connection to one client. It implements `hub.HubClient` and `commands.CommandCaller`.

    `open_front` returns the front that all clients share. The first call by any client opens the front.
    """

    def __init__(
        self, link: Link, open_front: Callable[[], Awaitable[AhpFront]], *, access: ClientAccess = FULL_ACCESS
    ) -> None:
        self.client = ""
        """The id that the client gave in `initialize` or `reconnect`; "" before that."""
        self.access = access
        """What the client may do."""
        self.subscriptions: set[str] = set()
        """The URIs of the resources that the client is subscribed to."""
        self._link = link
        self._open_front = open_front
        self._front: AhpFront | None = None  # None until `initialize` or `reconnect` has opened it
        # The client's messages that are not handled yet, its requests about files, and what waits to be sent to it.
        self._incoming: asyncio.Queue[Request | Notification] = asyncio.Queue()
        self._file_requests: asyncio.Queue[Request] = asyncio.Queue()
        self._outgoing: list[Message | Envelope] = []
        self._send_limit = SendLimit[Message | Envelope](_get_data)
        self._close_reason = ""  # why this end closes the link; "" for no reason to tell
        self._wake = asyncio.Event()  # set when messages wait to be sent
        self._ends_after_writing = False  # whether the connection ends after all messages were written
        self._abort = asyncio.Event()  # ends the connection at once
        # The tasks that run commands with the order `AT_ONCE`.
        self._concurrent_tasks: set[asyncio.Task[None]] = set()
        # The requests to the client that wait for its answer.
        self._requests: dict[Id, asyncio.Future[Any]] = {}
        self._request_count = 0  # how many requests were sent to the client, from which the next id is made

    @property
    def front(self) -> AhpFront:
        """The front that all clients share. Raises: RemoteError before `initialize`."""
        if self._front is None:
            raise RemoteError("Send `initialize` first.", AhpErrorCode.INVALID_REQUEST)
        return self._front

    @property
    def language(self) -> str:
        """The language of the client's user: a key of `locales.LANGUAGES`."""
        return self.front.languages.get(self.client, locales.ENGLISH)

    @property
    def chats(self) -> list[str]:
        """The chats of the sessions that the client is subscribed to."""
        return [chat for uri in self.subscriptions if (chat := dialect.parse_chat(uri)) is not None]

    async def run(self) -> None:
        """Serve the client until it leaves, or until it opens another connection. Then end all tasks of this
        connection."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                reading = self._tasks.create_task(self._read())
                working = (
                    self._tasks.create_task(self._handle_messages()),
                    self._tasks.create_task(self._answer_file_requests()),
                )
                # The connection ends when one of these tasks ends.
                ends = (reading, self._tasks.create_task(self._write()), self._tasks.create_task(self._abort.wait()))
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for task in (*working, *ends, *self._concurrent_tasks):
                    task.cancel()
        finally:
            self._leave()
            await self._link.close(self._close_reason)

    def _leave(self) -> None:
        """Leave the hub. End the requests to the client with an error. Inform the front that the client has left,
        unless the client has opened a newer connection."""
        if self._front is None:
            return
        subscriptions, self.subscriptions = self.subscriptions, set()
        for future in self._requests.values():
            if not future.done():
                future.set_exception(RemoteError("the client has left"))
        if self._front.hub.leave(self):
            self._front.remove_client(self.client, subscriptions)
        else:
            for uri in subscriptions:
                self._front.handle_unsubscribe(uri)

    # -- to the client

    def send(self, envelope: Envelope) -> None:
        """Queue an action for the client."""
        self._enqueue(envelope)

    def notify(self, notification: Json) -> None:
        """Queue a notification for the client."""
        self._enqueue(dialect.write_notification(notification))

    def _enqueue(self, message: Message | Envelope) -> None:
        """Queue a message for the client. If too much waits, join pieces of text. If there is still too much,
        disconnect the client. It can reconnect, and then gets the actions that it has missed."""
        if self._abort.is_set():
            return
        self._outgoing.append(message)
        if self._send_limit.should_join(self._outgoing):
            self._outgoing = list(_join_pieces(self._outgoing))
            if self._send_limit.must_disconnect(self._outgoing):
                self._outgoing.clear()
                self._close_reason = NOT_READING
                self._abort.set()
        self._wake.set()

    async def request(self, method: str, params: Json) -> Any:
        """Send a request to the client, and return its result. Raises: RemoteError."""
        self._request_count += 1
        id = self._request_count
        future = self._requests[id] = asyncio.get_running_loop().create_future()
        self._enqueue(Request(id, method, params))
        try:
            return await future
        finally:
            del self._requests[id]

    async def _write(self) -> None:
        """Send the waiting messages. For a client that reads slowly, pieces of one text are joined to longer pieces.
        No other client has to wait for a slow client."""
        while not (self._ends_after_writing and not self._outgoing):
            await self._wake.wait()
            self._wake.clear()
            waiting, self._outgoing = self._outgoing, []
            self._send_limit.reset()
            for piece in _join_pieces(waiting):
                await self._link.send(dialect.write_action_message(piece) if isinstance(piece, Envelope) else piece)

    def close(self) -> None:
        """End this connection. Called when the same client has opened another one."""
        self._abort.set()

    # -- from the client

    async def _read(self) -> None:
        """Read messages from the link. Requests and notifications wait for `_handle_messages`. Results complete the
        requests to the client."""
        async for message in self._link:
            match message:
                case Request(id=id, method="ping"):
                    self._enqueue(Result(id, None))  # `ping` does not wait for other requests: it tests the connection
                # For example, a text with half of a surrogate pair cannot be stored.
                case Request(id, method, params) if fault := find_fault(params):
                    self._enqueue(ErrorResponse(id, AhpErrorCode.INVALID_PARAMS, f"{method[:80]}: {fault}."))
                case Request() | Notification():
                    self._incoming.put_nowait(message)
                case FrameError():
                    self._enqueue(ErrorResponse(None, message.code, str(message)))
                case Result(id, result):
                    if id is not None and (future := self._requests.get(id)) and not future.done():
                        future.set_result(replace_half_surrogates(result))
                case ErrorResponse(id, code, text, data):
                    if id is not None and (future := self._requests.get(id)) and not future.done():
                        future.set_exception(RemoteError(text, code, data))

    async def _handle_messages(self) -> None:
        """Handle the messages one after the other, because the client expects that a message takes effect before the
        next message is handled."""
        while True:
            message = await self._incoming.get()
            if isinstance(message, Notification):
                await self._handle_notification(message)
                continue
            command = COMMANDS.get(message.method)
            match command.order if command else CommandOrder.IN_ORDER:
                case CommandOrder.IN_ORDER:
                    await self._answer(message)
                case CommandOrder.AMONG_FILES:
                    self._file_requests.put_nowait(message)
                case CommandOrder.AT_ONCE:
                    task = self._tasks.create_task(self._answer(message))
                    self._concurrent_tasks.add(task)
                    task.add_done_callback(self._concurrent_tasks.discard)

    async def _answer_file_requests(self) -> None:
        """Answer requests about files one after the other, because a request may read what an earlier one wrote."""
        while True:
            await self._answer(await self._file_requests.get())

    async def _answer(self, request: Request) -> None:
        """Answer a request. After a command has read a state, nothing is awaited until its answer is queued. Otherwise
        an action could be queued in between, and would reach the client before the older state."""
        LOG_FIELDS.set(LogFields(request_method=request.method))
        try:
            answer: Message = Result(request.id, await self._run_request(request))
        except RemoteError as error:
            answer = ErrorResponse(request.id, error.code, redaction.redact(str(error)), error.data)
        except EcaError as error:
            code = next((code for kind, code in _CODES.items() if isinstance(error, kind)), AhpErrorCode.INTERNAL)
            answer = ErrorResponse(request.id, code, redaction.redact(str(error)))
        except Exception as error:  # noqa: BLE001  # the boundary to a client, which must get an answer despite a bug
            _log.exception("%s failed", request.method)
            answer = ErrorResponse(
                request.id, AhpErrorCode.INTERNAL, redaction.redact(f"{request.method} failed inside: {error!r}")
            )
        self._enqueue(answer)

    def _run_request(self, request: Request) -> Awaitable[Json | None]:
        """Parse the params of a request, and call the function of its command. Return the awaitable of its result.
        Raises: RemoteError."""
        if is_nested_too_deeply(request.params):
            raise RemoteError(f"The params are {_TOO_DEEP}.", AhpErrorCode.INVALID_PARAMS)
        values = dialect.drop_nulls({} if request.params is None else request.params)
        match request.method:
            case "initialize":
                return self._initialize(_parse_params(requests.Initialize, values))
            case "reconnect":
                return self._reconnect(_parse_params(requests.Reconnect, values))
            case method if self.front and method in COMMANDS:  # `front` raises an error before `initialize`
                command = COMMANDS[method]
                if not (self.access.may_ask or command.allows_readers):
                    raise RemoteError(self.access.reason, AhpErrorCode.PERMISSION_DENIED)
                return command.run(self, _parse_params(command.params, values))
            case method:
                raise RemoteError(f"There is no request {method!r}.", AhpErrorCode.METHOD_NOT_FOUND)

    async def _join_front(self, client: str) -> AhpFront:
        """Register the client with the front, and end its earlier connection.

        Files that a user has granted to a client, and tool calls that a client runs, belong to the client's id. So a
        client cannot take the id of a client that may do more, even if that client has left.

        Raises: RemoteError for such an id, or when this connection has registered before.
        """
        if self._front is not None:
            raise RemoteError("This connection is open already.", AhpErrorCode.INVALID_REQUEST)
        front = await self._open_front()
        if self.access.level < front.levels.setdefault(client, self.access.level):
            raise RemoteError(
                "That is the id of a client with more rights. Choose another id.", AhpErrorCode.PERMISSION_DENIED
            )
        front.levels[client] = self.access.level
        self.client = client
        earlier = front.hub.join(self)
        if isinstance(earlier, AhpConnection):
            earlier.close()
        self._front = front
        return front

    async def _initialize(self, params: requests.Initialize) -> Json:
        """Answer `initialize`: choose the version and the language, and subscribe the client to its first resources.

        A client that offers no version of ours gets an error, and the connection ends. Raises: RemoteError.
        """
        version = dialect.choose_version(params.protocol_versions)
        if version is None and self._front is None:
            self._ends_after_writing = True  # the connection ends after this answer
            supported = {"supportedVersions": [VERSION]}
            raise RemoteError(
                f"This server has version {VERSION}.", AhpErrorCode.UNSUPPORTED_PROTOCOL_VERSION, supported
            )
        front = await self._join_front(params.client_id)
        # A client that initializes again numbers its actions from the start.
        front.last_client_seqs.pop(self.client, None)
        front.languages.pop(self.client, None)
        if (language := locales.choose_language(params.locale)) != locales.ENGLISH:
            front.languages[self.client] = language
            if len(front.languages) > MAX_CLIENTS:
                del front.languages[next(iter(front.languages))]
        snapshots = await self._subscribe_all(params.initial_subscriptions)
        return {
            "protocolVersion": version,
            "serverSeq": front.hub.seq,
            "snapshots": snapshots,
            "defaultDirectory": front.host.workspace.files.roots[0].as_uri(),
            "completionTriggerCharacters": list(TRIGGERS),
        }

    async def _reconnect(self, params: requests.Reconnect) -> Json:
        """Answer `reconnect` with the actions that the client has missed. If these are not known any more, answer with
        snapshots of the states that the client is subscribed to."""
        front = await self._join_front(params.client_id)
        wanted = [uri for uri in params.subscriptions if await self._exists(uri)]
        replay = front.hub.replay(self.client, params.last_seen_server_seq, params.subscriptions)
        if replay is None:
            return {"type": "snapshot", "snapshots": await self._subscribe_all(wanted)}
        for uri in wanted:
            self._subscribe(uri)
        return dialect.write_replay(replay)

    async def _subscribe_all(self, uris: Iterable[str]) -> list[Json]:
        """Subscribe the client to those resources that exist. Return a snapshot of each."""
        existing = [uri for uri in dict.fromkeys(uris) if await self._exists(uri)]
        for uri in existing:
            self._subscribe(uri)
        # A session may have been deleted while a later one was read from the store.
        return [
            dialect.write_snapshot(self.front.hub.make_snapshot(uri)) for uri in existing if self.front.hub.has(uri)
        ]

    async def _exists(self, uri: str) -> bool:
        """Return whether there is a resource with this URI. A session is read from the store if it is not in memory."""
        return self.front.hub.has(uri) or await self.front.find_session(uri) is not None

    async def subscribe(self, uri: str) -> bool:
        """Subscribe the client to a resource. Return False if there is no such resource."""
        if not await self._exists(uri):
            return False
        self._subscribe(uri)
        return True

    def _subscribe(self, uri: str) -> None:
        """Subscribe the client to a resource that exists. If the client had left before, the session stops the timers
        that would end the client's tool calls."""
        self.subscriptions.add(uri)
        if session := self.front.sessions.get(uri):
            session.restore_client(self.client)

    # -- notifications

    async def _handle_notification(self, message: Notification) -> None:
        """Handle a notification. The protocol requires that a malformed notification is ignored."""
        if self._front is None:
            return
        LOG_FIELDS.set(LogFields(request_method=message.method))
        try:
            if message.method == "unsubscribe":
                self.subscriptions.discard(uri := requests.Unsubscribe.model_validate(message.params).resource)
                self._front.handle_unsubscribe(uri)
            elif message.method == "dispatchAction":
                fault = find_fault(message.params)
                await self._dispatch(self._front, requests.DispatchAction.model_validate(message.params), fault)
        except ValidationError as error:
            _log.warning("%s was ignored: %s", message.method, error.errors(include_url=False, include_input=False))
        except Exception:  # noqa: BLE001  # the boundary to a client: a bug ends one notification, not the connection
            _log.exception("%s failed", message.method)

    async def _dispatch(self, front: AhpFront, params: requests.DispatchAction, fault: str) -> None:
        """Handle an action of the client: apply it, or refuse it. An action on a state that does not exist is ignored.

        `fault` says what is wrong with the texts of the action; "" if nothing is wrong. A client that lost its
        connection may send an action again. The action is ignored if its number is known.
        """
        if params.client_seq <= front.last_client_seqs.get(self.client, -1):
            return
        # The entry is removed and added again, so that the dict is ordered by the last action of each client.
        front.last_client_seqs.pop(self.client, None)
        front.last_client_seqs[self.client] = params.client_seq
        if len(front.last_client_seqs) > MAX_CLIENTS:
            del front.last_client_seqs[next(iter(front.last_client_seqs))]
        origin = ActionOrigin(self.client, params.client_seq)
        is_too_deep = is_nested_too_deeply(params.action)
        raw = dialect.keep_scalars(params.action) if is_too_deep else dialect.drop_nulls(params.action)
        uri = dialect.find_resource(raw)
        if uri != ROOT and not await self._exists(uri):
            return
        if is_too_deep:
            fault = f"the action is {_TOO_DEEP}"
        if fault:
            front.hub.refuse(uri, raw, origin, f"{fault[0].upper()}{fault[1:]}.")
            return
        try:
            action = actions.parse(raw)
        except ValidationError as error:
            if isinstance(raw.get("type"), str):
                front.hub.refuse(uri, raw, origin, _describe_error(raw, error))
            return
        match action:
            case _ if not self.access.may_ask:
                front.hub.refuse(uri, raw, origin, self.access.reason)
            case actions.RootConfigChanged():
                front.hub.refuse(ROOT, raw, origin, "There is nothing to configure here.")
            case actions.TerminalScoped() if front.terminals.has(uri) and not self.access.may_approve:
                front.hub.refuse(uri, raw, origin, self.access.reason)
            case actions.TerminalScoped() if front.terminals.has(uri):
                front.terminals.handle(raw, action, origin)
            case actions.SessionScoped() if session := front.sessions.get(uri):
                if not self.access.may_approve and is_approval(action):
                    front.hub.refuse(uri, raw, origin, self.access.reason)
                else:
                    # The client gets its action back (the echo) when its text is on disk.
                    await session.save_before_echo(raw, action, self.client)
                    session.handle(raw, action, origin)
            case _:
                pass


def _get_data(message: Message | Envelope) -> object:
    """Return the data of a message, by whose texts the `SendLimit` measures how much waits. Answers are not measured: a
    client may read the contents of several large files at the same time."""
    if isinstance(message, Envelope):
        return message.action
    return message.params if isinstance(message, Notification) else None


def _join_pieces(messages: Iterable[Message | Envelope]) -> Iterable[Message | Envelope]:
    """Yield the messages in their order. Consecutive pieces of the same text are joined to one message."""
    last: Message | Envelope | None = None
    for message in messages:
        joined = (
            dialect.join_text(last, message) if isinstance(last, Envelope) and isinstance(message, Envelope) else None
        )
        if last is not None and joined is None:
            yield last
        last = joined or message
    if last is not None:
        yield last


def _parse_params(model: type[T], params: Any) -> T:
    """Parse the params of a request. Raises: RemoteError, which names the first field that is wrong."""
    try:
        return model.model_validate(params)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "params"
        raise RemoteError(f"{place}: {first['msg']}", AhpErrorCode.INVALID_PARAMS) from error


def _describe_error(raw: Json, error: ValidationError) -> str:
    """Return the reason why an action could not be parsed, for the client."""
    first = error.errors(include_url=False, include_input=False)[0]
    # pydantic's error for a type that is none of those in `actions.ClientAction`.
    if first["type"] == "union_tag_invalid" and not first["loc"]:
        return f"No client may send {raw['type']}."
    # The place of the error begins with the type of the action, which is left out.
    return f"{'.'.join(map(str, first['loc'][1:]))}: {first['msg']}"
