"""A conversation that becomes too long for its model."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.effects import CallModel, CancelModel
from jupyter_eca.engine.inputs import ToolFinished
from jupyter_eca.engine.model.compaction import (
    KEPT_RESULT_CHARS,
    MIN_REPLIES,
    WindowUsage,
    estimate_tokens,
    prune,
    select_messages_to_summarise,
)
from jupyter_eca.engine.model.delta import ReasoningDelta, UsageDelta
from jupyter_eca.engine.model.history import add_event
from jupyter_eca.engine.model.request import ChatMessage, ImagePart, TextPart, ToolResultPart
from jupyter_eca.engine.model.texts import NOTHING_TO_SUMMARISE, PRUNED_RESULT, SUMMARISED, SUMMARY
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.content import Role, Task, TaskDetails, TaskSummary, TextContent, TurnFailure, UsageContent
from jupyter_eca.protocol.event import Outcome, PrunedAside, SummaryAside
from tests.engine.talk import Talk, call

# Of a window of 1,000 tokens, of four characters each.
LIMIT = 1_000
LONG = "x" * LIMIT * 3


def used(tokens: int) -> UsageDelta:
    return UsageDelta(tokens, 0, cost=0.5, context_limit=LIMIT)


def full(talk: Talk) -> Talk:
    """A first turn after which three quarters of the window are full."""
    return talk.asks(LONG).says("It is long.", used(760)).done()


def words(history: tuple[ChatMessage, ...]) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in history]


def test_a_window_that_is_three_quarters_full_is_summarised_before_the_next_step() -> None:
    talk = full(Talk()).asks("And now?", '\n\n<context name="a">\nb\n</context>')
    assert talk.state.status is TurnStatus.COMPACTING
    asked = talk.asked()
    assert words(asked[:2]) == [("user", LONG), ("assistant", "It is long.")]
    assert asked[2].text.startswith("This conversation is about to exceed your context window.")
    talk.says(ReasoningDelta("Hm"), "They spoke ", "of x.", used(800)).done()
    assert talk.state.status is TurnStatus.STREAMING
    (message,) = talk.asked()
    assert message.text == f'{SUMMARY}They spoke of x.And now?\n\n<context name="a">\nb\n</context>'
    talk.says("Now this.", used(300)).done()
    assert talk.outcomes() == [Outcome.COMPLETED, Outcome.COMPLETED]
    assert (talk.thoughts(), talk.words()) == ("", "It is long.Now this.")
    assert SUMMARISED in talk.words(Role.SYSTEM)
    assert [usage.session_cost for usage in talk.shown(UsageContent)] == ["0.5000", "1.0000", "1.5000"]
    assert talk.shown(UsageContent)[0].auto_compact_percentage == 75


def test_the_request_for_a_summary_begins_with_the_bytes_of_the_one_before() -> None:
    talk = Talk().asks(LONG)
    before = talk.asked()
    talk.says("It is long.", used(760)).done().asks("And now?")
    assert talk.asked()[: len(before)] == before
    (effect,) = [effect for effect in talk.effects if isinstance(effect, CallModel)]
    assert (effect.request.system, effect.request.tools) == (talk.state.setup.system, talk.state.setup.tools)


def test_in_the_middle_of_a_turn_the_prompt_is_kept_word_for_word() -> None:
    talk = Talk().asks("Find it.", '\n\n<context name="a">\nb\n</context>')
    talk.calls(call("look", arguments='{"what": 1}')).ran("1", LONG)
    talk.says("Again.", used(900), call("look", "2")).done()
    talk.ran("2", "nothing")
    assert talk.state.status is TurnStatus.COMPACTING
    assert isinstance(talk.asked()[-1].parts[0], ToolResultPart)
    talk.says("Looked twice.").done()
    (message,) = talk.asked()
    assert message.text.startswith(f"{SUMMARY}Looked twice.")
    assert message.text.endswith("which was:\n\nFind it.")
    assert talk.says("Found.").done().outcomes() == [Outcome.COMPLETED]


def test_pictures_of_the_prompt_stay_with_it() -> None:
    picture = ImagePart("image/png", "aW1hZ2U=")
    talk = full(Talk()).begins("See").gathers(images=(picture,)).says("Short.").done()
    assert talk.asked()[-1].parts[1:] == (TextPart("See"), picture)


@pytest.mark.parametrize(
    ("used", "limit", "share", "is_due"),
    [
        *((760, LIMIT, 75, True), (750, LIMIT, 75, True), (749, LIMIT, 75, False)),
        *((760, LIMIT, 0, False), (740, LIMIT, 75, False), (760, 0, 75, False)),
    ],
)
def test_without_a_percentage_or_a_known_window_nothing_is_summarised(
    used: int, limit: int, share: int, is_due: bool
) -> None:
    history = (ChatMessage("user", (TextPart(LONG),)), ChatMessage("assistant", (TextPart("Yes."),)))
    state = Talk().state
    setup = replace(state.setup, compact_at=share)
    assert replace(state, history=history, window=WindowUsage(used, limit), setup=setup).is_summary_due is is_due


def test_what_is_filled_by_the_tools_and_not_by_the_talk_is_not_summarised() -> None:
    talk = Talk().asks("Hi").says("Hello.", used(990)).done().asks("And?")
    assert talk.state.status is TurnStatus.STREAMING


def test_a_turn_is_not_summarised_again_before_it_has_come_further() -> None:
    talk = full(Talk()).asks("Go on").says("Short.").done()
    steps = 0
    while talk.state.status is not TurnStatus.COMPACTING:
        steps += 1
        assert steps < 20
        talk.says(used(900), call("look", f"n{steps}")).done()
        talk.ran(f"n{steps}", LONG)
    assert steps == MIN_REPLIES


def test_a_summary_that_fails_loses_nothing_and_the_turn_goes_on_without() -> None:
    talk = full(Talk())
    before = talk.state.history
    talk.asks("And now?").says("Half a su").fails("The model is gone.")
    assert "The conversation could not be summarised: The model is gone." in talk.words(Role.SYSTEM)
    assert talk.asked()[: len(before)] == before
    assert talk.asked()[-1].text == "And now?"
    assert talk.says("This.").done().outcomes()[-1] is Outcome.COMPLETED


@pytest.mark.parametrize("said", [(), (call("look"),)])
def test_a_summary_without_words_is_none(said: tuple[UsageDelta, ...]) -> None:
    talk = full(Talk()).asks("And now?").says(*said).done()
    assert "could not be summarised: the model wrote none" in talk.words(Role.SYSTEM)
    assert talk.state.status is TurnStatus.STREAMING
    assert talk.shown(UsageContent)


def test_a_stop_ends_a_summary_and_leaves_the_conversation_as_it_was() -> None:
    talk = full(Talk())
    before = talk.state.history
    talk.asks("And now?").says("Half a su").stops()
    assert CancelModel(talk.state.request) in talk.effects
    assert talk.outcomes()[-1] is Outcome.STOPPED
    assert talk.state.history[: len(before)] == before
    assert talk.asks("Then?").state.status is TurnStatus.COMPACTING


def test_words_that_come_during_a_summary_are_told_after_it() -> None:
    talk = full(Talk()).asks("And now?").steers("In French.").says("Short.").done()
    assert talk.asked()[-1].text.endswith("And now?In French.")


def test_a_request_that_is_too_long_is_repeated_without_old_results() -> None:
    talk = Talk().asks("Look")
    for number in range(3):
        talk.calls(call("look", f"n{number}"))
        talk.ran(f"n{number}", "y" * (KEPT_RESULT_CHARS // 2))
    talk.fails("Too long.", overflow=True)
    results = [part.text for message in talk.asked() for part in message.parts if isinstance(part, ToolResultPart)]
    assert [len(text) for text in results] == [len(PRUNED_RESULT), KEPT_RESULT_CHARS // 2, KEPT_RESULT_CHARS // 2]
    assert talk.says("Seen.").done().outcomes() == [Outcome.COMPLETED]


def test_one_that_is_still_too_long_is_summarised_from_shortened_messages() -> None:
    talk = Talk().asks(LONG).says("Yes.").done().asks("More").fails("Too long.", overflow=True)
    assert talk.state.status is TurnStatus.COMPACTING
    assert len(talk.asked()[0].text) < len(LONG)
    assert talk.says("Short.").done().asked()[0].text == f"{SUMMARY}Short.More"
    assert talk.says("Then so.").done().outcomes()[-1] is Outcome.COMPLETED


def test_one_that_cannot_be_made_shorter_says_what_to_do() -> None:
    talk = Talk().asks(LONG).fails("The prompt is too long.", overflow=True)
    assert talk.words(Role.SYSTEM).endswith("start a new chat, or choose a model with a larger window.")
    assert talk.outcomes() == [Outcome.FAILED]


def test_however_often_a_model_says_too_long_the_turn_ends() -> None:
    talk = Talk()
    for number in range(4):
        talk.asks(f"{number}{LONG}")
        for _ in range(5):
            if talk.state.status is TurnStatus.IDLE:
                break
            talk.fails("Too long.", overflow=True)
        assert talk.state.status is TurnStatus.IDLE


def test_a_command_asks_for_a_summary_with_what_it_must_keep() -> None:
    talk = Talk().asks("Hi").says("Hello.").done().begins("/compact the names", local=True).compacts("the names")
    assert talk.asked()[-1].text.endswith("The user asks to keep above all: the names")
    talk.says("They greeted.").done()
    assert (talk.state.status, talk.outcomes()[-1]) == (TurnStatus.IDLE, Outcome.COMPLETED)
    assert words(talk.state.history) == [("user", f"{SUMMARY}They greeted.")]
    assert words(talk.asks("Bye").asked()) == [("user", f"{SUMMARY}They greeted.Bye")]


def test_there_is_nothing_to_summarise_in_a_new_chat() -> None:
    talk = Talk().begins("/compact", local=True).compacts()
    assert NOTHING_TO_SUMMARISE in talk.words(Role.SYSTEM)
    assert talk.outcomes() == [Outcome.COMPLETED]


def test_a_restart_knows_how_full_the_window_is() -> None:
    talk = full(Talk())
    assert restore("chat", talk.events, 0).state.window == WindowUsage(760, LIMIT)
    talk.asks("And now?").says("Short.", used(800)).done()
    assert restore("chat", talk.events, 0).state.window == WindowUsage()


parts = st.one_of(st.builds(TextPart, st.text(min_size=1)), st.builds(ToolResultPart, st.just("1"), st.text()))
histories = st.lists(
    st.builds(ChatMessage, st.sampled_from(["user", "assistant"]), st.lists(parts, min_size=1).map(tuple))
).map(tuple)


@given(histories)
def test_what_is_covered_and_what_is_pruned_is_never_more_than_there_was(history: tuple[ChatMessage, ...]) -> None:
    assert estimate_tokens(select_messages_to_summarise(history)) <= estimate_tokens(history)
    assert estimate_tokens(prune(history)) <= estimate_tokens(history)
    assert prune(prune(history)) == prune(history)


def test_a_summary_is_known_by_its_kind_whatever_its_words_are() -> None:
    talk = full(Talk()).asks("And now?").says("They spoke of x.").done()
    assert words(reduce(add_event, talk.events, ())) == words(talk.state.history)
    events = [
        event.model_copy(update={"aside": SummaryAside(text="Other words: ")})
        if isinstance(event.aside, SummaryAside)
        else event
        for event in talk.events
    ]
    assert words(reduce(add_event, events, ())) == [("user", "Other words: And now?")]


def test_a_summary_is_due_again_five_steps_after_the_last_one_of_the_turn() -> None:
    state = full(Talk()).state
    due = [replace(state, summarised_at_step=3, steps=steps).is_summary_due for steps in (3, 7, 8)]
    assert due == [False, False, True]


def overflow(talk: Talk) -> Talk:
    """The model calls a tool with long results, and its server says that the next request is too long."""
    for _ in range(3):
        id = f"n{len(talk.state.call_ids)}"
        talk.calls(call("look", id))
        talk.ran(id, "y" * (KEPT_RESULT_CHARS // 2))
    return talk.fails("Too long.", overflow=True)


def test_old_results_are_left_out_once_in_a_turn_and_then_a_summary_is_made() -> None:
    def roles(talk: Talk) -> list[Role]:
        return [event.role for event in talk.events if isinstance(event.aside, PrunedAside)]

    talk = overflow(Talk().asks("Look"))
    assert (talk.state.status, roles(talk)) == (TurnStatus.STREAMING, [Role.SYSTEM])
    assert (overflow(talk).state.status, len(roles(talk))) == (TurnStatus.COMPACTING, 1)
    talk.says("Short.").done().says("So.").done()
    assert (overflow(talk.asks("Again")).state.status, len(roles(talk))) == (TurnStatus.STREAMING, 2)


def test_a_call_that_is_made_again_after_a_summary_is_one_step() -> None:
    talk = full(Talk()).asks("More", max_steps=1).says("Short.").done().says("So.").done()
    assert (talk.state.steps, talk.outcomes()[-1]) == (1, Outcome.COMPLETED)
    talk = Talk().asks(LONG).says("Yes.").done().asks("More", max_steps=1).fails("Too long.", overflow=True)
    talk.says("Short.").done().says("So.").done()
    assert (talk.state.steps, talk.outcomes()[-1]) == (1, Outcome.COMPLETED)


def test_while_a_summary_is_written_no_call_is_under_way() -> None:
    talk = Talk().asks("Find it.").calls(call("look")).ran("1", LONG)
    talk.says("Again.", used(900), call("look", "2")).done()
    talk.ran("2", "nothing")
    assert (talk.state.status, talk.state.calls) == (TurnStatus.COMPACTING, ())
    (effect,) = talk.effects
    assert isinstance(effect, CallModel)
    assert effect.number == talk.state.request
    assert talk.says("Short.", used(800)).done().state.window == WindowUsage()


def test_the_tasks_follow_the_summary() -> None:
    details = TaskDetails(
        tasks=(Task(id="1", subject="look"),), summary=TaskSummary(done=0, in_progress=0, pending=1, total=1)
    )
    talk = Talk().asks(LONG).calls(call("look"))
    talk.feed(ToolFinished(talk.now, "1", "planned", details=details))
    talk.says("Yes.", used(760)).done().asks("And now?").says("They spoke.").done()
    (message,) = talk.asked()
    assert "They spoke.\n\n" in message.text
    assert "\n[ ] 1. lookAnd now?" in message.text


def test_a_summary_that_fails_is_a_failure_of_the_turn_only_if_the_turn_ends() -> None:
    def failures(talk: Talk) -> list[TurnFailure | None]:
        return [content.failure for content in talk.shown(TextContent) if "summarised:" in content.text]

    goes_on = full(Talk()).asks("And now?").fails("The model is gone.")
    assert (failures(goes_on), goes_on.state.status) == ([None], TurnStatus.STREAMING)
    ends = Talk().asks(LONG).says("Yes.").done().asks("More").fails("Too long.", overflow=True).fails("Gone.")
    assert failures(ends) == [TurnFailure(kind=FailureKind.OTHER, model="maker/model")]
    assert ends.outcomes()[-1] is Outcome.FAILED
