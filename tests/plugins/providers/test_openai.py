"""OpenAI's two APIs as a provider: who is spoken to, with which key and words, and what a refusal means."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import traceback
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import ReasoningDelta, TextDelta, UsageDelta
from jupyter_eca.engine.model.request import ImagePart, ReasoningPart, ToolResultPart, ToolUsePart
from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers import openai, openai_chat
from tests.plugins.providers.ask import KEY, RUN_CODE, answer, asking, assistant, at, text_of, user
from tests.support.anthropic_server import Fault
from tests.support.openai_server import LoopbackOpenAI, Stream, recording, refusal

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import ChatMessage
    from jupyter_eca.plugins.providers.openai import OpenAIProvider

CHAT, RESPONSES = openai_chat.PROVIDER, openai.PROVIDER
HELLO = {CHAT.name: recording("chat", "text_comes_in_pieces_and_usage_after_it")[0]}
HELLO[RESPONSES.name] = recording("responses", "text_comes_in_pieces")[0]
PNG = ImagePart("image/png", "aW1hZ2U=")

both = pytest.mark.parametrize("provider", [CHAT, RESPONSES], ids=lambda provider: provider.name)


async def sent(provider: OpenAIProvider, *messages: ChatMessage | str, model: str = "house/m", **more: Any) -> Any:
    with LoopbackOpenAI([HELLO[provider.name]]) as server:
        await answer(asking(*messages, model=model), at(server, **more), provider)
    return server.requests[0].body


async def failure_of(provider: OpenAIProvider, fault: Fault, **more: Any) -> ProviderError:
    with LoopbackOpenAI([HELLO[provider.name]], [fault]) as server, pytest.raises(ProviderError) as caught:
        await answer(asking("hi", model="house/m"), at(server, **more), provider)
    return caught.value


def test_importing_the_providers_does_not_import_the_sdk() -> None:
    heavy = "{'openai', 'httpx2', 'genai_prices'}"
    code = f"import sys, jupyter_eca.plugins.providers.openai_chat; print({heavy} & set(sys.modules))"
    said = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=30)  # our own code
    assert said.strip() == "set()"


# -- where requests go


@pytest.mark.parametrize(
    ("url", "path", "asked"),
    [
        ("", None, "/chat/completions"),
        ("/v1", None, "/v1/chat/completions"),
        ("/api/v1/", None, "/api/v1/chat/completions"),
        ("/v1beta/openai", None, "/v1beta/openai/chat/completions"),
        ("", "/openai/chat?api-version=2025-04-01", "/openai/chat?api-version=2025-04-01"),
        ("/base", "chat", "/base/chat"),
    ],
)
@pytest.mark.asyncio
async def test_the_address_is_the_url_and_the_path_of_the_api(url: str, path: str | None, asked: str) -> None:
    with LoopbackOpenAI([HELLO[CHAT.name]]) as server:
        settings = at(server, url=server.url + url, completionUrlRelativePath=path)
        assert text_of(await answer(asking("hi", model="house/m"), settings, CHAT)) == "Hello."
    assert server.requests[0].path == asked


@pytest.mark.asyncio
async def test_google_is_asked_for_its_thoughts_and_they_are_reasoning() -> None:
    pieces = ("<tho", "ught>Hm", ".</thought>", "Hello.")
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    google = CHAT.presets["google"].settings
    with LoopbackOpenAI([Stream(tuple(chunks), "[DONE]", 0)]) as server:
        url = f"{server.url}/v1beta/openai"
        settings = google.model_copy(update={"url": url, "key": SecretStr("k")})
        deltas = await answer(asking("hi", model="google/gemini-3.8-flash"), settings, CHAT)
    assert text_of(deltas) == "Hello."
    assert "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)) == "Hm."
    assert server.requests[0].body["extra_body"] == {"google": {"thinking_config": {"include_thoughts": True}}}


@pytest.mark.asyncio
async def test_responses_have_a_path_of_their_own() -> None:
    with LoopbackOpenAI([HELLO[RESPONSES.name]]) as server:
        assert text_of(await answer(asking("hi", model="house/m"), at(server), RESPONSES)) == "Hello."
    assert server.requests[0].path == "/v1/responses"


@both
@pytest.mark.parametrize("status", [302, 307, 308])
@pytest.mark.asyncio
async def test_a_redirect_leads_neither_the_key_nor_the_chat_to_another_address(
    provider: OpenAIProvider, status: int
) -> None:
    with LoopbackOpenAI([HELLO[provider.name]]) as other:
        error = await failure_of(provider, Fault(status, headers={"Location": f"{other.url}/v1/responses"}))
    assert other.requests == []
    assert f"leads elsewhere (status {status}), which is not followed: {other.url}/v1/responses." in str(error)


@both
@pytest.mark.asyncio
async def test_headers_and_payload_are_added_and_null_takes_away(provider: OpenAIProvider) -> None:
    models = {"m": {"modelName": "real", "extraPayload": {"b": 2}, "extraHeaders": {"X-Two": "2"}}}
    with LoopbackOpenAI([HELLO[provider.name]]) as server:
        more: dict[str, Any] = {"extraPayload": {"a": 1, "b": 1, "tools": None}, "extraHeaders": {"X-One": "1"}}
        await answer(asking("hi", model="house/m"), at(server, models=models, **more), provider)
    asked = server.requests[0]
    assert (asked.headers["x-one"], asked.headers["x-two"]) == ("1", "2")
    assert (asked.body["model"], asked.body["a"], asked.body["b"], "tools" in asked.body) == ("real", 1, 2, False)
    assert asked.headers["accept-encoding"] == "identity"


@pytest.mark.asyncio
async def test_no_key_of_the_environment_is_sent_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    with LoopbackOpenAI([HELLO[CHAT.name]]) as server:
        await answer(asking("hi", model="house/m"), at(server, key=None), CHAT)
    assert KEY not in str(server.requests[0].headers)


@pytest.mark.asyncio
async def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with LoopbackOpenAI([HELLO[CHAT.name]], models=["local"]) as server:
        assert text_of(await answer(asking("hi", model="house/m"), at(server), CHAT)) == "Hello."
        assert await CHAT.models(at(server)) == ("local",)


@both
def test_requests_share_a_connection_that_ends_with_its_event_loop(provider: OpenAIProvider) -> None:
    async def twice(settings: ProviderConfig) -> None:
        for _ in range(2):
            await answer(asking("hi", model="house/m"), settings, provider)

    with LoopbackOpenAI([HELLO[provider.name]]) as server:
        asyncio.run(twice(at(server)))
        asyncio.run(twice(at(server)))
        gc.collect()  # an unclosed connection would warn here, and warnings are errors
    assert [request.connection for request in server.requests] == [1, 1, 2, 2]


@pytest.mark.asyncio
async def test_closing_the_stream_hangs_up_at_once() -> None:
    with LoopbackOpenAI([HELLO[CHAT.name]], [Fault(stall=400)]) as server:
        async with aclosing(CHAT.stream("m", asking("hi", model="house/m"), at(server))) as stream:
            assert await anext(stream) == TextDelta("Hel")
        assert await asyncio.to_thread(server.requests[0].left.wait, 5)


# -- which models there are


@pytest.mark.asyncio
async def test_a_server_on_this_machine_lists_its_models_after_the_configured_ones() -> None:
    with LoopbackOpenAI([], models=["a", "b"]) as server:
        models = await CHAT.models(at(server, models={"b": {}}))
        assert models == ("b", "a")
        assert await CHAT.models(at(server, models={"b": {}}, fetchModels=False)) == ("b",)


@pytest.mark.asyncio
async def test_another_machine_is_not_asked_for_its_models() -> None:
    settings = ProviderConfig.model_validate({"url": "http://nowhere.invalid", "models": {"mine": {}}})
    assert await CHAT.models(settings) == ("mine",)


@pytest.mark.asyncio
async def test_there_are_no_models_without_a_key_that_is_needed_or_without_an_address() -> None:
    settings = ProviderConfig.model_validate(
        {"url": "http://nowhere.invalid", "models": {"m": {}}, "requiresAuth": True}
    )
    assert await CHAT.models(settings) == ()
    assert await CHAT.models(ProviderConfig.model_validate({"models": {"m": {}}})) == ()


# -- what is said


@pytest.mark.asyncio
async def test_a_turn_with_calls_as_chat_completions() -> None:
    use = ToolUsePart("toolu_long-id-of-another-vendor", "run_code", {"code": "1"})
    lost = ToolUsePart("abcdefgh1", "odd name!", {})
    result = ToolResultPart(use.id, "done")
    body = await sent(CHAT, "hi", assistant("I run.", use, lost), user(result, "What is it?", PNG))
    system, first, said, one, two, last = body["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert first == {"role": "user", "content": "hi"}
    short = said["tool_calls"][0]["id"]
    assert len(short) == 9
    assert said["tool_calls"][1]["id"] == "abcdefgh1"
    assert [call["function"] for call in said["tool_calls"]] == [
        {"name": "run_code", "arguments": '{"code": "1"}'},
        {"name": "odd_name_", "arguments": "{}"},
    ]
    assert one == {"role": "tool", "tool_call_id": short, "content": "done"}
    assert (two["tool_call_id"], "did not finish" in two["content"]) == ("abcdefgh1", True)
    assert last["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,aW1hZ2U="}}
    assert body["tools"][0]["function"]["name"] == RUN_CODE.name
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


@pytest.mark.asyncio
async def test_a_turn_with_calls_as_responses() -> None:
    use = ToolUsePart("call_1", "run_code", {"code": "1"})
    thought = ReasoningPart("r", "Hm.", 'house/gpt-6#{"id": "rs_1", "encrypted_content": "opaque"}')
    reply = assistant(thought, "I run.", use)
    body = await sent(RESPONSES, "hi", reply, user(ToolResultPart("call_1", ""), PNG), model="house/gpt-6")
    first, reasoning, said, call, output, last = body["input"]
    assert first == {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    assert reasoning == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "opaque",
    }
    assert said == {"role": "assistant", "content": "I run."}
    assert (call["call_id"], call["arguments"]) == ("call_1", '{"code": "1"}')
    assert output == {"type": "function_call_output", "call_id": "call_1", "output": "(no output)"}
    assert last["content"][0]["image_url"] == "data:image/png;base64,aW1hZ2U="
    assert (body["store"], body["include"], body["instructions"]) == (
        False,
        ["reasoning.encrypted_content"],
        "Be brief.",
    )


@both
@pytest.mark.asyncio
async def test_thoughts_of_another_model_and_those_that_led_to_nothing_are_left_out(provider: OpenAIProvider) -> None:
    theirs = ReasoningPart("1", "theirs", "anthropic/claude#sig")
    ours = ReasoningPart("2", "ours", 'house/m#{"id": "rs_1", "encrypted_content": "opaque"}')
    body = await sent(provider, "hi", assistant(theirs, "Yes."), "and?", assistant(ours), "so?")
    assert "theirs" not in str(body)
    assert "opaque" not in str(body)


@pytest.mark.parametrize(("history", "kept"), [("all", ["old", "new"]), ("turn", ["new"]), ("off", [])])
@pytest.mark.asyncio
async def test_thoughts_go_back_in_the_field_that_they_came_in(history: str, kept: list[str]) -> None:
    def thinks(thought: str, id: str) -> ChatMessage:
        return assistant(ReasoningPart(id, thought, "house/m#reasoning_content"), ToolUsePart(id, "run_code", {}))

    talk = (
        "hi",
        thinks("old", "1"),
        user(ToolResultPart("1", "ok"), "more"),
        thinks("new", "2"),
        user(ToolResultPart("2", "")),
    )
    body = await sent(CHAT, *talk, models={"m": {"reasoningHistory": history}})
    said = [message["reasoning_content"] for message in body["messages"] if "reasoning_content" in message]
    assert said == kept


@both
@pytest.mark.asyncio
async def test_the_next_request_begins_with_the_last_one(provider: OpenAIProvider) -> None:
    use = ToolUsePart("call_1", "run_code", {"code": "1"})
    talk = ["hi", assistant("I run.", use), user(ToolResultPart("call_1", "ok")), assistant("So."), "and?"]
    one, two = [await sent(provider, *talk[:count]) for count in (3, 5)]
    key = "messages" if provider is CHAT else "input"
    assert two[key][: len(one[key])] == one[key]
    assert {**one, key: []} == {**two, key: []}


# -- what goes wrong


@pytest.mark.parametrize(
    ("fault", "kind", "words", "retryable"),
    [
        (refusal(400, "tools.0: too odd."), FailureKind.OTHER, "refused the request: tools.0: too odd", False),
        (refusal(400, "x", "context_length_exceeded"), FailureKind.CONTEXT, "no longer fits", False),
        (refusal(400, "Invalid image data"), FailureKind.IMAGE, "Invalid image data", False),
        (
            refusal(401, "no", "invalid_api_key"),
            FailureKind.AUTH,
            "refused the key. Check `providers.house.key` or HOUSE_API_KEY",
            False,
        ),
        (refusal(404, "no", "model_not_found"), FailureKind.MODEL, "has no model 'm'", False),
        (refusal(429, "slow", "rate_limit_exceeded"), FailureKind.RATE_LIMITED, "Wait a little", True),
        (refusal(429, "pay", "insufficient_quota"), FailureKind.QUOTA, "wants to be paid: pay", False),
        (refusal(500, "oh"), FailureKind.OTHER, "status 500: oh", True),
        (refusal(503, "busy"), FailureKind.OVERLOADED, "busy", True),
        (Fault(502, "<html>Bad gateway", plain=True), FailureKind.OTHER, "status 502", True),
        (Fault(422, '{"detail": "extra fields"}', plain=True), FailureKind.OTHER, "extra fields", False),
        (Fault(200, "<html>Log in", plain=True), FailureKind.OTHER, "does not speak the OpenAI", False),
        (Fault(404, "404 page not found", plain=True), FailureKind.OTHER, "does not speak the OpenAI", False),
        (Fault(cut=0), FailureKind.PREMATURE, "broke off", True),
        (Fault(cut=150), FailureKind.PREMATURE, "broke off", True),
    ],
)
@both
@pytest.mark.asyncio
async def test_a_failure_has_a_kind_and_says_what_to_do(
    provider: OpenAIProvider, fault: Fault, kind: FailureKind, words: str, retryable: bool
) -> None:
    error = await failure_of(provider, fault)
    assert words in str(error)
    assert (error.kind, error.retryable) == (kind, retryable)


@pytest.mark.asyncio
async def test_the_server_says_when_to_ask_again() -> None:
    limits = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6s"}
    assert (await failure_of(CHAT, refusal(429, "slow", **limits))).retry_after == 6


@pytest.mark.asyncio
async def test_a_stream_that_falls_silent_is_given_up() -> None:
    error = await failure_of(CHAT, Fault(stall=100), streamIdleTimeoutSeconds=0.2)
    assert "said nothing for 0.2 s" in str(error)
    assert error.retryable


@both
@pytest.mark.asyncio
async def test_the_key_is_in_no_error_even_if_the_server_repeats_it(provider: OpenAIProvider) -> None:
    error = await failure_of(provider, refusal(400, f"you sent {KEY}"))
    shown = "".join(traceback.format_exception(error)) + repr(error)
    assert "you sent …" in shown
    assert KEY not in shown


@pytest.mark.asyncio
async def test_without_an_address_or_a_needed_key_nothing_is_asked() -> None:
    with pytest.raises(ProviderError, match=r"Set `providers\.house\.url`"):
        await answer(asking("hi", model="house/m"), ProviderConfig(), CHAT)
    needs = ProviderConfig(url="http://nowhere.invalid", requires_auth=True)
    with pytest.raises(ProviderError, match=r"There is no key for OpenRouter\. Set OPENROUTER_API_KEY"):
        await answer(asking("hi", model="openrouter/m"), needs, CHAT)


@pytest.mark.asyncio
async def test_a_key_is_checked_by_listing_models() -> None:
    with LoopbackOpenAI([], key=KEY) as server:
        await CHAT.check(at(server))
        with pytest.raises(ProviderError) as caught:
            await CHAT.check(at(server, key="wrong"))
    assert caught.value.status == 401


# -- what it costs


@pytest.mark.asyncio
async def test_a_server_of_ones_own_has_no_price_and_its_own_word_for_it_comes_first() -> None:
    plain: dict[str, Any] = {
        "choices": [{"delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    with LoopbackOpenAI([Stream((plain,), "[DONE]")]) as server:
        (usage,) = await answer(asking("hi", model="house/m"), at(server), CHAT)
    assert usage == UsageDelta(3, 2)


# -- pictures of results


RAN = (
    "hi",
    assistant(ToolUsePart("abcdefgh1", "run_code", {})),
    user(ToolResultPart("abcdefgh1", "Ran.", images=(replace(PNG, name="picture 1"),))),
)
URL = "data:image/png;base64,aW1hZ2U="


@pytest.mark.asyncio
async def test_the_responses_api_gets_a_picture_in_the_result_behind_its_name() -> None:
    *_, output = (await sent(RESPONSES, *RAN))["input"]
    assert output["output"] == [
        {"type": "input_text", "text": "Ran."},
        {"type": "input_text", "text": "[picture 1]"},
        {"type": "input_image", "image_url": URL, "detail": "auto"},
    ]


@pytest.mark.asyncio
async def test_chat_completions_gets_it_behind_the_results_where_it_can_be() -> None:
    *_, result, following = (await sent(CHAT, *RAN))["messages"]
    assert result == {"role": "tool", "tool_call_id": "abcdefgh1", "content": "Ran."}
    assert following["content"] == [
        {"type": "text", "text": "[picture 1]"},
        {"type": "image_url", "image_url": {"url": URL}},
    ]


@pytest.mark.parametrize("provider", [CHAT, RESPONSES], ids=lambda provider: provider.name)
@pytest.mark.asyncio
async def test_a_model_that_cannot_see_is_told_of_the_picture(provider: OpenAIProvider) -> None:
    body = json.dumps(await sent(provider, *RAN, model="house/deepseek-chat"))
    assert "You cannot see images" in body
    assert "aW1hZ2U=" not in body
