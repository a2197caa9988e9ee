"""Owns the backend of our assistant for MCP (Model Context Protocol): clients can call its native tools, and prompt it.
A backend is the program that does the work behind the front. Native tools are those of our own package.

Each call of a tool is a turn in a chat that belongs to the client, and the engine decides whether the tool may run. A
user with an open chat panel sees the call there and can approve it. If the client can ask its own user, it asks too,
and the first answer counts. This module must not know a version of the protocol or a transport: `server.py` does.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.errors import ToolError
from jupyter_eca.fronts.mcp import approval
from jupyter_eca.fronts.mcp.native_tools import NativeOffers
from jupyter_eca.fronts.mcp.offers_base import About, Offers, RefusedCall, ToolAnswer
from jupyter_eca.fronts.mcp.turn_listeners import TurnListeners
from jupyter_eca.fronts.mcp.turn_result import FAILED, STOPPED, TurnResult, make_refusal
from jupyter_eca.host.turn import direct_calls
from jupyter_eca.plugins import loader
from jupyter_eca.protocol.content import MetadataContent, ToolCallRunContent
from jupyter_eca.workspace.head_and_tail import truncate_result
from jupyter_eca.workspace.known_versions import KnownVersions
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from jupyter_eca.fronts.mcp.offers_base import Caller, ChangeListener, Offer, OfferCall, OfferResult
    from jupyter_eca.fronts.mcp.turn_listeners import TurnListener
    from jupyter_eca.host.chat.live_chat import Choice, Prompt
    from jupyter_eca.host.host import Host
    from jupyter_eca.plugins.tools.base import DefaultNotebook, Need, Preview, Tool, ToolContext
    from jupyter_eca.protocol.content import ToolCallDetails

# The names of all our tools over MCP begin with this prefix.
PREFIX: Final = "eca"

# Seconds that a prompt waits for MCP servers that are starting: a client may start this program and prompt immediately.
# Many clients give up after a minute.
SERVER_START_SECONDS: Final = 30.0

# What the front tells clients about itself.
_ABOUT: Final = About(
    PREFIX,
    "The assistant of a Jupyter server",
    "Reads, edits and runs the notebooks that are open in Jupyter, in their live kernels, as the user sees them: "
    "eca_notebook_read first. eca_run hands a whole task to the assistant there. What changes anything may have to be "
    "approved by the user; a call that waits for that is not stuck.",
)


ClientKind = tuple[str, bool]
"""The name of a client, and whether it can ask its user to approve a call."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A session that a client has created and not prompted yet. It is not stored."""

    title: str
    """The title for the list of chats; "" to take it from the first prompt."""
    choice: Choice
    """The model and the agent of its first prompt."""


