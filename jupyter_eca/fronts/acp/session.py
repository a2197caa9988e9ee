"""Owns one session of a client of the Agent Client Protocol (ACP). A session is a chat of the host, in which the client
prompts, and whose events it gets.

A prompt is answered when its turn has ended and the client has got all updates of it. A second prompt waits until the
first one is answered. This module must not know the link: `connection.py` sends the updates and requests.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from jupyter_eca.config.disk.regular_file import read_resolved
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.errors import BusyError, FailureKind, LocalError, RemoteError, ToolError, UnknownChat
from jupyter_eca.fronts.acp import settings
from jupyter_eca.fronts.acp.permission import PermissionDecision, make_request, parse_answer
from jupyter_eca.fronts.acp.projection import AcpProjection, fold_calls, is_shown_as_message, name_person
from jupyter_eca.fronts.acp.prompt_blocks import read_prompt
from jupyter_eca.host.chat.live_chat import NO_CHOICE, Choice, Prompt
from jupyter_eca.host.commands import list_commands
from jupyter_eca.host.turn.turns import make_id
from jupyter_eca.protocol.acp import AcpErrorCode
from jupyter_eca.protocol.acp.requests import EndedTurn, OpenedSession
from jupyter_eca.protocol.acp.updates import (
    AvailableCommand,
    CommandInput,
    CommandsUpdate,
    ModeUpdate,
    OptionsUpdate,
    SessionUpdateParams,
)
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    TextContent,
    ToolCallContent,
    ToolCallPrepareContent,
    ToolCallRunContent,
)
from jupyter_eca.protocol.event import Outcome, merge_pieces
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from pathlib import Path
    from typing import Any

    from jupyter_eca.fronts.acp.client_servers import ClientServers
    from jupyter_eca.fronts.acp.tool_calls import CallKey
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.acp.content import ContentBlock
    from jupyter_eca.protocol.acp.updates import SessionUpdate
    from jupyter_eca.protocol.base import Model
    from jupyter_eca.protocol.content import Content
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.workspace.ports import Files


SelectUpdate = ModeUpdate | OptionsUpdate
"""An update that says what is selected: the mode, or the options of the session."""

# Of a larger file, the client is shown only the changed places. See `tool_calls.MAX_TEXT_CHARACTERS`.
_MAX_READ_BYTES: Final = 4_000_000

# The warning about a waiting call in a session whose client may not approve it, while another client may.
_DECIDED_ELSEWHERE: Final = (
    "A tool call waits for approval. This connection may not approve it: do so in the chat panel of JupyterLab."
)


class SessionClient(Protocol):
    """What a session needs of its connection."""

    access: ClientAccess
    """What the client may do, for example approve tool calls."""

    def queue(self, update: SessionUpdateParams) -> None:
        """Queue an update for the client."""
        ...

    def show(self, event: Event) -> None:
        """Queue an event of a session for the client."""
        ...

    async def request(self, method: str, params: Model) -> Any:
        """Send a request to the client, and return its result. Raises: RemoteError."""
        ...

    def warn(self, message: str, session: str) -> None:
        """Show a warning to the client's user in a session."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work in a task, which is cancelled when the client leaves."""
        ...


