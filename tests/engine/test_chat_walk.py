"""Random walks: whatever happens in whatever order, a chat stays one that can be shown, stored and asked again."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.effects import (
    AskUser,
    CallModel,
    CancelGathering,
    CancelModel,
    CancelTool,
    CancelWait,
    Gather,
    RunTool,
    Wait,
)
from jupyter_eca.engine.inputs import RefusalReason
from jupyter_eca.engine.model.delta import (
    Paused,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.engine.model.retry import Failure
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.content import FlagContent, RejectReason, ToolCallContent, ToolCallRunContent
from jupyter_eca.protocol.event import Event, merge_pieces
from tests.engine.talk import FAR, Talk
from tests.engine.well_formed import assert_well_formed

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import Delta

IMAGE = ImagePart("image/png", "aW1hZ2U=")

# -- what may happen

texts = st.sampled_from(["", "a", "two words", "\u00e9", "\ud83d"])
names = st.sampled_from(["look", "look", "act", "act", "far", "nowhere", ""])
arguments = st.sampled_from(
    ["", "{}", '{"what": [1, 0.5, null]}', '{"how": "badly"}', "{", "[]", '{"a": "\\ud83d"}', "}"]
)
call_ids = st.sampled_from(["", "a", "a", "b", "c", "t1-1-0", "t1-1-1", "t2-1-0"])
costs = st.sampled_from([None, 0.0, 0.25])
deltas: st.SearchStrategy[Delta] = st.one_of(
    st.builds(TextDelta, texts),
    st.builds(ReasoningDelta, texts),
    st.builds(ReasoningEnd, st.sampled_from(["", "proof"])),
    st.builds(ToolCallDelta, st.integers(0, 2), call_ids, names, arguments),
    st.builds(ToolCallDelta, st.integers(0, 2), call_ids, names, arguments),
    st.builds(UsageDelta, st.integers(0, 9), st.integers(0, 9), cost=costs, context_limit=st.sampled_from([0, 1, 9])),
    st.builds(Remark, texts),
    st.builds(Paused),
)


@dataclass(frozen=True)
class Said:
    """By the request under way, or by an earlier one. Without a delta: the end of it, which may be
    `passing`, or mean that it was too long."""

    delta: Delta | None
    late: bool = False
    failed: bool = False
    passing: bool = False
    overflow: bool = False
    refused: RefusalReason | None = None
    images: bool = False


@dataclass(frozen=True)
class Heard:
    """`signal` about the `pick`th call that there ever was, or one that never was."""

    signal: str
    pick: int
    flag: bool


@dataclass(frozen=True)
class Replied:
    """A whole reply of the request under way."""

    deltas: tuple[Delta, ...]


@dataclass(frozen=True)
class Decided:
    """What the `pick`th open call waits for: an approval, or its end."""

    pick: int
    remember: bool


Happening = Said | Heard | Replied | Decided | str

seldom = st.sampled_from([False] * 9 + [True])
signals = st.sampled_from(["approve", "reject", "reject", "finish"])
calls = st.builds(
    ToolCallDelta, st.integers(0, 2), call_ids, names, st.sampled_from(["{}", '{"what": [1, 0.5, null]}'])
)
happenings: st.SearchStrategy[Happening] = st.one_of(
    st.builds(Said, deltas, seldom),
    st.builds(Said, st.none(), seldom, seldom),
    st.builds(Said, st.none(), seldom, st.just(True), st.just(True)),
    st.builds(Said, st.none(), seldom, st.just(True), overflow=st.just(True)),
    st.builds(Said, st.none(), seldom, st.just(True), refused=st.sampled_from(RefusalReason), images=st.booleans()),
    st.builds(Heard, signals, st.integers(0, 3), st.booleans()),
    st.builds(Replied, st.lists(deltas | calls, min_size=1, max_size=5).map(tuple)),
    st.builds(Replied, st.lists(calls, min_size=1, max_size=4).map(tuple)),
    st.builds(Decided, st.integers(0, 2), seldom),
    st.builds(Decided, st.integers(0, 2), seldom),
    st.builds(Decided, st.integers(0, 2), seldom),
    st.sampled_from(["prompt", "prompt", "prompt", "stop", "steer", "steer", "unsteer"]),
    st.sampled_from(["linger", "gather", "command", "answer", "refuse", "trust", "flag", "wait", "wait", "compact"]),
    st.sampled_from(["call", "call"]),
)


@dataclass
class Walk(Talk):
    """Keeps what was asked of the shell, to compare it with what is shown."""

    requests: list[CallModel] = field(default_factory=list[CallModel])
    started: list[str] = field(default_factory=list[str])
    refusals: int = 0

    def feed(self, what: inputs.Input) -> Talk:
        before, shown = repr(self.state), len(self.events)
        try:
            super().feed(what)
        except IllegalSignal:
            self.refusals += 1
            assert (repr(self.state), len(self.events)) == (before, shown)
            return self
        for effect in self.effects:
            self._check(effect)
        return self

    def _check(self, effect: object) -> None:
        match effect:
            case CallModel(number=number, request=request):
                assert number == self.state.request == len(self.requests) + 1
                assert request.messages[-1].role == "user" or self.state.pauses
                assert_well_formed(request.messages)
                self.requests.append(effect)
            case RunTool(call=call):
                assert call not in self.started
                self.started.append(call)
            case CancelTool(call=call):
                assert call in self.started
            case AskUser(call=call):
                assert self.state.get_call(call).status is ToolCallStatus.WAITING
            case CancelModel(number=number) | CancelWait(number=number):
                assert number == len(self.requests)
            case Wait(number=number, seconds=seconds):
                assert number == len(self.requests)
                assert seconds >= 0
            case Gather() | CancelGathering():
                pass
            case _:
                raise AssertionError(effect)

    def happens(self, what: Happening) -> None:
        if isinstance(what, str):
            self._happens(what)
            return
        match what:
            case Said(delta=delta, late=late, failed=failed, passing=passing, overflow=overflow):
                request = self.state.request - late
                images, refused = what.images, what.refused
                if delta is not None:
                    self.feed(inputs.Streamed(self.now, request, delta))
                elif failed:
                    failure = Failure(limit=2) if passing else None
                    broke = inputs.ModelFailed(self.now, request, "It broke.", images, overflow, refused, failure)
                    self.feed(broke)
                else:
                    self.feed(inputs.ModelFinished(self.now, request))
            case Replied(deltas=pieces):
                self.says(*pieces).done()
            case Decided(pick=pick, remember=remember):
                for call in [call for call in self.state.calls if not call.has_ended][pick : pick + 1]:
                    self._hears("approve" if call.status is ToolCallStatus.WAITING else "finish", [call.id], remember)
            case Heard(signal=signal, pick=pick, flag=flag):
                self._hears(
                    signal, [call.id for call in reversed(self.state.calls)][pick : pick + 1] or ["nobody's"], flag
                )

    def _happens(self, what: str) -> None:
        match what:
            case "prompt":
                self.asks("Do it")
            case "stop":
                self.stops()
            case "steer" | "unsteer":
                self.steers("Rather so" if what == "steer" else "")
            case "linger" | "command":
                self.begins("/help", local=what == "command")
            case "gather":
                self.gathers("[cell 1]", (IMAGE,))
            case "answer" | "refuse":
                self.answers(failed=what == "refuse")
            case "trust":
                self.feed(inputs.TrustChanged(self.now, trust=True))
            case "wait":
                self.waits()
            case "compact":
                self.begins("/compact", local=True).compacts("the data")
            case "call":
                self.is_called(FAR, '{"what": 1}')
            case "flag":
                self.feed(inputs.FactAdded(self.now, FlagContent(text="here", content_id="c1")))
            case _:
                raise AssertionError(what)

    def _hears(self, signal: str, calls: list[str], flag: bool) -> None:
        match signal:
            case "approve":
                self.approves(calls[0], remember=flag)
            case "reject":
                self.rejects(calls[0], "Words", RejectReason.NOBODY if flag else RejectReason.USER)
            case _:
                self.ran(calls[0], "Result \ud83d", error=flag, images=(IMAGE,) if flag else ())

    def comes_to_rest(self) -> None:
        """A stop, and the end of every tool that runs, is all that it takes."""
        if self.state.status is not TurnStatus.IDLE:
            self.stops()
            for call in self.state.calls:
                if call.status is ToolCallStatus.STOPPING:
                    self.ran(call.id)
        assert self.state.status is TurnStatus.IDLE
        assert all(call.has_ended for call in self.state.calls)


def walked(happened: list[Happening]) -> Walk:
    walk = Walk()
    walk.asks()
    for what in happened:
        walk.happens(what)
    return walk


walks = st.lists(happenings, min_size=4, max_size=40).map(walked)


def stored(events: list[Event]) -> list[Event]:
    """As the store gives them back."""
    return [
        Event.model_validate_json(event.model_dump_json(by_alias=True, exclude_none=True))
        for event in merge_pieces(events)
    ]


# -- what must hold


def assert_closed(events: list[Event]) -> None:
    """Every turn, every call and every reasoning that began has ended, once."""
    turns: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.turn:  # a flag stands beside the turns
            turns[event.turn].append(event)
    for turn in turns.values():
        assert [event.outcome is not None for event in turn] == [False] * (len(turn) - 1) + [True]
    lives: dict[str, list[str]] = defaultdict(list)
    for event in events:
        if isinstance(event.content, ToolCallContent) or event.content.type.startswith("reason"):
            lives[getattr(event.content, "id", "")].append(event.content.type)
    for life in lives.values():
        if life[0] == "reasonStarted":
            assert life == ["reasonStarted", *["reasonText"] * (len(life) - 2), "reasonFinished"]
        else:
            assert tuple(kind for kind in life if kind != "toolCallPrepare") in LIVES
            assert life == sorted(life, key=lambda kind: kind != "toolCallPrepare")


# A call is shown to run a second time when it is approved and must wait for a call before it.
LIVES = {
    ("toolCallRejected",),
    ("toolCallRun", "toolCallRun", "toolCallRejected"),
    ("toolCallRun", "toolCallRun", "toolCallRunning", "toolCalled"),
    ("toolCallRun", "toolCalled"),
    ("toolCallRun", "toolCallRejected"),
    ("toolCallRun", "toolCallRunning", "toolCalled"),
}


@given(walks)
def test_every_turn_call_and_reasoning_ends_exactly_once(walk: Walk) -> None:
    walk.comes_to_rest()
    assert_closed(walk.events)


@given(walks)
def test_what_the_model_remembers_is_always_complete(walk: Walk) -> None:
    walk.comes_to_rest()
    assert_well_formed(walk.state.history)


@given(walks)
def test_the_tools_that_ran_are_those_that_are_shown_to_have_run(walk: Walk) -> None:
    walk.comes_to_rest()
    shown = [event.content for event in walk.events if event.content.type == "toolCallRunning"]
    assert sorted(walk.started) == sorted(getattr(content, "id", "") for content in shown)
    assert len(walk.started) == len(set(walk.started))


@given(walks)
def test_a_change_never_runs_beside_another_call_nor_behind_one_that_came_to_nothing(walk: Walk) -> None:
    started = {ToolCallStatus.RUNNING, ToolCallStatus.STOPPING, ToolCallStatus.CALLED}
    for at, call in enumerate(walk.state.calls):
        before = walk.state.calls[:at]
        if call.started_at:
            assert call.status in started
            assert all(other.has_ended for other in before if not (other.is_read_only and call.is_read_only))
            assert not any(other.ended_incomplete for other in before if not other.is_read_only)


@given(walks)
def test_no_call_waits_for_a_call_that_has_ended(walk: Walk) -> None:
    for at, call in enumerate(walk.state.calls):
        if call.status is ToolCallStatus.QUEUED:
            assert any(not other.has_ended for other in walk.state.calls[:at])


@given(walks)
def test_only_what_is_announced_is_asked_about(walk: Walk) -> None:
    waiting = [call.id for call in walk.state.calls if call.status is ToolCallStatus.WAITING]
    asked = {
        c.content.id for c in walk.events if isinstance(c.content, ToolCallRunContent) and c.content.manual_approval
    }
    assert asked.issuperset(waiting)


@given(walks)
def test_after_a_restart_the_model_remembers_the_same(walk: Walk) -> None:
    walk.comes_to_rest()
    restored = restore("chat", stored(walk.events), walk.now)
    assert restored.missing == ()
    assert restored.state.history == walk.state.history
    assert restored.state.call_ids == walk.state.call_ids
    assert restored.state.cost == walk.state.cost


@given(walks)
def test_after_a_crash_at_any_moment_nothing_is_left_open(walk: Walk) -> None:
    for moment in range(len(walk.events) + 1):
        events = stored(walk.events[:moment])
        restored = restore("chat", events, walk.now)
        whole = events + list(restored.missing)
        assert_closed(whole)
        assert_well_formed(restored.state.history)
        assert restore("chat", whole, walk.now) == restore("chat", stored(whole), walk.now)
        assert restore("chat", whole, walk.now).missing == ()
        assert restore("chat", whole, walk.now).state.history == restored.state.history


@given(walks)
def test_after_a_crash_the_chat_goes_on(walk: Walk) -> None:
    state = restore("chat", stored(walk.events), walk.now).state
    again = Walk(state, turns=100)
    again.asks("Go on")
    if again.state.status is TurnStatus.COMPACTING:
        again.says("They talked.").done()
    again.says("Yes").done()
    assert again.state.status is TurnStatus.IDLE
    assert_well_formed(again.state.history)