class Assistant:
    """The assistant as a `Backend`."""

    def __init__(self, host: Host, *, panel: bool) -> None:
        """Join the subscribers of the host. Must be called on the loop of the host. `panel` says whether a user may
        have a chat panel open: then an error suggests to approve the call there."""
        self.host = host
        self._panel = panel
        self.drafts: dict[str, Draft] = {}
        """The sessions that were not prompted yet, by id."""
        # Called after each change of a resource or a list. See `listen`.
        self._change_listeners: list[ChangeListener] = []
        # The calls that wait for the events of their turns. They are one subscriber of the host.
        self._listeners = TurnListeners(self._notify_change)
        self._native_offers = NativeOffers(host)
        # The plugs of the modules in `offers/`: each offers tools, resources and prompts to clients.
        self._plugs = tuple(loader.find("fronts.mcp.offers", "OFFERS").values())
        # The chats in which tools were called. What a user has approved "for this session" counts for all clients of
        # the same name, because clients of newer versions of MCP have no sessions. But an approval by the user of a
        # client does not count for a client that cannot ask its user. Otherwise a program that uses the name of another
        # program would get approvals that its own user was never asked for.
        self._chats: defaultdict[ClientKind, list[str]] = defaultdict(list)
        # The ids of those of these chats in which a call runs.
        self._busy_chats: set[str] = set()
        # The versions of files that a client has read, by the name of the client.
        self._known_versions: defaultdict[str, KnownVersions] = defaultdict(KnownVersions)
        host.connect(self._listeners)

    def close(self) -> None:
        """Leave the subscribers of the host."""
        self.host.disconnect(self._listeners)

    @property
    def about(self) -> About:
        """What the server tells its clients about itself."""
        return _ABOUT

    def list_offers(self) -> Offers:
        """Return everything that clients can use now."""
        tools = tuple(tool for plug in self._plugs for tool in plug.tools)
        return Offers(
            (*self._native_offers.list_available(), *tools),
            tuple(shelf for plug in self._plugs for shelf in plug.shelves),
            tuple(prompts for plug in self._plugs for prompts in plug.prompts),
        )

    def listen(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after each change of a resource or a list. Return a function that ends this."""
        self._change_listeners.append(listener)
        return lambda: self._change_listeners.remove(listener)

    def _notify_change(self, resource: str) -> None:
        """Call all listeners, because a resource or a list has changed. See `offers_base.ChangeListener`."""
        for listener in self._change_listeners:
            listener(resource)

    # -- calls

    async def call(self, offer: Offer, call: OfferCall[Any], arguments: dict[str, Any]) -> OfferResult:
        """Run a tool. If the tool needs approval, the approval rules decide whether it may run. Raises: ToolError."""
        return await (self._run_as_turn(offer, call, arguments) if offer.needs_approval else offer.run(call, arguments))

    async def _run_as_turn(self, offer: Offer, call: OfferCall[Any], arguments: dict[str, Any]) -> OfferResult:
        """Run a tool that is not a native tool in the same way as a native tool, so that the approval rules apply."""
        results: list[OfferResult] = []  # the real result, because a `Tool` of the host returns only a `ToolResult`

        async def run(arguments: dict[str, Any]) -> ToolResult:
            """Run the offer, and keep its result. The model's own result is only a word, because no model reads it."""
            results.append(await offer.run(call, arguments))
            return ToolResult("Done.")

        name = offer.name.removeprefix(f"{PREFIX}_")
        # All offers that need approval write files in the folder `.eca`: the project's configuration or its commands.
        spec = ToolSpec(name, offer.description, offer.parameters, changes=(".eca",))
        await self.run_tool(_OfferAsTool(spec, run), call.caller, arguments)
        return results[0]

    async def run_tool(self, tool: Tool, caller: Caller, arguments: dict[str, Any]) -> ToolAnswer:
        """Run a tool as a turn in a chat of the client. Raises: ToolError when the tool did not run, or failed."""
        name = caller.name or "A program"  # the user reads it in the chat
        recorded = _RecordedTool(tool)
        chat = await self._take_idle_chat((name, caller.can_ask))
        try:
            with self._listen(chat, caller) as listener:
                message = f"{name} calls {tool.spec.name} over MCP"
                with self._stopping_on_failure(chat):
                    live = await self.host.direct_calls.call(
                        direct_calls.DirectCall(
                            chat, recorded, arguments, message, known_versions=self._known_versions[name]
                        )
                    )
                    result = TurnResult(live.state.turn)
                    await self._follow(listener, result)
        finally:
            self._busy_chats.discard(chat)
        if result.rejected:
            raise make_refusal(result.rejected[0], panel=self._panel)
        return result.attach_messages(recorded.get_answer())

    async def prompt(self, prompt: Prompt, caller: Caller) -> ToolAnswer:
        """Prompt the assistant, and wait for the answer.

        Raises: BusyError when a turn runs in the chat. RefusedCall when the turn ends without an answer.
        """
        await self.host.mcp.await_started(min(SERVER_START_SECONDS, self.host.config.mcp_timeout_seconds))
        with self._listen(prompt.chat, caller) as listener:
            begun = await self.host.turns.prompt(replace(prompt, author=caller.user))
            result = TurnResult(begun.chat.state.turn)
            draft = self.drafts.pop(prompt.chat, None)
            if draft and draft.title:
                self.host.chats.add_fact(begun.chat, MetadataContent(title=draft.title))
            with self._stopping_on_failure(prompt.chat):
                await self._follow(listener, result)
        return result.make_answer(prompt.chat, begun.model)

    @contextmanager
    def _listen(self, chat: str, caller: Caller) -> Generator[TurnListener]:
        """Listen to a chat for a call. Afterwards restart the timer that denies waiting tool calls, because perhaps
        nobody is left who could approve them."""
        try:
            with self._listeners.listening(chat, caller) as listener:
                yield listener
        finally:
            self.host.unattended_calls.restart_timer(chat)

    @contextmanager
    def _stopping_on_failure(self, chat: str) -> Generator[None]:
        """Stop the turn of a call if the call fails or is cancelled. The client learns that the call has failed, so no
        part of it may run later."""
        try:
            yield
        except BaseException:
            self.host.turns.stop(chat)
            raise

    async def _take_idle_chat(self, client: ClientKind) -> str:
        """Return the id of a chat of this client in which no turn runs, and mark it as busy. A client may make several
        calls at the same time, and each needs a chat of its own."""
        for chat in self._chats[client]:
            live = self.host.chats.get_live(chat)
            if chat not in self._busy_chats and not (live and live.is_busy):
                break
        else:
            chat = f"mcp-{uuid.uuid4().hex}"
            self._chats[client].append(chat)
        self._busy_chats.add(chat)
        return chat

    async def _follow(self, listener: TurnListener, result: TurnResult) -> None:
        """Add the events of a turn to its result until the turn has ended. Report progress to the client, and ask its
        user about calls that need approval."""
        async with asyncio.TaskGroup() as tasks:
            asking: list[asyncio.Task[None]] = []
            while result.outcome is None:
                event = await listener.queue.get()
                if isinstance(event, str):
                    result.add_message(event)
                    await listener.caller.report_progress(result.steps, message=event)
                    continue
                if event.turn != result.turn:
                    continue
                if result.add(event):
                    await listener.caller.report_progress(result.steps, message=result.current_step)
                if isinstance(event.content, ToolCallRunContent) and event.content.manual_approval:
                    asking.append(tasks.create_task(self._approve(listener, event.content)))
            for task in asking:
                task.cancel()

    async def _approve(self, listener: TurnListener, call: ToolCallRunContent) -> None:
        """Ask the client's user to approve a call. A user of the chat panel may be asked at the same time."""
        if not listener.caller.can_ask:
            return
        question = approval.make_question(call)
        answer = await listener.caller.ask(question) if question else None
        if answer is None:
            listener.is_silent = True
            if not self.host.subscribers.has_approver(listener.chat):
                self.host.turns.reject_unanswered(listener.chat, call.id)
        elif approval.is_approved(answer):
            remember = approval.is_remembered(answer)
            self.host.turns.approve(listener.chat, call.id, remember=remember, by=listener.caller.user)
        else:
            self.host.turns.reject(listener.chat, call.id, approval.get_reason(answer), listener.caller.user)


@dataclass(frozen=True, slots=True)
class _OfferAsTool:
    """An offer in the form of a `Tool` of the host, so that the approval rules apply to it."""

    spec: ToolSpec
    """The name, the description and the schema of the arguments."""
    function: Callable[[dict[str, Any]], Awaitable[ToolResult]]
    """Runs the offer with the arguments of the call."""

    # The other fields that a `Tool` must have. `plugins/tools/base.py` explains them.

    only_reads: bool = False
    needs: frozenset[Need] = frozenset()
    agents: frozenset[str] = frozenset()
    makes_checkpoints: bool = False
    preview: Preview | None = None
    runs_on_replay: bool = False
    default_notebook: DefaultNotebook | None = None

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:  # noqa: ARG002
        """Run the offer."""
        return await self.function(arguments)


class _RecordedTool:
    """A `Tool` that runs another tool, and keeps the result or the error, from which the answer is made. The events of
    the turn cannot be used for the answer: they have only the text for a model, without links and images."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        # The result of the call, or its error; both None until the call has ended.
        self._result: ToolResult | None = None
        self._error: ToolError | None = None
        # All other fields are those of the tool.
        self.spec, self.only_reads, self.needs = tool.spec, tool.only_reads, tool.needs
        self.agents, self.makes_checkpoints, self.runs_on_replay = (
            tool.agents,
            tool.makes_checkpoints,
            tool.runs_on_replay,
        )
        self.default_notebook = tool.default_notebook
        self.preview: Preview | None = self._preview if tool.preview is not None else None

    async def _preview(self, context: ToolContext, arguments: dict[str, Any]) -> ToolCallDetails | None:
        """Return what the call would change, and keep an error."""
        try:
            return await self._tool.preview(context, arguments) if self._tool.preview is not None else None
        except ToolError as error:
            self._error = error
            raise

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool, and keep its result or error."""
        try:
            result = await self._tool.run(context, arguments)
        except ToolError as error:
            self._error = error
            raise
        self._result = truncate_result(result)
        return result

    def get_answer(self) -> ToolAnswer:
        """Return the result as an answer. Raises: ToolError if the tool failed or has no result."""
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise RefusedCall(*STOPPED)
        result = self._result
        if result.error:
            raise RefusedCall(result.text, FAILED)
        links = [{"title": link.title, "url": link.url} for link in result.links]
        return ToolAnswer({"text": result.text, **({"links": links} if links else {})}, result.images)
