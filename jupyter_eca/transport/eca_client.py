"""A typed ECA client over any link: what the magic, the command line and tests speak with. Knows no host."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import ValidationError

from jupyter_eca._version import __version__
from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol import chat, chats, command, context, lifecycle, mcp, notebook, question, tool
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.jsonrpc import Code
from jupyter_eca.protocol.methods import METHODS
from jupyter_eca.transport.peer import Peer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from jupyter_eca.protocol.base import Model
    from jupyter_eca.transport.link import Link

T = TypeVar("T", bound="Model")

Received = chat.ChatContentReceivedParams
Progress = chat.ChatToolCallProgressParams


class Answers(Protocol):
    """Asks whoever is there. Raises: RemoteError when nobody can be asked just now."""

    async def __call__(self, asked: question.ChatAskQuestionParams, /) -> question.ChatAskQuestionResult: ...


class LiveKernel(Protocol):
    """What a client that is a kernel does for the server."""

    async def execute(self, code: str) -> notebook.KernelExecuteResult: ...

    async def variables(self, names: tuple[str, ...]) -> notebook.KernelVariablesResult: ...


class Lending(Protocol):
    """Functions that the server's models may call. `version` changes with them."""

    version: int

    def tools(self) -> tuple[tool.LentTool, ...]: ...

    async def call(self, name: str, arguments: dict[str, Any]) -> tool.ToolCallResult: ...


@dataclass
class Setup:
    """What the server has told about itself; fields are updated as `config/updated` comes."""

    models: tuple[str, ...] = ()
    model: str = ""
    agents: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    known: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Decision:
    """About a tool call. `session`: do not ask again for this tool in this chat. `reason` goes to the model."""

    approved: bool
    session: bool = False
    reason: str = ""


