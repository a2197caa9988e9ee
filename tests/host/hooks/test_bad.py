"""Hooks that hang, flood, fail, or are no hooks: told once by name, and the turn goes on."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.host.hooks.written import KEEPS, blocks, given, hook, says
from tests.requirements.eca.seat import prompt, seat, words
from tests.support.processes import have_ended
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import MemoryClient

pytestmark = pytest.mark.asyncio

ECHO: list[dict[str, Any]] = [
    {"message": "read", "reply": [{"tool": "read_file", "arguments": {"path": "a.txt"}}]},
    {"result": "", "reply": [{"text": "[{result}]"}]},
    {"message": "", "reply": [{"text": "[{message}]"}]},
]
HANGS = "sleep 60 & echo $! > child; echo > begun; wait"


def warned(at: MemoryClient) -> list[str]:
    return [one["message"] for one in at.params("$/showMessage")]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("exit 3", "it ended with 3"),
        ("echo first; echo not there >&2; exit 1", "not there"),
        ("no-such-program", "not found"),
        ("kill -9 $$", "it ended with -9"),
        ("yes", "It wrote more than 1 MiB and was ended."),
    ],
)
async def test_a_hook_that_fails_is_told_once_by_name_and_the_turn_goes_on(tmp_path: Path, line: str, why: str) -> None:
    async with seat(tmp_path, ECHO, hooks={"bad": hook("preRequest", line), "good": hook("preRequest", KEEPS)}) as (
        _,
        at,
    ):
        assert await prompt(at, "Hello") == "[Hello]"
        assert await prompt(at, "Again") == "[Again]"
        (told,) = warned(at)
        assert told.startswith("The hook 'bad' failed: ")
        assert told.endswith(why)
        assert len(given(tmp_path)) == 2
        assert [one["status"] != 0 for one in blocks(at)] == [True, False] * 2
        assert all(len(one.get("output", "")) <= 4_000 for one in blocks(at))


async def test_hooks_that_are_none_are_told_once_by_name_and_the_others_run(tmp_path: Path) -> None:
    hooks = {
        "later": hook("someDay", "true"),
        "torn": {**hook("preToolCall", "true"), "matcher": "("},
        "list": [1],
        "works": hook("preRequest", says(additionalContext="Yes.")),
    }
    async with seat(tmp_path, ECHO, hooks=hooks) as (_, at):
        assert "Yes." in await prompt(at, "Hello")
        await prompt(at, "Again")
        assert [one.partition(" was left out: ")[0] for one in warned(at)] == [
            "The hook 'later'",
            "The hook 'list'",
            "The hook 'torn'",
        ]


async def test_a_hook_that_hangs_is_ended_at_its_time_and_the_turn_goes_on(tmp_path: Path) -> None:
    bad = {"type": "preRequest", "actions": [{"type": "shell", "shell": "sleep 60", "timeout": 100}]}
    async with seat(tmp_path, ECHO, hooks={"bad": bad}) as (_, at):
        assert await prompt(at, "Hello") == "[Hello]"
        assert blocks(at) == [{"name": "bad", "status": 1, "error": "It did not end in 0.1 s and was ended."}]


@pytest.mark.parametrize(
    ("type", "message"),
    [("preRequest", "Hello"), ("preToolCall", "read"), ("postToolCall", "read"), ("postRequest", "Hi")],
)
async def test_stop_ends_a_hook_with_all_it_started_and_the_turn_with_it(
    tmp_path: Path, type: str, message: str
) -> None:
    """While it runs, other chats are answered."""
    (tmp_path / "a.txt").write_text("alpha")
    os.mkfifo(tmp_path / "begun")
    line = f"""grep -q '"chat_id": "c"' || exit 0; {HANGS}"""
    allow: dict[str, Any] = {"approval": {"allow": {"read_file": {}}}}
    async with seat(tmp_path, ECHO, hooks={"slow": hook(type, line)}, toolCall=allow) as (table, at):
        await at.result("chat/prompt", {"chatId": "c", "message": message})
        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread((tmp_path / "begun").read_text)
        assert (await prompt(at, "Hello", chat="other")).endswith("[Hello]")
        chat = await table.host.chats.load("c")
        tasks = list(chat.tasks.values())
        await at.tell("chat/promptStop", {"chatId": "c"})
        await at.finished()
        assert "Stopped." in words(at, role="system")
        await asyncio.gather(*tasks, return_exceptions=True)
        assert have_ended(int((tmp_path / "child").read_text()))
        await table.host.store.settle()
        events = await table.host.chats.read_events("c")
        ids = [(event.content.type, getattr(event.content, "id", "")) for event in events]
        begun, ended = ({id for kind, id in ids if kind == f"hookAction{what}"} for what in ("Started", "Finished"))
        assert begun == ended != set()


async def test_a_result_that_was_there_before_a_hook_was_stopped_stays(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    os.mkfifo(tmp_path / "begun")
    allow: dict[str, Any] = {"approval": {"allow": {"read_file": {}}}}
    async with seat(tmp_path, ECHO, hooks={"slow": hook("postToolCall", HANGS)}, toolCall=allow) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "read"})
        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread((tmp_path / "begun").read_text)
        await at.tell("chat/promptStop", {"chatId": "c"})
        assert (await at.content("toolCalled"))["outputs"][0]["text"].endswith("alpha")
        await at.finished()


async def test_a_server_that_was_killed_leaves_no_hook_running_for_ever_on_the_screen(tmp_path: Path) -> None:
    async with seat(tmp_path, ECHO, hooks={"h": hook("preRequest", "true")}) as (table, at):
        await prompt(at, "Hello")
        events = await table.host.chats.read_events("c")
        last = next(i for i, event in enumerate(events) if event.content.type == "hookActionStarted")
        await table.host.store.do(lambda tables: tables.delete_events("c", [event.seq for event in events[last + 1 :]]))
        table.host.chats.forget("c")
        await table.host.chats.load("c")
        await table.host.store.settle()
        closed = [event.content for event in await table.host.chats.read_events("c")][last + 1]
        assert (closed.type, getattr(closed, "error", "")) == (
            "hookActionFinished",
            "The server ended while it was running.",
        )


@pytest.mark.parametrize("can", [{"chat": True, "doc": True}, {"chat": True, "editor": {"diagnostics": True}}])
async def test_older_clients_hear_nothing_of_hooks(tmp_path: Path, can: dict[str, Any]) -> None:
    async with seat(tmp_path, ECHO, can=can, hooks={"h": hook("preRequest", "true")}) as (_, at):
        assert await prompt(at, "Hello") == "[Hello]"
        assert [kind for kind in at.contents if kind.startswith("hook")] == []


async def test_the_list_of_hooks_says_which_are_in_force_where_they_are_from_and_not_what_they_run(
    tmp_path: Path,
) -> None:
    hooks = {
        "b": {**hook("preToolCall", "echo hunter2", description="Guards", matcher="eca__.*"), "source": "one.json"},
        "a": hook("preToolCall", "true", visible=False, matcher={"write_file": {"argsMatchers": {"path": ["x"]}}}),
        "day": hook("chatStart", "true"),
        "bad": {"type": "never", "source": "two.json"},
    }
    async with seat(tmp_path, ECHO, hooks=hooks) as (_, at):
        await prompt(at, "/hooks")
        told = words(at, role="system")
        assert (
            """**chatStart**

- `day`

**preToolCall**

- `a`; matcher `{"write_file": {"argsMatchers": {"path": ["x"]}}}`; not shown in the chat
- `b`: Guards; matcher `eca__.*`; from `one.json`

**Ignored because of an error**

- `bad`: """
            in told
        )
        assert told.strip().endswith("; from `two.json`")
        assert "hunter2" not in told
