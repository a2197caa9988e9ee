"""A server has a chat's model asked: shown to the user before, within a budget, and refused in words otherwise."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.turn.sampling import ALLOW, ALLOW_CHAT, DENY
from jupyter_eca.protocol.jsonrpc import Request
from tests.mcp_client.house import User, house, puppet
from tests.requirements.eca.seat import ALLOW_ALL, TODAY, asked, seat, told, words

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.support.raw_client import MemoryClient

pytestmark = pytest.mark.asyncio


def wants(question: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": {"type": "text", "text": question}}]
    params = {"messages": messages, "maxTokens": 50, "systemPrompt": "Be brief.", **more}
    return {"method": "sampling/createMessage", "params": params}


def rules(ask: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"result": "", "reply": [{"text": "It said: {result}"}]},
        {"message": "go", "reply": [{"tool": "puppet__do", "arguments": {"ask": ask}}]},
        {"message": "capital", "reply": [{"text": "Paris. It has been so for long."}]},
    ]


@asynccontextmanager
async def chat(
    folder: Path, era: str = "legacy", ask: dict[str, Any] | None = None, can: Any = TODAY, **more: Any
) -> AsyncGenerator[MemoryClient]:
    script = rules(ask or wants("The capital?"))
    async with seat(folder, script, can, mcpServers={"puppet": puppet(era)}, toolCall=ALLOW_ALL, **more) as (_, at):
        await at.tell("initialized", {})
        await told(at, "tool/serverUpdated", name="puppet", status="running")
        yield at


async def go(at: MemoryClient, answer: str | None = None) -> dict[str, Any]:
    """A turn in which the server wants a model asked once; what it was answered."""
    before = len(at.heard)
    await at.result("chat/prompt", {"chatId": "c", "message": "go"})
    if answer is not None:
        await asked(at, "chat/askQuestion", {"answer": answer})
    await at.finished()
    return json.loads(words(at, before).removeprefix("It said: "))


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_the_chats_model_answers_when_its_user_allows_it(tmp_path: Path, era: str) -> None:
    async with chat(tmp_path, era) as at:
        await at.result("chat/prompt", {"chatId": "c", "message": "go"})
        question = await asked(at, "chat/askQuestion", {"answer": ALLOW})
        await at.finished()
        got = json.loads(words(at).removeprefix("It said: "))
        assert got["content"] == {"type": "text", "text": "Paris. It has been so for long."}
        assert (got["model"], got["stopReason"], got["role"]) == ("scripted/test", "endTurn", "assistant")
        assert (
            "'puppet' wants to have scripted/test asked, at your cost and for up to 50 tokens" in question["question"]
        )
        assert "> (instructions) Be brief.\n> (user) The capital?" in question["question"]
        assert not question["allowFreeform"]
        assert "'puppet' had scripted/test asked something" in words(at, role="system")


async def test_no_is_told_to_the_server(tmp_path: Path) -> None:
    async with chat(tmp_path) as at:
        assert await go(at, DENY) == {"code": -32600, "message": "sampling was refused: the user did not allow it"}


async def test_what_is_allowed_for_a_chat_is_not_asked_about_again(tmp_path: Path) -> None:
    async with chat(tmp_path) as at:
        assert "content" in await go(at, ALLOW_CHAT)
        assert "content" in await go(at)
        assert len([one for one in at.heard if isinstance(one, Request)]) == 1


async def test_trust_allows_it(tmp_path: Path) -> None:
    async with chat(tmp_path, chat={"defaultTrust": True}) as at:
        assert "content" in await go(at)


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        ({"approval": "deny"}, "`mcpSampling.approval` of the configuration denies it"),
        ({"approval": "allow", "maxRequests": 0}, "the 0 requests of its budget are used up in this chat"),
        ({"approval": "allow", "maxTokens": 0}, "the 0 tokens of its budget are used up in this chat"),
    ],
)
async def test_the_configuration_has_the_last_word(tmp_path: Path, budget: dict[str, Any], why: str) -> None:
    async with chat(tmp_path, chat={"defaultTrust": True}, mcpSampling=budget) as at:
        assert (await go(at))["message"] == f"sampling was refused: {why}"


async def test_the_budget_of_a_chat_is_used_up_request_by_request(tmp_path: Path) -> None:
    async with chat(tmp_path, mcpSampling={"approval": "allow", "maxRequests": 2}) as at:
        assert [("content" in await go(at)) for _ in range(3)] == [True, True, False]


async def test_an_answer_ends_at_its_stops_and_its_limit(tmp_path: Path) -> None:
    allowed = {"approval": "allow"}
    async with chat(tmp_path, ask=wants("The capital?", stopSequences=[" It"]), mcpSampling=allowed) as at:
        got = await go(at)
        assert (got["content"]["text"], got["stopReason"]) == ("Paris.", "stopSequence")
    (tmp_path / "other").mkdir()
    async with chat(tmp_path / "other", ask=wants("The capital?", maxTokens=2), mcpSampling=allowed) as at:
        got = await go(at)
        assert (got["content"]["text"], got["stopReason"]) == ("Paris. I", "maxTokens")


async def test_nobody_there_is_a_refusal(tmp_path: Path) -> None:
    async with chat(tmp_path, can={"chat": True}) as at:
        assert (await go(at))["message"] == "sampling was refused: nobody is there who could allow it"


async def test_a_model_that_fails_is_told_as_that(tmp_path: Path) -> None:
    async with chat(tmp_path, ask=wants("Nothing has a rule for this"), mcpSampling={"approval": "allow"}) as at:
        assert (await go(at))["message"].startswith("the model failed: ")


async def test_a_server_that_no_chat_uses_gets_no_model(tmp_path: Path) -> None:
    user = User(["Paris"])
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        await at.running("puppet")
        refusal = json.loads((await at.call("puppet__do", "", ask=wants("The capital?"))).text)
        assert "no chat uses this server now" in refusal["message"]
        assert "no chat uses this server now" in at.manager.read_log("puppet")[-1].text
    assert user.wanted == []


async def test_what_we_never_offered_is_refused(tmp_path: Path) -> None:
    user = User(["Paris"])
    tools = [{"name": "t", "inputSchema": {"type": "object"}}]
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        await at.running("puppet")
        refusal = json.loads((await at.call("puppet__do", ask=wants("The capital?", tools=tools))).text)
        assert refusal["message"] == "sampling was refused: tools are not offered here"
