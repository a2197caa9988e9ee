"""`/login` of a client that cannot be asked anything: the user's next messages are the answers (ECA 3.1)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.host.chat.dialogue import HIDDEN_ANSWER
from jupyter_eca.host.commands.login import CANCELLED, HOW_TO_SET_A_KEY
from tests.plugins.providers.ask import KEY
from tests.support.file_keyring import read
from tests.support.host_and_client import Desk, desk, said
from tests.support.raw_client import MemoryClient, connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.support.anthropic_server import LoopbackAnthropic

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk", "keyless")]

MODELS: dict[str, Any] = {"claude-haiku-5-5": None}
SCRIPT: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello"}]}]


@asynccontextmanager
async def seed_client(folder: Path, vendor: LoopbackAnthropic, **can: Any) -> AsyncGenerator[tuple[Desk, MemoryClient]]:
    async with desk(folder, SCRIPT) as table:
        providers = table.host.config.model_dump()["providers"]
        ours = {"anthropic": {"url": vendor.url, "models": MODELS}}
        config = table.host.config.model_dump() | {"providers": {**providers, **ours}}
        await table.host.configure(Config.model_validate(config))
        at = connect(table)
        await at.initialize({"chat": True, "editor": {"diagnostics": True}, **can})
        yield table, at
        await at.close()


async def say(at: MemoryClient, message: str) -> tuple[str, str]:
    """The status that the prompt was answered with, and the answer itself."""
    since = len(at.params("chat/contentReceived"))
    result = await at.result("chat/prompt", {"chatId": "c", "message": message})
    await at.finished()
    heard = [one for one in at.params("chat/contentReceived")[since:] if one["role"] != "user"]
    return result["status"], "".join(one["content"]["text"] for one in heard if one["content"]["type"] == "text")


def kept(folder: Path) -> str:
    """All that was written anywhere."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return "".join(file.read_bytes().decode("latin-1") for file in files)


async def test_a_client_that_cannot_be_asked_signs_in_by_its_next_messages(
    tmp_path: Path, vendor: LoopbackAnthropic
) -> None:
    async with seed_client(tmp_path, vendor) as (_, at):
        status, text = await say(at, "/login")
        assert (status, "1. anthropic (local)" in text) == ("prompting", True)
        status, text = await say(at, "1")
        assert (status, text.startswith("API key")) == ("login", True)
        assert (await at.result("chat/list"))["chats"][0]["status"] == "login"
        assert await say(at, f" {KEY}\n") == ("login", "You are signed in to anthropic.")
        assert (await at.result("chat/list"))["chats"][0]["status"] == "idle"
        assert await say(at, "hi") == ("prompting", "Hello")
        assert list(read(tmp_path / "system-keyring").values()) == [KEY]


async def test_a_key_that_was_typed_is_in_no_message_and_in_no_file(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    async with seed_client(tmp_path, vendor) as (table, at):
        await say(at, "/login anthropic")
        await say(at, KEY)
        await say(at, "hi")
        assert KEY not in str(at.heard)
        assert HIDDEN_ANSWER in str(at.heard)
        assert KEY not in str(await table.host.turns.draft("c"))
    assert KEY not in kept(tmp_path)


async def test_the_model_hears_of_no_step_of_a_sign_in(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    async with seed_client(tmp_path, vendor) as (table, at):
        for message in ("/login", "anthropic", "cancel"):
            await say(at, message)
        assert (await table.host.turns.draft("c")).messages == ()
        assert "title" not in str(at.heard), "nor is the chat called by what was typed"
        await say(at, "hi")
        assert {"type": "metadata", "title": "hi"} in [one["content"] for one in at.params("chat/contentReceived")]


@pytest.mark.parametrize("gives_up", ["cancel", " Cancel ", ""])
async def test_a_sign_in_is_given_up_by_a_word(tmp_path: Path, vendor: LoopbackAnthropic, gives_up: str) -> None:
    async with seed_client(tmp_path, vendor) as (_, at):
        await say(at, "/login anthropic")
        assert await say(at, gives_up) == ("login", CANCELLED)
        assert await say(at, "hi") == ("prompting", "Hello")


async def test_stop_ends_a_sign_in_that_waits_for_its_answer(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    async with seed_client(tmp_path, vendor) as (_, at):
        await say(at, "/login anthropic")
        await at.tell("chat/promptStop", {"chatId": "c"})
        assert await say(at, "hi") == ("prompting", "Hello")


async def test_another_command_is_no_key(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    async with seed_client(tmp_path, vendor) as (_, at):
        await say(at, "/login anthropic")
        status, text = await say(at, "/help")
        assert (status, "/login" in text) == ("prompting", True)
        assert await say(at, "hi") == ("prompting", "Hello")


async def test_a_wrong_key_ends_the_sign_in_and_says_why(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    async with seed_client(tmp_path, vendor) as (_, at):
        await say(at, "/login anthropic")
        status, text = await say(at, "sk-ant-wrong")
        assert (status, text.startswith("Anthropic did not take this key")) == ("login", True)
        assert await say(at, "hi") == ("prompting", "Hello")


async def test_a_sign_in_in_one_chat_leaves_the_others_alone(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    async with seed_client(tmp_path, vendor) as (_, at):
        await say(at, "/login anthropic")
        result = await at.result("chat/prompt", {"chatId": "other", "message": "hi"})
        assert result["status"] == "prompting"


async def test_where_nobody_sits_the_next_cell_is_not_taken_for_a_key(
    tmp_path: Path, vendor: LoopbackAnthropic
) -> None:
    async with desk(tmp_path, SCRIPT) as table:
        client = await table.client(unattended=True)
        assert said([one async for one in client.ask("c", "/login anthropic")], "system").strip() == HOW_TO_SET_A_KEY
        assert said([one async for one in client.ask("c", "hi")]).strip() == "Hello"
        assert vendor.requests == []
