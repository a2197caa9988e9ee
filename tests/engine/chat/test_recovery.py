"""A chat that is read from its events: what it knows, and how a turn that was cut short is ended."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.inputs import NoteAdded
from jupyter_eca.engine.model.compaction import WindowUsage
from jupyter_eca.engine.model.delta import ReasoningDelta
from jupyter_eca.engine.model.texts import CRASHED_CALL, CRASHED_HOOK, CRASHED_TURN, REJECTED, UNANSWERED_FAILED
from jupyter_eca.engine.state import TitleState
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.protocol.content import (
    Content,
    HookActionFinishedContent,
    HookActionStartedContent,
    Limit,
    MetadataContent,
    Origin,
    ProgressContent,
    ReasonFinishedContent,
    ReasonStartedContent,
    RejectReason,
    Role,
    Task,
    TaskDetails,
    TaskSummary,
    TextContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
    UsageContent,
)
from jupyter_eca.protocol.event import (
    Aside,
    Event,
    NoteAside,
    NotesSentAside,
    Outcome,
    RefusedAside,
    RejectionAside,
    SummaryAside,
    UnansweredAside,
)
from tests.engine.talk import Talk, call

CALL: dict[str, Any] = {"id": "1", "name": "far", "server": "away", "origin": Origin.MCP}


def event(
    content: Content, turn: str = "t1", role: Role = Role.ASSISTANT, outcome: Outcome | None = None, **more: Any
) -> Event:
    return Event(chat="chat", turn=turn, role=role, content=content, outcome=outcome, **more)


def asked(turn: str = "t1", **more: Any) -> Event:
    return event(TextContent(text="Hi", content_id="c"), turn, Role.USER, **more)


def ended(turn: str = "t1", outcome: Outcome = Outcome.COMPLETED, *, plan: bool | None = None, **more: Any) -> Event:
    return event(ProgressContent(state="finished", plan=plan), turn, Role.SYSTEM, outcome, **more)


def close(*contents: Content) -> list[tuple[Content, Aside | None]]:
    """What ends the turn that had come so far, without the two events that end every turn."""
    events = (asked(), *(event(content) for content in contents))
    missing = restore("chat", events, 99).missing
    assert {(one.chat, one.turn, one.at) for one in missing} == {("chat", "t1", 99)}
    *closing, note, end = missing
    assert {one.role for one in closing} <= {Role.ASSISTANT}
    assert (note.content, note.role, note.outcome) == (TextContent(text=CRASHED_TURN), Role.SYSTEM, None)
    assert (end.role, end.outcome, type(end.content)) == (Role.SYSTEM, Outcome.FAILED, ProgressContent)
    return [(one.content, one.aside) for one in closing]


STARTED, FINISHED = ReasonStartedContent(id="r"), ReasonFinishedContent(id="r")
HOOK, HOOKED = HookActionStartedContent(id="h", name="lint"), HookActionFinishedContent(id="h", name="lint", status=0)
PREPARED = ToolCallPrepareContent(**CALL, arguments_text="{")
RUN = ToolCallRunContent(**CALL, arguments={"a": 1}, manual_approval=True)
RUNNING = ToolCallRunningContent(**CALL, arguments={"a": 1})
CALLED = ToolCalledContent(**CALL, arguments={}, error=False, outputs=())
REJECTED_CALL = ToolCallRejectedContent(**CALL, arguments={}, reason=RejectReason.USER)


@pytest.mark.parametrize(
    "contents",
    [
        (),
        (CALLED,),
        (FINISHED,),
        (HOOKED,),
        (STARTED, FINISHED),
        (HOOK, HOOKED),
        (PREPARED, RUN, RUNNING, CALLED),
        (PREPARED, REJECTED_CALL),
    ],
)
def test_what_has_ended_is_not_ended_again(contents: tuple[Content, ...]) -> None:
    assert close(*contents) == []


def test_a_reasoning_and_a_hook_that_had_not_ended_are_ended() -> None:
    assert close(STARTED, HOOK) == [
        (FINISHED, None),
        (HookActionFinishedContent(id="h", name="lint", status=1, error=CRASHED_HOOK), None),
    ]


def test_a_call_that_ran_is_ended_as_failed_and_one_that_did_not_run_as_stopped() -> None:
    ((called, none),) = close(PREPARED, RUN, RUNNING)
    assert isinstance(called, ToolCalledContent)
    assert (called.error, [output.text for output in called.outputs], none) == (True, [CRASHED_CALL], None)
    assert called.arguments == {"a": 1}
    stopped = RejectionAside(text=REJECTED[RejectReason.STOP])
    expected = ToolCallRejectedContent(**CALL, arguments={"a": 1}, reason=RejectReason.STOP)
    assert close(PREPARED, RUN) == [(expected, stopped)]
    assert close(PREPARED) == [(expected.model_copy(update={"arguments": {}}), stopped)]


def test_a_turn_before_the_one_that_was_cut_short_is_not_ended_again() -> None:
    events = (asked(), event(STARTED), ended(), asked("t2"))
    assert [one.turn for one in restore("chat", events, 0).missing] == ["t2", "t2"]
    restored = restore("chat", events, 0)
    assert (restored.state.turn, restored.state.status, restored.state.id) == ("t2", TurnStatus.IDLE, "chat")
    assert restore("chat", (asked(), ended()), 0).missing == ()
    assert restore("chat", (), 0).missing == ()


def test_a_model_is_told_that_it_had_not_answered_unless_the_turn_is_none_of_its_business() -> None:
    *_, end = restore("chat", (asked(),), 0).missing
    assert end.aside == UnansweredAside(text=UNANSWERED_FAILED)
    answered = restore("chat", (asked(), event(TextContent(text="Yes."))), 0)
    assert answered.missing[-1].aside is None
    local = restore("chat", (asked(), ended(), asked("t2", local=True)), 0)
    assert local.missing[-1].aside is None
    assert restore("chat", (asked(),), 0).state.history[-1].text.endswith(UNANSWERED_FAILED)


def test_a_turn_that_was_cut_short_is_read_by_the_model_to_its_end() -> None:
    talk = Talk().asks().says(ReasoningDelta("Hm"), "Look.").says(call("look")).done()
    restored = restore("chat", talk.events, 0)
    again = restore("chat", (*talk.events, *restored.missing), 0)
    assert (again.state.history, again.missing) == (restored.state.history, ())
    assert restored.state.call_ids == {"1"}


@pytest.mark.parametrize(
    ("events", "plan"),
    [
        ((ended(plan=True),), True),
        ((ended(),), False),
        ((ended(plan=True), ended("t2")), False),
        ((ended(plan=True), asked("t2")), True),
        ((), False),
    ],
)
def test_the_last_answer_is_a_plan_or_it_is_none(events: tuple[Event, ...], plan: bool) -> None:
    restored = restore("chat", (asked(), *events), 0)
    assert restored.state.ended_in_plan is plan
    if restored.missing:
        content = restored.missing[-1].content
        assert isinstance(content, ProgressContent)
        assert bool(content.plan) is plan


def title(turn: str) -> Event:
    return event(MetadataContent(title="A"), turn, Role.SYSTEM)


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ((asked(), title("t1")), TitleState.FROM_PROMPT),
        ((asked(), title("t1"), ended(outcome=Outcome.FAILED)), TitleState.FROM_PROMPT),
        ((asked(), title("t1"), ended(local=True)), TitleState.FROM_PROMPT),
        ((asked(), title("t1"), ended()), TitleState.SETTLED),
        ((asked(), title("t1"), title("")), TitleState.SETTLED),
        ((asked(), title(""), title("t1")), TitleState.FROM_PROMPT),
        ((asked(),), TitleState.SETTLED),
    ],
)
def test_a_title_that_was_made_from_a_prompt_may_still_be_replaced_after_the_first_answer(
    events: tuple[Event, ...], state: TitleState
) -> None:
    assert restore("chat", events, 0).state.title is state


def usage(tokens: int, cost: str | None = "0.5", limit: int = 0) -> Event:
    content = UsageContent(
        session_tokens=tokens,
        message_input_tokens=1,
        message_output_tokens=1,
        session_cost=cost,
        limit=Limit(context=limit, output=7) if limit else None,
    )
    return event(content, role=Role.SYSTEM)


SUMMARY = event(TextContent(text="Shorter."), role=Role.SYSTEM, aside=SummaryAside(text="Short."))


@pytest.mark.parametrize(
    ("events", "cost", "window"),
    [
        ((), 0.0, WindowUsage()),
        ((usage(5, "0.25", 100), usage(7, "0.75", 200)), 0.75, WindowUsage(7, 200)),
        ((usage(5),), 0.5, WindowUsage(5, 0)),
        ((usage(5, "0.25", 100), usage(0, None)), None, WindowUsage(5, 100)),
        ((usage(5, None), usage(6)), 0.5, WindowUsage(6, 0)),
        ((usage(5), SUMMARY), 0.5, WindowUsage()),
        ((SUMMARY, usage(5)), 0.5, WindowUsage(5, 0)),
    ],
)
def test_the_cost_and_the_use_of_the_window_are_those_that_were_shown_last(
    events: tuple[Event, ...], cost: float | None, window: WindowUsage
) -> None:
    state = restore("chat", (asked(), *events, ended()), 0).state
    assert (state.cost, state.window) == (cost, window)


def test_the_plan_of_the_chat_is_the_one_that_was_shown_last() -> None:
    details = TaskDetails(
        tasks=(Task(id="1", subject="look"),), summary=TaskSummary(done=0, in_progress=0, pending=1, total=1)
    )
    called = CALLED.model_copy(update={"details": details})
    assert restore("chat", (asked(), event(called), ended()), 0).state.tasks == details.tasks


# --- notes that the model has not read --------------------------------------------------------------------------------


def note(talk: Talk, text: str) -> Talk:
    return talk.feed(NoteAdded(talk.now, text, f"({text})"))


def unread(talk: Talk) -> tuple[str, ...]:
    return restore("chat", talk.events, 0).state.notes


def test_a_note_is_unread_until_the_model_has_answered_a_request_with_it() -> None:
    talk = note(note(Talk().asks().says("Yes.").done(), "one"), "two")
    assert unread(talk) == ("(one)", "(two)")
    assert unread(talk.asks("And?")) == ()
    assert unread(talk.says("So.").done()) == ()
    assert unread(note(talk, "three")) == ("(three)",)
    assert unread(Talk().asks()) == ()


NOTED = event(TextContent(text="Ended."), "", Role.SYSTEM, aside=NoteAside(text="(one)"))
SENT = event(ProgressContent(state="running"), "t2", Role.USER, aside=NotesSentAside(text="(one)"))
REFUSED = event(ProgressContent(state="running"), "t2", Role.SYSTEM, aside=RefusedAside())
ANSWER = event(TextContent(text="Yes."), "t2")


@pytest.mark.parametrize(
    ("events", "notes"),
    [
        ((NOTED, REFUSED), ("(one)",)),
        ((NOTED, SENT, REFUSED), ("(one)",)),
        ((NOTED, SENT, asked("t2"), REFUSED, NOTED), ("(one)", "(one)")),
        ((NOTED, SENT, ANSWER, REFUSED), ()),
        ((NOTED, SENT, SUMMARY, REFUSED), ()),
        ((NOTED, SENT, ended("t2", Outcome.STOPPED), REFUSED), ()),
        ((NOTED, SENT), ()),
    ],
)
def test_a_note_of_a_refused_request_is_unread_unless_the_model_has_read_it_before(
    events: tuple[Event, ...], notes: tuple[str, ...]
) -> None:
    assert restore("chat", (asked(), *events, ended("t9")), 0).state.notes == notes
