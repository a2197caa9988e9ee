"""A turn, as a client of the Agent Client Protocol sees it."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.event import Outcome
from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, Result
from tests.fronts.acp.script import RULES
from tests.host.hooks.written import hook, says
from tests.support.acp_client import chatting_with, connected, get_update, needs_schema
from tests.support.host_and_client import PATIENCE, answer, desk, outcomes

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = [pytest.mark.asyncio, needs_schema]

# A picture of one pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


async def test_a_prompt_is_answered_when_all_its_text_has_come(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        assert await client.prompt("you") == "end_turn"
        answer = next(i for i, m in enumerate(client.heard) if isinstance(m, Result) and "stopReason" in str(m.result))
        assert client.said() == "Hello, you"
        assert not any("chunk" in get_update(m).get("sessionUpdate", "") for m in client.heard[answer:])


async def test_the_pieces_of_one_message_have_one_id_and_those_of_another_have_another(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        await client.prompt("first")
        await client.prompt("second")
        chunks = [u for u in client.updates() if u["sessionUpdate"] == "agent_message_chunk"]
        texts: dict[str, str] = {}
        for chunk in chunks:
            texts[chunk["messageId"]] = texts.get(chunk["messageId"], "") + chunk["content"]["text"]
        assert list(texts.values()) == ["Hello, first", "Hello, second"]


async def test_a_prompt_is_not_sent_back_to_the_client_that_sent_it(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        await client.prompt("you")
        assert client.said(kind="user_message_chunk") == ""


async def test_reasoning_comes_before_the_answer_as_thoughts(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        await client.prompt("think")
        kinds = [update["sessionUpdate"] for update in client.updates() if "chunk" in update["sessionUpdate"]]
        assert kinds == sorted(kinds, key=lambda kind: kind != "agent_thought_chunk")
        assert client.said(kind="agent_thought_chunk") == "Hm. Well."
        assert client.said() == "So it is."


async def test_a_new_session_has_a_title_after_its_first_prompt(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        await client.prompt("merge the tables")
        assert (await client.update("session_info_update"))["title"] == "merge the tables"


async def test_a_plan_is_sent_as_a_plan(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES, toolCall={"approval": {"byDefault": "allow"}}) as client:
        await client.prompt("plan")
        entries = (await client.update("plan"))["entries"]
        assert [(entry["content"], entry["status"]) for entry in entries] == [
            ("Load the data", "pending"),
            ("Draw it", "pending"),
        ]


async def test_a_cancelled_stream_ends_with_cancelled_and_nothing_comes_after(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("stream")
        await client.update("agent_message_chunk")
        await client.cancel()
        assert await client.stop_reason(prompt) == "cancelled"
        heard = len(client.heard)
        assert await client.prompt("again") == "end_turn"
        assert "word" not in client.said(heard)


async def test_a_cancel_directly_after_the_prompt_cancels_it(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("stream")
        await client.cancel()
        await client.cancel()
        assert await client.stop_reason(prompt) == "cancelled"
        assert await client.prompt("again") == "end_turn"


async def test_a_cancel_while_nothing_runs_does_not_cancel_the_next_prompt(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        await client.cancel()
        await client.cancel()
        assert await client.prompt("you") == "end_turn"


async def test_a_second_prompt_waits_for_the_first_one(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        first = await client.start_prompt("stream")
        second = await client.start_prompt("you")
        await client.update("agent_message_chunk")
        await client.cancel()
        third = await client.start_prompt("me")
        assert await client.stop_reason(first) == "cancelled"
        assert await client.stop_reason(second) == "cancelled"
        assert await client.stop_reason(third) == "end_turn"
        assert client.said().endswith("Hello, me")
        assert "Hello, you" not in client.said()


async def test_two_sessions_answer_at_the_same_time(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        first = client.session
        slow = await client.start_prompt("stream")
        await client.update("agent_message_chunk")
        await client.open()
        assert await client.prompt("you") == "end_turn"
        assert client.said() == "Hello, you"
        await client.tell("session/cancel", {"sessionId": first})
        assert await client.stop_reason(slow) == "cancelled"


async def test_a_cancelled_request_is_answered_once_and_its_turn_ends(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        prompt = await client.start_prompt("stream")
        await client.update("agent_message_chunk")
        await client.tell("$/cancel_request", {"requestId": prompt})
        reply = await client.reply(prompt)
        assert isinstance(reply, ErrorResponse)
        assert reply.code == ErrorCode.CANCELLED
        assert await client.prompt("you") == "end_turn"


async def test_a_failure_of_the_provider_is_an_error_in_one_sentence(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        reply = await client.reply(await client.start_prompt("overloaded"))
        assert isinstance(reply, ErrorResponse)
        assert reply.code == ErrorCode.INTERNAL
        assert "The endpoint broke off." in reply.message
        assert "Traceback" not in reply.message


async def test_a_missing_key_is_explained_in_the_chat(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        assert await client.prompt("key") == "end_turn"
        assert "The key is wrong." in client.said()


async def test_a_limit_of_steps_is_told_as_the_stop_reason(tmp_path: Path) -> None:
    rules = [{"message": "", "reply": [{"tool": "read_file", "arguments": {"path": "old.txt"}}]},
             {"result": "", "reply": [{"tool": "read_file", "arguments": {"path": "old.txt"}}]}]  # fmt: skip
    (tmp_path / "old.txt").write_text("a\n")
    settings: Any = {"agent": {"code": {"maxSteps": 2}}, "toolCall": {"approval": {"byDefault": "allow"}}}
    async with chatting_with(tmp_path, rules, **settings) as client:
        assert await client.prompt("go") == "max_turn_requests"


async def test_a_file_that_is_linked_is_read_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The secret is lamp.\n")
    async with chatting_with(tmp_path, RULES) as client:
        link = {"type": "resource_link", "uri": (tmp_path / "a.txt").as_uri(), "name": "a.txt"}
        await client.prompt("what is in ", link, "?")
        assert client.said() == "I have read lamp."


async def test_a_resource_counts_with_its_own_text_and_not_with_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The secret is lamp.\n")
    async with chatting_with(tmp_path, RULES) as client:
        resource = {"uri": (tmp_path / "a.txt").as_uri(), "text": "The secret is chair."}
        await client.prompt("look: ", {"type": "resource", "resource": resource})
        assert client.said() == "I have read chair."


async def test_a_resource_in_base64_is_read_as_text(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        blob = base64.b64encode(b"The secret is table.").decode()
        await client.prompt("look: ", {"type": "resource", "resource": {"uri": "note://1", "blob": blob}})
        assert client.said() == "I have read table."


async def test_an_image_reaches_the_model_and_comes_back_when_the_session_is_loaded(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        await client.prompt("see", {"type": "image", "data": PIXEL, "mimeType": "image/png"})
        assert client.said() == "Hello, see"
        since = len(client.heard)
        params: Any = {"sessionId": client.session, "cwd": str(tmp_path), "mcpServers": []}
        await client.result("session/load", params)
        images = [u["content"] for u in client.updates(since) if u.get("content", {}).get("type") == "image"]
        assert [image["data"] for image in images] == [PIXEL]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "image", "data": "no base64!", "mimeType": "image/png"},
    ],
)
async def test_a_block_that_was_not_offered_is_refused_and_the_next_prompt_works(
    tmp_path: Path, block: dict[str, str]
) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        reply = await client.reply(await client.start_prompt("hear", block))
        assert isinstance(reply, ErrorResponse)
        assert reply.code == ErrorCode.INVALID_PARAMS
        assert await client.prompt("you") == "end_turn"


async def test_a_command_is_answered_without_a_model(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        commands = (await client.update("available_commands_update"))["availableCommands"]
        assert {"help", "login", "compact"} <= {command["name"] for command in commands}
        assert await client.prompt("/help") == "end_turn"
        assert "/compact" in client.said()


async def test_what_another_client_asks_in_the_session_is_shown_with_its_question(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connected(table) as client:
        await client.prompt("you")
        panel = await table.client()
        since = len(client.heard)
        await answer(panel, "from the panel", chat=client.session)
        await client.update("agent_message_chunk")
        async with asyncio.timeout(client.patience):
            while client.said(since) != "Hello, from the panel":
                await client.until(lambda _: True)
        assert client.said(since, "user_message_chunk") == "from the panel"


@pytest.mark.parametrize("method", ["session/cancel", "session/close"])
async def test_a_turn_that_a_hook_starts_after_the_answer_is_stopped_too(tmp_path: Path, method: str) -> None:
    hooks = {"on": hook("postRequest", says(followUp="stream"))}
    async with desk(tmp_path, RULES, hooks=hooks) as table, connected(table) as client:
        panel, over = await table.client(), asyncio.Event()
        heard: list[ChatContentReceivedParams] = []

        def hear(item: ChatContentReceivedParams) -> None:
            heard.append(item)
            if outcomes(heard)[-1:] == [str(Outcome.STOPPED)]:
                over.set()

        panel.listen(client.session, hear)
        assert await client.prompt("you") == "end_turn"
        await client.update("agent_message_chunk", content={"type": "text", "text": "word "})
        params = {"sessionId": client.session}
        await (client.tell(method, params) if method == "session/cancel" else client.result(method, params))
        async with asyncio.timeout(PATIENCE):
            await over.wait()
