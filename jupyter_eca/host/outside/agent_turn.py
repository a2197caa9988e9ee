"""Owns `AgentTurn`: one prompt to an outside agent, whose words and calls it feeds to the engine as they come.

**How the calls of an agent become ours.** An agent describes a call, perhaps asks for permission, runs the call itself,
and says how it ended. The engine gets `CallBegun` when the call is first described, and `CallReady` when the agent
asks. Then the engine decides by the user's rules, or asks the user, on the same card as for a call of ours. If the call
may run, the engine requests that the tool is run (`RunTool`). Here that means: give the permission, and wait for the
end of the call (`run_call`). If it may not run, `refuse` says so to the agent.

Many agents run some calls without asking. Such a call is fed as `is_unasked`, and its card says so. Whether an agent
will still ask is not known when it says `in_progress`, because some agents say so before they ask. So the call is only
fed after a moment (`ASK_SECONDS`).

This module must not start agents: `outside_agents.py` does.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.acp_client.agent_events import (
    AgentTitleChanged,
    AgentUsageChanged,
    CallDescribed,
    ImageShown,
    ModeChanged,
    NoticeShown,
    OptionsChanged,
    PermissionAsked,
    PlanChanged,
    PromptEnded,
    TextSaid,
    Thought,
)
from jupyter_eca.acp_client.config_options import get_value_name
from jupyter_eca.engine import inputs
from jupyter_eca.engine.model.delta import Activity, ImageDelta, ReasoningDelta, Remark, TextDelta, UsageDelta
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import ToolError
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.outside import call_view
from jupyter_eca.host.outside.file_views import compute_texts_after, describe_changes, is_notebook, matches_description
from jupyter_eca.host.outside.tool_access import ToolAccess
from jupyter_eca.host.tools.path_resolution import find_call_targets
from jupyter_eca.protocol.content import FileChangeDetails, MetadataContent, RejectReason
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.tool_result import Report, ToolResult

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence
    from pathlib import Path

    from jupyter_eca.acp_client.agent_call import AgentCall
    from jupyter_eca.acp_client.agent_events import AgentEvent
    from jupyter_eca.acp_client.session import AgentSession
    from jupyter_eca.config import Agent
    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.policy import CallAdjustment
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.host.chat.live_chat import LiveChat, TurnUnderWay
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks.turn_hooks import TurnHooks
    from jupyter_eca.host.outside.turn_files import TurnFiles
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.protocol.content import ToolCallDetails

# The seconds that an agent has to ask about a call of which it says that it is in progress.
ASK_SECONDS: Final = 1.0

# The name under which an agent knows our MCP endpoint, and the beginning of the names of the tools there. The user may
# have another server of this name in the agent's own configuration, whose calls are asked about like all others.
SERVER: Final = "jupyter"
TOOL_PREFIX: Final = "eca_"

HOOK_CHANGES: Final = (
    "A hook would change the arguments of this call. The agent runs the call itself, so that is impossible, and the "
    "call was not allowed."
)
WITHDRAWN: Final = "The agent has withdrawn its question."
NO_EXACT_ANSWER: Final = (
    "The agent offers no answer that allows just this call, only answers that allow more. Nothing was allowed."
)
OPEN_NOTEBOOK: Final = (
    "{path} is open here, and its file is not what the user sees. It must be changed by the tools of the server "
    "`jupyter`: eca_notebook_change, eca_notebook_read and eca_notebook_run_cells."
)

# The kinds of calls in the Agent Client Protocol whose paths are not files that the call changes, and those whose paths
# are. A command (`execute`) may change files too, but its paths do not say which.
_HARMLESS: Final = frozenset({"read", "search", "execute", "fetch", "think"})
_CHANGING: Final = frozenset({"edit", "delete", "move"})

# What the user reads at the end of a turn, by the stop reason of the agent. The other reasons need no remark.
_STOP_REMARKS: Final = {
    "max_tokens": "The answer was cut off at the limit of its length.",
    "max_turn_requests": "The agent has reached its limit of requests in a turn.",
    "refusal": "The agent has declined to go on.",
}


@dataclass(eq=False)
class ShownCall:
    """A call of the agent, as the chat shows it."""

    id: str
    """The id of the call in the chat."""
    latest_call: AgentCall
    """The call as it was last described."""
    approved_call: AgentCall | None = None
    """`asked_call` as it was when the agent got the permission: this is what was allowed. None before that, and for a
    call that the agent has run without asking."""
    is_ready: bool = False
    """Whether it was fed as `CallReady`."""
    permission_number: int | None = None
    """The number of the request for permission that waits for an answer; None for none."""
    end: asyncio.Future[AgentCall] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done when the agent has reported how the call ended, or when the turn is over."""
    asked_call: AgentCall | None = None
    """The call as it was when the agent asked for permission. Its card shows this, also if the agent describes the call
    in another way later (`latest_call`). None if the agent has not asked."""
    texts_after: Mapping[Path, str] = field(default_factory=dict["Path", str])
    """The texts of the files after the call, as the agent has described them when it asked."""
    is_watched: bool = False
    """Whether the files were recorded before the command of the call (`TurnFiles.begin_command`)."""
    timer: asyncio.TimerHandle | None = None
    """Feeds the call as unasked, if the agent does not ask in time."""


