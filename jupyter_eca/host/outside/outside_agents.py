"""Owns `OutsideAgents`: the sessions of all chats with outside agents. It starts an agent at the first prompt, sends it
the prompts of its chat, stops it, and ends it when it has been idle for a while.

Each chat has a process of its own, in the chat's working directory. When it has ended, the next prompt starts another
one, which continues the earlier session where the agent can. This also works after a restart of our own program.
This module must not know how calls are shown: `agent_turn.py` does.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import shlex
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from jupyter_eca import redaction
from jupyter_eca.acp_client.launch import CANCEL_SECONDS, START_SECONDS, Launch
from jupyter_eca.engine import inputs
from jupyter_eca.engine.model.delta import Remark
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.errors import AgentError, NotSaved, RemoteError, ToolError
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.checkpoints.checkpoints import CallCheckpointer
from jupyter_eca.host.outside.prompt_blocks import ConversationPlace, get_end, make_blocks, make_text_block
from jupyter_eca.host.store.rows import AgentSessionRow
from jupyter_eca.host.subscribers import ChatQuestions, Notice
from jupyter_eca.log_fields import LogFields
from jupyter_eca.protocol.content import RejectReason
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.protocol.lifecycle import ChatConfig, ConfigUpdatedParams
from jupyter_eca.workspace.environment import inherit_environment
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jupyter_eca.acp_client.session import AgentSession, ListedSession
    from jupyter_eca.config import Agent, OutsideAgent
    from jupyter_eca.engine.effects import CallModel, RefuseCall
    from jupyter_eca.host.chat.live_chat import LiveChat, TurnUnderWay
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.chat.tasks import ChatTasks
    from jupyter_eca.host.hooks.turn_hooks import TurnHooks
    from jupyter_eca.host.outside.agent_turn import AgentTurn
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.store.tables import Tables
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.lifecycle import AgentOption

_log = logging.getLogger(__name__)

# The seconds after which an idle agent is ended. Agents were measured to hold 240 to 540 MB.
IDLE_SECONDS: Final = 15 * 60.0

# What the user reads.
NOT_INSTALLED: Final = "{title} is not installed here: there is no program {program!r} on the PATH. {install}"
NOT_RESUMED: Final = "{title} could not go on with its earlier session. It gets the end of this chat as text."
NO_SUMMARY: Final = "{title} keeps its own conversation, so this chat is not summarised."
ASKED: Final = "{title} asked: {message}"
ANSWERED: Final = "You answered: {answers}."
ACCEPTED: Final = "You accepted."
OPENED_PAGE: Final = "You answered that you have opened the page."
DECLINED: Final = "You declined to answer."
NOT_ANSWERED: Final = "It was not answered."
CHOSEN_MODE: Final = "{title} works in the mode {mode!r}, as your configuration says."
# What the agent reads with the first prompt of a session.
GUIDANCE: Final = (
    "You work beside a Jupyter notebook that the user has open{notebook}. The tools of the MCP server `jupyter` read, "
    "change and run its live cells, and the user sees each change. Never change the file of an open notebook by other "
    "tools: the open notebook is not what is in the file."
)


class ToolEndpoint(Protocol):
    """Gives the sessions of outside agents access to our tools, by MCP."""

    def open(self, chat: str, capabilities: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the MCP servers for the session of a chat, in the form of the Agent Client Protocol. `capabilities`
        are those that the agent has reported."""
        ...

    def close(self, chat: str) -> None:
        """End the access of a chat's session. It may have ended before."""
        ...


