"""The same conversation over each of OpenAI's APIs: from the panel's words to the bytes of a server, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import ReasonTextContent, UsageContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.plugins.providers.ask import KEY
from tests.support.host_and_client import answer, desk, outcomes, said, tool_states
from tests.support.openai_server import LoopbackOpenAI, Stream, recording, refusal

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

HELLO = {
    "openai-chat": recording("chat", "text_comes_in_pieces_and_usage_after_it")[0],
    "openai-responses": recording("responses", "text_comes_in_pieces")[0],
}
LOOK = {"name": "directory_tree", "arguments": '{"path": "."}'}


def _thinks_and_calls() -> dict[str, Stream]:
    call = {"index": 0, "id": "", "function": LOOK}
    deltas: list[Any] = [{"reasoning_content": "Hm."}, {"content": "I look."}]
    deltas.append({"tool_calls": [call, {**call, "index": 1}]})
    chat: list[Any] = [{"choices": [{"delta": delta}]} for delta in deltas]
    items: list[Any] = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"},
        {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "", **LOOK},
        {"type": "function_call", "call_id": "", **LOOK},
    ]
    events = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
    thought = {"type": "response.reasoning_summary_text.delta", "delta": "Hm."}
    end: dict[str, Any] = {"type": "response.completed", "response": {}}
    finish: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    return {
        "openai-chat": Stream((*chat, finish), "[DONE]"),
        "openai-responses": Stream((thought, *events, end)),
    }


CALLS = _thinks_and_calls()
each = pytest.mark.parametrize("api", HELLO)


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


@each
async def test_a_turn_with_thoughts_and_tools(tmp_path: Path, api: str) -> None:
    with LoopbackOpenAI([CALLS[api], HELLO[api]]) as server:
        house: dict[str, Any] = {"house": {"api": api, "url": server.url, "key": KEY, "models": {"gpt-6": {}}}}
        async with desk(tmp_path, [], providers=house, defaultModel="house/gpt-6") as table:
            client = await table.client()
            received = await answer(client, "look", yes)
            await answer(client, "again")
    assert (said(received), outcomes(received)) == ("I look.Hello.", ["completed"])
    assert [r.content.text for r in received if isinstance(r.content, ReasonTextContent)] == ["Hm."]
    assert tool_states(received)[-1] == "toolCalled"
    assert [r.content.message_input_tokens for r in received if isinstance(r.content, UsageContent)][-1] == 12
    first, second, third = (body["messages" if api == "openai-chat" else "input"] for body in server.asked_for)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    # Given back to the model that had the thoughts: in the field they came in, or as they were encrypted.
    assert ("'reasoning_content': 'Hm.'" if api == "openai-chat" else "'encrypted_content': 'opaque'") in str(third)


@each
async def test_a_limit_is_waited_for(tmp_path: Path, api: str) -> None:
    faults = [refusal(429, "slow", "rate_limit_exceeded", **{"retry-after-ms": "1"})]
    with LoopbackOpenAI([HELLO[api]], faults) as server:
        house = {"house": {"api": api, "url": server.url, "key": KEY}}
        async with desk(tmp_path, [], providers=house, defaultModel="house/m") as table:
            received = await answer(await table.client(), "hi")
    assert (said(received), outcomes(received), len(server.asked_for)) == ("Hello.", ["completed"], 2)
