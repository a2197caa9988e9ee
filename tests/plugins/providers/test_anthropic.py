from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from contextlib import aclosing, suppress
from typing import Any

import pytest

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import (
    Delta,
    ReasoningDelta,
    ReasoningEnd,
    Remark,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from jupyter_eca.engine.model.request import ImagePart, ReasoningPart, ToolResultPart, ToolUsePart
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.anthropic import MODELS, PROVIDER
from tests.plugins.providers.ask import KEY, MODEL, answer, asking, assistant, at, says, script, text_of, user
from tests.support.anthropic_server import Fault, LoopbackAnthropic

START = {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}
STOP = {"type": "message_stop"}


def block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    pieces = ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    start = {"type": "content_block_start", "index": index, "content_block": block}
    return (start, *pieces, {"type": "content_block_stop", "index": index})


def ending(reason: str, **more: Any) -> tuple[dict[str, Any], ...]:
    end = {"type": "message_delta", "delta": {"stop_reason": reason, **more}, "usage": {"output_tokens": 9}}
    return (end, STOP)


async def answer_of(*events: dict[str, Any]) -> list[Delta]:
    with LoopbackAnthropic(says("not this"), [Fault(events=events)]) as server:
        return await answer("hi", at(server))


def test_importing_the_provider_does_not_import_the_sdk() -> None:
    heavy = "{'anthropic', 'httpx2', 'genai_prices'}"
    code = f"import sys, jupyter_eca.plugins.providers.ollama; print({heavy} & set(sys.modules))"
    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=30)  # our own code
    assert said.strip() == "set()"


# -- which models there are


@pytest.mark.asyncio
async def test_there_are_no_models_without_a_key() -> None:
    assert await PROVIDER.models(ProviderConfig()) == ()


@pytest.mark.asyncio
async def test_a_key_in_the_environment_is_enough_for_the_built_in_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert await PROVIDER.models(ProviderConfig()) == MODELS


@pytest.mark.asyncio
async def test_configured_models_come_before_the_built_in_ones() -> None:
    settings = ProviderConfig.model_validate({"key": KEY, "models": {"mine": {}, MODELS[1]: {}}})
    assert (await PROVIDER.models(settings))[:3] == ("mine", MODELS[1], MODELS[0])


@pytest.mark.asyncio
async def test_a_server_of_ones_own_needs_no_key_and_has_only_its_own_models() -> None:
    settings = ProviderConfig.model_validate({"url": "http://127.0.0.1:1", "models": {"mine": None}})
    assert await PROVIDER.models(settings) == ("mine",)


def test_the_built_in_models_are_known_to_the_sdk_and_not_going_away() -> None:
    from anthropic.resources.messages import DEPRECATED_MODELS
    from anthropic.types.model import Model

    known = {name for alternative in Model.__args__ for name in getattr(alternative, "__args__", ())}  # type: ignore[attr-defined]  # a typing alias
    assert set(MODELS) <= known - set(DEPRECATED_MODELS)


# -- what is said


@pytest.mark.asyncio
async def test_a_text_arrives_in_the_pieces_it_was_sent_in() -> None:
    with LoopbackAnthropic(script({"message": "", "reply": [{"text": "Hello there", "chunk": 6}]})) as server:
        deltas = await answer("hi", at(server))
    assert deltas[:2] == [TextDelta("Hello "), TextDelta("there")]


@pytest.mark.asyncio
async def test_an_answer_ends_with_its_tokens_its_cost_and_the_limits() -> None:
    deltas = await answer_of(
        START | {"message": {"usage": {"input_tokens": 10, "cache_read_input_tokens": 200, "output_tokens": 1}}},
        *ending("end_turn"),
    )
    (usage,) = deltas
    assert isinstance(usage, UsageDelta)
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (10, 200, 9)
    assert usage.cost is not None
    assert 0 < usage.output_limit < usage.context_limit


