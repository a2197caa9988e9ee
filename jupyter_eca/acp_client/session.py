"""Owns `AgentSession`: one session with an outside agent, over one process. It is opened once, then prompts follow.

Everything that the agent says and does comes as an `AgentEvent`, in the order in which it arrived: updates are read by
`updates.py`, and a request for permission is put between them at the place where it arrived. The end of the prompt is
the last event.

It must not decide anything, and it must not know our chats: `host/outside` answers permissions and writes files.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from jupyter_eca._version import __version__
from jupyter_eca.acp_client.agent_events import NoticeShown, PermissionAsked, PromptEnded
from jupyter_eca.acp_client.config_options import ON, read_config_options
from jupyter_eca.acp_client.permission import CANCELLED, can_allow, choose_answer, read_options
from jupyter_eca.acp_client.process import AgentProcess
from jupyter_eca.acp_client.updates import UpdateReader, read_open_mode
from jupyter_eca.errors import AgentError, FrameError, PeerLeft, RemoteError
from jupyter_eca.protocol.acp import CANCELLATION, VERSION, AcpErrorCode
from jupyter_eca.protocol.base import find_fault
from jupyter_eca.protocol.jsonrpc import ErrorCode, Request
from jupyter_eca.transport.peer import Peer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from jupyter_eca.acp_client.agent_events import AgentEvent
    from jupyter_eca.acp_client.launch import Launch
    from jupyter_eca.acp_client.permission import PermissionOption
    from jupyter_eca.protocol.jsonrpc import Message
    from jupyter_eca.protocol.lifecycle import AgentOption
    from jupyter_eca.transport.link import Link

_log = logging.getLogger(__name__)

Json = Mapping[str, Any]

# The sessions that are listed. Nobody looks through more of them.
MAX_LISTED: Final = 50

_INITIALIZE: Final = "initialize"
_PERMISSION: Final = "session/request_permission"

# Sentences for the user, which follow or contain the name of the agent.
SIGN_IN: Final = "Sign in with its own program in a terminal, then ask again."
WHAT_TO_CHECK: Final = (
    "Check whether `{command}` speaks the Agent Client Protocol (ACP) on its standard input and output. Some programs "
    "need an argument for it, such as `acp` or `--acp`."
)
INVALID_MESSAGE: Final = "{title} wrote something that is no message of the protocol; it was ignored."


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session that an agent has kept, as it lists it."""

    id: str
    title: str
    """What the session is about; "" if the agent does not say it."""
    updated: str
    """When it was last used, in ISO 8601; "" if the agent does not say it."""


class AgentRequestHandler(Protocol):
    """Handles the requests of an outside agent to its client: it reads and writes files, and asks the user."""

    async def read(self, path: str, line: int | None, limit: int | None) -> str:
        """Return the text of a file, from `line` (from 1), `limit` lines at most. Raises: ToolError, RemoteError."""
        ...

    async def write(self, path: str, content: str) -> None:
        """Write a file. Raises: ToolError, RemoteError."""
        ...

    async def ask_user(self, params: Json) -> dict[str, Any]:
        """Ask the user what `elicitation/create` asks, and return the result. Raises: RemoteError."""
        ...


