"""What happens to a chat beside the plain turn: gathering, steering, commands, flags, steps, trust."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.effects import CallModel, CancelGathering, Gather
from jupyter_eca.engine.model.delta import ToolCallDelta
from jupyter_eca.engine.model.request import ChatMessage, ImagePart, TextPart, ToolResultPart
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.content import (
    FlagContent,
    ImageContent,
    JsonOutputsDetails,
    Role,
    TextContent,
    ToolCallRunContent,
)
from jupyter_eca.protocol.event import Outcome
from tests.engine.talk import Talk, call

PICTURE = ImagePart("image/png", "aW1hZ2U=")


def test_the_question_is_shown_before_what_it_points_at_is_read() -> None:
    talk = Talk().begins("Hi")
    assert talk.words(Role.USER) == "Hi"
    assert talk.effects == (Gather(),)


def test_a_stop_while_contexts_are_read_ends_the_turn_without_a_model() -> None:
    talk = Talk().begins().stops()
    assert talk.effects == (CancelGathering(),)
    assert talk.outcomes() == [Outcome.STOPPED]
    with pytest.raises(IllegalSignal):
        talk.gathers()


def test_an_image_that_was_pointed_at_is_shown_and_sent() -> None:
    talk = Talk().begins("Look").gathers(images=(PICTURE,))
    assert talk.shown(ImageContent) == [ImageContent(media_type="image/png", base64="aW1hZ2U=")]
    assert talk.asked() == (ChatMessage("user", (TextPart("Look"), PICTURE)),)


def test_a_tools_image_is_a_part_of_its_result() -> None:
    talk = Talk().asks().calls(call("look", "1"), call("look", "2", index=1))
    named = replace(PICTURE, name="picture 1 of cell 3")
    talk.ran("2", "two", images=(named, PICTURE)).ran("1", "one", images=(PICTURE,))
    results = {part.id: part for part in talk.asked()[-1].parts if isinstance(part, ToolResultPart)}
    assert results == {
        "1": ToolResultPart("1", "one", images=(PICTURE,)),
        "2": ToolResultPart("2", "two", images=(named, PICTURE)),
    }


def test_words_in_between_reach_the_model_at_its_next_step_as_one_message() -> None:
    talk = Talk().asks().calls(call("look", "1")).steers("Shorter").steers("In French")
    assert talk.words(Role.USER) == "Hi"
    talk.ran("1", "one")
    assert talk.asked()[-1].parts == (ToolResultPart("1", "one"), TextPart("Shorter\nIn French"))
    assert talk.words(Role.USER) == "HiShorter\nIn French"


def test_words_in_between_can_be_taken_back() -> None:
    talk = Talk().asks().calls(call("look", "1")).steers("Shorter").steers("").ran("1", "one")
    assert talk.asked()[-1].parts == (ToolResultPart("1", "one"),)


def test_words_in_between_that_came_too_late_are_not_told_in_the_next_turn() -> None:
    talk = Talk().asks().steers("Shorter").says("Hello").done().asks("Again")
    assert talk.asked()[-1].text == "Again"


def test_words_in_between_mean_nothing_to_a_chat_at_rest() -> None:
    with pytest.raises(IllegalSignal):
        Talk().steers("Shorter")


def test_a_command_is_answered_by_us_and_the_model_never_hears_of_it() -> None:
    talk = Talk().begins("/costs", local=True).answers("Nothing yet.")
    assert (talk.words(Role.USER), talk.words(Role.SYSTEM)) == ("/costs", "Nothing yet.")
    assert talk.outcomes() == [Outcome.COMPLETED]
    assert talk.asks("Hi").asked() == (ChatMessage("user", (TextPart("Hi"),)),)


def test_a_command_that_could_not_be_carried_out_fails_its_turn() -> None:
    assert Talk().begins("/export", local=True).answers("No.", failed=True).outcomes() == [Outcome.FAILED]


def test_after_a_restart_a_command_is_still_none_of_the_models_business() -> None:
    talk = Talk().begins("/costs", local=True).answers("Nothing yet.")
    assert restore("chat", talk.events, talk.now).state.history == ()


def test_an_agent_that_has_had_its_steps_ends_its_turn_and_says_so() -> None:
    talk = Talk().asks(max_steps=1).calls(call("look", "1")).ran("1")
    assert talk.outcomes() == [Outcome.FAILED]
    assert "maxSteps" in talk.words(Role.SYSTEM)
    assert talk.asks("Go on", max_steps=1).state.status is TurnStatus.STREAMING


def test_a_flag_on_a_finished_chat_does_not_look_like_a_turn_cut_short() -> None:
    talk = Talk().asks().says("Hello").done()
    talk.feed(inputs.FactAdded(talk.now, FlagContent(text="here", content_id="c1")))
    assert restore("chat", talk.events, talk.now).missing == ()


def test_what_a_call_would_do_is_told_before_it_is_approved_and_after_it_ran() -> None:
    details = JsonOutputsDetails(jsons=("{}",))
    talk = Talk().asks().says(ToolCallDelta(0, "1", "act", "{}"))
    talk.feed(inputs.ModelFinished(talk.now, talk.state.request, {"1": details}))
    assert [content.details for content in talk.shown(ToolCallRunContent)] == [details]


def test_the_chat_goes_on_after_a_stop_while_contexts_were_read() -> None:
    talk = Talk().begins("Hi").stops().asks("Again")
    assert [effect for effect in talk.effects if isinstance(effect, CallModel)]
    assert talk.shown(TextContent)[-1].text == "Again"
