"""Owns `Record`: what was seen of one simulated chat, and the rules that hold after each step of it.

It knows events, effects and inputs, and must not know how they came about: `conversation` does. What a call may do is
worked out here once more, from the rules of the user and what was clicked, in a way that shares no code with the
engine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.policy import Decision, Policy, Rule
from jupyter_eca.engine.effects import AskUser, CallModel, CancelTool, RunTool
from jupyter_eca.engine.model.request import ToolResultPart, ToolSpec, ToolUsePart
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.protocol.content import (
    Origin,
    ReasonFinishedContent,
    ReasonStartedContent,
    ReasonTextContent,
    Role,
    TextContent,
    ToolCallContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
)
from tests.engine.well_formed import assert_well_formed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.effects import Effect
    from jupyter_eca.engine.inputs import Input
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.engine.tool_call import ToolCall
    from jupyter_eca.protocol.event import Event

LOOK = ToolSpec("look", "Look at something.", {}, summary="Looking at {what}", read_only_hint=True)
PEEK = ToolSpec(
    "peek", "Look at something, says its server.", {}, server="away", origin=Origin.MCP, read_only_hint=True
)
ACT = ToolSpec("act", "Do something.", {})
FAR = ToolSpec("far", "Do something elsewhere.", {}, server="away", origin=Origin.MCP)
TOOLS = (LOOK, PEEK, ACT, FAR)

BADLY = Rule(args_matchers={"how": ("badly",)})
USUAL = Policy(allow={"look": Rule()}, deny={"act": BADLY})
OPEN = Policy(by_default=Decision.ALLOW, deny={"act": BADLY})
STRICT = Policy(ask={"look": Rule()}, deny={"act": BADLY, "away": Rule()})


def is_denied(call: ToolCall, policy: Policy) -> bool:
    """Whether the user's rules forbid a call, whoever approves it."""
    badly = call.name == "act" and call.arguments.get("how") == "badly"
    return badly or (policy is STRICT and call.name in {"peek", "far"})


def is_free(call: ToolCall, policy: Policy, *, trust: bool, granted: set[str]) -> bool:
    """Whether a call may run without a click on it. `granted` are the tools that were approved for the session."""
    allowed = policy is OPEN or (policy is USUAL and call.name == "look")
    return not is_denied(call, policy) and (trust or allowed or call.name in granted)


