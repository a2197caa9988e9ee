"""A turn that is recorded and made again says the same."""

from __future__ import annotations

from dataclasses import replace

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.policy import Decision, Verdict
from jupyter_eca.engine.chat.recording import (
    RecordedRejection,
    RecordedReply,
    RecordedResult,
    RecordedText,
    record_replies,
    replay_deltas,
)
from jupyter_eca.engine.model.delta import ReasoningDelta, ReasoningEnd, Remark, UsageDelta
from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.protocol.content import Origin, RejectReason
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
