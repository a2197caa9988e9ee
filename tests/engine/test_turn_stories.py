"""What belongs to a turn and what does not, and how a turn goes on after each kind of failure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.effects import CallModel, MakeTitle
from jupyter_eca.engine.inputs import RefusalReason
from jupyter_eca.engine.model.chat_title import build_title_request
from jupyter_eca.engine.model.delta import Paused
from jupyter_eca.engine.model.request import ImagePart, ToolResultPart
from jupyter_eca.engine.model.retry import Failure
from jupyter_eca.engine.model.texts import (
    AGENT_SAID_NOTHING,
    EXHAUSTED,
    MEDIA_LEFT_OUT,
    NO_IMAGES,
    NOT_SENT_AGAIN,
    NOTHING_SAID,
    PAUSED_TOO_OFTEN,
    REFUSED_RESULT,
)
from jupyter_eca.engine.state import MAX_PAUSES, TitleState
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.content import (
    HookActionStartedContent,
    MetadataContent,
    ProgressContent,
    Role,
    TextContent,
    UsageContent,
)
from jupyter_eca.protocol.context import FileContext
from jupyter_eca.protocol.event import Person
from tests.engine.talk import LOOK, Talk, call, user

ADA, BOB = (Person(username=name, name=name.title()) for name in ("ada", "bob"))
HOOK = HookActionStartedContent(id="h", name="guard")
FILES = (FileContext(path="a.py"), FileContext(path="b.py"))
PICTURE = ImagePart("image/png", "cGljdHVyZQ==")


def refuse(talk: Talk, reason: RefusalReason) -> Talk:
    return talk.feed(inputs.ModelFailed(talk.now, talk.state.request, "Refused.", refusal_reason=reason))


@pytest.mark.parametrize(
    "report", [inputs.CostAdded(5_000, 10, 20, 0.5), inputs.HookReported(5_000, HOOK)], ids=["cost", "hook"]
)
def test_a_report_belongs_to_the_turn_under_way_and_to_none_when_it_has_ended(
    report: inputs.CostAdded | inputs.HookReported,
) -> None:
    talk = Talk().asks("Hi").feed(report).says("Hello").done().feed(report)
    kinds = UsageContent | HookActionStartedContent
    assert [event.turn for event in talk.events if isinstance(event.content, kinds)] == ["t1", ""]


def test_messages_of_one_person_in_a_row_become_one_with_all_that_they_point_at() -> None:
    talk = Talk().asks("Go").says(call("look"))
    for number, (by, text) in enumerate(((ADA, "one"), (ADA, "two"), (BOB, "three"))):
        files = (FILES[number],) if number < 2 else ()
        talk.feed(inputs.Steered(talk.now, text, f"s{number}", files, by=by))
    before = len(talk.events)
    talk.done().ran("1")
    shown = [(event.content, event.by) for event in talk.events[before:] if event.role is Role.USER]
    assert shown == [
        (TextContent(text="one\ntwo", content_id="s0", contexts=FILES), ADA),
        (TextContent(text="three", content_id="s2"), BOB),
    ]
    assert talk.state.steers == ()


def test_an_interrupted_reply_is_continued_so_often_and_no_oftener() -> None:
    talk = Talk().asks()
    continued = 0
    while talk.says("word ", Paused()).done().state.status is TurnStatus.STREAMING:
        continued += 1
    assert continued == MAX_PAUSES
    assert talk.words(Role.SYSTEM) == PAUSED_TOO_OFTEN
    assert not talk.asks("Again").says("Yes.").done().state.paused
    assert talk.asks("Again").says("word ", Paused()).done().state.status is TurnStatus.STREAMING


def test_the_rest_of_an_interrupted_reply_may_be_empty() -> None:
    talk = Talk().asks().says("All.", Paused()).done().done()
    assert talk.words(Role.SYSTEM) == ""


@pytest.mark.parametrize(("outside", "text"), [(False, NOTHING_SAID), (True, AGENT_SAID_NOTHING)])
def test_a_reply_without_words_is_remarked_in_the_name_of_who_has_replied(outside: bool, text: str) -> None:
    setup = inputs.Setup("maker/model", outside=outside)
    talk = Talk().feed(inputs.Prompted(1, "t1", "Hi", "c1", setup)).gathers().done()
    assert talk.words(Role.SYSTEM) == text


def test_a_request_with_refused_pictures_is_repeated_without_them_and_the_user_is_told() -> None:
    talk = Talk().begins("Look").gathers(images=(PICTURE,))
    talk.feed(inputs.ModelFailed(talk.now, 1, "No pictures.", refuses_images=True))
    assert talk.words(Role.SYSTEM) == MEDIA_LEFT_OUT.format("No pictures.")
    assert talk.asked() == (user("Look", NO_IMAGES),)


def test_a_message_that_a_server_refuses_is_not_sent_again_and_the_user_is_told() -> None:
    talk = refuse(Talk().asks("Bad words"), RefusalReason.CONTENT)
    assert talk.words(Role.SYSTEM) == NOT_SENT_AGAIN.format("Refused.")
    assert talk.asks("Good words").asked()[0] == user("Good words")


@pytest.mark.parametrize(
    ("reason", "result"), [(RefusalReason.CONTENT, REFUSED_RESULT), (RefusalReason.SENDER, "Bad.")]
)
def test_a_result_stays_when_the_sender_was_refused_and_not_when_it_was_itself(
    reason: RefusalReason, result: str
) -> None:
    talk = refuse(Talk().asks("Look").calls(call("look")).ran("1", "Bad."), reason)
    assert talk.words(Role.SYSTEM) == "Refused."
    parts = talk.asks("And now?").asked()[-1].parts
    assert [part.text for part in parts if isinstance(part, ToolResultPart)] == [result]


def test_notes_of_a_refused_request_are_sent_once_more_and_not_twice() -> None:
    talk = Talk().feed(inputs.NoteAdded(1, "A job has ended.", "The job 7 has ended.")).asks("Hi")
    refuse(talk, RefusalReason.CONTENT)
    assert talk.state.sent_notes == ()
    for _ in range(2):
        refuse(talk.asks("Hi"), RefusalReason.CONTENT)
        assert talk.state.notes == ("The job 7 has ended.",)


def test_a_note_that_comes_while_the_model_writes_its_calls_is_read_with_their_results() -> None:
    talk = Talk().asks("Go").says("I look.", call("look"))
    talk.feed(inputs.NoteAdded(talk.now, "A job has ended.", "The job 7 has ended."))
    talk.done().ran("1", "It is 5.")
    assert "The job 7 has ended." in talk.asked()[-1].text
    assert (talk.state.calls, talk.state.reply_begun, talk.state.unshown_notes) == ((), False, ())


def test_an_agent_that_has_used_its_steps_says_how_many_they_were() -> None:
    talk = Talk().asks("Go", max_steps=2).calls(call("look", "1")).ran("1").calls(call("look", "2")).ran("2")
    assert talk.words(Role.SYSTEM) == EXHAUSTED.format(2)
    assert not [effect for effect in talk.effects if isinstance(effect, CallModel)]


def test_a_turn_counts_its_steps_from_the_beginning() -> None:
    talk = Talk().asks("Go").calls(call("look", "1")).ran("1").says("Done.").done()
    assert talk.state.steps == 2
    assert talk.asks("More").state.steps == 1


TITLED = inputs.Setup("maker/model", title_model="maker/small", title_prompt="Short.")


def ask_titled(talk: Talk, **more: Any) -> Talk:
    talk.turns += 1
    prompted = inputs.Prompted(talk.now, f"t{talk.turns}", "Hi", f"c{talk.turns}", replace(TITLED, **more))
    return talk.feed(prompted).gathers()


def titles(talk: Talk) -> list[MakeTitle]:
    return [effect for effect in talk.effects if isinstance(effect, MakeTitle)]


def test_a_model_is_asked_for_a_title_once_after_the_first_answer() -> None:
    talk = ask_titled(Talk()).says("Hello").done()
    assert titles(talk) == [MakeTitle(build_title_request("maker/small", "Short.", talk.state.history))]
    assert titles(ask_titled(talk).says("Hello").done()) == []


def test_no_title_is_made_of_a_failure_a_command_or_in_place_of_one_that_was_given() -> None:
    assert titles(ask_titled(Talk()).fails()) == []
    assert titles(ask_titled(Talk(), title_model="").says("Hello").done()) == []
    named = ask_titled(Talk()).feed(inputs.FactAdded(9, MetadataContent(title="Mine"))).says("Hello").done()
    assert (titles(named), named.state.title) == ([], TitleState.SETTLED)
    talk = ask_titled(Talk()).fails()
    assert titles(talk.feed(inputs.Prompted(talk.now, "t9", "/help", "c9", TITLED, local=True)).answers()) == []


def test_an_answer_that_is_a_plan_is_marked_and_so_is_none_after_it() -> None:
    talk = ask_titled(Talk(), ends_in_plan=True).says("First load, then plot.").done()
    ask_titled(talk).says("Done.").done()
    ended = [content.plan for content in talk.shown(ProgressContent) if content.state == "finished"]
    assert ended == [True, None]


def test_a_plan_that_was_not_finished_is_none() -> None:
    talk = ask_titled(Talk(), ends_in_plan=True).says("First").stops()
    assert [content.plan for content in talk.shown(ProgressContent) if content.state == "finished"] == [None]


def test_nothing_of_a_turn_is_left_when_it_has_ended() -> None:
    talk = Talk().asks("Hi").says(call("look")).steers("Rather so").stops()
    assert (talk.state.steers, talk.state.local) == ((), False)
    talk.is_called(LOOK)
    assert talk.state.indexes == ()
    talk = Talk().asks("Hi").says("Hello").done().begins("/compact", local=True).compacts().stops()
    assert (talk.state.summary_under_way, talk.state.local) == (None, False)


def test_a_request_that_was_answered_is_no_longer_repeated() -> None:
    busy = Failure(FailureKind.OVERLOADED, retry_after=1)
    talk = Talk().asks("Go").fails(failure=busy).waits().calls(call("look")).ran("1")
    assert talk.state.retry is None


def test_a_note_goes_with_the_rest_of_an_interrupted_reply() -> None:
    talk = Talk().asks("Go").says("I look. ", Paused())
    talk.feed(inputs.NoteAdded(talk.now, "A job has ended.", "The job 7 has ended.")).done()
    assert "The job 7 has ended." in talk.asked()[-1].text


def test_a_turn_that_begins_by_itself_is_not_shown_as_words_of_the_user() -> None:
    prompted = inputs.Prompted(1, "t1", "A job has ended.", "c1", TITLED, model_text="The job 7 has ended.")
    talk = Talk().feed(prompted)
    assert [event.role for event in talk.events] == [Role.SYSTEM]
    assert talk.gathers().asked() == (user("The job 7 has ended."),)


def test_notes_that_were_answered_are_not_sent_again_when_a_later_request_is_refused() -> None:
    talk = Talk().feed(inputs.NoteAdded(1, "A job has ended.", "The job 7 has ended.")).asks("Hi")
    refuse(talk.calls(call("look")).ran("1"), RefusalReason.CONTENT)
    assert talk.state.notes == ()
