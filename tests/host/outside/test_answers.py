"""What an outside agent says, as a client sees it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.content import (
    ImageContent,
    MetadataContent,
    ReasonTextContent,
    TaskDetails,
    TextContent,
    ToolCalledContent,
    UsageContent,
)
from tests.host.outside.talking import talking
from tests.support.host_and_client import answer, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio


def usages(received: list[ChatContentReceivedParams]) -> list[UsageContent]:
    return [item.content for item in received if isinstance(item.content, UsageContent)]


async def test_a_prompt_goes_to_the_agent_and_its_answer_comes_back(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("say Hello", "say  there")
        assert said(received) == "Hello there"
        assert outcomes(received) == ["completed"]


async def test_text_and_thoughts_come_in_order(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("interleave")
        pieces = [
            item.content.text
            for item in received
            if isinstance(item.content, TextContent | ReasonTextContent) and item.role == "assistant"
        ]
        assert "".join(pieces).split() == [f"{who}{n}" for n in range(5) for who in "ta"]


async def test_two_thousand_pieces_come_in_order(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("many 2000")
        assert said(received).split() == [str(number) for number in range(2000)]


async def test_two_messages_of_the_agent_are_two_paragraphs(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert said(await talk.ask("messages")) == "One.\n\nTwo."


async def test_an_image_is_shown(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("picture")
        assert [item.content.media_type for item in received if isinstance(item.content, ImageContent)] == ["image/png"]


async def test_a_plan_is_shown_as_tasks(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("plan")
        ended = [item.content for item in received if isinstance(item.content, ToolCalledContent)]
        details = ended[0].details
        assert isinstance(details, TaskDetails)
        assert [(task.subject, task.status.value) for task in details.tasks] == [
            ("Load", "done"),
            ("Draw", "in-progress"),
            ("Save", "pending"),
        ]


async def test_the_cost_of_a_turn_is_the_difference_of_what_the_agent_adds_up(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        first = usages(await talk.ask("usage USD", "usage USD"))
        second = usages(await talk.ask("usage USD"))
        assert [usage.last_message_cost for usage in (*first, *second)] == ["0.5000", "0.2500"]
        assert second[0].session_cost == "0.7500"
        assert second[0].session_tokens == 1000
        assert second[0].limit is not None
        assert second[0].limit.context == 100_000


@pytest.mark.parametrize("currency", ["EUR", ""])
async def test_a_cost_that_is_not_in_dollars_is_not_shown_as_dollars(tmp_path: Path, currency: str) -> None:
    async with talking(tmp_path) as talk:
        shown = usages(await talk.ask(f"usage {currency}"))
        assert [(usage.last_message_cost, usage.session_cost) for usage in shown] == [(None, None)]


async def test_the_title_of_the_agent_is_the_title_of_the_chat(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("title Merge the tables")
        titles = [item.content.title for item in received if isinstance(item.content, MetadataContent)]
        assert titles[-1] == "Merge the tables"


async def test_an_answer_that_was_cut_off_says_so(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("say Half", "stop max_tokens")
        assert "cut off" in said(received, "system")
        assert outcomes(received) == ["completed"]


async def test_what_no_client_knows_does_no_harm(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("unknown")
        assert said(received).endswith("code -32601")
        assert outcomes(received) == ["completed"]


async def test_a_line_of_twenty_megabytes_passes(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert len(said(await talk.ask("line 20000000"))) == 20_000_000


@pytest.mark.nightly
async def test_a_line_of_a_hundred_megabytes_is_dropped_with_a_message_and_the_session_goes_on(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("line 100000000", "say still here")
        assert said(received) == "still here"
        assert "dropped" in said(received, "system")
        assert said(await talk.ask("say again")) == "again"


async def test_the_agent_remembers_the_chat_so_it_gets_only_what_is_new(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say one")
        await talk.ask("say two")
        prompts = [frame["params"]["prompt"] for frame in talk.list_frames("client", "session/prompt")]
        assert [[block["text"] for block in prompt] for prompt in prompts] == [["DO: say one"], ["DO: say two"]]


async def test_a_prompt_that_was_refused_never_reaches_the_agent(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say one")
        refused = [
            item async for item in talk.client.ask("chat", "DO: say two", agent="fake", lock=AnswerLock(on=True))
        ]
        assert "cannot be locked" in said(refused, "system")
        await talk.ask("say three")
        prompts = [frame["params"]["prompt"] for frame in talk.list_frames("client", "session/prompt")]
        assert [[block["text"] for block in prompt] for prompt in prompts] == [["DO: say one"], ["DO: say three"]]


async def test_an_agent_that_begins_in_a_chat_with_a_history_gets_its_end(tmp_path: Path) -> None:
    rules = [{"message": "", "reply": [{"text": "By our own model."}]}]
    async with talking(tmp_path, rules=rules) as talk:
        await answer(talk.client, "An early question", agent="code")
        received = await answer(talk.client, "And now?", agent="fake")
        assert re.search(r"I got: .*An early question.*By our own model\..*And now\?", said(received), re.DOTALL)


async def test_our_own_model_reads_what_the_agent_has_said(tmp_path: Path) -> None:
    async with talking(tmp_path, rules=[{"message": "", "reply": [{"text": "ok"}]}]) as talk:
        await talk.ask("say The answer is 42")
        draft = await talk.host.turns.draft("chat", "What was it?")
        assert [message.role for message in draft.messages] == ["user", "assistant", "user"]
        assert draft.messages[1].text == "The answer is 42"


async def test_a_chat_is_there_again_after_a_restart(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say Hello")
    async with talking(tmp_path) as talk:
        events = await talk.host.chats.read_events("chat")
        assert "Hello" in [event.content.text for event in events if isinstance(event.content, TextContent)]


async def test_a_message_that_is_sent_meanwhile_is_the_next_prompt_of_the_turn(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received: list[ChatContentReceivedParams] = []
        async for item in talk.client.ask("chat", "DO: options allow_once,reject_once", agent="fake"):
            received.append(item)
            if getattr(item.content, "manual_approval", False) and item.content.type == "toolCallRun":
                talk.host.turns.steer("chat", "DO: say steered")
                talk.host.turns.approve("chat", item.content.id, remember=False)
        assert said(received).endswith("steered")
        assert outcomes(received) == ["completed"]


async def test_a_request_that_nobody_here_sees_is_not_made_up(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say Hello")
        shown = said(await answer(talk.client, "/prompt-show Hello", agent="fake"), "system")
        assert "fake" in shown
        assert "```" not in shown
