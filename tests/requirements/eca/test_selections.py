"""Models, agents, variants and trust: selected, told, and kept to the chat they were selected for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp_client.house import raw as mcp
from tests.requirements.eca.seat import ALLOW_ALL, prompt, seat, told, words
from tests.support.host_and_client import PATIENCE, settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

WRITE = {"tool": "write_file", "arguments": {"path": "a.txt", "content": "one\n"}}
WRITE_LATER = {"tool": "write_file", "arguments": {"path": "c.txt", "content": "three\n"}}
LOOK = {"tool": "directory_tree", "arguments": {"path": "."}}
STORY: list[dict[str, Any]] = [
    {"result": "Plan mode: this call did not run", "reply": [{"text": "I cannot."}]},
    {"result": "rejected", "reply": [{"text": "Not done."}]},
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "twice", "reply": [WRITE, {**WRITE, "arguments": {"path": "b.txt", "content": "two\n"}}]},
    {"message": "write", "reply": [WRITE]},
    {"message": "look", "reply": [LOOK]},
    {"message": "", "reply": [{"text": "Hello"}]},
]


def two_models(folder: Path) -> dict[str, Any]:
    """Two models of the script's, one of them with variants."""
    script = settings(folder, STORY)["providers"]["scripted"]["models"]["test"]
    hard = {"reasoning": {"effort": "high"}}
    return {"providers": {"scripted": {"models": {"test": script, "other": {**script, "variants": {"hard": hard}}}}}}


async def test_a_selected_model_is_answered_with_its_variants(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, **two_models(tmp_path)) as (_, at):
        await at.tell("chat/selectedModelChanged", {"model": "scripted/other", "variant": "hard"})
        assert (await told(at, "config/updated"))["chat"] == {"variants": ["hard"], "selectVariant": "hard"}
        await at.tell("chat/selectedModelChanged", {"model": "scripted/test", "variant": "hard", "chatId": "c"})
        assert await told(at, "config/updated") == {"chatId": "c", "chat": {"variants": [], "selectVariant": ""}}