@pytest.mark.asyncio
async def test_the_cost_of_an_unknown_model_is_unknown() -> None:
    with LoopbackAnthropic(says("hi")) as server:
        *_, usage = await answer(asking("hi", model="anthropic/my-own"), at(server))
    assert isinstance(usage, UsageDelta)
    assert usage.cost is None


@pytest.mark.asyncio
async def test_thinking_is_shown_and_its_signature_goes_back_to_the_model_that_made_it() -> None:
    with LoopbackAnthropic(script({"message": "", "reply": [{"reasoning": "Hm."}, {"text": "Yes."}]})) as server:
        deltas = await answer("hi", at(server))
        end = next(delta for delta in deltas if isinstance(delta, ReasoningEnd))
        assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == "Hm."
        thought = assistant(ReasoningPart("r1", "Hm.", end.signature), "Yes.")
        await answer(asking("hi", thought, "more"), at(server))
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "signed-0"}
    assert server.requests[1].body["messages"][1]["content"][0] == thinking


@pytest.mark.asyncio
async def test_thinking_without_words_still_has_something_to_sign() -> None:
    signed = block(0, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "s"})
    deltas = await answer_of(START, *signed, *ending("end_turn"))
    assert deltas[:2] == [ReasoningDelta(""), ReasoningEnd(f"anthropic/{MODEL}#s")]


@pytest.mark.asyncio
async def test_redacted_thinking_and_unknown_events_say_nothing() -> None:
    redacted = block(0, {"type": "redacted_thinking", "data": "x"})
    said = block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes."}, {"type": "new_delta"})
    deltas = await answer_of(START, *redacted, {"type": "brand_new"}, *said, *ending("end_turn"))
    assert deltas[:-1] == [TextDelta("Yes.")]


# -- tool calls


@pytest.mark.asyncio
async def test_a_tool_call_comes_as_its_name_and_then_its_arguments() -> None:
    call = {"tool": "run_code", "arguments": {"code": "x"}, "chunk": 8}
    with LoopbackAnthropic(script({"message": "", "reply": [{"text": "Now."}, call]})) as server:
        deltas = await answer("hi", at(server))
    assert deltas[1:4] == [
        ToolCallDelta(1, id="toolu_1_1", name="run_code"),
        ToolCallDelta(1, arguments_text='{"code":'),
        ToolCallDelta(1, arguments_text=' "x"}'),
    ]


@pytest.mark.asyncio
async def test_a_tool_call_and_its_result_go_back_as_a_pair() -> None:
    rules = script({"result": "4", "tool": "run_code", "reply": [{"text": "It is {result}."}]})
    call, result = ToolUsePart("toolu_1", "run_code", {"code": "2+2"}), ToolResultPart("toolu_1", "4")
    with LoopbackAnthropic(rules) as server:
        deltas = await answer(asking("sum", assistant("Now.", call), user(result)), at(server))
    assert text_of(deltas) == "It is 4."
    _, used, back = server.requests[0].body["messages"]
    assert used["content"][1] == {"type": "tool_use", "id": "toolu_1", "name": "run_code", "input": {"code": "2+2"}}
    assert back["content"][0]["tool_use_id"] == "toolu_1"


@pytest.mark.asyncio
async def test_arguments_sent_whole_in_the_start_of_a_call_are_not_lost() -> None:
    whole = block(0, {"type": "tool_use", "id": "a", "name": "t", "input": {"x": 1}})
    deltas = await answer_of(START, *whole, *ending("end_turn"))
    assert deltas[:2] == [ToolCallDelta(0, id="a", name="t"), ToolCallDelta(0, arguments_text='{"x": 1}')]


@pytest.mark.asyncio
async def test_a_call_cut_off_before_its_arguments_cannot_be_taken_for_one_without() -> None:
    call = block(0, {"type": "tool_use", "id": "a", "name": "delete", "input": {}})
    deltas = await answer_of(START, *call, *ending("max_tokens"))
    assert ToolCallDelta(0, arguments_text="{") in deltas


