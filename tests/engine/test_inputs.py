"""Everything that an input carries matters: without it, the step has another result."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import TYPE_CHECKING, Any, get_args

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.call_targets import CallTargets
from jupyter_eca.engine.approval.policy import CallAdjustment, Decision, Policy, Rule
from jupyter_eca.engine.inputs import RefusalReason, Setup
from jupyter_eca.engine.model.delta import TextDelta, UsageDelta
from jupyter_eca.engine.model.request import DocumentPart, ImagePart, ToolSpec
from jupyter_eca.engine.model.retry import Failure
from jupyter_eca.engine.step import Step, step
from jupyter_eca.errors import FailureKind, IllegalSignal
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import (
    ChangePart,
    FileChangeDetails,
    FlagContent,
    HookActionStartedContent,
    ImageContent,
    ProgressContent,
    RejectReason,
    Role,
    TextContent,
    UrlContent,
)
from jupyter_eca.protocol.context import FileContext
from jupyter_eca.protocol.event import Person
from tests.engine.talk import ACT, FAR, LOOK, POLICY, TOOLS, Talk, call
from tests.engine.well_formed import assert_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_eca.engine.inputs import Input

AT = 5_000
ADA = Person(username="ada", name="Ada")
PICTURE = ImagePart("image/png", "cGljdHVyZQ==", "picture 1")
PAPER = DocumentPart("paper.pdf", "cGFwZXI=")
PARTS = (ChangePart(start=0, end=1, text="one"), ChangePart(start=2, end=3, text="two"))
CHANGE = FileChangeDetails(path="notes.txt", diff="-a\n+b", lines_added=1, lines_removed=1, parts=PARTS)
NARROWED = CHANGE.model_copy(update={"left_out": (1,)})
TARGETS = CallTargets({"path": ("/project/notes.txt",)}, named=("path in notes/",))
CONTEXTS = (FileContext(path="/project/notes.txt"),)
SETUP = Setup("maker/model", "Be kind.", TOOLS, POLICY, compact_at=75)
OTHER_SETUP = replace(SETUP, model="maker/other")
AGENT = Setup("acp/them", outside=True, policy=Policy(by_default=Decision.ASK))
EDIT = ToolSpec("edit", "Edit.", {}, server="them", agent="them")
NO_MORE_THAN_THIS = Policy(deny={"far": Rule()})


def asked() -> Talk:
    return Talk().asks()


def agent() -> Talk:
    return Talk().feed(inputs.Prompted(1, "t", "Hi", "c", AGENT)).gathers()


def agent_calls() -> Talk:
    return agent().feed(inputs.CallBegun(2, 1, "1", EDIT))


def far_runs() -> Talk:
    return Talk().asks().calls(call("far")).approves("1")


def far_waits() -> Talk:
    return Talk().asks().calls(call("far"))


def far_is_written() -> Talk:
    return Talk().asks().says(call("far"))


def change_waits() -> Talk:
    talk = Talk().asks().says(call("act"))
    return talk.feed(inputs.ModelFinished(talk.now, talk.state.request, {"1": CHANGE}))


def pictured() -> Talk:
    return Talk().begins().gathers(images=(PICTURE,))


CASES: list[tuple[Callable[[], Talk], Input]] = [
    (Talk, inputs.Prompted(AT, "t1", "Hi", "c1", SETUP, contexts=CONTEXTS, by=ADA)),
    (Talk, inputs.Prompted(AT, "t1", "/help", "c1", SETUP, local=True)),
    (Talk, inputs.Prompted(AT, "t1", "A job has ended.", "c1", SETUP, model_text="The job 7 has ended.")),
    (
        Talk,
        inputs.CallRequested(
            *(AT, "t1", "A program calls.", "c1", SETUP, "x1", FAR, '{"path": "a"}', CHANGE),
            adjustment=CallAdjustment(decision=Decision.DENY, words="Not today."),
            targets=TARGETS,
            hook_contents=(HookActionStartedContent(id="h", name="guard"),),
            unseen_path="notes.txt",
        ),
    ),
    (
        lambda: Talk().begins(),
        inputs.Gathered(
            AT, "[cell 1]", (PICTURE,), "The question differs.", OTHER_SETUP, "Reworded.", (PAPER,), "notes.txt"
        ),
    ),
    (lambda: Talk().begins("/help", local=True), inputs.CommandEnded(AT, "It failed.", True, True, FailureKind.AUTH)),
    (
        lambda: Talk().asks("Hi").says("Hello").done().begins("/compact", local=True),
        inputs.CompactionRequested(AT, "the names of columns"),
    ),
    (asked, inputs.Steered(AT, "Rather so", "s1", CONTEXTS, "[cell 2]", (PICTURE,), (PAPER,), ADA)),
    (Talk, inputs.TrustChanged(AT, trust=True)),
    (far_waits, inputs.PolicyChanged(AT, Policy(allow={"away": Rule()}))),
    (Talk, inputs.CostAdded(AT, 10, 20, 0.5)),
    (Talk, inputs.FactAdded(AT, FlagContent(text="here", content_id="c1"))),
    (Talk, inputs.NoteAdded(AT, "A job has ended.", "The job 7 has ended.")),
    (Talk, inputs.HookReported(AT, HookActionStartedContent(id="h", name="guard"))),
    (asked, inputs.Streamed(AT, 1, TextDelta("Hello"))),
    (asked, inputs.Streamed(AT, 1, UsageDelta(10, 20, 30, 40, cost=0.5, context_limit=1_000))),
    (agent, inputs.CallBegun(AT, 1, "1", EDIT, CHANGE)),
    (
        agent_calls,
        inputs.CallReady(
            *(AT, 1, "1", EDIT, {"path": "a"}),
            adjustment=CallAdjustment(decision=Decision.DENY, words="Not today."),
            details=CHANGE,
            targets=TARGETS,
            unseen_path="notes.txt",
        ),
    ),
    (agent_calls, inputs.CallReady(AT, 1, "1", EDIT, {}, is_unasked=True)),
    (agent_calls, inputs.CallReady(AT, 1, "1", EDIT, {}, is_approved=True)),
    (agent_calls, inputs.CallReady(AT, 1, "1", EDIT, {}, failure="There is no such file.")),
    (
        far_is_written,
        inputs.ModelFinished(
            *(AT, 1, {"1": CHANGE}, {"1": CallAdjustment({"path": "b"})}, {"1": TARGETS}, {"1": ReviewTime.AFTER}),
            unseen_path="notes.txt",
        ),
    ),
    (asked, inputs.ModelFailed(AT, 1, "No.", refusal_reason=RefusalReason.CONTENT, kind=FailureKind.AUTH)),
    (asked, inputs.ModelFailed(AT, 1, "Busy.", failure=Failure(FailureKind.OVERLOADED))),
    (asked, inputs.ModelFailed(AT, 1, "No.", is_too_long=True)),
    (pictured, inputs.ModelFailed(AT, 1, "No pictures.", refuses_images=True)),
    (
        lambda: Talk().asks("x" * 3_000).says("So long.", UsageDelta(760, 0, context_limit=1_000)).done().asks("Now?"),
        inputs.ModelFailed(AT, 2, "The budget is used up.", final=True, kind=FailureKind.BUDGET),
    ),
    (lambda: Talk().asks().fails(failure=Failure(FailureKind.OVERLOADED)), inputs.WaitEnded(AT, 1)),
    (
        far_runs,
        inputs.ToolFinished(
            *(
                AT,
                "1",
                "It is 5.",
                False,
                CHANGE,
                (PICTURE,),
                (LOOK,),
                (UrlContent(title="A", url="https://a.example"),),
            ),
            whole_length=70_000,
            documents=(PAPER,),
            fetched_rule="rule 1",
        ),
    ),
    (far_runs, inputs.ToolFinished(AT, "1", "It broke.", error=True)),
    (far_runs, inputs.ToolFinished(AT, "1", "", stops_turn=True)),
    (far_runs, inputs.CallProgressed(AT, "1", CHANGE)),
    (change_waits, inputs.Approved(AT, "1", True, NARROWED, ADA)),
    (far_waits, inputs.Rejected(AT, "1", RejectReason.NOBODY, "Nobody is here.", ADA)),
    (asked, inputs.Stopped(AT)),
]
# What is not shown: the id of a message that no user has written, and the text of an error that is tried again.
UNUSED = {(2, "content_id"), (23, "message")}
# What to put in the place of a value that has no default.
OTHERS: dict[str, Any] = {
    "setup": OTHER_SETUP,
    "tool": ACT,
    "details": NARROWED,
    "policy": NO_MORE_THAN_THIS,
    "arguments": {"path": "b"},
    "content": FlagContent(text="there", content_id="c2"),
    "delta": TextDelta("Bye"),
    "cost": 0.25,
    "trust": False,
}


def list_variants(input: Input) -> Iterator[tuple[str, Input]]:
    """Yield the input without one of the values that it carries."""
    for field in fields(input):
        value = getattr(input, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if default is MISSING:
            kinds: dict[type, Any] = {str: f"{value} more", int: -1}
            default = OTHERS[field.name] if field.name in OTHERS else kinds[type(value)]
        if field.name != "at" and value != default:
            yield field.name, replace(input, **{field.name: default})


def take(talk: Talk, input: Input) -> Step | None:
    """Return the result of the step; None when it is refused."""
    try:
        return step(talk.state, input)
    except IllegalSignal:
        return None


def test_each_kind_of_input_and_each_of_its_values_is_tested() -> None:
    tested = {(type(input), name) for _, input in CASES for name, _ in list_variants(input)}
    expected = {(kind, field.name) for kind in get_args(inputs.Input) for field in fields(kind) if field.name != "at"}
    assert {type(input) for _, input in CASES} == set(get_args(inputs.Input))
    assert expected - tested == set()


each = pytest.mark.parametrize("number", range(len(CASES)), ids=[type(input).__name__ for _, input in CASES])


@each
def test_each_value_of_an_input_matters(number: int) -> None:
    before, input = CASES[number]
    talk = before()
    result = take(talk, input)
    assert result is not None
    unused = {(number, name) for name, variant in list_variants(input) if take(talk, variant) == result}
    assert unused == {name for name in UNUSED if name[0] == number}


@each
def test_each_text_of_an_input_is_in_what_the_step_has_written(number: int) -> None:
    before, input = CASES[number]
    talk = before()
    after, events, effects = step(talk.state, input)
    assert_step(talk.state, input, after, events)
    written = repr((after, events, effects))
    texts = {field.name: getattr(input, field.name) for field in fields(input)}
    missing = {(number, name) for name, text in texts.items() if isinstance(text, str) and text not in written}
    assert missing <= UNUSED


def test_a_recorded_answer_that_is_not_replayed_is_marked_as_such() -> None:
    talk = Talk().begins().feed(inputs.Gathered(AT, not_replayed="It differs.", files_note="notes.txt"))
    shown = [(content.text, content.not_replayed) for content in talk.shown(ProgressContent)]
    assert shown[:2] == [("It differs.", True), ("notes.txt", None)]


def test_whatever_a_person_writes_is_shown_as_that_persons() -> None:
    talk = (
        Talk().feed(inputs.Prompted(1, "t1", "Hi", "c1", SETUP, contexts=CONTEXTS, by=ADA)).gathers(images=(PICTURE,))
    )
    assert [event.role for event in talk.events if isinstance(event.content, ImageContent)] == [Role.USER]
    (text,) = [event for event in talk.events if isinstance(event.content, TextContent)]
    assert (text.by, text.content) == (ADA, TextContent(text="Hi", content_id="c1", contexts=CONTEXTS))
    assert [content.contexts for content in Talk().begins().shown(TextContent)] == [None]
