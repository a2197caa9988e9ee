"""A turn that is recorded and made again says the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.policy import Decision, Verdict
from jupyter_eca.engine.chat.recording import (
    RecordedReasoning,
    RecordedRejection,
    RecordedRemark,
    RecordedReply,
    RecordedResult,
    RecordedText,
    RecordedUsage,
    record_replies,
    replay_deltas,
)
from jupyter_eca.engine.model.delta import ReasoningDelta, ReasoningEnd, Remark, TextDelta, ToolCallDelta, UsageDelta
from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.protocol.content import (
    Content,
    FileChangeDetails,
    Limit,
    Origin,
    ReasonStartedContent,
    ReasonTextContent,
    RejectReason,
    Role,
    TextOutput,
    ToolCalledContent,
    ToolCallRejectedContent,
    UrlContent,
)
from jupyter_eca.protocol.event import Event
from tests.engine.talk import TOOLS, Talk, call


def recorded() -> tuple[RecordedReply, ...]:
    """Two calls at once, of which one is still to be approved when the other ends; one that nobody offers."""
    talk = Talk().asks(context="a file")
    talk.says(ReasoningDelta("Hm. "), ReasoningEnd("proof"), "Let me ", "look.\nAt once.", UsageDelta(10, 5, cost=0.1))
    talk.calls(call("look", "1", '{"what": "a\\nb"}'), call("act", "2", "{}", 1), call("gone", "3", "{}", 2))
    talk.ran("1", "Seen.", images=(ImagePart("image/png", "AAAA"),))
    talk.approves("2").ran("2", "It broke.", error=True)
    talk.calls(call("far", "4")).rejects("4", "Not now.")
    talk.says(Remark("Cut off."), "Done.")
    return record_replies(event for event in talk.events if event.turn)


def test_each_reply_has_its_own_calls_and_each_call_its_own_end() -> None:
    first, second, last = recorded()
    assert [(type(one), one.tool) for one in first.calls] == [
        (RecordedResult, "look"),
        (RecordedResult, "act"),
        (RecordedResult, "gone"),
    ]
    (refused,) = second.calls
    assert isinstance(refused, RecordedRejection)
    assert (refused.tool, refused.origin, refused.reason, refused.words) == (
        "far", Origin.MCP, RejectReason.USER, "Not now.",
    )  # fmt: skip
    assert last.parts[-1] == RecordedText(text="Done.")
    assert "proof" not in "".join(reply.model_dump_json() for reply in (first, second, last))


def test_a_recorded_turn_survives_its_file_and_the_engine() -> None:
    once = tuple(RecordedReply.model_validate_json(reply.model_dump_json(by_alias=True)) for reply in recorded())
    assert once == recorded()
    talk = Talk().begins()
    ids = [[f"again-{at}-{n}" for n in range(len(reply.calls))] for at, reply in enumerate(once)]
    calls = {id: one for at, reply in enumerate(once) for id, one in zip(ids[at], reply.calls, strict=True)}
    verdicts = {
        id: Verdict(Decision.DENY, one.reason, one.words)
        if isinstance(one, RecordedRejection)
        else Verdict(Decision.ALLOW)
        for id, one in calls.items()
    }
    tools = (*TOOLS, replace(TOOLS[0], name="gone", origin=Origin.UNKNOWN))
    talk.feed(inputs.Gathered(talk.now, setup=inputs.Setup("maker/model", tools=tools, verdicts=verdicts)))
    for at, reply in enumerate(once):
        for took, delta in replay_deltas(reply, ids[at]):
            talk.now += took - 10
            talk.says(delta)
        talk.done()
        for id in (id for id in ids[at] if isinstance(calls[id], RecordedResult)):
            was = calls[id]
            assert isinstance(was, RecordedResult)
            talk.now = talk.state.get_call(id).started_at + was.took_ms
            images = tuple(ImagePart(image.media_type, image.base64) for image in was.images)
            talk.ran(id, was.output, error=was.error, images=images)
    assert [str(outcome) for outcome in talk.outcomes()] == ["completed"]
    assert record_replies(event for event in talk.events if event.turn) == once


# --- what the file of a recording has ---------------------------------------------------------------------------------


def write(reply: RecordedReply) -> dict[str, Any]:
    return json.loads(reply.model_dump_json(by_alias=True))


def test_a_recording_has_its_texts_as_lines_and_leaves_out_what_is_as_always() -> None:
    look, act, gone = (call("look", "1", '{"what": "a\\nb", "n": 1}'), call("act", "2"), call("gone", "3"))
    talk = Talk().asks().says(ReasoningDelta("Hm.\nSo."), "Let me\nlook.", Remark("Slow."), UsageDelta(10, 5))
    talk.says(*(replace(delta, index=index) for index, delta in enumerate((look, act, gone)))).done()
    talk.ran("1", "Seen.\nAll.").rejects("2")
    reply, last = record_replies(talk.events)
    assert write(reply) == {
        "parts": [
            {"type": "reasoning", "text": ["Hm.\n", "So."], "tookMs": 10},
            {"type": "text", "text": ["Let me\n", "look."]},
            {"type": "remark", "text": ["Slow."]},
            {
                "type": "ran",
                "tool": "look",
                "arguments": {"what": {"$lines": ["a\n", "b"]}, "n": 1},
                "output": ["Seen.\n", "All."],
                "tookMs": 10,
            },
            {"type": "refused", "tool": "act", "reason": "user-choice"},
            {**write(reply)["parts"][-1], "type": "ran", "tool": "gone", "error": True},
        ],
        "usage": {"input": 10, "output": 5},
    }
    assert write(last) == {}
    assert RecordedReply.model_validate(write(reply)) == reply


def test_a_piece_of_text_after_another_part_is_a_part_of_its_own() -> None:
    talk = Talk().asks().says("a", "b", Remark("c"), "d").done()
    (reply,) = record_replies(talk.events)
    assert reply.parts == (RecordedText(text="ab"), RecordedRemark(text="c"), RecordedText(text="d"))


def test_what_was_not_finished_is_recorded_as_far_as_it_came() -> None:
    def record(*contents: Content) -> RecordedReply:
        (reply, *_) = record_replies(
            Event(chat="c", turn="t", role=Role.ASSISTANT, content=content) for content in contents
        )
        return reply

    assert record(ReasonStartedContent(id="r")).parts == (RecordedReasoning(),)
    text = ReasonTextContent(id="r", text="a")
    assert record(ReasonStartedContent(id="r"), text).parts == (RecordedReasoning(text="a"),)
    outputs = (TextOutput(text="a"), TextOutput(text="b"))
    called = ToolCalledContent(id="1", name="look", server="eca", arguments={}, error=False, outputs=outputs)
    assert record(called).parts == (RecordedResult(tool="look", output="a\nb"),)
    rejected = ToolCallRejectedContent(id="1", name="act", server="eca", arguments={}, reason=RejectReason.USER)
    assert record(rejected).parts == (RecordedRejection(tool="act", reason=RejectReason.USER),)


def test_a_call_is_recorded_with_its_server_and_with_what_it_would_do() -> None:
    change = FileChangeDetails(path="a", diff="+x", lines_added=1, lines_removed=0)
    talk = Talk().asks().says(call("far"))
    talk.feed(inputs.ModelFinished(talk.now, talk.state.request, details={"1": change})).approves("1").ran("1")
    (recorded,) = record_replies(talk.events)[0].calls
    assert (recorded.tool, recorded.server, recorded.origin, recorded.details) == ("far", "away", Origin.MCP, change)


def test_the_tokens_of_a_subagent_are_none_of_the_reply() -> None:
    talk = Talk().asks().says(UsageDelta(10, 5, context_limit=100, output_limit=7)).calls(call("look"))
    talk.feed(inputs.CostAdded(talk.now, 70, 80, 0.5)).ran("1").says(UsageDelta(20, 6), "Seen.").done()
    first, last = record_replies(talk.events)
    assert first.usage == RecordedUsage(input=10, output=5, limit=Limit(context=100, output=7))
    assert last.usage == RecordedUsage(input=20, output=6)


def test_a_turn_that_ends_with_a_call_has_a_last_reply_without_parts() -> None:
    talk = Talk().asks().calls(call("look")).ran("1")
    assert [len(reply.parts) for reply in record_replies(talk.events)] == [1, 0]
    assert record_replies(()) == (RecordedReply(),)


def test_pictures_and_links_belong_to_the_call_that_has_just_ended() -> None:
    talk = Talk().asks().says(call("look", "1"), call("look", "2", index=1)).done()
    link = UrlContent(title="A", url="https://example.org")
    picture = ImagePart("image/png", "AAAA", "picture 1")
    talk.feed(inputs.ToolFinished(talk.now, "1", "a", images=(picture, picture), links=(link, link)))
    talk.ran("2", "b")
    (first, second) = record_replies(talk.events)[0].calls
    assert isinstance(first, RecordedResult)
    assert isinstance(second, RecordedResult)
    assert ([image.base64 for image in first.images], first.links) == (["AAAA", "AAAA"], (link, link))
    assert (second.images, second.links) == ((), ())


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"tool": "fetch_rule", "output": "Rule r", "rule": "s"}, "s"),
        ({"tool": "fetch_rule", "output": "Rule r", "arguments": {"id": "r"}}, "r"),
        ({"tool": "fetch_rule", "output": "Rule r", "arguments": {"id": "r"}, "error": True}, ""),
        ({"tool": "fetch_rule", "output": "No rule", "arguments": {"id": "r"}}, ""),
        ({"tool": "look", "output": "Rule r", "arguments": {"id": "r"}}, ""),
    ],
)
def test_a_result_that_is_the_text_of_a_rule_is_known_also_in_files_of_version_0_1_0(
    fields: dict[str, Any], rule: str
) -> None:
    assert RecordedResult.model_validate(fields).fetched_rule == rule


def test_a_rule_that_was_fetched_is_recorded_with_its_id() -> None:
    talk = Talk().asks().calls(call("look"))
    talk.feed(inputs.ToolFinished(talk.now, "1", "a", fetched_rule="r"))
    (fetched,) = record_replies(talk.events)[0].calls
    assert isinstance(fetched, RecordedResult)
    assert fetched.rule == "r"


def test_a_long_text_is_replayed_in_pieces_and_the_usage_costs_nothing() -> None:
    reply = RecordedReply(
        parts=(RecordedText(text="x" * 401), RecordedReasoning(text="Hm", took_ms=7), RecordedRemark(text="c")),
        usage=RecordedUsage(input=10, output=5, limit=Limit(context=100, output=7)),
    )
    usage = UsageDelta(10, 5, cost=0.0, context_limit=100, output_limit=7, replayed=True)
    assert list(replay_deltas(reply, ())) == [
        *((0, TextDelta("x" * length)) for length in (200, 200, 1)),
        *((0, ReasoningDelta("Hm")), (7, ReasoningEnd()), (0, Remark("c")), (0, usage)),
    ]
    limitless = RecordedReply(usage=RecordedUsage(input=1, output=2))
    assert list(replay_deltas(limitless, ())) == [(0, UsageDelta(1, 2, cost=0.0, replayed=True))]


def test_calls_are_replayed_under_new_ids_and_numbers() -> None:
    calls = (
        RecordedResult(tool="look", arguments={"a": 1}),
        RecordedText(text="and"),
        RecordedRejection(tool="act", reason=RejectReason.USER),
    )
    assert list(replay_deltas(RecordedReply(parts=calls), ("n1", "n2"))) == [
        (0, ToolCallDelta(0, "n1", "look", '{"a": 1}')),
        (0, TextDelta("and")),
        (0, ToolCallDelta(1, "n2", "act", "{}")),
    ]