async def test_a_selected_agent_is_answered_with_its_tools(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        disabled: dict[str, dict[str, bool]] = {}
        for agent in ("plan", "code"):
            await at.tell("chat/selectedAgentChanged", {"agent": agent})
            told_of = await told(at, "tool/serverUpdated")
            assert (told_of["type"], told_of["status"]) == ("native", "running")
            disabled[agent] = {tool["name"]: tool["disabled"] for tool in told_of["tools"]}
        assert (disabled["code"]["write_file"], disabled["plan"]["write_file"]) == (False, True)
        assert (disabled["code"]["task"], disabled["plan"]["read_file"]) == (False, False)


async def test_a_tool_that_the_selected_agent_has_not_is_told_as_disabled(tmp_path: Path) -> None:
    more = {"agent": {"careful": {"disabledTools": ["one__work", "edit_file"]}}, "mcpServers": {"one": mcp("good")}}
    async with seat(tmp_path, STORY, **more) as (_, at):
        for agent, disabled in (("code", False), ("careful", True)):
            await at.tell("chat/selectedAgentChanged", {"agent": agent})
            native = await told(at, "tool/serverUpdated", type="native")
            assert [tool["disabled"] for tool in native["tools"] if tool["name"] == "edit_file"] == [disabled]
            server = await told(at, "tool/serverUpdated", name="one", status="running")
            assert [(tool["name"], tool["disabled"]) for tool in server["tools"]] == [("work", disabled)]


async def test_the_model_of_one_chat_is_not_anothers(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, **two_models(tmp_path)) as (_, at):
        await at.tell("chat/selectedModelChanged", {"model": "scripted/other", "variant": "hard", "chatId": "one"})
        for chat, model in (("one", "scripted/other"), ("two", "scripted/test")):
            assert (await at.result("chat/prompt", {"chatId": chat, "message": "hi"}))["model"] == model
            await at.finished()
        opened = [(await at.result("chat/open", {"chatId": chat}))["selection"] for chat in ("one", "two")]
        assert [(it["model"], it.get("variant")) for it in opened] == [
            ("scripted/other", "hard"),
            ("scripted/test", None),
        ]


async def test_the_agent_of_one_chat_is_not_anothers(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        await at.tell("chat/selectedAgentChanged", {"agent": "plan", "chatId": "one"})
        assert await prompt(at, "write", "one") == "I cannot."
        assert await prompt(at, "write", "two") == "Done."


@pytest.mark.parametrize("named", [{"agent": "nobody"}, {"behavior": "nobody"}, {"behavior": "agent"}, {"agent": None}])
async def test_an_agent_that_nobody_knows_is_the_default_one(tmp_path: Path, named: dict[str, Any]) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        assert await prompt(at, "write", **named) == "Done."
        assert (await at.result("chat/open", {"chatId": "c"}))["selection"]["agent"] == "code"


async def test_the_older_name_of_an_agents_selection_selects_too(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        await at.tell("chat/selectedBehaviorChanged", {"behavior": "plan"})
        assert await prompt(at, "write") == "I cannot."


async def test_the_older_name_of_an_agents_selection_selects_in_its_chat_only(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        await at.tell("chat/selectedBehaviorChanged", {"behavior": "plan", "chatId": "one"})
        assert await prompt(at, "write", "one") == "I cannot."
        assert await prompt(at, "write", "two") == "Done."


async def test_a_trusted_chat_is_not_asked_and_the_others_are(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        assert await prompt(at, "write", "trusted", trust=True) == "Done."
        known = [{"type": "file", "path": "a.txt"}]
        await at.result("chat/prompt", {"chatId": "other", "message": "write", "contexts": known})
        call = await at.content("toolCallRun")
        assert call["manualApproval"]
        await at.tell("chat/toolCallReject", {"chatId": "other", "toolCallId": call["id"]})
        await at.finished()


async def test_an_opened_chat_selects_what_its_next_turn_is_run_with(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "chat": {"defaultTrust": True},
        "agent": {"keen": {"variant": "hard"}},
        "defaultAgent": "keen",
    }
    async with seat(tmp_path, STORY, **two_models(tmp_path), **more) as (_, at):
        assert await prompt(at, "write", model="scripted/other") == "Done."
        for trust, variant in ((True, "hard"), (False, "")):
            selection = (await at.result("chat/open", {"chatId": "c"}))["selection"]
            assert (selection["trust"], selection["variant"], selection["agent"]) == (trust, variant, "keen")
            *_, models, trusts = at.params("config/updated")
            assert (models["chat"]["selectVariant"], trusts["chat"]) == (variant, {"selectTrust": trust})
            chosen = {"chatId": "c", "model": "scripted/other", "variant": ""}
            await at.tell("chat/selectedModelChanged", chosen)
            await at.result("chat/update", {"chatId": "c", "trust": False})


async def test_trust_given_while_a_turn_runs_counts_from_its_next_call_on(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"tool": "write_file", "result": "", "reply": [LOOK]},
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "", "reply": [WRITE]},
    ]
    async with seat(tmp_path, rules) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "go"})
        call = await at.content("toolCallRun")
        assert await at.result("chat/update", {"chatId": "c", "trust": True}) == {}
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
        assert not (await at.content("toolCallRun"))["manualApproval"]
        await at.finished()


async def test_trust_lifts_no_denial(tmp_path: Path) -> None:
    rules = {"approval": {"deny": {"write_file": {"argsMatchers": {"path": [".*"]}}}}}
    async with seat(tmp_path, STORY, toolCall=rules) as (_, at):
        await prompt(at, "write", trust=True)
        assert at.contents.count("toolCallRejected") == 1
        assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("how", "reason"), [("reject", "userChoiceDeny"), ("deny", "userConfigDeny"), ("stop", "userPromptStop")]
)
async def test_a_call_that_did_not_run_says_why(tmp_path: Path, how: str, reason: str) -> None:
    deny = {"approval": {"deny": {"write_file": {"argsMatchers": {"path": [".*"]}}}}}
    async with seat(tmp_path, STORY, toolCall=deny if how == "deny" else {}) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        call = await at.content("toolCallRun")
        if how == "reject":
            await at.tell("chat/toolCallReject", {"chatId": "c", "toolCallId": call["id"]})
        elif how == "stop":
            await at.tell("chat/promptStop", {"chatId": "c"})
        assert (await at.content("toolCallRejected"))["reason"] == reason
        await at.finished()


