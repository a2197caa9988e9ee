"""The imperative core: feeds the engine, runs its effects as tasks in one group, stores and fans out events.

One per process. Everything here runs on one event loop; `_feed` is synchronous, so a chat's steps never interleave.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca import plugins
from jupyter_eca.audience import Asking, Audience, Audiences
from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval import hidden
from jupyter_eca.engine.chat import ChatState, step
from jupyter_eca.engine.effects import AskUser, CallModel, CancelModel, CancelTool, Effect, RunTool
from jupyter_eca.engine.prompt import Environment, context_text, system_prompt
from jupyter_eca.engine.recovery import restore
from jupyter_eca.engine.spec import ChatMessage, ModelRequest, TextPart
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, IllegalSignal, ProviderError, ToolError, UnknownChat
from jupyter_eca.protocol.content import RejectReason
from jupyter_eca.protocol.context import FileContext, TextContext
from jupyter_eca.providers.catalog import Catalog
from jupyter_eca.store import Store, alive
from jupyter_eca.tools.base import ToolContext, ToolResult

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from jupyter_eca.config import Config
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.providers.base import Logins
    from jupyter_eca.store import ChatRow
    from jupyter_eca.tools.base import Tool
    from jupyter_eca.workspace.base import Kernel, McpServers, Workspace

_log = logging.getLogger(__name__)

# Today's name of the default agent, and what the two seed revisions call it.
AGENTS: Final = ("agent", "plan")
_AGENT_NAMES: Final = {"code": "agent", "build": "agent"}

BUSY = "This chat is still answering. Wait for it, or stop it first."


@dataclass(frozen=True, slots=True)
class Choice:
    """What turns are run with; "" (or None) is what it was before, in the end the default."""

    model: str = ""
    agent: str = ""
    variant: str | None = None
    trust: bool | None = None

    def over(self, other: Choice) -> Choice:
        return Choice(
            self.model or other.model,
            self.agent or other.agent,
            other.variant if self.variant is None else self.variant,
            other.trust if self.trust is None else self.trust,
        )


NO_CHOICE = Choice()


@dataclass
class _Chat:
    """One live chat: its state, its running tasks, and the kernel of whoever asked last."""

    state: ChatState
    last: int
    kernel: Kernel | None = None
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, "asyncio.Task[None]"])


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question from a front. `chat` may be new."""

    chat: str
    message: str
    choice: Choice = NO_CHOICE
    contexts: tuple[ChatContext, ...] = ()


