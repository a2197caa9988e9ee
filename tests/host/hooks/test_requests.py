"""Hooks around a request: what they make of a prompt, of a chat's beginning, and of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.hooks import turn_hooks
from tests.host.hooks.written import KEEPS, blocks, given, hook, says
from tests.requirements.eca.seat import prompt, seat, words

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

ECHO: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "[{message}]"}]}]
COUNT: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Yes."}]}]


async def test_what_a_hook_adds_goes_to_the_model_behind_the_prompt_and_the_reader_sees_that_it_ran(
    tmp_path: Path,
) -> None:
    hooks = {"date": hook("preRequest", says(additionalContext="It is Monday."))}
    async with seat(tmp_path, ECHO, hooks=hooks) as (_, at):
        wrapped = '\n\n<additionalContext from="date">\nIt is Monday.\n</additionalContext>'
        assert await prompt(at, "Hello") == f"[Hello{wrapped}]"
        assert words(at, role="user") == "Hello"
        assert blocks(at) == [{"name": "date", "status": 0, "output": "AdditionalContext: It is Monday."}]


async def test_a_prompt_that_is_reworded_is_what_the_model_remembers(tmp_path: Path) -> None:
    """One hook after the other, by their names."""
    hooks = {
        "b": hook("prePrompt", """sed 's/.*"prompt": "\\([^"]*\\)".*/{"replacedPrompt": "\\1, please"}/'"""),
        "a": hook("preRequest", says(replacedPrompt="Sit")),
    }
    async with seat(tmp_path, ECHO, hooks=hooks) as (table, at):
        assert await prompt(at, "Stand") == "[Sit, please]"
        assert words(at, role="user") == "Stand"
        assert (await table.host.turns.draft("c")).messages[0].text == "Sit, please"
        await table.host.store.settle()
        table.host.chats.forget("c")
        assert (await table.host.turns.draft("c")).messages[0].text == "Sit, please"


async def test_a_hook_is_told_where_it_is_and_what_is_asked(tmp_path: Path) -> None:
    async with seat(tmp_path, COUNT, hooks={"log": hook("preRequest", KEEPS)}) as (table, at):
        await prompt(at, "Hello")
        (one,) = given(tmp_path)
        assert one["db_cache_path"] == str(tmp_path / "chats.db")
        assert one["eca_executable"].endswith("-P -m jupyter_eca")
        assert len(one["session_id"]) == 16
        del one["db_cache_path"], one["eca_executable"], one["session_id"]
        assert one == {
            "hook_name": "log",
            "hook_type": "preRequest",
            "workspaces": [str(tmp_path)],
            "cwd": str(tmp_path),
            "chat_id": "c",
            "agent": "code",
            "behavior": "code",
            "full_model": "scripted/test",
            "prompt": "Hello",
        }
        assert table.host.chats.get_live("c") is not None


@pytest.mark.parametrize(
    ("visible", "told", "shown"),
    [(True, "Request blocked by hook 'no'.", "not so"), (False, "Request blocked by hook 'no': not so", None)],
)
async def test_a_prompt_that_is_blocked_is_never_heard_by_the_model(
    tmp_path: Path, visible: bool, told: str, shown: str | None
) -> None:
    line = "grep -q forbidden || exit 0; echo not so >&2; exit 2"
    async with seat(tmp_path, ECHO, hooks={"no": hook("preRequest", line, visible=visible)}) as (table, at):
        await prompt(at, "Hello")
        assert await prompt(at, "forbidden words") == ""
        assert told in words(at, role="system")
        assert [one["error"] for one in blocks(at) if "error" in one] == ([] if shown is None else [shown])
        for _ in ("live", "stored"):
            asked = (await table.host.turns.draft("c", "next")).messages
            assert [message.text for message in asked] == ["Hello", "[Hello]", "next"]
            await table.host.store.settle()
            table.host.chats.forget("c")
        assert await prompt(at, "again") == "[again]"


async def test_a_hook_that_says_not_to_continue_stops_the_turn_and_the_hooks_behind_it(tmp_path: Path) -> None:
    hooks = {
        "a": hook("preRequest", says(**{"continue": False, "stopReason": "Too late today"})),
        "b": hook("preRequest", "touch ran"),
    }
    async with seat(tmp_path, ECHO, hooks=hooks) as (_, at):
        assert await prompt(at, "Hello") == ""
        assert "Turn stopped by hook 'a': Too late today" in words(at, role="system")
        assert not (tmp_path / "ran").exists()


async def test_what_is_for_the_user_alone_is_shown_whatever_else_is_hidden(tmp_path: Path) -> None:
    hooks = {
        "a": hook("preRequest", says(systemMessage="Mind the gap."), visible=False),
        "b": hook("preRequest", says(systemMessage="Stand back.", suppressOutput=True)),
        "c": hook("preRequest", "echo plain words; echo warn >&2"),
    }
    async with seat(tmp_path, ECHO, hooks=hooks) as (_, at):
        assert await prompt(at, "Hello") == "[Hello]"
        system = words(at, role="system")
        assert "Hook 'a': Mind the gap." in system
        assert "Hook 'b': Stand back." in system
        assert blocks(at) == [
            {"name": "b", "status": 0},
            {"name": "c", "status": 0, "output": "plain words", "error": "warn"},
        ]


async def test_what_is_said_at_a_chats_start_stays_in_its_system_prompt(tmp_path: Path) -> None:
    hooks = {"day": hook("chatStart", f"{KEEPS}; {says(additionalContext='It is Monday.')}")}
    async with seat(tmp_path, COUNT, hooks=hooks) as (table, at):
        before = (await table.host.turns.draft("c")).system
        await prompt(at, "Hello")
        chat = await table.host.chats.load("c")
        first = chat.state.setup.system
        assert first == f'{before}\n\n<additionalContext from="day">\nIt is Monday.\n</additionalContext>'
        await prompt(at, "And now?")
        assert chat.state.setup.system == first
        assert [one["resumed"] for one in given(tmp_path)] == [False]


async def test_a_chat_of_an_earlier_session_is_resumed(tmp_path: Path) -> None:
    hooks = {"log": hook("chatStart", KEEPS)}
    for _ in range(2):
        async with seat(tmp_path, COUNT, hooks=hooks) as (_, at):
            await prompt(at, "Hello")
    assert [one["resumed"] for one in given(tmp_path)] == [False, True]


async def test_commands_of_ours_begin_no_chat_and_are_no_request(tmp_path: Path) -> None:
    hooks = {kind: hook(kind, KEEPS) for kind in ("chatStart", "preRequest", "postRequest")}
    async with seat(tmp_path, COUNT, hooks=hooks) as (_, at):
        await prompt(at, "/help")
        assert given(tmp_path) == []


async def test_a_subagents_chat_has_moments_of_its_own(tmp_path: Path) -> None:
    kinds = ("chatStart", "subagentStart", "postRequest", "subagentPostRequest")
    hooks = {kind: hook(kind, KEEPS) for kind in kinds}
    async with seat(tmp_path, COUNT, hooks=hooks) as (table, at):
        table.host.turn_hooks.note_subagent("c", "parent")
        await prompt(at, "Explore")
        seen = [(one["hook_type"], one.get("parent_chat_id")) for one in given(tmp_path)]
        assert seen == [("subagentStart", "parent"), ("postRequest", None), ("subagentPostRequest", "parent")]


# -- follow-ups

LOOPS = f"{KEEPS}; tail -1 given.jsonl | grep -q 'active\": true' && exit 0; {says(followUp='/help me')}"


async def test_a_follow_up_is_a_prompt_of_the_same_chat_and_never_a_command(tmp_path: Path) -> None:
    hooks = {"tests": hook("postRequest", LOOPS)}
    async with seat(tmp_path, ECHO, hooks=hooks) as (table, at):
        await prompt(at, "Hello")
        await at.finished()
        asked = (await table.host.turns.draft("c")).messages
        assert [message.text for message in asked] == ["Hello", "[Hello]", "/help me", "[/help me]"]
        seen = [(one["response"], one["follow_up_active"]) for one in given(tmp_path)]
        assert seen == [("[Hello]", False), ("[/help me]", True)]


async def test_hooks_that_always_go_on_are_not_let_go_on_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_hooks, "MAX_FOLLOW_UPS", 2)
    async with seat(tmp_path, ECHO, hooks={"on": hook("postRequest", "echo More >&2; exit 2")}) as (table, at):
        await prompt(at, "Hello")
        await at.finished()
        await at.finished()
        assert "Hooks began the last 2 turns in a row" in words(at, role="system")
        assert len((await table.host.turns.draft("c")).messages) == 6
        await prompt(at, "And mine")
        await at.finished()
        await at.finished()
        assert [one.text for one in (await table.host.turns.draft("c")).messages[6::2]] == ["And mine", "More", "More"]


async def test_a_stop_behind_an_answer_takes_back_every_follow_up(tmp_path: Path) -> None:
    hooks = {
        "a": hook("postRequest", says(followUp="More")),
        "b": hook("postRequest", says(**{"continue": False})),
    }
    async with seat(tmp_path, ECHO, hooks=hooks) as (table, at):
        assert await prompt(at, "Hello") == "[Hello]"
        assert "Turn stopped by hook 'b'." in words(at, role="system")
        assert len((await table.host.turns.draft("c")).messages) == 2
        assert not (await table.host.chats.load("c")).is_busy
