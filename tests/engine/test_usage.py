"""What is shown of a reply besides its words: what it has cost, what it is doing, pictures and questions."""

from __future__ import annotations

from dataclasses import replace

from jupyter_eca.engine.inputs import CostAdded, Prompted
from jupyter_eca.engine.model.compaction import WindowUsage
from jupyter_eca.engine.model.delta import Activity, ImageDelta, ReasoningDelta, ReasoningEnd, Remark, UsageDelta
from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.protocol.content import (
    ImageContent,
    Limit,
    ProgressContent,
    ReasonFinishedContent,
    ReasonStartedContent,
    Role,
    TextContent,
    UsageContent,
)
from jupyter_eca.protocol.event import SignatureAside
from tests.engine.talk import Talk, user

USED = UsageDelta(10, 5, 3, 2, cost=0.25, context_limit=100, output_limit=50)


def usage(talk: Talk) -> UsageContent:
    return talk.shown(UsageContent)[-1]


def test_a_reply_says_what_it_has_used_what_it_has_cost_and_how_full_the_window_is() -> None:
    talk = Talk().asks().says("Yes.", USED)
    found = usage(talk)
    assert (found.session_tokens, found.message_input_tokens, found.message_output_tokens) == (20, 15, 5)
    assert (found.message_cached_tokens, found.limit) == (3, Limit(context=100, output=50))
    assert (found.last_message_cost, found.session_cost) == ("0.2500", "0.2500")
    assert (found.auto_compact_percentage, found.replayed, found.agent) == (75, None, None)
    breakdown = found.context_breakdown
    assert breakdown is not None
    assert (breakdown.used_tokens, breakdown.free_tokens) == (20, 80)
    assert any(category.tokens for category in breakdown.categories if category.name == "Messages")
    assert (talk.state.window, talk.state.usage, talk.state.cost) == (WindowUsage(20, 100), found, 0.25)
    again = usage(talk.done().asks().says("Yes.", replace(USED, cost=0.5)))
    assert (again.last_message_cost, again.session_cost) == ("0.5000", "0.7500")


def test_what_is_not_known_of_a_reply_is_left_out() -> None:
    found = usage(Talk().asks().says("Yes.", UsageDelta(10, 5)))
    assert (found.message_cached_tokens, found.limit, found.last_message_cost, found.session_cost) == (None,) * 4
    assert usage(Talk().asks().says("Yes.", UsageDelta(1, 1, output_limit=7))).limit is None
    assert Talk().asks().says("Yes.", UsageDelta(10, 5)).state.window == WindowUsage(15, 0)


def test_a_replayed_answer_and_one_of_an_outside_agent_are_marked() -> None:
    found = usage(Talk().asks().says("Yes.", replace(USED, replayed=True, agent="Bob")))
    assert (found.replayed, found.agent) == (True, "Bob")


def test_without_a_percentage_none_is_shown() -> None:
    talk = Talk()
    talk.begins().gathers()
    setup = replace(talk.state.setup, compact_at=0)
    other = Talk().feed(Prompted(0, "t1", "Hi", "c1", setup)).gathers()
    assert usage(other.says("Yes.", USED)).auto_compact_percentage is None


def test_a_cost_beside_the_conversation_is_added_to_the_chat_and_leaves_the_window_as_it_is() -> None:
    talk = Talk().asks().says("Yes.", replace(USED, replayed=True, agent="Bob")).done()
    before = talk.state.window
    talk.feed(CostAdded(talk.now, 7, 8, 0.5))
    found = usage(talk)
    assert (found.session_tokens, found.message_input_tokens, found.message_output_tokens) == (20, 7, 8)
    assert (found.last_message_cost, found.session_cost) == ("0.5000", "0.7500")
    assert (found.message_cached_tokens, found.replayed, found.agent) == (None, None, None)
    assert (found.limit, talk.state.window) == (Limit(context=100, output=50), before)
    assert talk.events[-1].turn == ""
    unknown = usage(talk.feed(CostAdded(talk.now, 1, 1, None)))
    assert (unknown.last_message_cost, unknown.session_cost) == (None, None)
    assert usage(talk.feed(CostAdded(talk.now, 1, 1, 0.5))).session_cost is None


def test_a_cost_during_a_turn_belongs_to_the_turn() -> None:
    talk = Talk().asks().says("Ye")
    talk.feed(CostAdded(talk.now, 7, 8, 0.5))
    assert (talk.events[-1].turn, usage(talk).session_tokens) == ("t1", 0)


def test_the_first_piece_of_a_reply_says_that_it_has_begun_and_a_usage_is_no_piece() -> None:
    def running(talk: Talk) -> list[str]:
        return [content.text or "" for content in talk.shown(ProgressContent) if content.state == "running"]

    talk = Talk().asks()
    before = running(talk)
    assert running(talk.says(USED, "")) == before
    begun = running(talk.says("Y", "es."))
    assert len(begun) == len(before) + 1
    assert running(talk.says(Activity("Searches"))) == [*begun, "Searches"]


def test_a_remark_may_be_a_question_and_is_no_part_of_the_answer() -> None:
    talk = Talk().asks().says("Yes.", Remark("Cut off."), Remark("Which? That one.", is_question=True))
    remarks = [event.content for event in talk.events if event.role is Role.SYSTEM]
    texts = [content for content in remarks if isinstance(content, TextContent)]
    assert [(content.text, content.question) for content in texts] == [("Cut off.", None), ("Which? That one.", True)]
    assert talk.words() == "Yes."


def test_a_picture_in_an_answer_is_shown_and_no_model_of_ours_reads_it() -> None:
    talk = Talk().asks().says(ReasoningDelta("Hm"), ImageDelta("image/png", "AAAA"), "See.").done()
    assert talk.shown(ImageContent) == [ImageContent(media_type="image/png", base64="AAAA")]
    kinds = talk.kinds()
    assert kinds.index("reasonFinished") < kinds.index("image")
    assert talk.asks("And?").asked()[-1] == user("And?")
    assert not any(isinstance(part, ImagePart) for message in talk.asked() for part in message.parts)


def test_a_reasoning_that_ends_without_a_signature_has_none() -> None:
    for ended in ((), (ReasoningEnd(),)):
        talk = Talk().asks().says(ReasoningDelta("a"), *ended, "b").done()
        (finished,) = [event for event in talk.events if isinstance(event.content, ReasonFinishedContent)]
        assert finished.aside is None
    (signed,) = [event for event in Talk().asks().says(ReasoningDelta("a"), ReasoningEnd("x")).events if event.aside]
    assert signed.aside == SignatureAside(signature="x")


def test_a_reasoning_has_an_id_of_its_own_and_says_how_long_it_took() -> None:
    talk = Talk().asks().says(ReasoningDelta("a"), ReasoningDelta("b"), ReasoningEnd(), ReasoningDelta("c"), "d")
    talk.says(ReasoningDelta("e")).done()
    started, finished = talk.shown(ReasonStartedContent), talk.shown(ReasonFinishedContent)
    assert [content.id for content in started] == [content.id for content in finished]
    assert len({content.id for content in started}) == 3
    assert [content.total_time_ms for content in finished] == [20, 10, 10]