class Host:
    def __init__(self, config: Config, workspace: Workspace, database: Path) -> None:
        self.config = config
        self.workspace = workspace
        self.catalog = Catalog(plugins.find("providers", "PROVIDER"), config)
        self.tools: dict[str, Tool] = {
            tool.spec.name: tool for tools in plugins.find("tools", "TOOLS").values() for tool in tools
        }
        self.ready = asyncio.Event()
        self._store = Store(database, str(workspace.files.roots[0]), self._publish)
        self._chats: dict[str, _Chat] = {}
        self._loading = asyncio.Lock()
        self.audiences = Audiences()
        self._ended = asyncio.Event()
        self.started = _now()
        self.logins: Logins | None = None
        self.mcp: McpServers | None = None
        self._choices: dict[str, Choice] = {}

    async def run(self) -> None:
        """Serve until `close`; every turn that is under way then is stopped and stored."""
        await self._store.open()
        async with asyncio.TaskGroup() as self._tasks:
            storing = self._tasks.create_task(self._store.run())
            self.ready.set()
            await self._ended.wait()
            for chat in self._chats.values():
                self._feed_stop(chat)
            working = [task for chat in self._chats.values() for task in chat.tasks.values()]
            await asyncio.gather(*working, return_exceptions=True)
            storing.cancel()
        await self._store.close()

    def close(self) -> None:
        self._ended.set()

    # -- what fronts ask

    def join(self, audience: Audience) -> None:
        self.audiences.join(audience)

    def leave(self, audience: Audience) -> None:
        """Calls that only this audience could have approved are denied: nobody is there to answer."""
        self.audiences.leave(audience)
        for chat in self._chats.values():
            if chat.kernel is not None and chat.kernel is audience.kernel:
                chat.kernel = None
            if not self.audiences.attended(chat.state.id):
                for call in chat.state.calls:
                    self._feed(chat, inputs.Rejected(_now(), call.id, RejectReason.NOBODY), late=True)

    async def prompt(self, prompt: Prompt, kernel: Kernel | None = None) -> str:
        """Start a turn; gives the full name of the model. Returns before the answer begins.

        Raises: BusyError when the chat is still answering, here or in another process.
        """
        chat = await self._chat(prompt.chat)
        if chat.state.status is not TurnStatus.IDLE:
            raise BusyError(BUSY)
        choice = self._choices[prompt.chat] = prompt.choice.over(self.chosen(prompt.chat))
        model = await self.model(prompt.chat)
        context = "".join([await self._context(item) for item in prompt.contexts])
        chat.kernel = kernel
        setup = self._setup(model, self.agent(choice.agent), self.surroundings(prompt.chat, kernel))
        try:
            self._feed(chat, inputs.Prompted(_now(), _id(), prompt.message, _id(), setup, context))
        except IllegalSignal:
            raise BusyError(BUSY) from None
        return model

    def stop(self, chat: str) -> None:
        if live := self._chats.get(chat):
            self._feed_stop(live)

    def approve(self, chat: str, call: str, *, remember: bool) -> None:
        """A second answer, or one that comes after a stop, changes nothing."""
        if live := self._chats.get(chat):
            self._feed(live, inputs.Approved(_now(), call, remember), late=True)

    def reject(self, chat: str, call: str, words: str) -> None:
        if live := self._chats.get(chat):
            self._feed(live, inputs.Rejected(_now(), call, RejectReason.USER, words), late=True)

    async def replay(self, chat: str, after: int = 0) -> list[Event]:
        """Everything stored about a chat after a sequence number; a turn cut short by a crash is closed first.

        Raises: UnknownChat.
        """
        await self._chat(chat, must_exist=True)
        return await self._store.events(chat, after)

    async def chats(self) -> list[ChatRow]:
        return await self._store.chats()

    async def chat(self, chat: str) -> ChatRow | None:
        return await self._store.chat(chat)

    def running(self, chat: str) -> bool:
        live = self._chats.get(chat)
        return live is not None and live.state.status is not TurnStatus.IDLE

    def choose(self, chat: str, choice: Choice) -> None:
        """For the turns to come, also of a chat that has none yet."""
        self._choices[chat] = choice.over(self.chosen(chat))

    def chosen(self, chat: str) -> Choice:
        return self._choices.get(chat, NO_CHOICE)

    async def model(self, chat: str) -> str:
        """The full name of the model that answers in a chat; "" when there is none."""
        row = await self._store.chat(chat)
        return self.chosen(chat).model or (row and row.model) or await self.catalog.default()

    async def stored(self, chat: str) -> list[Event]:
        """Everything said in a chat so far; unlike `replay` it closes no turn, and knows no unknown chat."""
        await self._store.settled()
        return await self._store.events(chat)

    async def draft(self, chat: str, message: str = "", kernel: Kernel | None = None) -> ModelRequest:
        """What the model would be sent now. Nothing is sent or stored."""
        live = await self._chat(chat)
        around = self.surroundings(chat, kernel)
        setup = self._setup(await self.model(chat), self.agent(self.chosen(chat).agent), around)
        asked = (ChatMessage("user", (TextPart(message),)),) if message else ()
        return ModelRequest(setup.model, setup.system, (*live.state.history, *asked), setup.tools)

    def agent(self, name: str) -> str:
        name = _AGENT_NAMES.get(name, name)
        return name if name in AGENTS else self.config.default_agent

    def surroundings(self, chat: str, kernel: Kernel | None, call: str = "") -> ToolContext:
        """What the tools of a chat have; the kernel is that of the cell that asked, else the workspace's."""
        return ToolContext(
            chat,
            self.workspace.files,
            call,
            kernel=kernel or self.workspace.kernel,
            questions=Asking(self.audiences, chat) if self.audiences.answered(chat) else None,
            editor=self.audiences.editor(chat),
        )

    def offered(self, agent: str, around: ToolContext) -> list[Tool]:
        """The tools an agent has: plan mode only looks, and what the rules always deny is not mentioned."""
        policy = self.config.tool_call.approval
        return [
            tool
            for tool in self.tools.values()
            if all(around.has(need) for need in tool.needs)
            and (not tool.agents or agent in tool.agents)
            and not (agent == "plan" and not tool.reads)
            and not hidden(policy, tool.spec)
        ]

    # -- a chat's steps

    async def _chat(self, id: str, *, must_exist: bool = False) -> _Chat:
        async with self._loading:
            await self._store.settled()
            live = self._chats.get(id)
            row = await self._store.chat(id) if live is None or live.state.status is TurnStatus.IDLE else None
            if live is not None and (row is None or row.last <= live.last):
                return live
            if row is None and must_exist:
                raise UnknownChat(f"There is no chat {id!r}. `%eca new` starts one.")
            if row and row.owner not in {None, self._store.owner} and alive(row.owner):
                raise BusyError("This chat is being answered by another program. Wait for it, or start a new chat.")
            restored = restore(id, await self._store.events(id) if row else [], _now())
            chat = self._chats[id] = _Chat(restored.state, row.last if row else 0)
            if restored.missing:
                self._store.append(restored.missing, "")
                await self._store.settled()
            return chat

    def _setup(self, model: str, agent: str, around: ToolContext) -> inputs.Setup:
        tools = tuple(tool.spec for tool in self.offered(agent, around))
        folders = tuple(str(root) for root in self.workspace.files.roots)
        system = system_prompt(agent, Environment(folders, around.kernel.description if around.kernel else ""))
        return inputs.Setup(model, system, tools, self.config.tool_call.approval)

    async def _context(self, context: ChatContext) -> str:
        """A context that cannot be read is named with the reason; the prompt is not lost for it."""
        match context:
            case FileContext(path=path, lines_range=lines):
                try:
                    file = self.workspace.files.resolve(path)
                    text = await asyncio.to_thread(file.read_text, encoding="utf-8")
                except (OSError, ValueError, ToolError) as error:
                    return context_text(path, f"(not readable: {error})")
                if lines is not None:
                    text = "\n".join(text.splitlines()[lines.start - 1 : lines.end])
                return context_text(path, text)
            case TextContext(label=label, content=content):
                return context_text(label, content)
            case _:
                return context_text(context.type, context.model_dump_json(by_alias=True))

    def _feed_stop(self, chat: _Chat) -> None:
        self._feed(chat, inputs.Stopped(_now()), late=True)

    def _feed(self, chat: _Chat, what: inputs.Input, *, late: bool = False) -> None:
        """`late` inputs may come after what they are about has ended: then they mean nothing."""
        try:
            chat.state, events, effects = step(chat.state, what)
        except IllegalSignal:
            if not late:
                raise
            return
        self._store.append(events, chat.state.setup.model)
        for effect in effects:
            self._run(chat, effect)

    def _publish(self, events: list[Event]) -> None:
        for event in events:
            if live := self._chats.get(event.chat):
                live.last = max(live.last, event.seq)
        self.audiences.show(events)

    # -- effects

    def _run(self, chat: _Chat, effect: Effect) -> None:
        match effect:
            case CallModel():
                self._start(chat, f"model {effect.number}", self._call_model(chat, effect))
            case RunTool(call=call):
                self._start(chat, f"tool {call}", self._run_tool(chat, effect))
            case CancelModel(number=number):
                self._cancel(chat, f"model {number}")
            case CancelTool(call=call):
                self._cancel(chat, f"tool {call}")
            case AskUser(call=call):
                if not self.audiences.attended(chat.state.id):
                    self._feed(chat, inputs.Rejected(_now(), call, RejectReason.NOBODY))

    def _start(self, chat: _Chat, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = chat.tasks[name] = self._tasks.create_task(work, name=f"{chat.state.id} {name}")
        task.add_done_callback(lambda _: chat.tasks.pop(name, None))

    def _cancel(self, chat: _Chat, name: str) -> None:
        if task := chat.tasks.get(name):
            task.cancel()

    async def _call_model(self, chat: _Chat, effect: CallModel) -> None:
        number = effect.number
        try:
            chosen = self.catalog.choose(effect.request.model)
            async with aclosing(chosen.provider.stream(chosen.model, effect.request, chosen.settings)) as deltas:
                async for delta in deltas:
                    self._feed(chat, inputs.Streamed(_now(), number, delta))
        except ProviderError as error:
            self._feed(chat, inputs.ModelFailed(_now(), number, str(error)))
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must end
            _log.exception("the provider of %s failed", effect.request.model)
            message = f"The provider of {effect.request.model} failed inside: {error!r}. The log has the details."
            self._feed(chat, inputs.ModelFailed(_now(), number, message))
        else:
            self._feed(chat, inputs.ModelFinished(_now(), number))

    async def _run_tool(self, chat: _Chat, effect: RunTool) -> None:
        context = self.surroundings(chat.state.id, chat.kernel, effect.call)
        result = ToolResult("", error=True)
        try:
            result = await self.tools[effect.tool.name].run(context, effect.arguments)
        except ToolError as error:
            result = ToolResult(str(error), error=True)
        except Exception as error:  # noqa: BLE001  # the boundary to plugs: whatever they raise, the turn must go on
            _log.exception("the tool %s failed", effect.tool.name)
            result = ToolResult(f"{effect.tool.name} failed inside: {error!r}", error=True)
        finally:
            if result.interrupted:
                self._feed_stop(chat)
            # Also when cancelled: the engine waits for the end of every call it started.
            done = inputs.ToolFinished(_now(), effect.call, result.text, result.error, result.details)
            self._feed(chat, done, late=True)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _id() -> str:
    return uuid.uuid4().hex
