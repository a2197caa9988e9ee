"""Owns `Conversation`: one chat whose user, model, tools, hooks and disk follow a seeded scheduler. Pure, so that a
conversation takes milliseconds.

The scheduler picks what happens next among all that could happen now: a user types or clicks in one of two clients, the
model sends a piece or breaks off, a tool ends, a wait is over, the disk fails, the process is killed. It does for the
engine what the host does: it begins what the effects order, and feeds the results. `record` has the rules that hold
after each step, and `readers` what the clients show.

Time is a number that grows with each step, and ids are counted. So the same seed gives the same conversation:

    python -m tests.simulation SEED
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.policy import CallAdjustment, Decision
from jupyter_eca.engine.chat.export import format_chat
from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.draft import draft_request
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
from jupyter_eca.engine.inputs import RefusalReason, Setup
from jupyter_eca.engine.model.delta import (
    Paused,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from jupyter_eca.engine.model.request import DocumentPart, ImagePart
from jupyter_eca.engine.model.retry import Failure
from jupyter_eca.engine.state import ChatState
from jupyter_eca.engine.step import step
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import FailureKind, IllegalSignal
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import (
    FlagContent,
    HookActionFinishedContent,
    HookActionStartedContent,
    MetadataContent,
    RejectReason,
    Task,
    TaskDetails,
    TaskStatus,
    TaskSummary,
    UrlContent,
)
from tests.engine.well_formed import assert_step, assert_well_formed
from tests.simulation.disk import Disk
from tests.simulation.readers import assert_same_on_all_screens
from tests.simulation.record import OPEN, STRICT, TOOLS, USUAL, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.engine.effects import Effect
    from jupyter_eca.engine.inputs import Input
    from jupyter_eca.engine.model.delta import Delta

IMAGE: Final = ImagePart("image/png", "aW1hZ2U=")
DOCUMENT: Final = DocumentPart("a.pdf", "cGRm")
POLICIES: Final = (USUAL, USUAL, OPEN, STRICT)
ARGUMENTS: Final = (
    *("{}", '{"what": "it"}', '{"how": "badly"}'),
    *('{"a": [1, 0.5, null]}', "", "{", "[]", '{"a": "\\ud83d"}'),
)
TEXTS: Final = ("", "a", "two words", "\u00e9", "\ud83d")
CLIENTS: Final = ("panel", "editor")


class Conversation:
    """A chat, over all processes that it lives through."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.state = ChatState("chat")
        self.record = Record()
        self.disk = Disk()
        self.trace: list[tuple[TurnStatus, Input | None]] = []
        """What has happened, for whoever replays the seed: the status and the input; None for a kill."""
        self._now = 1_000
        self._count = 0
        # The work that the host has begun: everything that still has a result to give.
        self._work: list[Effect] = []
        # Model calls that were cancelled, and may still send something.
        self._late: list[int] = []
        # The questions on the screens of the clients: (client, call).
        self._questions: list[tuple[str, str]] = []
        # The state for which it was checked that a stop ends it.
        self._checked = self.state

    # -- the whole of it

    def run(self, steps: int = 40) -> None:
        """Let so many things happen, then let the turn end. Raises: AssertionError when a rule is broken."""
        kinds = list(_HAPPENINGS)
        weights = list(_HAPPENINGS.values())
        for kind in self.random.choices(kinds, weights, k=steps):
            getattr(self, kind)()
            self._check_rest()
        self.come_to_rest()

    def describe(self) -> str:
        """Return what has happened, a line each."""
        return "\n".join(f"{status}: {input or 'killed'}" for status, input in self.trace)

    def come_to_rest(self) -> None:
        """A stop, and the end of what runs, ends the turn. Then everything agrees with what is stored."""
        if self.state.status is not TurnStatus.IDLE:
            self.stop()
        for effect in list(self._work):
            if isinstance(effect, RunTool):
                self._finish(effect)
        assert self.state.status is TurnStatus.IDLE
        assert not self._work
        self.disk.fails = False
        self.disk.commit()
        self._compare_with_stored()

    # -- the host

    def _feed(self, input: Input, *, late: bool = False) -> bool:
        """Feed an input and begin what follows. Return whether the engine took it.

        An input that is not `late` is the result of work under way, or fits the status: the engine must take it.
        """
        self._now += 7
        self.trace.append((self.state.status, input))
        before = self.state
        try:
            after, events, effects = step(before, input)
        except IllegalSignal:
            assert late, f"refused while {before.status}: {input}"
            return False
        self.state = after
        assert_step(before, input, after, events)
        self.record.check(before, input, after, events, effects)
        self.disk.append(events)
        for effect in effects:
            self._begin(effect)
        if events and self.random.random() < 0.3:
            self.disk.commit()
        return True

    def _begin(self, effect: Effect) -> None:
        match effect:
            case CancelGathering():
                self._drop(Gather)
            case CancelModel(number=number):
                assert self._drop(CallModel).number == number
                self._late.append(number)
            case CancelWait(number=number):
                assert self._drop(Wait).number == number
            case CancelTool(call=id):
                assert any(isinstance(work, RunTool) and work.call == id for work in self._work)
            case AskUser(call=id):
                self._questions += [(client, id) for client in CLIENTS]
            case _:
                if isinstance(effect, RunTool):
                    self.disk.commit()  # the host does this before a tool runs
                    if self.disk.fails:
                        self.record.note_unsaved(effect.call)
                self._work.append(effect)

    def _drop(self, kind: type[Any]) -> Any:
        """End the only work of a kind."""
        (work,) = [work for work in self._work if isinstance(work, kind)]
        self._work.remove(work)
        return work

    def _find(self, kind: type[Any]) -> Any:
        """Return the oldest work of a kind; None when there is none."""
        return next((work for work in self._work if isinstance(work, kind)), None)

    def _make_id(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _make_setup(self) -> Setup:
        flip = self.random.random
        return Setup(
            "maker/model",
            "Be kind.",
            TOOLS,
            self.random.choice(POLICIES),
            trust=flip() < 0.15,
            max_steps=self.random.choice((0, 0, 0, 1, 3)),
            compact_at=75,
            plan_mode=flip() < 0.1,
        )

    # -- the user

    def prompt(self) -> None:
        """The user asks, which is refused while a turn runs."""
        turn, message = self._make_id("t"), self.random.choice(("Do it", "Look", "x" * 200, "\ud83d"))
        asked = inputs.Prompted(self._now, turn, f"{message} {turn}", self._make_id("c"), self._make_setup())
        assert self._feed(asked, late=True) == (self.state.turn == turn)

    def command(self) -> None:
        id = self._make_id("t")
        asked = inputs.Prompted(self._now, id, "/help", self._make_id("c"), self._make_setup(), local=True)
        self._feed(asked, late=True)

    def call(self) -> None:
        """A program of the user calls a tool."""
        id, tool = self._make_id("t"), self.random.choice(TOOLS)
        setup = replace(self._make_setup(), model="", tools=(tool,))
        arguments = self.random.choice(ARGUMENTS)
        message = f"somebody calls {tool.name}"
        asked = inputs.CallRequested(self._now, id, message, self._make_id("c"), setup, f"x{id}", tool, arguments)
        self._feed(asked, late=True)

    def steer(self) -> None:
        text = self.random.choice(("Rather so", "Rather so", ""))
        images = (IMAGE,) if self.random.random() < 0.2 else ()
        context = self.random.choice(("", "[cell 2]"))
        self._feed(
            inputs.Steered(self._now, text and f"{text} {self._count}", self._make_id("s"), (), context, images),
            late=True,
        )

    def stop(self) -> None:
        live = self.state.status is not TurnStatus.IDLE
        assert self._feed(inputs.Stopped(self._now), late=True) == live

    def click(self) -> None:
        """A client answers a question that it still shows. The other client may have answered it before."""
        if not self._questions:
            return
        question = self._questions.pop(self.random.randrange(len(self._questions)))
        self._answer(question[1])

    def click_first(self) -> None:
        """A client answers the oldest question."""
        if self._questions:
            self._answer(self._questions.pop(0)[1])

    def _answer(self, id: str) -> None:
        waits = any(call.id == id and call.status is ToolCallStatus.WAITING for call in self.state.calls)
        if self.random.random() < 0.7:
            answer: Input = inputs.Approved(self._now, id, self.random.random() < 0.2)
        else:
            reason = self.random.choice((RejectReason.USER, RejectReason.NOBODY))
            answer = inputs.Rejected(self._now, id, reason, "Not so")
        before = self.state
        assert self._feed(answer, late=True) == waits
        assert waits or self.state is before

    def change_rules(self) -> None:
        self._feed(inputs.PolicyChanged(self._now, self.random.choice(POLICIES)))

    def change_trust(self) -> None:
        self._feed(inputs.TrustChanged(self._now, self.random.random() < 0.3))

    def flag(self) -> None:
        fact = self.random.choice((FlagContent(text="here", content_id="c1"), MetadataContent(title="New title")))
        self._feed(inputs.FactAdded(self._now, fact))

    def draft(self) -> None:
        """The user looks at the request that would be sent now."""
        message = self.random.choice(("", "And now?"))
        request = draft_request(self.state, self._make_setup(), message, "[cell 1]", (IMAGE,))
        if message and not self.state.calls:
            assert_well_formed(request.messages)

    # -- what happens beside the turns

    def note(self) -> None:
        id = self._make_id("n")
        self._feed(inputs.NoteAdded(self._now, f"A job has ended: {id}", f"The job {id} has ended."))

    def hook(self) -> None:
        id = self._make_id("h")
        if self.random.random() < 0.5:
            self._feed(inputs.HookReported(self._now, HookActionStartedContent(id=id, name="h")))
        self._feed(inputs.HookReported(self._now, HookActionFinishedContent(id=id, name="h", status=0)))

    def cost(self) -> None:
        """A subagent of a running call has paid for a request."""
        if self._find(RunTool) is None:
            return
        self._feed(inputs.CostAdded(self._now, 10, 2, self.random.choice((0.5, None, 0.25))))

    # -- the work of the host

    def gather(self) -> None:
        """What the prompt mentions was read, or the command has ended."""
        if self._find(Gather) is None:
            return
        if self.state.status is TurnStatus.COMMANDED and self.random.random() < 0.4:
            self._drop(Gather)
            self._feed(inputs.CompactionRequested(self._now, "the data"))
            return
        self._drop(Gather)
        if self.state.status is TurnStatus.COMMANDED or self.random.random() < 0.1:
            failed = self.state.status is TurnStatus.GATHERING or self.random.random() < 0.3
            ended = inputs.CommandEnded(self._now, "So it is.", failed, withdrawn=failed and self.random.random() < 0.5)
            self._feed(ended)
            return
        flip = self.random.random
        self._feed(
            inputs.Gathered(
                self._now,
                "[cell 1]" if flip() < 0.3 else "",
                (IMAGE,) if flip() < 0.1 else (),
                "Read" if flip() < 0.1 else "",
                self._make_setup() if flip() < 0.1 else None,
                "Do it well" if flip() < 0.1 else None,
                (DOCUMENT,) if flip() < 0.05 else (),
            )
        )

    def stream(self) -> None:
        """Pieces of the reply under way arrive."""
        if (call := self._find(CallModel)) is None:
            return
        for _ in range(self.random.randint(1, 5)):
            self._feed(inputs.Streamed(self._now, call.number, self._make_delta()))

    def _make_delta(self) -> Delta:
        choose, flip = self.random.choice, self.random.random()
        if flip < 0.3:
            return TextDelta(choose(TEXTS))
        if flip < 0.4:
            return ReasoningDelta(choose(TEXTS))
        if flip < 0.5:
            return ReasoningEnd(choose(("", "proof")))
        if flip < 0.9:
            name = choose(("look", "peek", "act", "act", "far", "nowhere", ""))
            id = choose(("", "a", "b", f"m{self._count}", f"{self.state.turn}-1-0"))
            return ToolCallDelta(self.random.randint(0, 3), id, name, choose(ARGUMENTS))
        if flip < 0.95:
            return UsageDelta(
                self.random.randint(0, 9), 1, cost=choose((None, 0.0, 0.25)), context_limit=choose((0, 9))
            )
        return choose((Remark("It was cut off."), Paused()))

    def finish_reply(self) -> None:
        if (call := self._find(CallModel)) is None:
            return
        self._drop(CallModel)
        calls = {call.id: self._adjust() for call in self.state.calls if self.random.random() < 0.15}
        reviews = {call.id: ReviewTime.BEFORE for call in self.state.calls if self.random.random() < 0.3}
        self._feed(inputs.ModelFinished(self._now, call.number, adjustments=calls, reviews=reviews))

    def _adjust(self) -> CallAdjustment:
        decision = self.random.choice((None, Decision.ASK, Decision.DENY))
        arguments = self.random.choice((None, {"what": "other"}))
        return CallAdjustment(arguments, decision, "A hook says so.", self.random.choice(("", "", "No such file.")))

    def fail_reply(self) -> None:
        if (call := self._find(CallModel)) is None:
            return
        self._drop(CallModel)
        flip, choose = self.random.random, self.random.choice
        failed = inputs.ModelFailed(
            self._now,
            call.number,
            "It broke.",
            refuses_images=flip() < 0.2,
            is_too_long=flip() < 0.2,
            refusal_reason=choose((None, None, *RefusalReason)),
            failure=choose((None, Failure(limit=2, jitter=flip()), Failure(FailureKind.NETWORK, retry_after=12.0))),
            final=flip() < 0.1,
        )
        self._feed(failed)

    def be_late(self) -> None:
        """A model call that was cancelled still sends something, which changes nothing."""
        if not self._late or any(isinstance(work, CallModel) and work.number in self._late for work in self._work):
            return
        number, before = self.random.choice(self._late), self.state
        late = (
            inputs.Streamed(self._now, number, TextDelta("late")),
            inputs.ModelFinished(self._now, number),
            inputs.ModelFailed(self._now, number, "It broke."),
        )
        self._feed(self.random.choice(late))
        assert self.state is before

    def end_wait(self) -> None:
        if wait := self._find(Wait):
            self._drop(Wait)
            self._feed(inputs.WaitEnded(self._now, wait.number))

    def finish_tool(self) -> None:
        running = [work for work in self._work if isinstance(work, RunTool)]
        if running:
            self._finish(self.random.choice(running))

    def _finish(self, work: RunTool) -> None:
        self._work.remove(work)
        flip = self.random.random
        tasks = (Task(id="1", subject="It", status=TaskStatus.PENDING),)
        self._feed(
            inputs.ToolFinished(
                self._now,
                work.call,
                self.random.choice(("It worked.", "", "\ud83d")),
                error=flip() < 0.2,
                details=TaskDetails(tasks=tasks, summary=TaskSummary(done=0, in_progress=0, pending=1, total=1))
                if flip() < 0.1
                else None,
                images=(IMAGE,) if flip() < 0.1 else (),
                links=(UrlContent(title="A link", url="https://example.org"),) if flip() < 0.05 else (),
                documents=(DOCUMENT,) if flip() < 0.05 else (),
                stops_turn=flip() < 0.03,
            )
        )

    # -- the disk and the process

    def commit(self) -> None:
        self.disk.commit()

    def break_disk(self) -> None:
        self.disk.fails = not self.disk.fails

    def crash(self) -> None:
        """The process is killed, and another one goes on with what was stored."""
        self.trace.append((self.state.status, None))
        self._work, self._late, self._questions = [], [], []
        self.disk.die()
        events = self.disk.read()
        restored = restore("chat", events, self._now)
        self.disk.shown = events
        self.disk.append(restored.missing)
        self.disk.commit()
        self.state = restored.state
        stored = self.disk.read()
        self.record.restart(stored)
        again = restore("chat", stored, self._now)
        assert again.missing == ()
        assert again.state.history == self.state.history
        assert_well_formed(self.state.history)

    # -- the rules about what runs

    def _check_rest(self) -> None:
        """The turn waits for something that goes on, and a stop would end it."""
        running = {work.call for work in self._work if isinstance(work, RunTool)}
        needs: dict[TurnStatus, Callable[[], bool]] = {
            TurnStatus.IDLE: lambda: not self._work,
            TurnStatus.GATHERING: lambda: self._is_only(Gather),
            TurnStatus.COMMANDED: lambda: self._is_only(Gather),
            TurnStatus.COMPACTING: lambda: self._is_only(CallModel),
            TurnStatus.STREAMING: lambda: self._is_only(CallModel),
            TurnStatus.WAITING: lambda: self._is_only(Wait),
            TurnStatus.STOPPING: lambda: bool(running),
            TurnStatus.ACTING: lambda: any(not call.has_ended for call in self.state.calls),
            TurnStatus.SERVING: lambda: any(not call.has_ended for call in self.state.calls),
        }
        assert needs[self.state.status](), f"{self.state.status} waits for {self._work}"
        for place, call in enumerate(self.state.calls):
            is_running = call.status in {ToolCallStatus.RUNNING, ToolCallStatus.STOPPING}
            assert is_running == (call.id in running)
            if is_running and not call.is_read_only:
                assert all(earlier.has_ended for earlier in self.state.calls[:place]), "a change runs beside a call"
            if call.status is ToolCallStatus.QUEUED:
                assert any(not earlier.has_ended for earlier in self.state.calls[:place]), "nothing starts this call"
        if self.state.status is not TurnStatus.IDLE and self.state is not self._checked:
            self._check_stop()
            self._checked = self.state

    def _is_only(self, kind: type[Any]) -> bool:
        return len(self._work) == 1 and isinstance(self._work[0], kind)

    def _check_stop(self) -> None:
        """Stop a copy of the chat."""
        state, _, _ = step(self.state, inputs.Stopped(self._now))
        for call in state.calls:
            if call.status is ToolCallStatus.STOPPING:
                state, _, _ = step(state, inputs.ToolFinished(self._now, call.id, ""))
        assert state.status is TurnStatus.IDLE, "a stop does not end the turn"

    def _compare_with_stored(self) -> None:
        """What the clients show, what the model remembers and what a new process would know are the same."""
        self.record.assert_closed()
        stored = self.disk.read()
        restored = restore("chat", stored, self._now)
        assert restored.missing == ()
        for name in ("history", "call_ids", "cost", "notes", "tasks", "ended_in_plan", "window"):
            assert getattr(restored.state, name) == getattr(self.state, name), name
        if all(event.seq for event in self.disk.shown):
            assert_same_on_all_screens(self.disk.shown, stored)
        assert format_chat("A chat", stored)


# What can happen, and how often. What cannot happen now does nothing.
_HAPPENINGS: Final = {
    "prompt": 6,
    "command": 1,
    "call": 1,
    "steer": 2,
    "stop": 1,
    "click": 4,
    "click_first": 4,
    "change_rules": 1,
    "change_trust": 0.5,
    "flag": 0.5,
    "draft": 0.3,
    "note": 1,
    "hook": 0.5,
    "cost": 0.5,
    "gather": 8,
    "stream": 12,
    "finish_reply": 8,
    "fail_reply": 2,
    "be_late": 1,
    "end_wait": 3,
    "finish_tool": 8,
    "commit": 2,
    "break_disk": 0.3,
    "crash": 0.5,
}