@dataclass(eq=False)
class _PendingWrite:
    """A request of the agent to write a file that no call has named."""

    path: str
    """The path, as the agent has named it."""
    content: str
    """The new text of the file."""
    texts_after: Mapping[Path, str]
    """The content by the real path of the file."""
    outcome: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done when the file is written. It has the error if it was not."""


class AgentTurn:
    """One prompt to an outside agent, and what follows from it."""

    def __init__(
        self,
        services: Services,
        chats: Chats,
        chat: LiveChat,
        turn: TurnUnderWay,
        number: int,
        agent: Agent,
        session: AgentSession,
        files: TurnFiles,
        open_notebooks: Collection[Path],
        *,
        contexts: ToolContexts,
        hooks: TurnHooks,
        begins_session: bool,
        cost_before: float | None,
    ) -> None:
        """`number` is that of the model request which the agent answers: the inputs of the engine have it. `files`
        keeps the files that the agent changes. `begins_session` is whether this is the first prompt of the session.
        `open_notebooks` are the real paths of the notebooks that are open in a page. `cost_before` is what the session
        had cost before this prompt."""
        self._services = services
        self._chats = chats
        self._chat = chat
        self._turn = turn
        self._number = number
        self._agent = agent
        self._session = session
        self._files = files
        self._open_notebooks = open_notebooks
        self._hooks = hooks
        self._begins_session = begins_session
        self._approved: list[ShownCall] = []
        """The calls for which the agent got the permission that it asked for, without those whose permission was used
        for a call of our tools (`_take_approval`)."""
        self.tools = ToolAccess(services, chats, contexts, hooks, chat, number, self._take_approval)
        """The calls of our tools that the agent makes over MCP."""
        self.cost = cost_before
        """What the session has cost so far in US dollars; None when it is not known."""
        self._cost_before = cost_before
        self._usage: AgentUsageChanged | None = None
        """The usage that the agent has reported last."""
        self._message: str = ""
        """The agent's id of the message that its last text belongs to."""
        self._has_text = False
        """Whether the agent has written any text in this turn."""
        self._plans = 0
        """How many plans the agent has shown in this turn."""
        self._shown_by_agents_id: dict[str, ShownCall] = {}
        """The shown calls by the ids that the agent gives them."""
        self._writes: dict[str, _PendingWrite] = {}
        """The writes that no call has described, by the ids under which the chat shows them as calls."""
        self._plan_ids: set[str] = set()
        """The ids of the calls that show plans."""
        self._shown_by_id: dict[str, ShownCall] = {}
        """The shown calls by their ids in the chat."""
        self.is_over = asyncio.Event()
        """Set when the turn is over, and no event of it follows."""

    # -- what the agent says and does

    async def handle(self, event: AgentEvent) -> None:
        """Feed an event to the engine."""
        match event:
            case TextSaid() | Thought() | ImageShown():
                self._add_words(event)
            case CallDescribed(call=call):
                await self._show_call(call)
            case PermissionAsked():
                await self._request_decision(event)
            case _:
                self._show_other(event)

    def _add_words(self, event: TextSaid | Thought | ImageShown) -> None:
        """Add what the agent says to its answer."""
        match event:
            case TextSaid(text=text, message=message):
                if self._has_text and message != self._message:
                    text = f"\n\n{text}"  # another message of the agent
                self._message, self._has_text = message, True
                self._stream(TextDelta(text))
            case Thought(text=text):
                self._stream(ReasoningDelta(text))
            case ImageShown(media_type=media_type, base64=base64):
                self._stream(ImageDelta(media_type, base64))

    def _show_other(self, event: AgentEvent) -> None:
        """Show what is neither a part of the answer nor a call."""
        match event:
            case PlanChanged(entries=entries):
                self._show_plan(entries)
            case AgentUsageChanged():
                self._usage = event
                self.cost = self.cost if event.cost is None else event.cost
            case AgentTitleChanged(title=title):
                if self._begins_session:
                    self._feed(inputs.FactAdded(now(), MetadataContent(title=title)))
            case ModeChanged(mode=mode):
                self._stream(Remark(f"{self._session.launch.title} now works in the mode {mode!r}."))
            case OptionsChanged(changed=changed) if changed:
                chosen = ", ".join(f"{option.name}: {get_value_name(option)}" for option in changed)
                self._stream(Remark(f"{self._session.launch.title} has chosen {chosen}."))
            case NoticeShown(text=text):
                self._stream(Remark(text))
            case PromptEnded(stop_reason=reason):
                if remark := _STOP_REMARKS.get(reason):
                    self._stream(Remark(remark))
            case _:
                pass

    def handle_late(self, event: AgentEvent) -> None:
        """Record how calls have ended after the turn was stopped. All other events are ignored."""
        if isinstance(event, CallDescribed) and (shown := self._shown_by_agents_id.get(event.call.id)) is not None:
            shown.latest_call = event.call
            if event.call.has_ended:
                _mark_ended(shown)

    def end_calls(self) -> None:
        """End the calls that the agent has not ended itself, because its turn is over."""
        self.tools.end()
        for write in self._writes.values():
            if not write.outcome.done():
                write.outcome.set_exception(ToolError("The turn is over; nothing was written."))
                # The agent may not wait for the outcome any more. Once the error was read, asyncio does not log it.
                write.outcome.exception()
        for shown in self._shown_by_id.values():
            if shown.timer is not None:
                shown.timer.cancel()
            if not shown.is_ready:
                self._feed_ready(shown, failure=call_view.NO_RESULT)
            elif shown.permission_number is not None:
                self._reject_withdrawn(shown)
            _mark_ended(shown)
        self.is_over.set()

    def show_usage(self) -> None:
        """Feed the tokens and the cost of the turn. The agent counts the cost of the whole session."""
        if self._usage is None:
            return
        cost = None if self.cost is None else max(self.cost - (self._cost_before or 0.0), 0.0)
        usage = UsageDelta(self._usage.used, 0, cost=cost, context_limit=self._usage.size, agent=self._agent.name)
        self._stream(usage)

    @contextmanager
    def show_question(self) -> Generator[None]:
        """Show that the agent waits for the answer to a question, as long as this context lasts."""
        title = self._session.launch.title
        self._stream(Activity(f"{title} asks you something"))
        try:
            yield
        finally:
            self._stream(Activity(f"Waiting for {title}"))

    def _stream(self, delta: Delta) -> None:
        """Feed a piece of the answer to the engine."""
        self._feed(inputs.Streamed(now(), self._number, delta))

    def _feed(self, input: inputs.Input) -> None:
        """Feed an input to the engine. It is ignored if the turn has ended meanwhile."""
        self._chats.feed(self._chat, input, late=True)

    # -- calls

    async def _show_call(self, call: AgentCall) -> None:
        """Show a call that the agent has described, or described again."""
        if self.calls_our_tool(call) and call.id not in self._shown_by_agents_id:
            return  # our MCP endpoint shows the call, with all that it does
        shown = self._get_or_begin(call)
        if shown.end.done():
            return
        shown.latest_call = call
        await self._keep_files(call)
        if call.command and not shown.is_watched and not call.has_ended:
            shown.is_watched = True
            await self._files.begin_command(shown.id)
        if call.has_ended:
            if not shown.is_ready:
                await self._feed_unasked(shown)
            elif shown.permission_number is not None:
                self._reject_withdrawn(shown)
            _mark_ended(shown)
        elif call.status == "in_progress" and not shown.is_ready and shown.timer is None:
            loop = asyncio.get_running_loop()
            shown.timer = loop.call_later(ASK_SECONDS, self._feed_ready, shown)
        elif (reporter := self._turn.reporters.get(shown.id)) is not None and (text := call.as_text()):
            reporter.report(Report(text))

    def _get_or_begin(self, call: AgentCall, suffix: str = "") -> ShownCall:
        """Return a call as it is shown. If it is new, feed it to the engine. With a `suffix`, the call is shown once
        more, under an id that ends with it."""
        if (shown := self._shown_by_agents_id.get(call.id)) is not None and not suffix:
            return shown
        taken = self._chat.state.call_ids
        id = f"{call.id}{suffix}"
        # Agents count the calls of each session from the beginning.
        id = (
            id
            if id.isprintable() and id not in taken
            else f"{self._chat.state.turn}-{len(self._shown_by_id)}-{id[:40]}"
        )
        shown = self._shown_by_agents_id[call.id] = self._shown_by_id[id] = ShownCall(id, call)
        self._feed(inputs.CallBegun(now(), self._number, id, self._make_tool(call)))
        return shown

    def _make_tool(self, call: AgentCall) -> ToolSpec:
        """Return the tool of a call, see `call_view.make_tool`."""
        # Whether the agent gives the name of the tool as the title of a call.
        has_tool_as_title = bool(self._agent.outside and self._agent.outside.has_tool_as_title)
        return call_view.make_tool(self._agent.name, call, has_tool_as_title=has_tool_as_title)

    def calls_our_tool(self, call: AgentCall) -> bool:
        """Return whether a call is one to our MCP endpoint. Only fields that the agent's program fills in decide this,
        not the texts of its model."""
        if call.mcp is not None:
            server, tool = call.mcp
            return server == SERVER and tool.startswith(TOOL_PREFIX)
        outside = self._agent.outside
        return bool(outside and outside.has_tool_as_title and call.first_title.startswith(f"{SERVER}_{TOOL_PREFIX}"))

    async def _request_decision(self, asked: PermissionAsked) -> None:
        """Let the engine decide about a call for which the agent asks."""
        call = asked.call
        if self.calls_our_tool(call):
            # Our endpoint lets the engine decide about the call, and shows what it does. So the user is asked only
            # once.
            self._session.answer_permission(asked.number, allow=True)
            return
        shown = self._get_or_begin(call)
        if shown.is_ready:
            # The agent asks late, or a second time. The call has a card already, so this question gets another one.
            shown = self._get_or_begin(call, suffix=f"-{asked.number}")
        if shown.timer is not None:
            shown.timer.cancel()
        shown.latest_call, shown.permission_number = call, asked.number
        await self._keep_files(call)
        await self._files.detect_changes(_list_paths(call))
        shown.texts_after = await self._compute_texts_after(call.diffs)
        adjustment = await self._hooks.run_before_outside_call(
            self._chat, shown.id, self._make_tool(call), call_view.make_arguments(call)
        )
        failure = self._find_failure(asked) or (HOOK_CHANGES if adjustment.arguments is not None else "")
        if failure:
            self._files.refuse(_list_paths(call))
            self._session.answer_permission(asked.number, allow=False)
            shown.permission_number = None
        details = await self._describe_changes(call)
        targets = await self._find_targets(call, details)
        self._feed_ready(shown, details=details, failure=failure, targets=targets, adjustment=adjustment)

    def _find_failure(self, asked: PermissionAsked) -> str:
        """Return why a call cannot be allowed, whatever the user says; "" if it can."""
        if not any(option.kind == "allow_once" for option in asked.options):
            return NO_EXACT_ANSWER
        notebook = self.find_open_notebook(asked.call)
        return OPEN_NOTEBOOK.format(path=notebook) if notebook else ""

    def find_open_notebook(self, call: AgentCall) -> str:
        """Return the path of an open notebook whose file the call would change; "" for none."""
        named = [str(item["path"]) for item in call.diffs]
        if call.kind not in _HARMLESS:
            named += call.paths
            # Claude's own tool for notebooks is of the kind `other`. A call without a name and a kind may be one to our
            # tools, which work on the open notebook.
            if call.name or call.kind in _CHANGING:
                named += [value for value in call.raw_input.values() if isinstance(value, str) and is_notebook(value)]
        return next((path for path in named if self._files.get_real_path(path) in self._open_notebooks), "")

    async def _feed_unasked(self, shown: ShownCall) -> None:
        """Feed a call that the agent has run without asking."""
        self._feed_ready(shown, details=await self._describe_changes(shown.latest_call))

    def _feed_ready(
        self,
        shown: ShownCall,
        details: ToolCallDetails | None = None,
        failure: str = "",
        targets: CallTargets | None = None,
        adjustment: CallAdjustment | None = None,
    ) -> None:
        """Feed a call whose arguments are known. If the agent has not asked for permission, the call runs unasked.

        `details` are what its card shows, `failure` says why it must not run ("" if it may), `targets` are the files
        that it names on the disk, and `adjustment` is what hooks have changed in it. None: not known, or nothing."""
        if shown.is_ready:
            return
        shown.is_ready = True
        if shown.timer is not None:
            shown.timer.cancel()
        call = shown.latest_call
        shown.asked_call = call if shown.permission_number is not None else None
        ready = inputs.CallReady(
            now(),
            self._number,
            shown.id,
            self._make_tool(call),
            call_view.make_arguments(call),
            is_unasked=shown.permission_number is None and not failure,
            adjustment=adjustment,
            details=details or call_view.make_command_details(call),
            targets=targets,
            failure=failure,
            # As long as there is a change that the user has not seen, calls that may run code need approval.
            unseen_path=self._chat.unseen_change.path if self._chat.unseen_change else "",
        )
        self._feed(ready)

    def _reject_withdrawn(self, shown: ShownCall) -> None:
        """Reject a call whose question the agent has withdrawn."""
        shown.permission_number = None
        self._feed(inputs.Rejected(now(), shown.id, RejectReason.STOP, WITHDRAWN))

    async def _describe_changes(self, call: AgentCall) -> ToolCallDetails | None:
        """Return what a call changes in files, for its card; None if nothing is known of it."""
        return await self._describe_diffs(call.diffs)

    async def _describe_diffs(self, diffs: Sequence[Mapping[str, Any]]) -> ToolCallDetails | None:
        """Return the changes that an agent has described (see `file_views` for `diffs`); None when there is none, or
        when the disk does not answer."""
        try:
            return await run_read(describe_changes, self._files.files, diffs)
        except ToolError:
            return None

    async def _compute_texts_after(self, diffs: Sequence[Mapping[str, Any]]) -> Mapping[Path, str]:
        """Return the texts that files will have after the described changes, by their real paths. Empty when the disk
        does not answer."""
        try:
            return await run_read(compute_texts_after, self._files.files, diffs)
        except ToolError:
            return {}

    async def _find_targets(self, call: AgentCall, details: ToolCallDetails | None) -> CallTargets | None:
        """Return the files that a call names on the disk; None when the disk does not answer."""
        return await self._find_tool_targets(self._make_tool(call), call_view.make_arguments(call), details)

    async def _find_tool_targets(
        self, tool: ToolSpec, arguments: dict[str, Any], details: ToolCallDetails | None
    ) -> CallTargets | None:
        """Return the files that a call with this tool and these arguments names on the disk; None when the disk does
        not answer."""
        try:
            return await find_call_targets(self._files.files, self._services.config, tool, arguments, "", details)
        except ToolError:
            return None

    async def _keep_files(self, call: AgentCall) -> None:
        """Make checkpoints of the files that a call names, before it changes them."""
        if call.kind in _CHANGING | {"other"} or call.diffs:
            await self._files.keep(_list_paths(call))

    def _show_plan(self, entries: tuple[tuple[str, str], ...]) -> None:
        """Show the plan of the agent as a call. A call that has ended cannot change, so each plan is another call.
        `entries` are the texts and the statuses of the steps."""
        self._plans += 1
        id = f"{self._chat.state.turn}-plan-{self._number}-{self._plans}"
        self._plan_ids.add(id)
        details = call_view.make_plan(entries)
        self._feed(inputs.CallBegun(now(), self._number, id, call_view.PLAN))
        self._feed(inputs.CallReady(now(), self._number, id, call_view.PLAN, {}, is_unasked=True, details=details))

    # -- effects of the engine

    async def run_call(self, id: str) -> ToolResult:
        """Let the agent run a call, and return its result. If the turn is stopped meanwhile, the agent has a moment to
        say how the call ended."""
        if (write := self._writes.get(id)) is not None:
            return await self._run_write(id, write)
        shown = self._shown_by_id.get(id)
        if shown is None:
            return ToolResult("")  # a plan
        paths: Sequence[str] = ()
        if shown.permission_number is not None:
            if shown.latest_call.command:
                await self._files.begin_command(id, again=True)
            paths = _list_paths(shown.latest_call)
            if self._is_approved(id):
                self._files.allow(paths)
            self._session.answer_permission(shown.permission_number, allow=True)
            shown.permission_number, shown.approved_call = None, shown.asked_call
            self._approved.append(shown)
        try:
            call = await asyncio.shield(shown.end)
        except asyncio.CancelledError:
            # The engine waits for the end of each call that runs. `OutsideAgents` tells the agent to stop.
            await self.is_over.wait()
            call = shown.latest_call
        await self._files.finish(paths, shown.texts_after)
        await self._files.end_command(id)
        await self._files.record_states()
        return call_view.make_result(call)

    def _is_approved(self, id: str) -> bool:
        """Return whether the user has approved a call whose card shows what it changes."""
        call = next((call for call in self._chat.state.calls if call.id == id), None)
        return call is not None and call.approved and isinstance(call.details, FileChangeDetails)

    def owns(self, id: str) -> bool:
        """Return whether a call of the chat is one of this turn that the agent runs itself."""
        return id in self._shown_by_id or id in self._writes or id in self._plan_ids

    def _take_approval(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether the user has approved a call that still runs and has these arguments. An approval counts once.

        Some agents ask for permission to call one of our tools in a form that `calls_our_tool` does not recognize. Then
        the user decides about that question, and need not approve the call again when it arrives over MCP."""
        for shown in self._approved:
            described = shown.latest_call.raw_input  # some agents put the arguments into a field `arguments` of it
            if not shown.end.done() and arguments in (described, described.get("arguments")):
                self._approved.remove(shown)
                return True
        return False

    def refuse(self, id: str, text: str) -> None:
        """Tell the agent that a call must not run."""
        self.tools.refuse(id, text)
        if (write := self._writes.get(id)) is not None and not write.outcome.done():
            self._files.refuse([write.path])
            write.outcome.set_exception(ToolError(text))
        shown = self._shown_by_id.get(id)
        if shown is not None and shown.permission_number is not None:
            if self._chat.state.status is not TurnStatus.STREAMING:
                return  # the turn was stopped: `AgentSession.cancel` answers all open questions
            self._files.refuse(_list_paths(shown.latest_call))
            self._session.answer_permission(shown.permission_number, allow=False)
            shown.permission_number = None
            _mark_ended(shown)

    async def close(self) -> None:
        """Record the files as they are when the turn is over."""
        await self._files.record_states()

    # -- files

    async def read_file(self, path: str, line: int | None, limit: int | None) -> str:
        """Return the text of a file, from `line` (from 1), `limit` lines at most; None for all. Raises: ToolError."""
        return await self._files.read(path, line, limit)

    async def write_file(self, path: str, content: str) -> None:
        """Write a file for the agent. If no running call has described this write, it is shown as a call of its own,
        and the engine decides about it.

        Raises: ToolError when it is not written. The message is for the agent.
        """
        real = self._files.get_real_path(path)
        if real in self._open_notebooks:
            raise ToolError(OPEN_NOTEBOOK.format(path=path))
        if self._chat.state.status is not TurnStatus.STREAMING:
            raise ToolError("The turn was stopped; nothing was written.")
        if await self._is_allowed_to_write(path, content):
            await self._files.write(path, content)
            return
        write = _PendingWrite(path, content, await self._compute_texts_after([{"path": path, "newText": content}]))
        id = f"{self._chat.state.turn}-write-{self._number}-{len(self._writes) + 1}"
        self._writes[id] = write
        await self._files.keep([path])
        await self._files.detect_changes([path])
        tool = call_view.make_write_tool(self._agent.name)
        arguments = {"path": path, "content": content}
        details = await self._describe_diffs([{"path": path, "oldText": None, "newText": content}])
        targets = await self._find_tool_targets(tool, arguments, details)
        self._feed(inputs.CallBegun(now(), self._number, id, tool, details))
        self._feed(inputs.CallReady(now(), self._number, id, tool, arguments, details=details, targets=targets))
        await write.outcome

    async def _run_write(self, id: str, write: _PendingWrite) -> ToolResult:
        """Write a file after the write was allowed."""
        if self._is_approved(id):
            self._files.allow([write.path])
        try:
            await self._files.write(write.path, write.content)
            await self._files.finish([write.path], write.texts_after)
        except ToolError as error:
            if not write.outcome.done():
                write.outcome.set_exception(error)
            return ToolResult(str(error), error=True)
        if not write.outcome.done():
            write.outcome.set_result(None)
        return ToolResult("Written.")

    async def _is_allowed_to_write(self, path: str, content: str) -> bool:
        """Return whether a running call has described this write. Then the user is not asked again. What the user
        has approved is only the content that the card showed."""
        real = self._files.get_real_path(path)
        for shown in list(self._shown_by_id.values()):
            if not shown.is_ready or shown.permission_number is not None or shown.end.done():
                continue
            call = shown.approved_call or shown.latest_call
            diffs = [diff for diff in call.diffs if self._files.get_real_path(str(diff["path"])) == real]
            if diffs:
                for diff in diffs:
                    if await run_read(matches_description, self._files.files, diff, content):
                        return True
            elif any(self._files.get_real_path(name) == real for name in call.paths) and (
                shown.approved_call is None or content in call.raw_input.values()
            ):
                return True
        return False


def _list_paths(call: AgentCall) -> list[str]:
    """Return the paths of the files that a call changes, as far as the agent has named them."""
    return [*(str(item["path"]) for item in call.diffs), *call.paths]


def _mark_ended(shown: ShownCall) -> None:
    """Note that a call has ended, unless it has ended before."""
    if not shown.end.done():
        shown.end.set_result(shown.latest_call)
