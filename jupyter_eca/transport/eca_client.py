"""Owns `EcaClient`, a typed client over any link. The magic, the command line and tests use it.

ECA (Editor Code Assistant) is the protocol in which editors speak to the server of an assistant, in JSON-RPC messages.
This module must not know the host: it only sends and receives the messages of `protocol`. `peer` is its neighbour: it
matches answers to requests.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import ValidationError

from jupyter_eca._version import __version__
from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol import chat, chats, command, context, lifecycle, mcp, notebook, question, tool
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.protocol.methods import METHODS
from jupyter_eca.transport.peer import Peer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from jupyter_eca.protocol.base import Model
    from jupyter_eca.transport.link import Link

T = TypeVar("T", bound="Model")

# Short names for what the server sends most often: a piece of a chat's content, and the progress of a tool call.
ContentReceived = chat.ChatContentReceivedParams
Progress = chat.ChatToolCallProgressParams


class QuestionHandler(Protocol):
    """A function that shows a question of the server to the user, and returns the answer.

    Raises: RemoteError when no user can be asked now.
    """

    async def __call__(self, params: question.ChatAskQuestionParams, /) -> question.ChatAskQuestionResult: ...


class LiveKernel(Protocol):
    """The requests of the server that a client inside a kernel answers."""

    async def execute(self, code: str) -> notebook.KernelExecuteResult:
        """Run code in the kernel."""
        ...

    async def variables(self, names: tuple[str, ...]) -> notebook.KernelVariablesResult:
        """Describe variables of the user; all of them if `names` is empty."""
        ...


class ToolLender(Protocol):
    """The Python functions that the client lends to the server as tools."""

    version: int
    """A number that changes whenever the functions change."""

    def list_tools(self) -> tuple[tool.LentTool, ...]:
        """Return the functions as tools."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> tool.ToolCallResult:
        """Run one of the functions."""
        ...


@dataclass
class ServerSetup:
    """What the server has sent about its own set-up. Each `config/updated` updates the fields."""

    models: tuple[str, ...] = ()
    """All models, as PROVIDER/MODEL."""
    model: str = ""
    """The selected model."""
    agents: tuple[str, ...] = ()
    """The names of the agents that a user can choose."""
    outside_agents: tuple[str, ...] = ()
    """The names of those that are outside agents, which choose their model themselves."""
    variants: tuple[str, ...] = ()
    """The variants of the selected model, for example its reasoning efforts."""
    tools: tuple[str, ...] = ()
    """The names of the server's own tools that are not disabled."""
    untrusted: tuple[lifecycle.HeldSettings, ...] = ()
    """The settings of folders that do nothing until the user trusts the folder."""
    warnings: list[str] = field(default_factory=list[str])
    """Warnings and errors that concern no chat, such as a configuration that cannot be read, in their order."""
    received: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the first `config/updated` has arrived."""


@dataclass(frozen=True, slots=True)
class CallDecision:
    """The user's decision about one tool call."""

    approved: bool
    """Whether the call may run."""
    session: bool = False
    """Whether later calls of this tool in this chat are approved too, without a question."""
    reason: str = ""
    """Why the call was rejected. The model reads it."""
    left_out: tuple[int, ...] = ()
    """The indexes of the parts of the change that are not approved, see `FileChangeDetails.parts`."""


