"""In which order a turn is told: what today's clients draw from depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification
from tests.host.faults.vendor import vendor
from tests.requirements.eca.seat import ALLOW_ALL, TODAY, prompt, seat, words
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import MemoryClient

pytestmark = pytest.mark.asyncio

STORY: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "look", "reply": [{"tool": "directory_tree", "arguments": {"path": "."}}]},
    {"message": "wish", "reply": [{"tool": "make_coffee", "arguments": {}}]},
    {"message": "think", "reply": [{"reasoning": "Hm."}, {"text": "Yes."}]},
    {"message": "break", "reply": [{"text": "Half"}, {"error": "It broke. Ask again."}]},
    {"message": "", "reply": [{"text": "Hello there", "chunk": 5}]},
]


def order(at: MemoryClient, since: int = 0) -> list[str]:
    """What was told of a chat, without repetition: contents by their type, with role or state where it matters."""
    steps = [step for message in at.heard[since:] if isinstance(message, Notification) for step in _step(message)]
    return [step for i, step in enumerate(steps) if i == 0 or steps[i - 1] != step]


def _step(message: Notification) -> list[str]:
    match message.method, message.params:
        case "chat/statusChanged", {"status": status}:
            return [status]
        case "chat/contentReceived", {"content": {"type": "text"}, "role": role}:
            return [f"{role} text"]
        case "chat/contentReceived", {"content": {"type": "progress", "state": "finished"}}:
            return ["finished"]
        case "chat/contentReceived", {"content": {"type": "progress", "text": text}}:
            return [text]
        case "chat/contentReceived", {"content": {"type": kind}}:
            return [kind]
        case _:
            return []


async def test_a_plain_turn_is_told_from_running_to_finished(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "hi")
        assert order(at) == [
            "running", "user text", "metadata", "Waiting for the model", "Generating", "assistant text", "usage",
            "idle", "finished",
        ]  # fmt: skip


async def test_a_turn_with_a_call_is_told_call_by_call(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        await prompt(at, "look")
        assert order(at)[3:] == [
            "Waiting for the model", "Generating", "toolCallPrepare", "usage", "toolCallRun", "toolCallRunning",
            "Calling a tool", "toolCalled", "Waiting for the model", "Generating", "assistant text", "usage", "idle",
            "finished",
        ]  # fmt: skip


async def test_a_call_has_its_id_name_server_and_origin_in_each_of_its_contents(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        await prompt(at, "look")
        calls = [p["content"] for p in at.params("chat/contentReceived") if p["content"]["type"].startswith("toolCall")]
        about = {(call["id"], call["name"], call["server"], call["origin"]) for call in calls}
        assert len(about) == 1
        assert {(name, server, origin) for _, name, server, origin in about} == {("directory_tree", "eca", "native")}
        pieces = "".join(call["argumentsText"] for call in calls if call["type"] == "toolCallPrepare")
        assert pieces == '{"path": "."}'
        (run,) = [call for call in calls if call["type"] == "toolCallRun"]
        assert (run["arguments"], run["manualApproval"]) == ({"path": "."}, False)
        (called,) = [call for call in calls if call["type"] == "toolCalled"]
        assert (called["error"], called["totalTimeMs"] >= 0, called["arguments"]) == (False, True, {"path": "."})


async def test_a_call_of_a_tool_that_nobody_has_is_of_unknown_origin(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        await prompt(at, "wish")
        calls = [p["content"] for p in at.params("chat/contentReceived") if p["content"]["type"].startswith("toolCall")]
        assert {(call["name"], call["origin"]) for call in calls} == {("make_coffee", "unknown")}


async def test_a_command_is_told_as_question_answer_end(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "hi")
        before = len(at.heard)
        await prompt(at, "/costs")
        assert order(at, before) == ["running", "user text", "system text", "idle", "finished"]


async def test_reasoning_has_a_beginning_and_a_timed_end_before_the_text(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "think")
        kinds = [kind for kind in at.contents if kind.startswith("reason") or kind == "text"]
        assert kinds == ["text", "reasonStarted", "reasonText", "reasonFinished", "text"]
        contents = [p["content"] for p in at.params("chat/contentReceived")]
        reasoning = [one for one in contents if one["type"].startswith("reason")]
        assert len({one["id"] for one in reasoning}) == 1
        assert reasoning[-1]["totalTimeMs"] >= 0


async def test_a_turn_that_failed_tells_why_and_is_finished_all_the_same(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "break")
        assert order(at)[-3:] == ["system text", "idle", "finished"]
        assert words(at, role="system") == "It broke. Ask again."


async def test_the_users_words_come_back_with_an_id_of_their_own(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "one")
        await prompt(at, "two")
        mine = [p["content"] for p in at.params("chat/contentReceived") if p["role"] == "user"]
        assert [one["text"] for one in mine] == ["one", "two"]
        assert len({one["contentId"] for one in mine}) == 2


async def test_a_chat_is_opened_once_and_named_once(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "What is this?")
        await prompt(at, "And that?")
        assert at.params("chat/opened") == [{"chatId": "c"}]
        assert at.methods.index("chat/opened") < at.methods.index("chat/contentReceived")
        assert at.contents.count("metadata") == 1


async def test_usage_tells_tokens_costs_and_limits_in_words_that_add_up(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "hi")
        usage = next(p["content"] for p in at.params("chat/contentReceived") if p["content"]["type"] == "usage")
        assert usage["sessionTokens"] == usage["messageInputTokens"] + usage["messageOutputTokens"] > 0
        assert usage["lastMessageCost"] == usage["messageCost"] == usage["sessionCost"] == "0.0000"


async def test_usage_tells_the_price_and_the_window_of_a_model_that_is_known(tmp_path: Path) -> None:
    async with vendor(tmp_path, defaultModel="anthropic/claude-sonnet-4-5") as (table, _):
        at = connect(table)
        await at.initialize(TODAY)
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        usage = await at.content("usage")
        assert usage["limit"]["context"] >= 200_000
        assert usage["limit"]["output"] > 0
        assert usage["contextBreakdown"]["contextLimit"] == usage["limit"]["context"]
        assert float(usage["sessionCost"]) == float(usage["lastMessageCost"]) > 0
        await at.close()


async def test_usage_tells_what_fills_the_models_window(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("word " * 500)
    async with seat(tmp_path, STORY) as (_, at):
        await prompt(at, "hi", contexts=[{"type": "file", "path": str(tmp_path / "a.txt")}])
        usage = next(p["content"] for p in at.params("chat/contentReceived") if p["content"]["type"] == "usage")
        breakdown = usage["contextBreakdown"]
        tokens = {one["name"]: one["tokens"] for one in breakdown["categories"]}
        assert sum(tokens.values()) == breakdown["usedTokens"] == usage["sessionTokens"]
        assert tokens["Files"] > tokens["Messages"] > 0
        assert all(one["color"] and one["emoji"] for one in breakdown["categories"])


async def test_a_prompt_without_a_chat_is_answered_with_the_id_of_a_new_one(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        first = await at.result("chat/prompt", {"message": "hi"})
        await at.finished()
        assert first["chatId"]
        assert first["model"] == "scripted/test"
        assert {p["chatId"] for p in at.params("chat/contentReceived")} == {first["chatId"]}
        assert await prompt(at, "again", first["chatId"], model=None) == "Hello there"
        assert (await at.result("chat/list"))["chats"][0]["messageCount"] == 2