@dataclass(eq=False)
class PromptRun:
    """A prompt that is not answered yet."""

    turn: str
    """The id of the turn that answers the prompt."""
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client has cancelled the prompt."""
    ended: asyncio.Future[Outcome] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """How the turn ended. It is set when the client has got the last update of the turn."""
    failure: tuple[FailureKind, str] | None = None
    """Why the turn failed, for programs and in words. It becomes the error with which the prompt is answered."""


class AcpSession:
    """A session of one client."""

    def __init__(self, client: SessionClient, host: Host, id: str, folder: Path) -> None:
        """`folder` is the working directory, a real path."""
        self.host = host
        self.id = id
        self.folder = folder
        self.choice = NO_CHOICE if folder == host.workspace.files.start else Choice(folder=str(folder))
        """What the next prompt runs with: the agent, the model and other options."""
        self._servers: ClientServers | None = None  # the MCP servers that the client has passed to the session
        self._serving: asyncio.Task[None] | None = None  # the task that runs these servers
        self.is_silent = False
        """Whether the client has failed to ask its user about a call. From then on it is not asked any more."""
        self.last_shown = 0
        """The number of the last event that the client got."""
        self._client = client
        self._projection = AcpProjection(id, host.workspace.files.roots[0], self._find_start)
        self._runs: list[PromptRun] = []  # the prompts that are not answered yet, the oldest first
        self._begun: set[str] = set()  # the ids of the turns of all prompts of this session
        self._prompting = asyncio.Lock()  # held while a prompt is answered
        # The tasks that ask the user about calls, by the call.
        self._asking: dict[CallKey, asyncio.Task[None]] = {}
        self._foreign: set[CallKey] = set()  # the calls of subagents that the client was shown

    # -- opening and closing

    async def describe(self) -> OpenedSession:
        """Return the modes and options of the session."""
        return OpenedSession(
            modes=settings.describe_modes(self.host, self.choice),
            config_options=await settings.describe_options(self.host, self.choice, self.id),
        )

    async def load_chat(self) -> None:
        """Load the chat, and take over the agent and the model that were chosen in it. Raises: RemoteError when there
        is no such chat."""
        try:
            chat = await self.host.chats.load(self.id, must_exist=True)
        except UnknownChat as error:
            raise RemoteError(str(error), AcpErrorCode.RESOURCE_NOT_FOUND) from error
        except BusyError as error:
            raise RemoteError(str(error), ErrorCode.BUSY) from error
        self.choice = self.choice.fill_from(chat.choice)

    async def read_past(self, *, replay: bool) -> list[SessionUpdate]:
        """Return the updates of all past events of the chat; none without `replay`. Later events are sent as new ones.
        The caller must send these updates before any later event."""
        events = await self.host.chats.read_events(self.id)
        self.last_shown = events[-1].seq if events else 0
        past = (update for event in merge_pieces(events) for update in self._projection.project(event, live=False))
        return fold_calls(past) if replay else []

    async def ask_again(self) -> None:
        """Ask about the calls that wait for approval in a turn that another client has begun, and in its subagents."""
        for chat in self._list_chats():
            live = self.host.chats.get_live(chat)
            calls = live.state.calls if live is not None else ()
            waiting = {call.id for call in calls if call.status is ToolCallStatus.WAITING}
            for event in await self.host.chats.read_events(chat) if waiting else ():
                if isinstance(event.content, ToolCallRunContent) and event.content.id in waiting:
                    if chat == self.id:
                        self.continue_after(event)
                    else:
                        self._client.show(event)  # the history of the session does not have the calls of subagents

    def restart_timers(self) -> None:
        """Restart the timers of waiting calls. At the end of its timer, a call is rejected if no client is left that
        could approve it. Called when this client cannot approve calls any more."""
        for chat in self._list_chats():
            self.host.unattended_calls.restart_timer(chat)

    def _list_chats(self) -> list[str]:
        """Return the chat of the session and those of its running subagents."""
        return [self.id, *(subagent.id for subagent in self.host.subagents.list_running(self.id))]

    async def announce_commands(self) -> None:
        """Queue the list of commands for the client."""
        commands = await list_commands(self.host)
        available = tuple(
            AvailableCommand(
                name=command.name,
                description=command.description,
                input=CommandInput(hint=" ".join(argument.name for argument in command.arguments))
                if command.arguments
                else None,
            )
            for command in commands
        )
        self.queue(CommandsUpdate(available_commands=available))

    def use_servers(self, servers: ClientServers) -> None:
        """Start the MCP servers that the client has passed to the session. They run until the session is closed."""
        self._servers = servers
        self._serving = self._client.start(servers.run())

    async def end_prompts(self) -> None:
        """Cancel all prompts, and return when they are answered."""
        self.cancel()
        async with self._prompting:
            pass

    async def close(self) -> None:
        """Cancel the turn and end the MCP servers of the session. The chat stays."""
        self.cancel()
        self._stop_asking(list(self._asking))
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait((self._serving,))

    def queue(self, update: SessionUpdate) -> None:
        """Queue an update of this session for the client."""
        self._client.queue(SessionUpdateParams(session_id=self.id, update=update))

    # -- prompts

    async def prompt(self, blocks: Iterable[ContentBlock]) -> EndedTurn:
        """Answer a prompt. Return when its turn has ended and the client has got all updates of it.

        Raises: RemoteError when the turn has failed, or could not begin.
        """
        run = PromptRun(make_id())
        self._runs.append(run)
        try:
            async with self._prompting:
                return await self._run(run, blocks)
        finally:
            self._runs.remove(run)

    async def _run(self, run: PromptRun, blocks: Iterable[ContentBlock]) -> EndedTurn:
        """Run the turn of a prompt. See `prompt`."""
        message, contexts = read_prompt(blocks, self.folder)
        await self._await_tools(run)
        if run.cancelled.is_set():
            return EndedTurn(stop_reason="cancelled")
        self._projection.hide_prompt(run.turn)
        self._begun.add(run.turn)
        prompt = Prompt(self.id, message, self.choice, contexts, turn=run.turn, author=self._client.access.user)
        try:
            chat = (await self.host.turns.prompt(prompt)).chat
        except BusyError as error:
            raise RemoteError(str(error), ErrorCode.BUSY) from error
        except LocalError as error:
            raise RemoteError(str(error)) from error
        self._update_choice(chat.choice)
        try:
            if run.cancelled.is_set():
                self.host.turns.stop(self.id)
            outcome = await run.ended
        except BaseException:
            # The client has cancelled the request, or has left: nobody waits for the answer any more.
            self.host.turns.stop(self.id)
            raise
        return self._make_result(run, outcome, chat)

    async def _await_tools(self, run: PromptRun) -> None:
        """Wait until the MCP servers of the session run or have failed, or until the prompt is cancelled."""
        if self._servers is None or run.cancelled.is_set():
            return
        waits = [asyncio.ensure_future(self._servers.await_tools()), asyncio.ensure_future(run.cancelled.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _make_result(self, run: PromptRun, outcome: Outcome, chat: LiveChat) -> EndedTurn:
        """Return the answer to a prompt whose turn has ended. Raises: RemoteError for a turn that has failed."""
        if outcome is Outcome.STOPPED:
            return EndedTurn(stop_reason="cancelled")
        if outcome is Outcome.COMPLETED:
            return EndedTurn(stop_reason="end_turn")
        if run.failure is not None:
            kind, text = run.failure
            if not is_shown_as_message(kind):
                raise RemoteError(text, data={"kind": kind.value})
            return EndedTurn(stop_reason="max_turn_requests" if kind is FailureKind.BUDGET else "end_turn")
        limit = chat.state.setup.max_steps
        is_exhausted = limit > 0 and chat.state.steps >= limit
        return EndedTurn(stop_reason="max_turn_requests" if is_exhausted else "end_turn")

    def cancel(self) -> None:
        """Cancel all prompts that are not answered yet, and a turn that the user's hooks have started after an answer.
        A later prompt is not affected."""
        for run in self._runs:
            run.cancelled.set()
        if self._runs or self._has_follow_up_turn:
            self.host.turns.stop(self.id)

    @property
    def _has_follow_up_turn(self) -> bool:
        """Whether a turn runs that the user's hooks have started after a prompt of this session."""
        live = self.host.chats.get_live(self.id)
        prompt = live.prompt if live is not None and live.is_busy else None
        return prompt is not None and prompt.first_turn in self._begun

    def fail(self, reason: str) -> None:
        """Answer all prompts with an error, because the chat is gone."""
        for run in self._runs:
            if not run.ended.done():
                run.ended.set_exception(RemoteError(reason))

    # -- choices

    async def choose(self, choice: Choice) -> tuple[SelectUpdate, ...]:
        """Run the next prompts with another choice. Return the updates that inform the client."""
        self.choice = choice
        self.host.turns.choose(self.id, choice)
        return await self.describe_choice()

    async def describe_choice(self) -> tuple[SelectUpdate, ...]:
        """Return the updates with the current mode and options."""
        opened = await self.describe()
        return (
            ModeUpdate(current_mode_id=opened.modes.current_mode_id),
            OptionsUpdate(config_options=opened.config_options),
        )

    def _update_choice(self, choice: Choice) -> None:
        """If the turn runs with another agent (`choice`) than the client has chosen, for example after the command
        `/go`, take over this agent for the next prompts, and inform the client."""
        if choice.agent != self.choice.agent and choice.agent:
            self.choice = choice
            self._client.start(self._send_choice())

    async def _send_choice(self) -> None:
        """Queue the updates with the current mode and options."""
        for update in await self.describe_choice():
            self.queue(update)

    def queue_mode(self, opened: OpenedSession) -> None:
        """Queue the update with the current mode."""
        self.queue(ModeUpdate(current_mode_id=opened.modes.current_mode_id))

    def select_agent(self, agent: str) -> None:
        """Run the next prompts with an agent that was chosen at another client, and inform this client."""
        if agent != self.choice.agent:
            self.choice = replace(self.choice, agent=agent)
            self._client.start(self._send_choice())

    def announce_choice(self) -> None:
        """Send the current mode and options to the client, because those of the outside agent have changed."""
        self._client.start(self._send_choice())

    def refresh(self) -> None:
        """Send the options and commands again, because the configuration has changed."""
        self._client.start(self._send_choice())
        self._client.start(self.announce_commands())

    # -- events

    def sees(self, chat: str) -> bool:
        """Return whether the client gets the events of a chat: it is the chat of the session, or of a subagent."""
        return chat == self.id or self.host.subagents.parents.get(chat) == self.id

    async def project(self, event: Event) -> list[SessionUpdate]:
        """Return the updates of a new event; none for an event that the client has got already. Of a subagent, only the
        calls that need approval are shown: the result of the subagent is part of a call of the session."""
        if event.chat != self.id:
            content = event.content
            asks = isinstance(content, ToolCallRunContent) and content.manual_approval
            if isinstance(content, ToolCallContent) and (asks or (event.chat, content.id) in self._foreign):
                self._foreign.add((event.chat, content.id))
                updates = self._projection.calls.project(event.chat, content, await self._read_file(content))
                return [name_person(update, event) for update in updates]
            return []
        if 0 < event.seq <= self.last_shown:
            return []
        self.last_shown = max(self.last_shown, event.seq)
        return list(self._projection.project(event, await self._read_file(event.content)))

    async def _read_file(self, content: Content) -> str | None:
        """Return the current text of the file that a call would change, if the user is asked about the call. None if
        there is no such file, if it is too large, or if it is not text."""
        match content:
            case ToolCallRunContent(manual_approval=True, details=FileChangeDetails(cells=None, path=path, diff=diff)):
                if diff:
                    with suppress(OSError, ValueError, ToolError):
                        return await run_read(_read_text, self.host.workspace.files.contents, path)
            case _:
                pass
        return None

    def _find_start(self, chat: str) -> Path:
        """Return the folder in which the turns of a chat run."""
        return self.host.tool_contexts.get_files(chat).start

    def make_wire_id(self, chat: str, call: str) -> str:
        """Return the id by which the client knows a call of a chat."""
        return self._projection.calls.make_wire_id(chat, call)

    def report(self, call: str, text: str) -> None:
        """Queue the output so far of a running call. `call` is the id of the call."""
        if update := self._projection.calls.report(call, text):
            self.queue(update)

    def continue_after(self, event: Event) -> None:
        """Continue after the updates of an event were sent: ask about a call that waits for approval, and answer a
        prompt whose turn has ended."""
        run = next((run for run in self._runs if run.turn == event.turn and event.chat == self.id), None)
        match event.content:
            case ToolCallRunContent(manual_approval=True) as call:
                if self.is_silent:
                    self._reject_unanswered(event.chat, call.id)
                elif not self._client.access.may_approve:
                    if self.host.subscribers.has_approver(event.chat):
                        self._client.warn(_DECIDED_ELSEWHERE, self.id)
                elif (event.chat, call.id) not in self._asking:
                    self._asking[event.chat, call.id] = self._client.start(self._ask(event.chat, call))
            case ToolCallPrepareContent():
                pass  # the model still writes the call
            case ToolCallContent() as call:
                self._stop_asking([(event.chat, call.id)])
            case TextContent(failure=failure, text=text) if failure is not None and run is not None:
                run.failure = failure.kind, text
            case _:
                pass
        if event.outcome is not None and event.chat == self.id:
            self._stop_asking(list(self._asking))
            if run is not None and not run.ended.done():
                run.ended.set_result(event.outcome)

    def _stop_asking(self, calls: Iterable[CallKey]) -> None:
        """Withdraw the questions about calls that another client has decided, or that have ended."""
        for call in calls:
            if (task := self._asking.pop(call, None)) is not None:
                task.cancel()

    async def _ask(self, chat: str, call: ToolCallRunContent) -> None:
        """Ask the client's user whether a call may run, and pass the answer to the host. `chat` is the chat of the
        call. If neither this client nor another one can ask, the call is rejected."""
        request = make_request(self.id, call, self._projection.calls.describe(chat, call))
        try:
            decision = parse_answer(await self._client.request("session/request_permission", request), request)
        except RemoteError:
            decision = PermissionDecision.NONE
        self._asking.pop((chat, call.id), None)
        turns = self.host.turns
        match decision:
            case PermissionDecision.ALLOW:
                turns.approve(chat, call.id, remember=False, by=self._client.access.user)
            case PermissionDecision.ALLOW_IN_CHAT:
                turns.approve(chat, call.id, remember=True, by=self._client.access.user)
            case PermissionDecision.REJECT:
                turns.reject(chat, call.id, "", self._client.access.user)
            case PermissionDecision.CANCEL:
                turns.stop(self.id)
            case PermissionDecision.NONE:
                self.is_silent = True
                self._reject_unanswered(chat, call.id)
                self.restart_timers()

    def _reject_unanswered(self, chat: str, call: str) -> None:
        """Reject a call about which this client cannot ask, unless another client can."""
        if not self.host.subscribers.has_approver(chat):
            self.host.turns.reject_unanswered(chat, call)


def _read_text(files: Files, path: str) -> str:
    """Return the text of a file as it is now. Raises: OSError, ToolError, UnicodeDecodeError."""
    return read_resolved(files.resolve(path), _MAX_READ_BYTES).decode("utf-8")