@dataclass(eq=False)
class LiveAgent:
    """The outside agent of one chat."""

    agent: Agent
    """The agent, as the session was started with it."""
    launch: Launch
    """The command, folder and other data with which it was started."""
    session: AgentSession
    """The session with it."""
    sent_place: ConversationPlace | None = None
    """The place up to which it knows the conversation; None when it knows nothing of it."""
    cost: float | None = None
    """What the session has cost so far, as the agent says; None when it is not known."""
    turn: AgentTurn | None = None
    """The turn under way, or else the last one; None before the first."""
    stop_task: asyncio.Task[None] | None = None
    """The task that lets the agent end a turn which was stopped; None when no turn is being stopped."""
    idle_timer: asyncio.TimerHandle | None = None
    """Ends the session when it has been idle for a while."""
    has_chosen_options: bool = False
    """Whether the user has chosen a value of its options."""
    is_forgotten: bool = False
    """Whether events that the agent knows were deleted from the chat, so that its session must not be resumed."""


class _SessionRequestHandler:
    """Implements `acp_client.session.AgentRequestHandler` for the session of one chat. It passes the requests of the
    agent to the turn under way."""

    def __init__(self, agents: OutsideAgents, chat: str) -> None:
        """`chat` is the id of the chat."""
        self._agents = agents
        self._chat = chat

    async def read(self, path: str, line: int | None, limit: int | None) -> str:
        """Return the text of a file, from `line` (from 1), `limit` lines at most. Raises: RemoteError."""
        turn = self._agents.get_turn(self._chat)
        try:
            return await turn.read_file(path, line, limit)
        except ToolError as error:
            raise RemoteError(str(error), ErrorCode.INVALID_PARAMS) from error

    async def write(self, path: str, content: str) -> None:
        """Write a file, if the user's rules or the user allow it. Raises: RemoteError."""
        turn = self._agents.get_turn(self._chat)
        try:
            await turn.write_file(path, content)
        except ToolError as error:
            raise RemoteError(str(error), ErrorCode.INVALID_PARAMS) from error

    async def ask_user(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the user a question, see `OutsideAgents.ask_user`."""
        return await self._agents.ask_user(self._chat, params)


class OutsideAgents:
    """The outside agents of all chats of one host. In all methods, `id` is the id of a chat."""

    def __init__(
        self, services: Services, chats: Chats, tasks: ChatTasks, contexts: ToolContexts, hooks: TurnHooks
    ) -> None:
        self._services = services
        self._chats = chats
        self._tasks = tasks
        self._contexts = contexts
        self._hooks = hooks
        # The running agents by the ids of their chats.
        self._agents: dict[str, LiveAgent] = {}
        self.endpoint: ToolEndpoint | None = None
        """Gives the agents access to our tools; None where there is no such access. The program sets it."""
        self.idle_seconds = IDLE_SECONDS
        """The seconds after which an idle agent is ended."""
        self.start_seconds = START_SECONDS
        """The seconds that an agent has to answer the first requests."""
        self.cancel_seconds = CANCEL_SECONDS
        """The seconds that an agent has to end its turn after it was stopped."""

    # -- a prompt

    async def run(self, chat: LiveChat, turn: TurnUnderWay, effect: CallModel) -> None:
        """Send the prompt of a turn to its agent, and feed what it answers to the engine, up to the end."""
        agent, number = self._services.current.resolved.get_agent(chat.state.setup.agent), effect.number
        try:
            if agent.outside is None:
                raise AgentError(f"There is no outside agent {chat.state.setup.agent!r} any more.")
            if chat.state.summary_under_way is not None:
                raise AgentError(NO_SUMMARY.format(title=agent.outside.title))
            if agent.outside.is_missing:
                raise AgentError(_describe_missing(agent.outside))
            live = await self._get_or_start(chat, agent)
            await self._prompt(chat, turn, live, effect)
        except AgentError as error:
            await self._end_open_calls(chat)
            self._chats.feed(chat, inputs.ModelFailed(now(), number, redaction.redact(str(error))), late=True)
        else:
            await self._end_open_calls(chat)
            self._chats.feed(chat, inputs.ModelFinished(now(), number), late=True)

    async def _prompt(self, chat: LiveChat, turn: TurnUnderWay, live: LiveAgent, effect: CallModel) -> None:
        """Send a prompt, and feed the events of the agent. Raises: AgentError."""
        from jupyter_eca.acp_client.agent_events import OptionsChanged
        from jupyter_eca.host.outside.agent_turn import AgentTurn
        from jupyter_eca.host.outside.turn_files import TurnFiles

        session, history, id = live.session, effect.request.messages, chat.state.id
        begins = live.sent_place is None  # whether this is the first prompt of the session
        blocks = make_blocks(history, live.sent_place, accepts_images=session.accepts_images)
        open_notebooks = await self._list_open_notebooks(chat)
        if begins and self.endpoint is not None:
            notebook = f" ({turn.notebook})" if turn.notebook else ""
            guidance = make_text_block(GUIDANCE.format(notebook=notebook))
            # A `/` command of the agent must be the first text of the prompt.
            is_command = str(blocks[0].get("text", "")).startswith("/") if blocks else False
            blocks.insert(len(blocks) if is_command else 0, guidance)
        context = self._contexts.build(id, chat.kernel)
        checkpointer = context.checkpointer
        if not isinstance(checkpointer, CallCheckpointer):
            raise AgentError("The changes of the agent cannot be kept.")
        chat.unseen_change = await self._services.checkpoints.find_unseen()
        agent_turn = live.turn = AgentTurn(
            self._services,
            self._chats,
            chat,
            turn,
            effect.number,
            live.agent,
            session,
            TurnFiles(context.files, checkpointer, open_notebooks | self._services.store.files),
            open_notebooks,
            contexts=self._contexts,
            hooks=self._hooks,
            begins_session=begins,
            cost_before=live.cost,
        )
        live.sent_place = get_end(history)
        outside = live.agent.outside
        if begins and outside is not None and outside.is_mode_chosen and session.mode:
            remark = CHOSEN_MODE.format(title=outside.title, mode=session.mode)
            self._chats.feed(chat, inputs.Streamed(now(), effect.number, Remark(remark)))
        try:
            async for event in session.prompt(blocks):
                if isinstance(event, OptionsChanged):
                    self._announce_options(live)
                    if live.has_chosen_options:
                        await self._keep_options(live)
                await agent_turn.handle(event)
        except asyncio.CancelledError:
            live.stop_task = self._tasks.start_detached(id, "stop agent", self._stop(live, agent_turn))
            raise
        finally:
            live.cost = agent_turn.cost
            self._start_idle_timer(live)
            if live.stop_task is None:  # else `_stop` does the rest
                await self._save_session(id, live)
                agent_turn.end_calls()
        agent_turn.show_usage()
        await agent_turn.close()

    async def _stop(self, live: LiveAgent, turn: AgentTurn) -> None:
        """Let an agent end a turn that was stopped."""
        try:
            await live.session.cancel(turn.handle_late)
        finally:
            turn.end_calls()
            await turn.close()
            await self._save_session(live.launch.chat, live)
            live.stop_task = None

    async def _end_open_calls(self, chat: LiveChat) -> None:
        """Reject the calls that wait for a decision, and wait until all other calls of the reply have ended."""
        for call in chat.state.calls:
            if call.status is ToolCallStatus.WAITING:
                self._chats.feed(chat, inputs.Rejected(now(), call.id, RejectReason.STOP), late=True)
        running = [task for name, task in chat.tasks.items() if name.startswith("tool ")]
        await asyncio.gather(*running, return_exceptions=True)

    async def _list_open_notebooks(self, chat: LiveChat) -> frozenset[Path]:
        """Return the real paths of the notebooks that are open in a page."""
        notebooks, files = self._contexts.find_notebooks(chat.state.id), self._services.workspace.files
        paths: set[Path] = set()
        for info in await notebooks.list() if notebooks is not None else ():
            try:
                paths.add(files.contents.resolve(info.path))
            except ToolError:
                continue
        return frozenset(paths)

    # -- the sessions

    async def _get_or_start(self, chat: LiveChat, agent: Agent) -> LiveAgent:
        """Return the agent of a chat. It is started if it does not run. Raises: AgentError."""
        id = chat.state.id
        launch = self._make_launch(chat, agent)
        live = self._agents.get(id)
        if live is not None and live.stop_task is not None:
            await asyncio.shield(live.stop_task)
        if live is not None and live.idle_timer is not None:
            live.idle_timer.cancel()
        if live is not None and not live.session.has_ended and live.launch == launch:
            return live
        if live is not None:
            self._close_session(id, live)
        earlier = await self._read_session(id)
        can_resume = earlier is not None and (earlier.agent, earlier.folder) == (agent.name, str(launch.folder))
        live = LiveAgent(agent, launch, self._make_session(id, launch))
        self._agents[id] = live
        self._tasks.start_detached(id, "agent", live.session.run())
        try:
            resumed = await self._open(id, live, earlier.session if earlier is not None and can_resume else "")
            await self._set_chosen_options(chat, live)
        except BaseException:
            self._close_session(id, live)
            raise
        if resumed and earlier is not None:
            live.sent_place, live.cost = earlier.sent, earlier.cost
            return live
        chat.known_versions.forget()  # what was shown to an earlier session
        if can_resume and agent.outside is not None:
            remark = Remark(NOT_RESUMED.format(title=agent.outside.title))
            self._chats.feed(chat, inputs.Streamed(now(), chat.state.request, remark), late=True)
        return live

    async def _open(self, id: str, live: LiveAgent, earlier_session: str) -> bool:
        """Open the session of an agent that was started. `earlier_session` is the agent's id of the session that it
        should resume, "" for none. Return whether it was resumed. Raises: AgentError."""
        await live.session.greet()
        servers = self.endpoint.open(id, live.session.capabilities) if self.endpoint is not None else []
        return await live.session.open(servers, earlier_session)

    # -- the options

    def list_options(self, id: str) -> tuple[AgentOption, ...]:
        """Return the options of a chat's agent. They are known while it runs: without it, there are none."""
        live = self._agents.get(id)
        return () if live is None or live.session.has_ended else live.session.options

    def is_running(self, id: str) -> bool:
        """Return whether the agent of a chat has a session now."""
        live = self._agents.get(id)
        return live is not None and bool(live.session.id) and not live.session.has_ended

    def get_mode(self, id: str) -> str:
        """Return the mode in which the agent of a chat works, as it names it; "" if it has none or does not run."""
        return self._agents[id].session.mode if self.is_running(id) else ""

    async def choose_option(self, chat: LiveChat, agent: Agent, option: str, value: str) -> None:
        """Set an option of a chat's agent, now and whenever it starts for this chat. If it does not run, it gets the
        value when it starts. Options that the agent has changed itself are stored too, because the value may depend on
        them.

        Raises: AgentError when the agent refuses the value; NotSaved.
        """
        id = chat.state.id
        live = self._agents.get(id)
        if live is not None and live.agent.name == agent.name and self.is_running(id):
            try:
                await live.session.set_option(option, value)
            finally:
                self._announce_options(live)
            await self._keep_options(live)
        else:
            await self._services.store.do(lambda tables: tables.save_agent_option(id, agent.name, option, value))

    async def _keep_options(self, live: LiveAgent) -> None:
        """Store all options that can be chosen as they are now, because their values depend on each other. Raises:
        NotSaved."""
        id, options = live.launch.chat, live.session.options
        live.has_chosen_options = True

        def save(tables: Tables) -> None:
            """Save the options in one visit to the thread of the store."""
            for option in options:
                if option.can_choose:
                    tables.save_agent_option(id, live.agent.name, option.id, option.value, accepted=True)

        await self._services.store.do(save)

    async def read_waiting_options(self, chat: LiveChat, agent: Agent) -> dict[str, str]:
        """Return the values that an agent gets when it starts for a chat, by the ids of the options. Raises:
        NotSaved."""
        return await self._services.store.do(lambda tables: tables.read_agent_options(chat.state.id, agent.name))

    async def _set_chosen_options(self, chat: LiveChat, live: LiveAgent) -> None:
        """Set the values that the user has chosen for the options of a new session. If the agent refuses a value, the
        user gets a message once, and the turn continues. Raises: AgentError when the agent has ended."""
        id, agent = chat.state.id, live.agent
        try:
            chosen = await self.read_waiting_options(chat, agent)
        except NotSaved as error:
            fields = LogFields(chat_id=id)
            _log.warning("The options of the agent of chat %s cannot be read: %s", id, error, extra=fields)
            chosen = {}
        live.has_chosen_options = bool(chosen)
        # The agent lists the most important option first: the model decides which values the others can have.
        listed = [option.id for option in live.session.options if option.id in chosen]
        for option in (*listed, *(chosen.keys() - listed)):
            value: str | None = chosen[option]
            while value is not None:
                value = await self._set_chosen_option(chat, live, option, value)
        if chosen:
            with suppress(NotSaved):
                await self._keep_options(live)
        self._announce_options(live)

    async def _set_chosen_option(self, chat: LiveChat, live: LiveAgent, option: str, value: str) -> str | None:
        """Set an option, and return None. If the agent refuses the value, tell the user, and return the last value that
        the agent has accepted, which is tried next; None if there is none. Raises: AgentError when the agent has
        ended."""
        if value in (known.value for known in live.session.options if known.id == option):
            return None
        try:
            await live.session.set_option(option, value)
        except AgentError as error:
            if live.session.has_ended:
                raise
            remark = Remark(redaction.redact(str(error)))
            self._chats.feed(chat, inputs.Streamed(now(), chat.state.request, remark), late=True)
            id, agent = chat.state.id, live.agent.name
            with suppress(NotSaved):
                return await self._services.store.do(lambda tables: tables.refuse_agent_option(id, agent, option))
        return None

    def _announce_options(self, live: LiveAgent) -> None:
        """Tell the clients of a chat the options of its agent."""
        config = ConfigUpdatedParams(chat=ChatConfig(agent_options=live.session.options))
        self._services.subscribers.tell(Notice("config/updated", config, live.launch.chat))

    # -- earlier sessions

    async def list_sessions(self, chat: LiveChat, agent: Agent) -> tuple[ListedSession, ...] | None:
        """Return the sessions that an agent has kept for the working directory of a chat, also those that were begun
        elsewhere. Return None if the agent keeps none that it could continue.

        The agent is started for this, and ended again. Raises: AgentError.
        """
        if agent.outside is not None and agent.outside.is_missing:
            raise AgentError(_describe_missing(agent.outside))
        id = chat.state.id
        session = self._make_session(id, self._make_launch(chat, agent))
        self._tasks.start_detached(id, "list sessions", session.run())
        try:
            await session.greet()
            return await session.list_sessions() if session.can_continue else None
        finally:
            session.close()

    async def choose_session(self, chat: LiveChat, agent: Agent, session: str) -> None:
        """Let an agent continue one of its sessions at the next prompt of a chat. `session` is the agent's id of it.
        Raises: NotSaved."""
        id = chat.state.id
        self.forget(id)
        place = get_end(chat.state.history)
        row = AgentSessionRow(agent.name, str(self._contexts.get_files(id).start), session, place, None)
        await self._services.store.do(lambda tables: tables.save_agent_session(id, row))

    def _make_session(self, id: str, launch: Launch) -> AgentSession:
        """Return a session that has not begun."""
        # The client of ACP is imported here, because most servers never start an outside agent.
        from jupyter_eca.acp_client.session import AgentSession

        return AgentSession(launch, _SessionRequestHandler(self, id))

    def _make_launch(self, chat: LiveChat, agent: Agent) -> Launch:
        """Return how the agent of a chat is started."""
        from jupyter_eca.acp_client.process import choose_environment

        outside = agent.outside
        if outside is None:
            raise AgentError(f"{agent.name!r} is no outside agent.")
        added = {name: value.get_secret_value() for name, value in outside.env.items()}
        return Launch(
            title=outside.title,
            command=outside.command,
            environment=choose_environment(inherit_environment(), added),
            folder=self._contexts.get_files(chat.state.id).start,
            chat=chat.state.id,
            mode=outside.mode,
            sign_in=outside.sign_in,
            shown_command=shlex.join(redaction.redact_arguments(outside.command)),
            start_seconds=self.start_seconds,
            cancel_seconds=self.cancel_seconds,
        )

    async def _read_session(self, id: str) -> AgentSessionRow | None:
        """Return the session that an agent had for a chat; None when none is known."""
        try:
            return await self._services.store.do(lambda tables: tables.read_agent_session(id))
        except NotSaved as error:
            fields = LogFields(chat_id=id)
            _log.warning("The session of the agent of chat %s cannot be read: %s", id, error, extra=fields)
            return None

    async def _save_session(self, id: str, live: LiveAgent) -> None:
        """Store the session of a chat, so that another process can resume it, also after a restart of our own program.
        If this fails, the agent gets some messages twice, or begins a new session."""
        if not live.session.id or live.is_forgotten:
            return
        row = AgentSessionRow(live.agent.name, str(live.launch.folder), live.session.id, live.sent_place, live.cost)
        with suppress(NotSaved):  # the user has a message already: the events of the turn cannot be stored either
            await self._services.store.do(lambda tables: tables.save_agent_session(id, row))

    def _start_idle_timer(self, live: LiveAgent) -> None:
        """End the session if it is idle for a while from now on."""
        loop = asyncio.get_running_loop()
        live.idle_timer = loop.call_later(self.idle_seconds, self._close_session, live.launch.chat, live)

    def _close_session(self, id: str, live: LiveAgent) -> None:
        """End the session of a chat, and its access to our tools."""
        if live.idle_timer is not None:
            live.idle_timer.cancel()
        live.session.close()
        if self._agents.get(id) is live:
            del self._agents[id]
            if self.endpoint is not None:
                self.endpoint.close(id)

    def forget(self, id: str) -> None:
        """End the agent of a chat that was deleted or cut, because it knows the deleted events. The store has
        deleted its session already."""
        if (live := self._agents.get(id)) is not None:
            live.is_forgotten = True
            self._close_session(id, live)

    def close(self) -> None:
        """End all agents."""
        for id, live in list(self._agents.items()):
            self._close_session(id, live)

    def list_commands(self, id: str = "") -> dict[str, str]:
        """Return the descriptions of the `/` commands of a chat's agent by their names; without an id, those of all
        agents that run."""
        agents = self._agents.values() if not id else filter(None, (self._agents.get(id),))
        return {name: text for live in agents for name, text in live.session.commands}

    async def ask_user(self, id: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the user a question of the agent of a chat, and return the result for the agent. `params` and the result
        are those of the request `elicitation/create`. Raises: RemoteError when the question cannot be asked."""
        if params.get("mode") not in {"form", "url"}:
            raise RemoteError("there is no such mode", ErrorCode.INVALID_PARAMS)
        subscribers, live = self._services.subscribers, self._agents.get(id)
        if live is None or not subscribers.has_answerer(id):
            return {"action": "cancel"}
        # These modules need the SDK of MCP, whose import takes half a second.
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.mcp_client.server_requests")
        from jupyter_eca.mcp_client.elicitation_forms import parse_form
        from jupyter_eca.mcp_client.server_requests import QuestionDialogue, UnansweredQuestion

        call, message = params.get("toolCallId"), str(params.get("message") or "")
        asker = ChatQuestions(subscribers, id)
        dialogue = QuestionDialogue(asker, id, call if isinstance(call, str) else "", live.launch.title)
        try:
            with live.turn.show_question() if live.turn is not None else nullcontext():
                if params.get("mode") == "url":
                    await dialogue.ask_page(str(params.get("url") or ""), message)
                    self._remark_on_question(id, live, message, OPENED_PAGE)
                    return {"action": "accept"}
                schema = params.get("requestedSchema")
                questions = parse_form(cast("Mapping[str, Any]", schema) if isinstance(schema, dict) else {})
                values = await dialogue.ask_form(message, questions)
            answers = {
                question.schema.title or question.name: question.describe(values.get(question.name))
                for question in questions
            }
            self._remark_on_question(id, live, message, _describe_answers(answers))
            return {"action": "accept", "content": dict(values)}
        except UnansweredQuestion as error:
            is_declined = error.action == "decline"
            self._remark_on_question(id, live, message, DECLINED if is_declined else NOT_ANSWERED)
            return {"action": "decline" if is_declined else "cancel"}
        except ValueError as error:
            raise RemoteError(f"this cannot be asked: {error}", ErrorCode.INVALID_PARAMS) from error

    def _remark_on_question(self, id: str, live: LiveAgent, message: str, answer: str) -> None:
        """Keep a question of the agent in its chat, with a sentence about the answer."""
        if (chat := self._chats.get_live(id)) is None:
            return
        text = redaction.redact_keys(f"{ASKED.format(title=live.launch.title, message=message.strip())} {answer}")
        self._chats.feed(chat, inputs.Streamed(now(), chat.state.request, Remark(text, is_question=True)), late=True)

    # -- calls

    def get_turn(self, id: str) -> AgentTurn:
        """Return the turn under way of a chat. Raises: RemoteError when there is none."""
        live, chat = self._agents.get(id), self._chats.get_live(id)
        if live is None or live.turn is None or live.turn.is_over.is_set() or chat is None or not chat.is_busy:
            raise RemoteError("no turn is under way", ErrorCode.INVALID_PARAMS)
        return live.turn

    def owns(self, chat: LiveChat, call: str) -> bool:
        """Return whether a call is one that the outside agent of the chat runs itself."""
        live = self._agents.get(chat.state.id)
        return live is not None and live.turn is not None and live.turn.owns(call)

    async def run_call(self, chat: LiveChat, call: str) -> ToolResult:
        """Let the agent run a call that was allowed, and return its result."""
        live = self._agents.get(chat.state.id)
        return ToolResult("", error=True) if live is None or live.turn is None else await live.turn.run_call(call)

    async def call_tool(self, id: str, tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        """Run one of our tools for the agent of a chat, as a call of its turn. Raises: ToolError."""
        try:
            turn = self.get_turn(id)
        except RemoteError as error:
            raise ToolError("No turn of yours is under way in this chat.") from error
        return await turn.tools.call(tool, arguments)

    def send_result(self, chat: LiveChat, call: str, result: ToolResult) -> None:
        """Give the result of a call to the outside agent that made it over MCP."""
        live = self._agents.get(chat.state.id)
        if live is not None and live.turn is not None:
            live.turn.tools.finish(call, result)

    def refuse(self, chat: LiveChat, effect: RefuseCall) -> None:
        """Tell the agent of a chat that a call must not run. A turn that is stopped refuses all of them at once."""
        live = self._agents.get(chat.state.id)
        if live is not None and live.turn is not None and not live.turn.is_over.is_set():
            live.turn.refuse(effect.call, effect.text)


def _describe_answers(answers: Mapping[str, str]) -> str:
    """Return a sentence about what the user has answered. `answers` are the answers by the titles of the fields."""
    if not answers:
        return ACCEPTED
    named = "; ".join(f"{title}: {answer}" for title, answer in answers.items())
    return ANSWERED.format(answers=next(iter(answers.values())) if len(answers) == 1 else named)


def _describe_missing(outside: OutsideAgent) -> str:
    """Return the message for the user about an agent that is not installed."""
    text = NOT_INSTALLED.format(title=outside.title, program=outside.command[0], install=outside.install)
    return text.strip()