async def test_save_for_the_session_asks_no_more_for_that_tool_in_that_chat(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        call = await at.content("toolCallRun")
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"], "save": "session"})
        await at.finished()
        assert await prompt(at, "write") == "Done."
        await at.result("chat/prompt", {"chatId": "c", "message": "look"})
        assert (await at.content("toolCallRun"))["manualApproval"]
        await at.tell("chat/promptStop", {"chatId": "c"})
        await at.finished()


async def test_words_in_between_reach_the_model_and_can_be_taken_back(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"message": "In French", "reply": [{"text": "Bonjour"}]},
        {"result": "", "reply": [{"text": "Hello"}]},
        {"message": "", "reply": [WRITE]},
    ]
    for taken_back, answer in ((False, "Bonjour"), (True, "Hello")):
        async with seat(tmp_path, rules) as (_, at):
            await at.result("chat/prompt", {"chatId": answer, "message": "go"})
            call = await at.content("toolCallRun")
            await at.tell("chat/promptSteer", {"chatId": answer, "message": "In French"})
            if taken_back:
                await at.tell("chat/promptSteerRemove", {"chatId": answer})
                await at.tell("chat/promptSteerRemove", {"chatId": answer})
            await at.tell("chat/toolCallApprove", {"chatId": answer, "toolCallId": call["id"]})
            await at.finished()
            assert words(at) == answer
            await at.tell("chat/promptSteer", {"chatId": answer, "message": "too late"})
            assert await at.code("chat/list") is None


async def test_words_in_between_bring_what_they_point_at_as_a_prompt_does(tmp_path: Path) -> None:
    """Those that a client sends and those that the words mention; also behind words whose contexts take longer."""
    rules: list[dict[str, Any]] = [
        {
            "message": r"(?s)^And @a\.txt\nAlso this\nAt last.*the first file.*the second file",
            "reply": [{"text": "Both"}],
        },
        {"result": "", "reply": [{"text": "Neither"}]},
        {"message": "", "reply": [WRITE_LATER]},
    ]
    (tmp_path / "a.txt").write_text("the first file")
    second = tmp_path / "b.txt"
    second.write_text("the second file")
    async with seat(tmp_path, rules) as (table, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "go"})
        call = await at.content("toolCallRun")
        await at.tell("chat/promptSteer", {"chatId": "c", "message": "And @a.txt"})
        contexts = [{"type": "file", "path": str(second)}]
        await at.tell("chat/promptSteer", {"chatId": "c", "message": "Also this", "contexts": contexts})
        await at.tell("chat/promptSteer", {"chatId": "c", "message": "At last"})
        live = table.host.chats.get_live("c")
        assert live is not None
        await at.result("chat/list", {})  # what was told before it has arrived
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(task for name, task in live.tasks.items() if name.startswith("steer ")))
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
        await at.finished()
        assert words(at) == "Both"


async def test_words_that_are_taken_back_while_their_contexts_are_read_do_not_come(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"message": "the first file", "reply": [{"text": "Read"}]},
        {"result": "", "reply": [{"text": "Not read"}]},
        {"message": "", "reply": [WRITE_LATER]},
    ]
    (tmp_path / "a.txt").write_text("the first file")
    async with seat(tmp_path, rules) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "go"})
        call = await at.content("toolCallRun")
        await at.tell("chat/promptSteer", {"chatId": "c", "message": "And @a.txt"})
        await at.tell("chat/promptSteerRemove", {"chatId": "c"})
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
        await at.finished()
        assert words(at) == "Not read"


async def test_the_configuration_is_told_once_for_the_session_with_all_that_can_be_selected(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, **two_models(tmp_path), welcomeMessage="Hi!") as (_, at):
        await at.tell("initialized", {})
        async with asyncio.timeout(PATIENCE):
            config = await told(at, "config/updated")
        assert "chatId" not in config
        chat = config["chat"]
        assert set(chat["models"]) >= {"scripted/test", "scripted/other"}
        assert (chat["selectModel"], chat["agents"], chat["selectAgent"]) == (
            "scripted/test",
            ["code", "plan", "tutor"],
            "code",
        )
        assert (chat["variants"], chat["selectVariant"], chat["selectTrust"]) == ([], "", False)
        assert (chat["defaultModel"], chat["defaultAgent"], chat["defaultBehavior"]) == (
            "scripted/test",
            "code",
            "agent",
        )
        assert chat["welcomeMessage"] == "Hi!"
        await told(at, "$/progress", type="finish")
        tasks = {
            kind: {p["taskId"] for p in at.params("$/progress") if p["type"] == kind} for kind in ("start", "finish")
        }
        assert tasks["start"] == tasks["finish"] != set()