# -- why an answer ended early


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
@pytest.mark.asyncio
async def test_an_answer_that_ended_early_says_so_and_what_to_do(reason: str) -> None:
    deltas = await answer_of(START, *ending(reason))
    (remark,) = (delta for delta in deltas if isinstance(delta, Remark))
    assert "go on" in remark.text or "Start a new" in remark.text or "start a new" in remark.text


@pytest.mark.asyncio
async def test_a_refusal_gives_the_reason_it_was_given() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "It could harm."}
    deltas = await answer_of(START, *ending("refusal", stop_details=details))
    assert isinstance(deltas[0], Remark)
    assert "declined to answer: It could harm. Ask" in deltas[0].text


# -- what is sent


async def sent(*messages: Any, **settings: Any) -> dict[str, Any]:
    with LoopbackAnthropic(says("ok")) as server:
        await answer(asking(*messages), at(server, **settings))
    return server.requests[0].body


def bare(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in block.items() if k != "cache_control"} for block in message["content"]]


@pytest.mark.asyncio
async def test_the_model_of_a_request_is_its_own_name_for_it() -> None:
    body = await sent("hi", models={MODEL: {"modelName": "claude-of-the-house"}})
    assert body["model"] == "claude-of-the-house"


@pytest.mark.asyncio
async def test_the_extra_payload_of_a_model_is_merged_into_its_requests() -> None:
    body = await sent("hi", models={MODEL: {"extraPayload": {"thinking": {"type": "adaptive"}, "max_tokens": 5}}})
    assert (body["thinking"], body["max_tokens"]) == ({"type": "adaptive"}, 5)


@pytest.mark.asyncio
async def test_tools_system_and_the_last_two_messages_of_the_user_are_marked_for_the_cache() -> None:
    body = await sent("hi", assistant("Hello."), "again", assistant("Yes?"), "more")
    ends = [body["tools"][-1], body["system"][-1], *(one["content"][-1] for one in body["messages"])]
    assert ["cache_control" in block for block in ends] == [True, True, False, False, True, False, True]