@dataclass
class _PendingPermission:
    """A request for permission that waits for its answer."""

    options: tuple[PermissionOption, ...]
    """The answers that the agent offers."""
    answer: asyncio.Future[dict[str, Any]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Gets the answer as the result of the request."""


class _ObservedLink:
    """The link to the agent. The session sees each message before the peer handles it, in the order of arrival. Lines
    that are not messages of the protocol are passed to the session only."""

    def __init__(self, link: Link, session: AgentSession) -> None:
        self._link = link
        self._session = session

    async def __aiter__(self) -> AsyncGenerator[Message | FrameError]:
        async for message in self._link:
            if isinstance(message, FrameError):
                self._session.report_invalid_message(message)
                continue
            if isinstance(message, Request) and message.method == _PERMISSION and not find_fault(message.params):
                self._session.add_permission_request(message.params)
            yield message

    async def send(self, message: Message) -> None:
        """Send a message to the agent."""
        await self._link.send(message)

    async def close(self, reason: str = "") -> None:
        """Close the link to the agent."""
        await self._link.close(reason)


class AgentSession:
    """A session with an outside agent. `run` must run as long as it is used."""

    def __init__(self, launch: Launch, request_handler: AgentRequestHandler) -> None:
        self.launch = launch
        self._request_handler = request_handler
        self._process: AgentProcess | None = None
        self._peer: Peer | None = None
        self._started = asyncio.Event()
        """Set when the program was started, or could not be started."""
        self._closing = asyncio.Event()
        """Set when `close` was called."""
        self._events: asyncio.Queue[AgentEvent] = asyncio.Queue()
        """The events that `prompt` has not yielded yet."""
        self._reader = UpdateReader()
        self._arrived: deque[_PendingPermission | None] = deque()
        """The requests for permission in the order of arrival, which the peer has not passed on yet. None for one that
        cannot be answered."""
        self._asked: dict[int, _PendingPermission] = {}
        """The requests for permission that wait for an answer, by their numbers."""
        self._questions: set[asyncio.Future[dict[str, Any]]] = set()
        """The questions of the agent that the user has not answered yet."""
        self._count = 0
        """The number of the last request for permission."""
        self._prompting: asyncio.Future[None] | None = None
        """The request `session/prompt` that was sent last."""
        self._failure = ""
        """Why the program could not be started; "" if it was."""
        self._invalid_messages = 0
        """How many invalid messages the agent has sent."""
        self.id = ""
        """The agent's id of the session; "" before it is open."""
        self.mode = ""
        """The mode of the session, as the agent names it; "" if it has none."""
        self.capabilities: Json = {}
        """What the agent can do."""
        self.is_prompting = False
        """Whether a prompt is under way. A prompt that was cancelled is under way until the agent has answered it."""
        self.has_ended = False
        """Whether the process has ended."""

    @property
    def commands(self) -> tuple[tuple[str, str], ...]:
        """The name and the description of each `/` command of the agent."""
        return self._reader.commands

    @property
    def options(self) -> tuple[AgentOption, ...]:
        """The options of the session, for example its model. The mode is none of them."""
        return self._reader.options

    @property
    def accepts_images(self) -> bool:
        """Whether the agent takes images."""
        found = self.capabilities.get("promptCapabilities")
        return isinstance(found, Mapping) and bool(cast("Json", found).get("image"))

    # -- the process

    async def run(self) -> None:
        """Start the program and talk to it until it leaves, or until `close` is called. After a failure, each
        request of the session raises AgentError with the reason."""
        try:
            launch = self.launch
            process = await AgentProcess.start(launch.command, launch.environment, launch.folder, launch.chat)
        except AgentError as error:
            self._failure = str(error)
            self.has_ended = True
            self._started.set()
            return
        self._process = process
        self._peer = Peer(_ObservedLink(process.link, self), self._answer, self._handle, CANCELLATION)
        self._started.set()
        talking = asyncio.ensure_future(self._peer.run())
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({talking, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.has_ended = True
            closing.cancel()
            if self._closing.is_set():
                await process.close()
            else:
                await process.kill()
            with suppress(RemoteError, ExceptionGroup):
                await talking
            for asked in self._asked.values():
                if not asked.answer.done():
                    asked.answer.set_result(CANCELLED)

    def close(self) -> None:
        """End the session and its process. Closing it twice changes nothing."""
        self._closing.set()

    async def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            await self._process.kill()

    def _explain_failure(self, error: Exception) -> str:
        """Return what the user is told when a request has failed, in one or two sentences. Texts of the agent are cut,
        because they may be as long as a traceback."""
        title = self.launch.title
        if self._failure:
            return f"{title} did not start: {self._failure}"
        if isinstance(error, RemoteError) and error.code == AcpErrorCode.AUTH_REQUIRED and not self.has_ended:
            return f"{title} needs you to sign in. {self.launch.sign_in or SIGN_IN}"
        if self.has_ended or (self._process is not None and self._process.exited.is_set()):
            line = self._process.last_error_line if self._process is not None else ""
            return f"{title} has ended unexpectedly{f': {line[:500]}' if line else ''}."
        detail = error.data if isinstance(error, RemoteError) else None
        text = str(error)[:500].rstrip(".")
        return f"{title} reports an error: {text}{f' ({str(detail)[:300]})' if detail else ''}."

    async def _request(self, method: str, params: Json, seconds: float | None = None) -> Json:
        """Send a request, and return its result; an empty object if the result is no object. `seconds` is how long the
        agent may take to answer; None for no limit. Raises: AgentError, in words for the user."""
        await self._started.wait()
        try:
            if self._peer is None or self.has_ended:
                raise PeerLeft
            async with asyncio.timeout(seconds):
                result = await self._peer.request(method, params)
        except TimeoutError:
            text = f"{self.launch.title} did not answer {method} in {seconds:g} seconds."
            if method == _INITIALIZE and self.launch.shown_command:
                text = f"{text} {WHAT_TO_CHECK.format(command=self.launch.shown_command)}"
            raise AgentError(text) from None
        except RemoteError as error:
            if isinstance(error, PeerLeft) and self._process is not None:
                await self._process.wait_for_last_line()
            raise AgentError(self._explain_failure(error)) from error
        return cast("Json", result) if isinstance(result, Mapping) else {}

    # -- the session

    async def greet(self) -> None:
        """Agree on a version of the protocol, and learn what the agent can do. Raises: AgentError."""
        capabilities: dict[str, Any] = {
            "fs": {"readTextFile": True, "writeTextFile": True},
            "terminal": False,
            "elicitation": {"form": {}, "url": {}},
            "session": {"configOptions": {"boolean": {}}},
        }
        info = {"name": "jupyter-eca", "title": "Jupyter ECA", "version": __version__}
        greeting = {"protocolVersion": VERSION, "clientCapabilities": capabilities, "clientInfo": info}
        answer = await self._request(_INITIALIZE, greeting, self.launch.start_seconds)
        version = answer.get("protocolVersion")
        if version != VERSION:
            raise AgentError(
                f"{self.launch.title} speaks version {version!r} of the Agent Client Protocol. Version {VERSION} is "
                "needed."
            )
        found = answer.get("agentCapabilities")
        self.capabilities = cast("Json", found) if isinstance(found, Mapping) else {}

    async def open(self, servers: list[dict[str, Any]], resumed: str = "") -> bool:
        """Start a session, or continue the earlier session with the id `resumed` if the agent can, and set its mode.
        `servers` are the MCP servers that the agent may use, in the form of the protocol.

        Return whether the earlier session was resumed. Raises: AgentError.
        """
        params = {"cwd": str(self.launch.folder), "mcpServers": servers}
        opened = await self._resume(resumed, params) if resumed else None
        was_resumed = opened is not None
        if opened is None:
            opened = await self._request("session/new", params, self.launch.start_seconds)
            self.id = str(opened.get("sessionId") or "")
        if not self.id:
            raise AgentError(f"{self.launch.title} has started a session without an id.")
        self._reader.options = read_config_options(opened)
        await self._set_mode(opened)
        return was_resumed

    async def _resume(self, id: str, params: Json) -> Json | None:
        """Continue the earlier session with this id, and return the agent's answer. Return None if the agent cannot do
        that, or no longer knows the session. `params` are those of `session/new`: the working directory and the MCP
        servers."""
        if not self.can_continue:
            return None
        method = "session/resume" if self._has_session_capability("resume") else "session/load"
        self.id = id
        try:
            opened = await self._request(method, {"sessionId": id, **params}, self.launch.start_seconds)
        except AgentError:
            self.id = ""
            if self.has_ended:
                raise
            return None
        finally:
            # `session/load` sends the earlier messages again, which are in our chat already.
            while not self._events.empty():
                self._events.get_nowait()
            self._reader.calls.clear()
        return opened

    @property
    def can_continue(self) -> bool:
        """Whether the agent can continue an earlier session."""
        return self._has_session_capability("resume") or bool(self.capabilities.get("loadSession"))

    def _has_session_capability(self, name: str) -> bool:
        """Return whether the agent says that its sessions can do this, such as `resume`."""
        sessions = self.capabilities.get("sessionCapabilities")
        return isinstance(sessions, Mapping) and cast("Json", sessions).get(name) is not None

    async def list_sessions(self) -> tuple[ListedSession, ...] | None:
        """Return the sessions that the agent has kept for the working directory, `MAX_LISTED` at most. Return None if
        it lists none. `greet` must have been called. Raises: AgentError."""
        if not self._has_session_capability("list"):
            return None
        listed: list[ListedSession] = []
        cursor: Any = None
        while len(listed) < MAX_LISTED:
            params: dict[str, Any] = {"cwd": str(self.launch.folder)}
            page = await self._request(
                "session/list", params if cursor is None else {**params, "cursor": cursor}, self.launch.start_seconds
            )
            found = page.get("sessions")
            entries = cast("list[Any]", found) if isinstance(found, list) else []
            listed += filter(None, map(_read_session, map(_as_object, entries)))
            before, cursor = cursor, page.get("nextCursor")
            if not entries or not cursor or cursor == before:
                break
        return tuple(listed[:MAX_LISTED])

    async def _set_mode(self, opened: Json) -> None:
        """Set the mode that `Launch.mode` names, and check that the session has it. `opened` is the agent's answer to
        the request that opened the session. Raises: AgentError when the session does not have the mode."""
        self.mode, modes, option = read_open_mode(opened)
        wanted = self.launch.mode
        if not wanted or wanted == self.mode or not modes:
            self._reader.mode = self.mode
            return
        if wanted not in modes:
            names = ", ".join(sorted(modes))
            raise AgentError(f"{self.launch.title} has no mode {wanted!r}. Its modes are {names}.")
        if option:
            params = {"sessionId": self.id, "configId": option, "value": wanted}
            changed = await self._request("session/set_config_option", params, self.launch.start_seconds)
            self._reader.options = read_config_options(changed) or self._reader.options
            self.mode = read_open_mode(changed)[0] or self.mode
        else:
            await self._request("session/set_mode", {"sessionId": self.id, "modeId": wanted}, self.launch.start_seconds)
            # The answer does not repeat the mode. Some agents send an update, which names another mode if they refuse.
            self.mode = self._reader.mode if self._reader.mode not in {"", self.mode} else wanted
        if self.mode != wanted:
            raise AgentError(f"{self.launch.title} did not take the mode {wanted!r}: it works in {self.mode!r}.")
        self._reader.mode = self.mode

    async def set_option(self, id: str, value: str) -> None:
        """Set an option of the session, and check that the agent has taken it. One choice may change other options.

        Raises: AgentError when there is no such option or value, or the agent refuses it.
        """
        title = self.launch.title
        option = next((option for option in self.options if option.id == id), None)
        if option is None or not option.can_choose:
            names = ", ".join(option.id for option in self.options if option.can_choose) or "none"
            raise AgentError(f"{title} has no option {id!r} that can be chosen here. Those that can: {names}.")
        if value not in (known.value for known in option.values):
            values = ", ".join(known.value for known in option.values)
            raise AgentError(f"{title} has no {value!r} for the option {id!r}. Its values are {values}.")
        setting: dict[str, Any] = {"type": "boolean", "value": value == ON} if option.is_switch else {"value": value}
        params = {"sessionId": self.id, "configId": id, **setting}
        changed = await self._request("session/set_config_option", params, self.launch.start_seconds)
        # The answer has all options. An agent that sends none is believed to have taken the value.
        self._reader.options = read_config_options(changed) or tuple(
            known.model_copy(update={"value": value}) if known.id == id else known for known in self.options
        )
        if value not in (known.value for known in self.options if known.id == id):
            raise AgentError(f"{title} did not take {value!r} for the option {id!r}.")

    async def prompt(self, blocks: list[dict[str, Any]]) -> AsyncIterator[AgentEvent]:
        """Send a prompt, and yield the events up to its end. Raises: AgentError when the agent fails or leaves.

        If you leave the iteration early, call `cancel`.
        """
        self._reader.calls.clear()
        self.is_prompting = True
        prompting = self._prompting = asyncio.ensure_future(self._prompt(blocks))
        while True:
            event = await self._events.get()
            if isinstance(event, PromptEnded):
                break
            yield event
        await prompting
        yield event

    async def _prompt(self, blocks: list[dict[str, Any]]) -> None:
        """Send a prompt, and add its end to the events. The answer comes after all updates of the turn."""
        reason = "end_turn"
        try:
            result = await self._request("session/prompt", {"sessionId": self.id, "prompt": blocks})
            reason = str(result.get("stopReason") or reason)
        finally:
            self.is_prompting = False
            self._events.put_nowait(PromptEnded(reason))

    async def cancel(self, handle: Callable[[AgentEvent], None]) -> None:
        """Cancel the prompt under way: refuse what the agent waits for, and wait until the agent has ended its turn. If
        it has not after some seconds (`Launch.cancel_seconds`), its process is killed. `handle` is called with each
        event that still arrives."""
        for number in list(self._asked):
            self._answer_permission_request(number, CANCELLED)
        for question in self._questions:
            question.cancel()
        if not self.is_prompting or self._peer is None or self._prompting is None:
            return
        try:
            await self._peer.notify("session/cancel", {"sessionId": self.id})
            async with asyncio.timeout(self.launch.cancel_seconds):
                while not isinstance(event := await self._events.get(), PromptEnded):
                    if isinstance(event, PermissionAsked):
                        self._answer_permission_request(event.number, CANCELLED)
                    handle(event)
        except TimeoutError:
            _log.warning("%s does not stop, so it is killed", self.launch.title)
            await self.kill()
        await asyncio.gather(self._prompting, return_exceptions=True)

    # -- what the agent asks

    def answer_permission(self, number: int, *, allow: bool) -> bool:
        """Answer a request of the agent for permission to run a call. `number` is that of the event `PermissionAsked`,
        and `allow` is the decision. Return whether the answer is exactly the decision: an agent may offer no option
        that allows just this call."""
        asked = self._asked.get(number)
        if asked is None:
            return False
        is_exact = can_allow(asked.options) or not allow
        self._answer_permission_request(number, choose_answer(asked.options, allow=allow))
        return is_exact

    def _answer_permission_request(self, number: int, answer: dict[str, Any]) -> None:
        """Send an answer to the request with this number, unless it was answered already."""
        asked = self._asked.pop(number, None)
        if asked is not None and not asked.answer.done():
            asked.answer.set_result(answer)

    def add_permission_request(self, params: Any) -> None:
        """Put a request for permission among the events, at the place where it arrived."""
        fields = _as_object(params)
        call = self._reader.merge_description(fields.get("toolCall"))
        if call is None or not self.is_prompting:
            self._arrived.append(None)
            return
        self._count += 1
        asked = self._asked[self._count] = _PendingPermission(read_options(fields.get("options")))
        self._arrived.append(asked)
        self._events.put_nowait(PermissionAsked(call, self._count, asked.options))

    def report_invalid_message(self, error: FrameError) -> None:
        """Note that the agent has sent something that is no message of the protocol, and tell the user. Lines that are
        not JSON are reported only once."""
        _log.warning("%s: %s", self.launch.title, error)
        self._invalid_messages += 1
        if self._invalid_messages == 1 or error.code == ErrorCode.INVALID_REQUEST:
            self._events.put_nowait(NoticeShown(f"{INVALID_MESSAGE.format(title=self.launch.title)} ({error})"))

    def _handle(self, method: str, params: Any) -> None:
        """Handle a notification. Unknown ones are ignored."""
        fields = _as_object(params)
        # Updates may be handled before the answer that has the id of the session, although they come after it.
        if method == "session/update" and self.id in {"", fields.get("sessionId")}:
            for event in self._reader.read(fields.get("update")):
                self._events.put_nowait(event)

    async def _answer(self, method: str, params: Any) -> Any:
        """Answer a request of the agent."""
        fields = _as_object(params)
        match method:
            case "session/request_permission":
                asked = self._arrived.popleft()
                return CANCELLED if asked is None else await asked.answer
            case "fs/read_text_file":
                line, limit = fields.get("line"), fields.get("limit")
                content = await self._request_handler.read(
                    _require_path(fields),
                    line if isinstance(line, int) else None,
                    limit if isinstance(limit, int) else None,
                )
                return {"content": content}
            case "fs/write_text_file":
                content = fields.get("content")
                if not isinstance(content, str):
                    raise RemoteError("the content is missing", ErrorCode.INVALID_PARAMS)
                if not self.is_prompting or self.has_ended:
                    raise RemoteError("the turn has ended; nothing was written", ErrorCode.INVALID_PARAMS)
                await self._request_handler.write(_require_path(fields), content)
                return {}
            case "elicitation/create":
                return await self._ask_user(fields)
            case _:
                raise RemoteError(f"there is no method {method[:80]}", ErrorCode.METHOD_NOT_FOUND)

    async def _ask_user(self, params: Json) -> dict[str, Any]:
        """Let the user answer a question of the agent, unless the turn is stopped before."""
        asking = asyncio.ensure_future(self._request_handler.ask_user(params))
        self._questions.add(asking)
        try:
            await asyncio.wait((asking,))
            return {"action": "cancel"} if asking.cancelled() else asking.result()
        finally:
            asking.cancel()
            self._questions.discard(asking)


def _read_session(entry: Json) -> ListedSession | None:
    """Return a session of a list; None for one without an id."""
    id = entry.get("sessionId")
    if not isinstance(id, str) or not id:
        return None
    return ListedSession(id, str(entry.get("title") or ""), str(entry.get("updatedAt") or ""))


def _as_object(value: Any) -> Json:
    """Return a JSON value that should be an object; an empty object if it is none."""
    return cast("Json", value) if isinstance(value, Mapping) else cast("Json", {})


def _require_path(fields: Json) -> str:
    """Return the path of a request. Raises: RemoteError."""
    path = fields.get("path")
    if not isinstance(path, str) or not path:
        raise RemoteError("the path is missing", ErrorCode.INVALID_PARAMS)
    return path
