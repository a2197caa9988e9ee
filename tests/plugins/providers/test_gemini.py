"""Gemini, at Google's own compatible endpoint: what it signs must come back, or it refuses the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.request import ToolResultPart, ToolUsePart
from jupyter_eca.plugins.providers.completions.request import UNSIGNED
from jupyter_eca.plugins.providers.openai_chat import PROVIDER
from jupyter_eca.transport.eca_client import CallDecision
from tests.plugins.providers.ask import KEY, asking, assistant, at, user
from tests.plugins.providers.ask import answer as ask
from tests.support.host_and_client import answer, desk, outcomes
from tests.support.openai_server import LoopbackOpenAI, Stream, recording

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = pytest.mark.asyncio

SIGNED = {"google": {"thought_signature": "c2ln"}}
LOOK = {"name": "directory_tree", "arguments": '{"path": "."}'}
CHUNKS: tuple[Any, ...] = (
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "", "function": LOOK, "extra_content": SIGNED}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 1, "id": "", "function": LOOK}]}}]},
    {"choices": [{"delta": {"content": ""}, "finish_reason": "tool_calls"}]},
)
CALLS = Stream(CHUNKS, "[DONE]")
HELLO = recording("chat", "text_comes_in_pieces_and_usage_after_it")[0]


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def signatures(body: dict[str, Any]) -> list[Any]:
    return [call.get("extra_content") for one in body["messages"] for call in one.get("tool_calls", ())]


@pytest.mark.usefixtures("sdk")
async def test_a_signature_goes_back_with_its_call_in_every_later_request_and_after_a_restart(tmp_path: Path) -> None:
    with LoopbackOpenAI([CALLS, HELLO]) as server:
        settings: dict[str, Any] = {"google": {"url": server.url, "key": KEY}}
        for message in ("look", "again"):
            async with desk(tmp_path, [], providers=settings, defaultModel="google/gemini-3.8-flash") as table:
                assert outcomes(await answer(await table.client(), message, yes)) == ["completed"]
        assert [signatures(body) for body in server.asked_for] == [[], [SIGNED, None], [SIGNED, None]]


@pytest.mark.parametrize(("model", "extra"), [("gemini-3.8-flash", UNSIGNED), ("gemini-2.5-pro", None), ("m", None)])
async def test_a_call_that_another_model_made_is_said_to_be_unsigned(model: str, extra: str | None) -> None:
    call = ToolUsePart("a", "run_code", {}, signature="google/other#{}")
    with LoopbackOpenAI([HELLO]) as server:
        request = asking("hi", assistant(call), user(ToolResultPart("a", "1")), model=f"google/{model}")
        await ask(request, at(server), PROVIDER)
    assert signatures(server.asked_for[0]) == [extra and {"google": {"thought_signature": extra}}]
