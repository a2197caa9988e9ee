"""What a model's server refuses does not stay in the chat. A real server on this machine refuses it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.engine.model.texts import NO_IMAGES, REFUSED_RESULT, UNANSWERED_FAILED, UNANSWERED_STOPPED
from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.protocol.content import ProgressContent
from jupyter_eca.protocol.context import ImageContext
from jupyter_eca.workspace.tool_result import ToolResult
from tests.host.faults.test_streams import PIXEL
from tests.host.faults.vendor import Fault, shows, vendor
from tests.plugins.providers.ask import script
from tests.support.host_and_client import answer, outcomes, said
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.anthropic_server import LoopbackAnthropic

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}
LOOKS = script(
    {"message": "look", "times": 1, "reply": [{"tool": "see", "arguments": {}}]},
    {"result": "", "reply": [{"text": "I see."}]},
    {"message": "", "reply": [{"text": "Hello."}]},
)
TOO_LONG = Fault(400, "prompt is too long: 250000 tokens > 200000 maximum")
REFUSALS = [
    Fault(400, "Output blocked by content filtering policy"),
    TOO_LONG,
    Fault(401, "invalid x-api-key"),
    Fault(403, "Your account may not use this model"),
    Fault(422, "Unprocessable"),
]


@tool(reads=True)
async def see(context: ToolContext) -> ToolResult:  # noqa: ARG001
    """Look at something."""
    return ToolResult("A picture of the forbidden thing.", images=(ImagePart("image/png", PIXEL),))


def sent(server: LoopbackAnthropic, request: int = -1) -> str:
    return str(server.requests[request].body["messages"])


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_refused_prompt_is_not_sent_again_and_the_chat_goes_on(tmp_path: Path, refusal: Fault) -> None:
    async with vendor(tmp_path, [refusal]) as (table, server):
        client = await table.client()
        received = await answer(client, "the forbidden words")
        assert outcomes(received) == ["failed"]
        assert "Your message is not sent again" in said(received, "system")
        received = await answer(client, "a harmless question")
        assert (said(received), outcomes(received)) == ("Hello.", ["completed"])
        assert "forbidden" not in sent(server)


async def test_a_refused_prompt_is_not_sent_after_a_restart_either(tmp_path: Path) -> None:
    async with vendor(tmp_path, [None, REFUSALS[0]]) as (table, _):
        client = await table.client()
        await answer(client, "one")
        await answer(client, "the forbidden words")
        before = (await table.host.turns.draft("chat")).messages
    async with vendor(tmp_path) as (table, server):
        assert (await table.host.turns.draft("chat")).messages == before
        await answer(await table.client(), "two")
        assert "forbidden" not in sent(server)
        assert "one" in sent(server)


async def test_a_refused_result_of_a_tool_is_left_out_and_the_chat_goes_on(tmp_path: Path) -> None:
    async with vendor(tmp_path, [None, REFUSALS[0]], LOOKS, **ALLOWED) as (table, server):
        table.host.toolbox.set_client_tools("chat", (see,))
        client = await table.client()
        assert outcomes(await answer(client, "look")) == ["failed"]
        received = await answer(client, "a harmless question")
        assert (said(received), outcomes(received)) == ("Hello.", ["completed"])
        assert "forbidden" not in sent(server)
        assert REFUSED_RESULT in sent(server)


async def test_a_key_that_expires_in_mid_turn_costs_no_result(tmp_path: Path) -> None:
    async with vendor(tmp_path, [None, Fault(401, "expired")], LOOKS, **ALLOWED) as (table, server):
        table.host.toolbox.set_client_tools("chat", (see,))
        client = await table.client()
        assert outcomes(await answer(client, "look")) == ["failed"]
        await answer(client, "go on")
        assert "A picture of the forbidden thing." in sent(server)


async def test_an_image_of_a_tool_that_is_refused_is_left_out_and_the_turn_goes_on(tmp_path: Path) -> None:
    refusal = Fault(400, "messages.2.content.1.image: Could not process image")
    async with vendor(tmp_path, [None, refusal], LOOKS, **ALLOWED) as (table, server):
        table.host.toolbox.set_client_tools("chat", (see,))
        received = await answer(await table.client(), "look")
        assert outcomes(received) == ["completed"]
        assert "refused an image or a document" in said(received, "system")
        assert ("'image'" in sent(server), NO_IMAGES in sent(server)) == (False, True)
        assert "A picture of the forbidden thing." in sent(server)


async def test_an_image_that_the_model_has_answered_stays_when_a_newer_one_is_refused(tmp_path: Path) -> None:
    refusal = Fault(400, "messages.2.content.1.image: Could not process image")
    async with vendor(tmp_path, [None, refusal]) as (table, server):
        client, picture = await table.client(), ImageContext(media_type="image/png", base64=PIXEL)
        await shows(client, "What is this?", picture)
        assert outcomes(await shows(client, "And this?", picture)) == ["completed"]
        assert [sent(server, number).count("'image'") for number in range(3)] == [1, 2, 1]


async def test_a_server_that_refuses_every_image_ends_in_an_answer_without_any(tmp_path: Path) -> None:
    refusal = Fault(400, "this model does not support image input")
    async with vendor(tmp_path, [None, refusal, refusal]) as (table, server):
        client, picture = await table.client(), ImageContext(media_type="image/png", base64=PIXEL)
        await shows(client, "What is this?", picture)
        assert outcomes(await shows(client, "And this?", picture)) == ["completed"]
        assert "'image'" not in sent(server)


async def test_a_prompt_that_met_a_passing_failure_is_sent_again_with_a_mark(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(529, "busy")], retry=False) as (table, server):
        client = await table.client()
        assert outcomes(await answer(client, "my question")) == ["failed"]
        await answer(client, "try again")
        (message,) = server.requests[-1].body["messages"]
        assert [block["text"] for block in message["content"]] == ["my question", UNANSWERED_FAILED, "try again"]


async def test_a_prompt_that_was_stopped_before_the_first_word_is_marked(tmp_path: Path) -> None:
    slow = script(
        {"message": "wrong", "reply": [{"text": "late", "delay": 60}]}, {"message": "", "reply": [{"text": "Hello."}]}
    )
    async with vendor(tmp_path, script=slow) as (table, server):
        client = await table.client()
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "the wrong question"):
                if item.content == ProgressContent(state="running", text="Waiting for the model"):
                    await client.stop("chat")
        await answer(client, "the right question")
        (message,) = server.requests[-1].body["messages"]
        texts = [block["text"] for block in message["content"]]
        assert texts == ["the wrong question", UNANSWERED_STOPPED, "the right question"]
