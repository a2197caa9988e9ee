"""`step`: one chat, from what it is and what happened to what it becomes, what it says and what must be done.

The walk follows the two tables, `turn.TURNS` and `toolcall.TOOL_CALLS`; here is only what their moves mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, assert_never

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval import Decision, Policy, decide, is_remembered, rememberable
from jupyter_eca.engine.delta import Delta, ReasoningDelta, ReasoningEnd, Remark, TextDelta, ToolCallDelta, UsageDelta
from jupyter_eca.engine.effects import AskUser, CallModel, CancelModel, CancelTool, Effect, RunTool
from jupyter_eca.engine.history import History, remember
from jupyter_eca.engine.inputs import Input, Setup
from jupyter_eca.engine.prompt import NOT_JSON, NOTHING_SAID, REJECTED, STOPPED_CALL, title_of, unknown_tool
from jupyter_eca.engine.spec import ModelRequest
from jupyter_eca.engine.toolcall import TOOL_CALLS, ToolCall, ToolCallMove, ToolCallSignal, ToolCallStatus, parsed
from jupyter_eca.engine.turn import TURNS, TurnMove, TurnSignal, TurnStatus
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.content import (
    Content,
    Limit,
    MetadataContent,
    ProgressContent,
    ReasonFinishedContent,
    ReasonStartedContent,
    ReasonTextContent,
    RejectReason,
    Role,
    TextContent,
    TextOutput,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
    UsageContent,
)
from jupyter_eca.protocol.event import Event, Outcome

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import ToolCallDetails


NO_SETUP = Setup(model="")


@dataclass(frozen=True, slots=True)
class ChatState:
    """`request` counts model calls, `calls` are those of the reply under way, `call_ids` those of all calls ever; a
    `cost` of None is an unknown price."""

    id: str
    status: TurnStatus = TurnStatus.IDLE
    turn: str = ""
    request: int = 0
    setup: Setup = NO_SETUP
    history: History = ()
    calls: tuple[ToolCall, ...] = ()
    indexes: tuple[int, ...] = ()
    call_ids: frozenset[str] = frozenset()
    reasoning: str = ""
    reasoning_since: int = 0
    said: bool = False
    remembered: frozenset[str] = frozenset()
    cost: float | None = 0.0

    def call(self, id: str) -> ToolCall:
        """Raises: IllegalSignal when the reply under way has no such call."""
        for call in self.calls:
            if call.id == id:
                return call
        raise IllegalSignal(f"no tool call {id} is under way")


Step = tuple[ChatState, tuple[Event, ...], tuple[Effect, ...]]


def step(state: ChatState, input: Input) -> Step:
    """Raises: IllegalSignal when the input means nothing now; the state given still stands."""
    walk = _Walk(state, input.at)
    match input:
        case inputs.Prompted():
            walk.prompt(input)
        case inputs.Streamed(request=request, delta=delta):
            if walk.listens_to(request):
                walk.delta(delta)
        case inputs.ModelFinished(request=request):
            if walk.listens_to(request):
                walk.reply_complete()
        case inputs.ModelFailed(request=request, message=message):
            if walk.listens_to(request):
                walk.fail(message)
        case inputs.ToolFinished(call=call, text=text, error=error, details=details):
            walk.signal_call(state.call(call), ToolCallSignal.FINISH, text=text, error=error, details=details)
            walk.settle()
        case inputs.Approved(call=call, remember=remember_it):
            walk.approve(state.call(call), remember_it=remember_it)
        case inputs.Rejected(call=call, reason=reason, words=words):
            walk.signal_call(state.call(call), ToolCallSignal.REJECT, reason=reason, words=words)
            walk.settle()
        case inputs.Stopped():
            walk.signal(TurnSignal.STOP)
            walk.settle()
        case _:
            assert_never(input)
    return walk.state, tuple(walk.events), tuple(walk.effects)


class _Walk:
    """One step in the making."""

    def __init__(self, state: ChatState, at: int) -> None:
        self.state = state
        self.at = at
        self.events: list[Event] = []
        self.effects: list[Effect] = []

    def listens_to(self, request: int) -> bool:
        return self.state.status is TurnStatus.STREAMING and self.state.request == request

    def emit(
        self, content: Content, role: Role = Role.ASSISTANT, aside: str = "", outcome: Outcome | None = None
    ) -> None:
        chat, turn = self.state.id, self.state.turn
        event = Event(chat=chat, turn=turn, role=role, content=content, at=self.at, aside=aside, outcome=outcome)
        self.events.append(event)
        self._recall(remember(self.state.history, event))

    def _recall(self, history: History) -> None:
        if history is not self.state.history:
            self.state = replace(self.state, history=history)

    # -- turns

    def signal(self, signal: TurnSignal) -> None:
        status, moves = TURNS.take(self.state.status, signal)
        self.state = replace(self.state, status=status)
        for move in moves:
            self._move(move)

    def _move(self, move: TurnMove) -> None:
        match move:
            case TurnMove.OPEN:
                pass  # `prompt` has the words
            case TurnMove.CALL_MODEL:
                self._call_model()
            case TurnMove.CANCEL_MODEL:
                self.effects.append(CancelModel(self.state.request))
            case TurnMove.DECIDE:
                self._decide_all()
            case TurnMove.STOP_CALLS:
                self._close_reasoning()
                for call in self.state.calls:
                    if not call.terminal:
                        self.signal_call(call, ToolCallSignal.STOP, reason=RejectReason.STOP)
            case TurnMove.COMPLETE:
                self._end(Outcome.COMPLETED)
            case TurnMove.FAILED:
                self._end(Outcome.FAILED)
            case TurnMove.STOPPED:
                self.emit(TextContent(text="Stopped."), Role.SYSTEM)
                self._end(Outcome.STOPPED)

    def prompt(self, prompted: inputs.Prompted) -> None:
        first = not self.state.history
        TURNS.take(self.state.status, TurnSignal.PROMPT)
        self.state = replace(self.state, turn=prompted.turn, setup=prompted.setup)
        self.emit(TextContent(text=prompted.message, content_id=prompted.content_id), Role.USER, aside=prompted.context)
        if first:
            self.emit(MetadataContent(title=title_of(prompted.message)), Role.SYSTEM)
        self.signal(TurnSignal.PROMPT)

    def _call_model(self) -> None:
        self.state = replace(self.state, request=self.state.request + 1, calls=(), indexes=(), said=False)
        self.emit(ProgressContent(state="running", text="Waiting for the model"), Role.SYSTEM)
        setup = self.state.setup
        request = ModelRequest(setup.model, setup.system, self.state.history, setup.tools)
        self.effects.append(CallModel(self.state.request, request))

    def _end(self, outcome: Outcome) -> None:
        self.emit(ProgressContent(state="finished"), Role.SYSTEM, outcome=outcome)

    def reply_complete(self) -> None:
        self._close_reasoning()
        if self.state.calls:
            self.signal(TurnSignal.CALLS)
            self.settle()
            return
        if not self.state.said:
            self.emit(TextContent(text=NOTHING_SAID), Role.SYSTEM)
        self.signal(TurnSignal.ANSWER)

    def fail(self, message: str) -> None:
        self._close_reasoning()
        self.emit(TextContent(text=message), Role.SYSTEM)
        self.signal(TurnSignal.FAIL)

    def settle(self) -> None:
        """Go on, or end, when nothing of this reply is left to wait for."""
        if all(call.terminal for call in self.state.calls) and TURNS.accepts(self.state.status, TurnSignal.SETTLED):
            self.signal(TurnSignal.SETTLED)

    # -- what the model says

    def delta(self, delta: Delta) -> None:
        if delta == TextDelta(""):
            return  # Some servers begin with one; a message with an empty text is refused by others, for ever after.
        if not self.state.said and not isinstance(delta, UsageDelta):
            self.state = replace(self.state, said=True)
            self.emit(ProgressContent(state="running", text="Generating"), Role.SYSTEM)
        match delta:
            case TextDelta(text=text):
                self._close_reasoning()
                self.emit(TextContent(text=text))
            case ReasoningDelta(text=text):
                self._reason(text)
            case ReasoningEnd(signature=signature):
                self._close_reasoning(signature)
            case ToolCallDelta():
                self._close_reasoning()
                self._prepare(delta)
            case Remark(text=text):
                self.emit(TextContent(text=text), Role.SYSTEM)
            case UsageDelta():
                self._usage(delta)

    def _reason(self, text: str) -> None:
        if not self.state.reasoning:
            id = f"{self.state.turn}-r{self.state.request}-{len(self.state.history)}-{len(self._last_parts())}"
            self.state = replace(self.state, reasoning=id, reasoning_since=self.at)
            self.emit(ReasonStartedContent(id=id))
        self.emit(ReasonTextContent(id=self.state.reasoning, text=text))

    def _last_parts(self) -> tuple[object, ...]:
        return self.state.history[-1].parts if self.state.history else ()

    def _close_reasoning(self, signature: str = "") -> None:
        id = self.state.reasoning
        if id:
            self.state = replace(self.state, reasoning="")
            took = self.at - self.state.reasoning_since
            self.emit(ReasonFinishedContent(id=id, total_time_ms=took), aside=signature)

    def _usage(self, usage: UsageDelta) -> None:
        unknown = usage.cost is None or self.state.cost is None
        cost = None if unknown else (self.state.cost or 0.0) + (usage.cost or 0.0)
        self.state = replace(self.state, cost=cost)
        tokens_in = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        limit = Limit(context=usage.context_limit, output=usage.output_limit) if usage.context_limit else None
        self.emit(
            UsageContent(
                session_tokens=tokens_in + usage.output_tokens,
                message_input_tokens=tokens_in,
                message_output_tokens=usage.output_tokens,
                last_message_cost=None if usage.cost is None else f"{usage.cost:.4f}",
                session_cost=None if cost is None else f"{cost:.4f}",
                limit=limit,
            ),
            Role.SYSTEM,
        )

    # -- tool calls

    def _prepare(self, delta: ToolCallDelta) -> None:
        state = self.state
        if delta.index not in state.indexes:
            id = delta.id if _free(state, delta.id) else f"{state.turn}-{state.request}-{delta.index}"
            tool = next((t for t in state.setup.tools if t.name == delta.name), None)
            state = replace(
                state,
                calls=(*state.calls, ToolCall(id, delta.name, tool)),
                indexes=(*state.indexes, delta.index),
                call_ids=state.call_ids | {id},
            )
        at = state.indexes.index(delta.index)
        call = replace(state.calls[at], arguments_text=state.calls[at].arguments_text + delta.arguments_text)
        self.state = replace(state, calls=(*state.calls[:at], call, *state.calls[at + 1 :]))
        self.emit(ToolCallPrepareContent(**call.about(), arguments_text=delta.arguments_text))

    def _decide_all(self) -> None:
        """Every call is announced before the first one ends: vendors want the calls of a reply in one message, and the
        results in the next."""
        before, history = len(self.events), self.state.history
        for call in self.state.calls:
            self._decide(call)
        decided = sorted(self.events[before:], key=lambda event: not isinstance(event.content, ToolCallRunContent))
        self.events[before:] = decided
        self._recall(reduce(remember, decided, history))

    def _decide(self, call: ToolCall) -> None:
        arguments = parsed(call.arguments_text)
        if call.tool is None:
            self.signal_call(
                call, ToolCallSignal.FAIL, text=unknown_tool(call.name, self.state.setup.tools), error=True
            )
        elif arguments is None:
            self.signal_call(call, ToolCallSignal.FAIL, text=NOT_JSON, error=True)
        else:
            policy = self.state.setup.policy or Policy()
            decision = decide(policy, call.tool, arguments, self.state.remembered)
            call = replace(call, arguments=arguments)
            self.signal_call(call, _SIGNAL_OF[decision], reason=RejectReason.CONFIG)

    def approve(self, call: ToolCall, *, remember_it: bool) -> None:
        TOOL_CALLS.take(call.status, ToolCallSignal.APPROVE)
        if remember_it and call.tool is not None:
            remembered = self.state.remembered | rememberable(call.tool, call.arguments)
            self.state = replace(self.state, remembered=remembered)
        self.signal_call(call, ToolCallSignal.APPROVE)
        if remember_it:
            for other in self.state.calls:
                tool = other.tool if other.status is ToolCallStatus.WAITING else None
                if tool is not None and is_remembered(tool, other.arguments, self.state.remembered):
                    self.signal_call(other, ToolCallSignal.APPROVE)

    def signal_call(
        self,
        call: ToolCall,
        signal: ToolCallSignal,
        *,
        text: str = "",
        error: bool = False,
        details: ToolCallDetails | None = None,
        reason: RejectReason = RejectReason.USER,
        words: str = "",
    ) -> None:
        was_stopping = call.status is ToolCallStatus.STOPPING
        status, moves = TOOL_CALLS.take(call.status, signal)
        started = self.at if ToolCallMove.RUN in moves else call.started
        call = replace(call, status=status, started=started)
        self.state = replace(self.state, calls=tuple(call if c.id == call.id else c for c in self.state.calls))
        about = call.about()
        for move in moves:
            match move:
                case ToolCallMove.ANNOUNCE:
                    asks = status is ToolCallStatus.WAITING
                    self.emit(ToolCallRunContent(**about, arguments=call.arguments, manual_approval=asks))
                case ToolCallMove.STARTED:
                    self.emit(ToolCallRunningContent(**about, arguments=call.arguments))
                case ToolCallMove.RUN:
                    if call.tool is not None:
                        self.effects.append(RunTool(call.id, call.tool, call.arguments))
                case ToolCallMove.ASK_USER:
                    self.effects.append(AskUser(call.id))
                case ToolCallMove.CANCEL:
                    self.effects.append(CancelTool(call.id))
                case ToolCallMove.CALLED:
                    text = f"{STOPPED_CALL}\n{text}".strip() if was_stopping else text
                    self._called(call, text, error=error or was_stopping, details=details)
                case ToolCallMove.REJECTED:
                    content = ToolCallRejectedContent(**about, arguments=call.arguments, reason=reason)
                    self.emit(content, aside=f"{REJECTED[reason]} {words}".strip())

    def _called(self, call: ToolCall, text: str, *, error: bool, details: ToolCallDetails | None) -> None:
        about: dict[str, Any] = {**call.about(), "details": details}
        self.emit(
            ToolCalledContent(
                **about,
                arguments=call.arguments,
                error=error,
                outputs=(TextOutput(text=text),),
                total_time_ms=self.at - call.started if call.started else 0,
            )
        )


_SIGNAL_OF = {
    Decision.ALLOW: ToolCallSignal.ALLOW,
    Decision.ASK: ToolCallSignal.ASK,
    Decision.DENY: ToolCallSignal.DENY,
}


def _free(state: ChatState, id: str) -> bool:
    """Some servers repeat ids or leave them out. One that begins like ours could be the next that we make up."""
    return bool(id) and id.isprintable() and id not in state.call_ids and not id.startswith(f"{state.turn}-")