class EcaClient:
    """An ECA client. It works while the caller runs `run()` in a task."""

    def __init__(
        self,
        link: Link,
        name: str,
        kernel: LiveKernel | None = None,
        answer_questions: QuestionHandler | None = None,
        tool_lender: ToolLender | None = None,
    ) -> None:
        """Make a client. `name` is the name of the program that uses it, which `initialize` sends to the server.

        `kernel` answers the server's requests to a kernel. `tool_lender` runs the functions that the server may call as
        tools. `answer_questions` is called for each question of the server, in a separate task. It is not cancelled
        when another client has answered the question. The chat shows that: the tool call or the turn that asked ends.
        """
        self.setup = ServerSetup()
        self.on_chat_opened: Callable[[str], None] | None = None
        """Called with the id of a chat when the server begins to send the whole chat again."""
        self.server_left = asyncio.Event()
        """Set when the server has left."""
        self._name = name
        self._kernel = kernel
        self._answer_questions = answer_questions
        self._tool_lender = tool_lender
        self._lent_version = 0
        """The version of the functions that the server has; 0 if it has none yet."""
        self._peer = Peer(link, self._answer_request, self._handle_notification)
        self._link = link
        self._listeners: dict[str, Callable[[ContentReceived], None]] = {}
        """The functions that receive the contents of chats, by the id of the chat."""
        self._watchers: dict[str, Callable[[Progress], None]] = {}
        """The functions that receive the progress of tool calls, by the id of the chat."""

    async def run(self) -> None:
        """Handle messages of the server until it leaves."""
        try:
            await self._peer.run()
        finally:
            self.server_left.set()

    async def initialize(self, *, unattended: bool, folders: tuple[str, ...] = (), **options: Any) -> None:
        """Send `initialize` and `initialized`. `options` are the `initializationOptions`.

        With `unattended`, no user is there who could approve a tool call. `folders` are the URIs of the workspace.

        Raises: RemoteError with the server's reason.
        """
        answers_questions = self._answer_questions is not None and not unattended
        abilities = lifecycle.CodeAssistant(
            chat=True,
            envelope=True,
            kernel=self._kernel is not None,
            unattended=unattended,
            chat_capabilities=lifecycle.ChatCapabilities(ask_question=answers_questions),
        )
        params = lifecycle.InitializeParams(
            client_info=lifecycle.ClientInfo(name=self._name, version=__version__),
            initialization_options=options,
            capabilities=lifecycle.ClientCapabilities(code_assistant=abilities),
            workspace_folders=tuple(lifecycle.WorkspaceFolder(uri=folder) for folder in folders),
        )
        await self.request("initialize", params, lifecycle.InitializeResult)
        await self._peer.notify("initialized", {})

    async def request(self, method: str, params: Model, result: type[T]) -> T:
        """Send a request and return its parsed result.

        Raises: RemoteError when the answer is an error, when the answer has the wrong shape, or when the server leaves.
        """
        answer = await self._peer.request(method, params.as_json_object())
        try:
            return result.model_validate(answer or {})
        except ValidationError as error:
            raise RemoteError(f"the answer to {method} has the wrong shape: {error}") from error

    async def notify(self, method: str, params: Model) -> None:
        """Send a notification."""
        await self._peer.notify(method, params.as_json_object())

    async def ask(
        self,
        chat_id: str,
        message: str,
        model: str = "",
        agent: str = "",
        variant: str = "",
        on_progress: Callable[[Progress], None] | None = None,
        lock: chat.AnswerLock | None = None,
        contexts: tuple[Any, ...] = (),
    ) -> AsyncGenerator[ContentReceived]:
        """Send a prompt, and iterate over the contents of its turn until the turn ends.

        A turn is everything that happens between a prompt and the end of its answer. Leaving the iteration early does
        not stop the turn. An empty `model`, `agent` or `variant` means the one that the chat already has. `on_progress`
        is called with the progress of running tool calls. `lock` says where the answer is recorded, so that it can be
        replayed later. `contexts` are sent to the model together with the message: files, cells and others.

        Raises: RemoteError when the prompt is refused, or when the server leaves before the turn ends.
        """
        queue: asyncio.Queue[ContentReceived | None] = asyncio.Queue()
        self._listeners[chat_id] = queue.put_nowait
        if on_progress is not None:
            self._watchers[chat_id] = on_progress
        leaving = asyncio.ensure_future(self.server_left.wait())
        leaving.add_done_callback(lambda _: queue.put_nowait(None))
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
            await self._lend_tools()
            await self.request("chat/prompt", params, chat.ChatPromptResult)
            begun = False  # whether our own message has come back as the first content of our turn
            while (received := await queue.get()) is not None:
                begun = begun or (received.role is Role.USER and isinstance(received.content, TextContent))
                if received.turn and not begun:
                    continue  # the end of an earlier turn, which was open because its server had crashed
                yield received
                if received.outcome is not None and received.parent_chat_id is None:
                    return
            raise RemoteError("the assistant's server stopped in the middle of the answer")
        finally:
            leaving.cancel()
            self._listeners.pop(chat_id, None)
            self._watchers.pop(chat_id, None)

    async def _lend_tools(self) -> None:
        """Send the lent functions if they have changed since the last prompt.

        Raises: RemoteError when the name of a function is already the name of another tool.
        """
        if self._tool_lender is not None and self._tool_lender.version != self._lent_version:
            version = self._tool_lender.version
            await self.request("tool/lend", tool.ToolLendParams(tools=self._tool_lender.list_tools()), Done)
            self._lent_version = version

    async def list_commands(self, chat_id: str, query: str) -> tuple[command.ChatCommand, ...]:
        """Return the `/` commands that match the text typed so far. Raises: RemoteError."""
        params = command.ChatQueryCommandsParams(chat_id=chat_id, query=query)
        return (await self.request("chat/queryCommands", params, command.ChatQueryCommandsResult)).commands

    async def list_contexts(self, chat_id: str, query: str) -> tuple[context.ChatContext, ...]:
        """Return the contexts that match the text typed after `@` so far. Raises: RemoteError."""
        params = context.ChatQueryContextParams(chat_id=chat_id, query=query)
        return (await self.request("chat/queryContext", params, context.ChatQueryContextResult)).contexts

    def listen(self, chat_id: str, listener: Callable[[ContentReceived], None] | None) -> None:
        """Set the function that receives the contents of a chat outside of `ask`: a replay, or a turn of another
        client. None removes it."""
        if listener is None:
            self._listeners.pop(chat_id, None)
        else:
            self._listeners[chat_id] = listener

    async def stop(self, chat_id: str) -> None:
        """Stop the running turn of a chat."""
        await self.notify("chat/promptStop", chat.ChatPromptStopParams(chat_id=chat_id))

    async def decide(self, chat_id: str, call: str, decision: CallDecision) -> None:
        """Approve or reject the tool call with the id `call`."""
        if decision.approved:
            save = "session" if decision.session else None
            approval = chat.ChatToolCallApproveParams(
                chat_id=chat_id, tool_call_id=call, save=save, left_out=decision.left_out
            )
            await self.notify("chat/toolCallApprove", approval)
        else:
            rejection = chat.ChatToolCallRejectParams(chat_id=chat_id, tool_call_id=call, reason=decision.reason)
            await self.notify("chat/toolCallReject", rejection)

    async def close(self) -> None:
        """Close the link to the server."""
        await self._link.close()

    def _handle_notification(self, method: str, params: Any) -> None:
        """Pass a notification of the server to the functions that wait for it, or store its content in `setup`."""
        if (row := METHODS.get(method)) is None:
            return
        try:
            message = row.parse(params)
        except ValidationError as error:
            raise RemoteError(f"{method} has the wrong shape: {error}") from error
        match message:
            case chat.ChatContentReceivedParams():
                # A subagent's contents belong to the chat that it works for.
                if listener := self._listeners.get(str(message.parent_chat_id or message.chat_id)):
                    listener(message)
            case chat.ChatToolCallProgressParams():
                if watcher := self._watchers.get(str(message.chat_id)):
                    watcher(message)
            case lifecycle.ShowMessageParams(chat_id=str() | int() as chat_id, message=text):
                # A cell has no other place for messages, so the message is shown as a line of the answer.
                if listener := self._listeners.get(str(chat_id)):
                    content = TextContent(text=text)
                    listener(chat.ChatContentReceivedParams(chat_id=chat_id, role=Role.SYSTEM, content=content))
            case chats.ChatOpenedParams(chat_id=chat_id):
                if self.on_chat_opened is not None:
                    self.on_chat_opened(str(chat_id))
            case _:
                self._update_setup(message)

    def _update_setup(self, message: Model) -> None:
        """Store in `setup` what a notification says about the server's own set-up."""
        match message:
            case lifecycle.ConfigUpdatedParams(chat=lifecycle.ChatConfig() as config):
                self._update_choices(config)
            case lifecycle.UntrustedSettingsParams(folders=folders):
                self.setup.untrusted = folders
            case lifecycle.ShowMessageParams(type=lifecycle.MessageType.WARNING | lifecycle.MessageType.ERROR):
                self.setup.warnings.append(message.message)
            case mcp.ToolServerUpdatedParams(type="native", tools=tuple(tools)):
                self.setup.tools = tuple(tool.name for tool in tools if not tool.disabled)
            case _:
                pass

    def _update_choices(self, config: lifecycle.ChatConfig) -> None:
        """Store in `setup` which models, agents and variants can be chosen. A field that is None has not changed."""
        setup = self.setup
        setup.models = setup.models if config.models is None else config.models
        setup.model = setup.model if config.select_model is None else config.select_model
        setup.agents = setup.agents if config.agents is None else config.agents
        setup.outside_agents = setup.outside_agents if config.outside_agents is None else config.outside_agents
        setup.variants = setup.variants if config.variants is None else config.variants
        setup.received.set()

    async def _answer_request(self, method: str, params: Any) -> Any:
        """Answer a request of the server, with the kernel, the lent functions or the user's answer."""
        if method == "chat/askQuestion" and self._answer_questions is not None:
            asking = question.ChatAskQuestionParams.model_validate(params)
            return (await self._answer_questions(asking)).as_json_object()
        if method == "tool/call" and self._tool_lender is not None:
            call = tool.ToolCallParams.model_validate(params)
            return (await self._tool_lender.call(call.name, call.arguments)).as_json_object()
        if self._kernel is None or method not in {"kernel/execute", "kernel/variables"}:
            raise RemoteError(f"this client does not answer the request {method!r}", ErrorCode.METHOD_NOT_FOUND)
        match METHODS[method].parse(params):
            case notebook.KernelExecuteParams(code=code):
                return (await self._kernel.execute(code)).as_json_object()
            case notebook.KernelVariablesParams(names=names):
                return (await self._kernel.variables(names)).as_json_object()
            case _:
                raise RemoteError("a kernel does not answer this request", ErrorCode.INVALID_PARAMS)