@pytest.mark.asyncio
async def test_messages_of_one_role_are_joined_and_blank_texts_left_out() -> None:
    body = await sent("one", assistant(" "), user("", "two"))
    assert [bare(message) for message in body["messages"]] == [
        [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    ]


@pytest.mark.asyncio
async def test_results_come_first_and_in_the_message_after_their_calls() -> None:
    calls = assistant(ToolUsePart("a", "t", {}), ToolUsePart("b", "t", {}))
    late = user("wait", ToolResultPart("b", "2"))
    body = await sent("go", calls, late, user(ToolResultPart("a", "1")))
    assert [block.get("tool_use_id") for block in body["messages"][2]["content"]] == ["a", "b", None]


@pytest.mark.asyncio
async def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    body = await sent("go", assistant(ToolUsePart("a", "t", {})), "stop")
    assert body["messages"][2]["content"][0]["is_error"] is True


@pytest.mark.asyncio
async def test_an_empty_result_is_not_sent_empty() -> None:
    body = await sent("go", assistant(ToolUsePart("a", "t", {})), user(ToolResultPart("a", "\n")))
    assert body["messages"][2]["content"][0]["content"] == "(no output)"


@pytest.mark.asyncio
async def test_a_picture_is_in_the_result_behind_its_name_but_never_in_one_that_is_an_error() -> None:
    """The API refuses a picture in a result that is an error, so this one follows the results."""
    picture = ImagePart("image/png", "aW1hZ2U=", "picture 1 of cell 27")
    calls = assistant(ToolUsePart("a", "t", {}), ToolUsePart("b", "t", {}))
    results = user(ToolResultPart("a", "Ran.", images=(picture,)), ToolResultPart("b", "Failed.", True, "", (picture,)))
    ran, failed, *rest = bare((await sent("go", calls, results))["messages"][2])
    source = {"type": "base64", "media_type": "image/png", "data": "aW1hZ2U="}
    named = [{"type": "text", "text": "[picture 1 of cell 27]"}, {"type": "image", "source": source}]
    assert ran["content"] == [{"type": "text", "text": "Ran."}, *named]
    assert (failed["content"], rest) == ("Failed.", named)


@pytest.mark.asyncio
async def test_names_of_another_vendor_are_made_legal() -> None:
    body = await sent("go", assistant(ToolUsePart("fc|1", "a.b", {})), user(ToolResultPart("fc|1", "1")))
    used, result = body["messages"][1]["content"][0], body["messages"][2]["content"][0]
    assert (used["id"], used["name"], result["tool_use_id"]) == ("fc_1", "a_b", "fc_1")


@pytest.mark.asyncio
async def test_reasoning_of_another_model_or_without_a_signature_is_not_sent() -> None:
    reasonings = ReasoningPart("1", "mine", ""), ReasoningPart("2", "theirs", "openai/gpt#sig")
    body = await sent("hi", assistant(*reasonings, "Yes."), "why?")
    assert bare(body["messages"][1]) == [{"type": "text", "text": "Yes."}]


@pytest.mark.asyncio
async def test_events_are_asked_for_uncompressed() -> None:
    with LoopbackAnthropic(says("ok")) as server:
        await answer("hi", at(server))
    assert server.requests[0].headers["accept-encoding"] == "identity"


# -- keys and connections


@pytest.mark.asyncio
async def test_the_key_for_anthropic_is_not_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with LoopbackAnthropic(says("ok")) as server:
        await answer(asking("hi", model="work/theirs"), at(server, key=None))
    assert KEY not in str(server.requests[0].headers)


@pytest.mark.asyncio
async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with LoopbackAnthropic(says("ok")) as server:
        assert text_of(await answer("hi", at(server))) == "ok"


@pytest.mark.asyncio
async def test_requests_share_a_connection() -> None:
    with LoopbackAnthropic(says("ok")) as server:
        await answer("one", at(server))
        await answer("two", at(server))
    assert [request.connection for request in server.requests] == [1, 1]


def test_each_event_loop_has_its_own_connection_and_closes_it() -> None:
    with LoopbackAnthropic(says("ok")) as server:
        asyncio.run(answer("one", at(server)))
        asyncio.run(answer("two", at(server)))
        gc.collect()  # an unclosed connection would warn here, and warnings are errors
    assert [request.connection for request in server.requests] == [1, 2]


@pytest.mark.asyncio
async def test_closing_the_stream_hangs_up_at_once() -> None:
    slow = script({"message": "", "reply": [{"text": "One."}, {"text": "Two.", "delay": 60}]})
    with LoopbackAnthropic(slow) as server:
        async with aclosing(PROVIDER.stream(MODEL, asking("hi"), at(server))) as stream:
            assert await anext(stream) == TextDelta("One.")
        assert await asyncio.to_thread(server.requests[0].left.wait, 5)


@pytest.mark.asyncio
async def test_cancelling_before_the_first_word_hangs_up_at_once() -> None:
    with LoopbackAnthropic(says("never"), [Fault(stall=0)]) as server:
        task = asyncio.create_task(answer("hi", at(server)))
        assert await asyncio.to_thread(server.asked.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.requests[0].left.wait, 5)


@pytest.mark.asyncio
async def test_a_complete_url_as_the_path_leads_to_no_other_server() -> None:
    with LoopbackAnthropic(says("mine")) as server, LoopbackAnthropic(says("stolen")) as other:
        with suppress(ProviderError):
            await answer("hi", at(server, completionUrlRelativePath=f"{other.url}/v1/messages"))
        assert not other.requests