@dataclass
class Record:
    """All that was seen of one chat, over all of its processes."""

    events: list[Event] = field(default_factory=list["Event"])
    """Every event since the process began."""
    requests: int = 0
    """How often the model was called in this process."""
    ran: set[str] = field(default_factory=set[str])
    """The calls that have run, in this process or an earlier one."""
    approved: set[str] = field(default_factory=set[str])
    """The calls that a user approved by a click."""
    cleared: set[str] = field(default_factory=set[str])
    """The calls that may run without a click on them."""
    granted: set[str] = field(default_factory=set[str])
    """The tools with a call that was approved for the session, in this process."""
    cancelled: set[str] = field(default_factory=set[str])
    _unsaved_runs: set[str] = field(default_factory=set[str])
    """The calls that have run in this process while the disk failed."""
    _lives: dict[str, ToolCallContent] = field(default_factory=dict[str, "ToolCallContent"])
    """The last content of each call."""
    _reasonings: dict[str, bool] = field(default_factory=dict[str, bool])
    """Whether each reasoning is open."""
    _ended: set[str] = field(default_factory=set[str])
    """The turns that have ended."""

    def restart(self, events: Sequence[Event]) -> None:
        """The process was killed; these events were stored, and those that close what was open."""
        self.events, self.requests = [], 0
        self.granted, self.cancelled = set(), set()
        # While the disk fails, a tool runs although that is not stored, and the chat is marked as not saved.
        stored = {event.content.id for event in events if isinstance(event.content, ToolCallRunningContent)}
        self.ran &= stored | (self.ran - self._unsaved_runs)
        self._unsaved_runs = set()
        self._lives, self._reasonings, self._ended = {}, {}, set()
        for event in events:
            self._check_event(event)
        self.events = list(events)
        self.assert_closed()

    # -- one step

    def note_unsaved(self, call: str) -> None:
        """Note that a call runs although that could not be stored."""
        self._unsaved_runs.add(call)

    def check(
        self, before: ChatState, input: Input, after: ChatState, events: Sequence[Event], effects: Sequence[Effect]
    ) -> None:
        """Check a step: what it shows and what it orders."""
        self._clear_calls(before, input, after)
        for event in events:
            assert event.chat == before.id
            self._check_event(event)
        self.events += events
        for effect in effects:
            self._check_effect(effect, after)

    def _clear_calls(self, before: ChatState, input: Input, after: ChatState) -> None:
        """Note which calls may run from now on, and because of what."""
        policy = after.setup.policy or Policy()
        match input:
            case inputs.ModelFinished() | inputs.CallRequested():
                # The trust of the chat before the reply; a program's call comes with its own.
                trust = input.setup.trust if isinstance(input, inputs.CallRequested) else before.trust
                adjusted = (
                    {input.call: input.adjustment} if isinstance(input, inputs.CallRequested) else input.adjustments
                )
                for call in after.calls:
                    hook = adjusted.get(call.id)
                    if is_free(call, policy, trust=trust, granted=self.granted) and not (hook and hook.decision):
                        self.cleared.add(call.id)
            case inputs.Approved(call=id, remember=remember):
                self.approved.add(id)
                if remember:
                    self.granted.add(before.get_call(id).name)
                self._clear_waiting(before, after, policy, again=remember)
            case inputs.PolicyChanged():
                self._withdraw(before, after, policy)
                self._clear_waiting(before, after, policy, again=True)
            case inputs.TrustChanged():
                self._withdraw(before, after, policy)
            case _:
                pass

    def _clear_waiting(self, before: ChatState, after: ChatState, policy: Policy, *, again: bool) -> None:
        """Note which of the waiting calls the user's new rules allow."""
        for call in before.calls if again else ():
            is_hooked = call.adjustment.decision is not None
            free = is_free(call, policy, trust=after.trust, granted=self.granted) and not is_hooked
            if call.status is ToolCallStatus.WAITING and free:
                self.cleared.add(call.id)

    def _withdraw(self, before: ChatState, after: ChatState, policy: Policy) -> None:
        """Note which of the calls that have not begun to run may not run any more."""
        for call in before.calls:
            if call.status is ToolCallStatus.QUEUED and not is_free(
                call, policy, trust=after.trust, granted=self.granted
            ):
                self.cleared.discard(call.id)

    def _check_event(self, event: Event) -> None:
        """A turn, a call and a reasoning end once, and nothing of them comes afterwards."""
        if event.turn:
            assert event.turn not in self._ended, f"the turn {event.turn} goes on after its end"
            if event.outcome is not None:
                self._ended.add(event.turn)
                assert not any(self._reasonings.values())
                assert all(isinstance(last, _ENDS) for last in self._lives.values())
        match event.content:
            case ReasonStartedContent(id=id):
                assert id not in self._reasonings
                self._reasonings[id] = True
            case ReasonTextContent(id=id) | ReasonFinishedContent(id=id):
                assert self._reasonings[id]
                self._reasonings[id] = isinstance(event.content, ReasonTextContent)
            case ToolCallContent() as content:
                self._check_call(content)
            case TextContent(text=text):
                # An empty text is dropped everywhere, except that a user may send one.
                assert text or event.role is Role.USER or event.local
            case _:
                pass

    def _check_call(self, content: ToolCallContent) -> None:
        last = self._lives.get(content.id)
        if last is None:
            pass
        elif isinstance(content, ToolCallPrepareContent):
            assert isinstance(last, ToolCallPrepareContent)
        elif isinstance(content, ToolCallRunContent):
            # A call that waits is approved, or what has allowed a call that is queued was withdrawn.
            is_decided = isinstance(last, ToolCallRunContent) and last.manual_approval != content.manual_approval
            assert isinstance(last, ToolCallPrepareContent) or is_decided
        else:
            assert not isinstance(last, _ENDS), f"the call {content.id} ends twice"
        if isinstance(content, ToolCalledContent) and isinstance(last, ToolCallRunContent):
            assert content.error, "a call that never ran succeeded"
        if isinstance(content, ToolCallRejectedContent):
            assert not isinstance(last, ToolCallRunningContent)
            assert content.id not in self.ran
        self._lives[content.id] = content

    def _check_effect(self, effect: Effect, after: ChatState) -> None:
        match effect:
            case CallModel(number=number, request=request):
                self.requests += 1
                assert number == after.request == self.requests
                assert request.messages[-1].role == "user" or after.pauses
                assert_well_formed(request.messages)
                assert request.model == after.setup.model
                self._check_results(request.messages)
            case RunTool(call=id, arguments=arguments, tool=tool):
                assert id not in self.ran, f"the call {id} runs twice"
                assert id in self.approved | self.cleared, f"the call {id} runs without its approval"
                policy = after.setup.policy or Policy()
                assert not is_denied(after.get_call(id), policy), f"the call {id} runs although a rule denies it"
                assert tool.read_only_hint or not after.setup.plan_mode, f"the call {id} changes something in plan mode"
                shown = [event.content for event in self.events if isinstance(event.content, ToolCallRunContent)]
                last = next(content for content in reversed(shown) if content.id == id)
                assert (last.arguments, last.name) == (arguments, tool.name), "other arguments run than were shown"
                assert isinstance(self._lives[id], ToolCallRunningContent)
                self.ran.add(id)
            case AskUser(call=id):
                last = self._lives[id]
                assert isinstance(last, ToolCallRunContent)
                assert last.manual_approval
            case CancelTool(call=id):
                assert id in self.ran
                assert id not in self.cancelled
                self.cancelled.add(id)
            case _:
                pass

    def _check_results(self, messages: Sequence[Any]) -> None:
        """The model reads about each of its calls what the user sees."""
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolUsePart):
                    assert part.id in self._lives
                    json.dumps(part.arguments, allow_nan=False)
                elif isinstance(part, ToolResultPart):
                    last = self._lives[part.id]
                    assert isinstance(last, _ENDS)
                    assert part.error == (not isinstance(last, ToolCalledContent) or last.error)

    # -- between the turns

    def assert_closed(self) -> None:
        """No turn is open, nor anything in one."""
        assert all(isinstance(last, _ENDS) for last in self._lives.values())
        assert not any(self._reasonings.values())
        assert {event.turn for event in self.events if event.turn} == self._ended


_ENDS = (ToolCalledContent, ToolCallRejectedContent)
