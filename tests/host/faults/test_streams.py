"""What went wrong elsewhere between a server and its models must not go wrong here: ECA 6.1, classes 1 to 15."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.chats import ChatOpenParams, ChatOpenResult
from jupyter_eca.protocol.content import ToolCalledContent, UsageContent
from jupyter_eca.protocol.context import FileContext, ImageContext, TextContext
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.faults.vendor import Fault, events, shows, vendor
from tests.plugins.providers.ask import script
from tests.support.host_and_client import answer, outcomes, said, tool_states

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

TEXT = {"type": "text", "text": "Let me see."}
# The smallest PNG there is: one white pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4////fwAJ+wP9KobjigAAAABJRU5ErkJggg=="
PICTURE = ImageContext(media_type="image/png", base64=PIXEL)


def use(id: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "directory_tree", "input": {"path": ".", **input}}


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "max_tokens", "", "something new"])
async def test_no_call_is_dropped_because_the_end_of_its_reply_has_another_name(tmp_path: Path, reason: str) -> None:
    async with vendor(tmp_path, [Fault(events=events(TEXT, use("toolu_1"), reason=reason))]) as (table, _):
        received = await answer(await table.client(), "look", yes)
        assert tool_states(received)[-1] == "toolCalled"
        assert outcomes(received) == ["completed"]
        assert said(received).endswith("Hello.")


async def test_no_call_is_lost_for_an_empty_or_repeated_id(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(events=events(use("same"), use("same"), use("")))]) as (table, server):
        received = await answer(await table.client(), "look", yes)
        called = [r.content for r in received if isinstance(r.content, ToolCalledContent)]
        assert len({one.id for one in called}) == len(called) == 3
        results = server.requests[-1].body["messages"][-1]["content"]
        assert len({one["tool_use_id"] for one in results}) == 3


@pytest.mark.parametrize(
    "fault",
    [
        Fault(
            events=(
                *events(TEXT, reason=None),
                {"type": "error", "error": {"type": "overloaded_error", "message": "x"}},
            )
        ),
        Fault(events=events(TEXT, reason=None)),
        Fault(events=events(TEXT), cut=200),
        Fault(status=500, said="boom"),
        Fault(status=502, said="<html>Bad gateway</html>", plain=True),
        Fault(said="<html>Welcome</html>", plain=True),
    ],
)
async def test_a_stream_that_ends_badly_never_leaves_a_chat_active(tmp_path: Path, fault: Fault) -> None:
    async with vendor(tmp_path, [fault], retry=False) as (table, _):
        client = await table.client()
        received = await answer(client, "hi")
        assert outcomes(received) == ["failed"]
        assert said(received, "system")
        assert said(await answer(client, "again")) == "Hello."


async def test_a_connection_that_died_between_two_requests_fails_neither(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(cut=1_000_000)]) as (table, server):
        client = await table.client()
        for message in ("one", "two"):
            received = await answer(client, message)
            assert (said(received), outcomes(received)) == ("Hello.", ["completed"])
        assert [asked.connection for asked in server.requests] == [1, 2]


async def test_a_refusal_to_pay_is_said_once_and_not_asked_about_again(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(402, "Your credit is used up.")]) as (table, server):
        received = await answer(await table.client(), "hi")
        assert "Your credit is used up" in said(received, "system")
        assert len(server.requests) == 1


async def test_a_failure_after_a_call_does_not_run_the_call_again(tmp_path: Path) -> None:
    story = script(
        {"message": "look", "reply": [{"tool": "directory_tree", "arguments": {"path": "."}}]},
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "", "reply": [{"text": "Hello."}]},
    )
    async with vendor(tmp_path, [None, Fault(529, "busy")], story, retry=False) as (table, server):
        client = await table.client()
        received = await answer(client, "look", yes)
        assert (tool_states(received)[-1], outcomes(received)) == ("toolCalled", ["failed"])
        assert tool_states(await answer(client, "go on")) == []
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("reason", "words"),
    [("refusal", "declined to answer"), ("max_tokens", "cut off"), ("model_context_window_exceeded", "cut off")],
)
async def test_no_turn_ends_early_without_a_word(tmp_path: Path, reason: str, words: str) -> None:
    async with vendor(tmp_path, [Fault(events=events(TEXT, reason=reason))]) as (table, _):
        assert words in said(await answer(await table.client(), "hi"), "system")


async def test_an_image_reaches_the_model(tmp_path: Path) -> None:
    async with vendor(tmp_path) as (table, server):
        await shows(await table.client(), "What is this?", PICTURE)
        (message,) = server.requests[-1].body["messages"]
        (image,) = [block for block in message["content"] if block["type"] == "image"]
        assert image["source"]["media_type"] == "image/png"
        assert base64.b64decode(image["source"]["data"]).startswith(b"\x89PNG")


async def test_an_image_that_is_refused_does_not_poison_the_requests_after_it(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(400, "messages.0.content.1.image: Could not process image")]) as (table, server):
        client = await table.client()
        received = await shows(client, "What is this?", PICTURE)
        assert (said(received), outcomes(received)) == ("Hello.", ["completed"])
        assert "refused an image" in said(received, "system")
        received = await answer(client, "Then tell me a joke")
        assert (said(received), outcomes(received)) == ("Hello.", ["completed"])
        first, second, third = (str(asked.body["messages"]) for asked in server.requests)
        assert ("'image'" in first, "'image'" in second, "'image'" in third) == (True, False, False)
        assert "no longer sent" in second


async def test_a_refused_image_is_not_sent_again_after_a_restart_either(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(400, "Could not process image")]) as (table, _):
        await shows(await table.client(), "What is this?", PICTURE)
    async with vendor(tmp_path) as (table, server):
        await answer(await table.client(), "And now?")
        assert "'image'" not in str(server.requests[-1].body["messages"])


REFUSALS = (
    Fault(400, "messages.0.content.1.document.source.base64.data: The PDF specified was not valid."),
    Fault(400, "The PDF specified is password protected."),
    Fault(413, "A maximum of 100 PDF pages may be provided."),
)


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_document_that_is_refused_is_not_sent_again_nor_after_a_restart(tmp_path: Path, refusal: Fault) -> None:
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7 and no more")
    paper = FileContext(path="paper.pdf")
    async with vendor(tmp_path, [refusal]) as (table, server):
        client = await table.client()
        received = await shows(client, "What does it say?", paper)
        assert (said(received), outcomes(received)) == ("Hello.", ["completed"])
        first, second = (str(asked.body["messages"]) for asked in server.requests)
        assert ("'document'" in first, "'document'" in second) == (True, False)
        assert "The document paper.pdf stood here" in second
    async with vendor(tmp_path) as (table, server):
        await answer(await table.client(), "And now?")
        assert "'document'" not in str(server.requests[-1].body["messages"])


async def test_a_document_outlives_a_failure_that_is_none_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7 and no more")
    async with vendor(tmp_path, [Fault(529, "busy")], retry=False) as (table, server):
        client = await table.client()
        await shows(client, "What does it say?", FileContext(path="paper.pdf"))
        await answer(client, "Again")
        assert "'document'" in str(server.requests[-1].body["messages"])


async def test_an_image_outlives_a_failure_that_is_none_of_its_own(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(529, "busy")], retry=False) as (table, server):
        client = await table.client()
        await shows(client, "What is this?", PICTURE)
        await answer(client, "Again")
        assert "'image'" in str(server.requests[-1].body["messages"])


async def test_text_that_was_pointed_at_reaches_the_model_and_not_the_reader(tmp_path: Path) -> None:
    async with vendor(tmp_path) as (table, server):
        received = await shows(await table.client(), "Explain", TextContext(label="log", content="panic at 42"))
        assert "panic at 42" in str(server.requests[-1].body["messages"])
        assert not [r for r in received if "panic at 42" in str(r.content)]


async def test_another_model_in_mid_chat_is_not_sent_what_only_the_first_can_read(tmp_path: Path) -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "for-one-model"}
    async with vendor(tmp_path, [Fault(events=events(thinking, TEXT))]) as (table, server):
        client = await table.client()
        await answer(client, "one")
        await answer(client, "two", model="anthropic/claude-opus-5-5")
        await answer(client, "three", model="anthropic/claude-sonnet-5-5")
        second, third = (str(asked.body["messages"]) for asked in server.requests[1:])
        assert ("for-one-model" in second, "for-one-model" in third) == (False, True)


async def test_usage_without_numbers_breaks_nothing(tmp_path: Path) -> None:
    odd = tuple({**event, "usage": None} if "usage" in event else event for event in events(TEXT))
    odd = ({"type": "message_start", "message": {"usage": {"input_tokens": None}}}, *odd[1:])
    async with vendor(tmp_path, [Fault(events=odd)]) as (table, _):
        received = await answer(await table.client(), "hi")
        assert outcomes(received) == ["completed"]
        (usage,) = [r.content for r in received if isinstance(r.content, UsageContent)]
        assert usage.session_tokens == 0


async def test_another_key_is_used_from_the_next_request_on(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(401, "expired")]) as (table, server):
        client = await table.client()
        assert "key" in said(await answer(client, "one"), "system")
        providers = {"anthropic": {"url": server.url, "key": "sk-ant-renewed"}}
        fresh = table.host.config.model_validate(
            {"providers": providers, "defaultModel": "anthropic/claude-sonnet-5-5"}
        )
        await table.host.configure(fresh)
        assert said(await answer(client, "two")) == "Hello."
        assert server.requests[-1].key == "sk-ant-renewed"


async def test_a_provider_whose_models_cannot_be_listed_still_answers(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(500, "no list")]) as (table, _):
        client = await table.client()
        await answer(client, "one")
        opened = await client.request("chat/open", ChatOpenParams(chat_id="chat"), ChatOpenResult)
        assert opened.selection is not None
        assert "high" in opened.selection.variants