class Client:
    """Use `async with client.connected(...)`, or keep `run()` going in a task of your own."""

    def __init__(
        self,
        link: Link,
        name: str,
        kernel: LiveKernel | None = None,
        answer_questions: Answers | None = None,
        lending: Lending | None = None,
    ) -> None:
        """`answer_questions` is called for each question of the server's, in a task of its own. It is not told when
        somebody else has answered: that shows in the chat, where the call that asked ends, or the turn."""
        self.setup = Setup()
        self.opened: Callable[[str], None] | None = None
        """Called when the server shows a chat from its beginning, with the chat's id."""
        self.left = asyncio.Event()
        self._name = name
        self._kernel = kernel
        self._answer_questions = answer_questions
        self._lending = lending
        self._lent = 0
        self._peer = Peer(link, self._answer, self._heed)
        self._link = link
        self._listeners: dict[str, Callable[[Received], None]] = {}
        self._watchers: dict[str, Callable[[Progress], None]] = {}

    async def run(self) -> None:
        """Serve the link until the server leaves."""
        try:
            await self._peer.run()
        finally:
            self.left.set()

    async def initialize(self, *, unattended: bool, folders: tuple[str, ...] = (), **options: Any) -> None:
        """Raises: RemoteError, with the server's reason."""
        asked = self._answer_questions is not None and not unattended
        can = lifecycle.CodeAssistant(
            chat=True,
            envelope=True,
            kernel=self._kernel is not None,
            unattended=unattended,
            chat_capabilities=lifecycle.ChatCapabilities(ask_question=asked),
        )
        params = lifecycle.InitializeParams(
            client_info=lifecycle.ClientInfo(name=self._name, version=__version__),
            initialization_options=options,
            capabilities=lifecycle.ClientCapabilities(code_assistant=can),
            workspace_folders=tuple(lifecycle.WorkspaceFolder(uri=folder) for folder in folders),
        )
        await self.request("initialize", params, lifecycle.InitializeResult)
        await self._peer.notify("initialized", {})

    async def request(self, method: str, params: Model, result: type[T]) -> T:
        """Raises: RemoteError for an error, for a peer that leaves, and for an answer that makes no sense."""
        answer = await self._peer.request(method, params.wire())
        try:
            return result.model_validate(answer or {})
        except ValidationError as error:
            raise RemoteError(f"the answer to {method} makes no sense: {error}") from error

    async def notify(self, method: str, params: Model) -> None:
        await self._peer.notify(method, params.wire())

    async def ask(
        self,
        chat_id: str,
        message: str,
        model: str = "",
        agent: str = "",
        variant: str = "",
        progressed: Callable[[Progress], None] | None = None,
        lock: chat.ChatLock | None = None,
        contexts: tuple[Any, ...] = (),
    ) -> AsyncGenerator[Received]:
        """Ask, and iterate over what comes until the turn has ended. Leaving the iteration early stops nothing.
        `progressed` is told how far the turn's calls are while they run.

        Raises: RemoteError when the prompt is refused or the server leaves in mid-answer.
        """
        queue: asyncio.Queue[Received | None] = asyncio.Queue()
        self._listeners[chat_id] = queue.put_nowait
        if progressed is not None:
            self._watchers[chat_id] = progressed
        gone = asyncio.ensure_future(self.left.wait())
        gone.add_done_callback(lambda _: queue.put_nowait(None))
        params = chat.ChatPromptParams(
            chat_id=chat_id,
            message=message,
            model=model or None,
            agent=agent or None,
            variant=variant or None,
            lock=lock,
            contexts=contexts,
        )
        try:
            await self._lend()
            await self.request("chat/prompt", params, chat.ChatPromptResult)
            while (received := await queue.get()) is not None:
                yield received
                if received.outcome is not None and received.parent_chat_id is None:
                    return
            raise RemoteError("the assistant's server has gone away in the middle of the answer")
        finally:
            gone.cancel()
            self._listeners.pop(chat_id, None)
            self._watchers.pop(chat_id, None)

    async def _lend(self) -> None:
        """Functions may have come since the last question. Raises: RemoteError for a name that is taken."""
        if self._lending is not None and self._lending.version != self._lent:
            version = self._lending.version
            await self.request("tool/lend", tool.ToolLendParams(tools=self._lending.tools()), Done)
            self._lent = version

    async def commands(self, chat_id: str, query: str) -> tuple[command.ChatCommand, ...]:
        """The `/` commands that are meant by what was typed so far. Raises: RemoteError."""
        params = command.ChatQueryCommandsParams(chat_id=chat_id, query=query)
        return (await self.request("chat/queryCommands", params, command.ChatQueryCommandsResult)).commands

    async def contexts(self, chat_id: str, query: str) -> tuple[context.ChatContext, ...]:
        """What `@` can point at in a message. Raises: RemoteError."""
        params = context.ChatQueryContextParams(chat_id=chat_id, query=query)
        return (await self.request("chat/queryContext", params, context.ChatQueryContextResult)).contexts

    def listen(self, chat_id: str, listener: Callable[[Received], None] | None) -> None:
        """Hear what comes of a chat outside of `ask`: a replay, a turn that another client began."""
        if listener is None:
            self._listeners.pop(chat_id, None)
        else:
            self._listeners[chat_id] = listener

    async def stop(self, chat_id: str) -> None:
        await self.notify("chat/promptStop", chat.ChatPromptStopParams(chat_id=chat_id))

    async def decide(self, chat_id: str, call: str, decision: Decision) -> None:
        if decision.approved:
            save = "session" if decision.session else None
            approval = chat.ChatToolCallApproveParams(chat_id=chat_id, tool_call_id=call, save=save)
            await self.notify("chat/toolCallApprove", approval)
        else:
            rejection = chat.ChatToolCallRejectParams(chat_id=chat_id, tool_call_id=call, reason=decision.reason)
            await self.notify("chat/toolCallReject", rejection)

    async def close(self) -> None:
        await self._link.close()

    def _heed(self, method: str, params: Any) -> None:
        if (row := METHODS.get(method)) is None:
            return
        try:
            message = row.parse(params)
        except ValidationError as error:
            raise RemoteError(f"{method} makes no sense: {error}") from error
        match message:
            case chat.ChatContentReceivedParams():
                # What subagents say is said within the chat that they are for.
                if listener := self._listeners.get(str(message.parent_chat_id or message.chat_id)):
                    listener(message)
            case chat.ChatToolCallProgressParams():
                if watcher := self._watchers.get(str(message.chat_id)):
                    watcher(message)
            case chats.ChatOpenedParams(chat_id=chat_id):
                if self.opened is not None:
                    self.opened(str(chat_id))
            case lifecycle.ConfigUpdatedParams(chat=lifecycle.ChatConfig() as config):
                self._learn(config)
            case mcp.ToolServerUpdatedParams(type="native", tools=tuple(tools)):
                self.setup.tools = tuple(tool.name for tool in tools if not tool.disabled)
            case _:
                pass

    def _learn(self, config: lifecycle.ChatConfig) -> None:
        setup = self.setup
        setup.models = setup.models if config.models is None else config.models
        setup.model = setup.model if config.select_model is None else config.select_model
        setup.agents = setup.agents if config.agents is None else config.agents
        setup.variants = setup.variants if config.variants is None else config.variants
        setup.known.set()

    async def _answer(self, method: str, params: Any) -> Any:
        if method == "chat/askQuestion" and self._answer_questions is not None:
            asked = question.ChatAskQuestionParams.model_validate(params)
            return (await self._answer_questions(asked)).wire()
        if method == "tool/call" and self._lending is not None:
            called = tool.ToolCallParams.model_validate(params)
            return (await self._lending.call(called.name, called.arguments)).wire()
        if self._kernel is None or method not in {"kernel/execute", "kernel/variables"}:
            raise RemoteError(f"there is no request {method!r}", Code.METHOD_NOT_FOUND)
        match METHODS[method].parse(params):
            case notebook.KernelExecuteParams(code=code):
                return (await self._kernel.execute(code)).wire()
            case notebook.KernelVariablesParams(names=names):
                return (await self._kernel.variables(names)).wire()
            case _:
                raise RemoteError("not for a kernel", Code.INVALID_PARAMS)
