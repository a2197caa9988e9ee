"""`/login` as a dialogue with a client that answers questions, up to a vendor that looks at the key."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.config.keyring_backend import SERVICE
from jupyter_eca.host import commands
from jupyter_eca.host.commands import CommandAnswer
from jupyter_eca.host.commands.login import CANCELLED, NO_KEYS_HERE
from jupyter_eca.protocol.jsonrpc import Id, Message, Request, Result
from tests.plugins.providers.ask import KEY
from tests.support.file_keyring import read
from tests.support.host_and_client import desk
from tests.support.raw_client import SessionClient, connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.anthropic_server import LoopbackAnthropic

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk", "keyless")]

CAN: dict[str, Any] = {"chatCapabilities": {"askQuestion": True}}
MODELS: dict[str, Any] = {"claude-haiku-5-5": None}


def kept(folder: Path) -> dict[str, str]:
    """The keys in the keyring, by provider; none is in a file."""
    assert [file for file in folder.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []
    return {name.removeprefix(f"{SERVICE} "): key for name, key in read(folder / "system-keyring").items()}


async def talk(client: SessionClient, *answers: str | None) -> list[dict[str, Any]]:
    """Answer each question that comes; gives the questions."""
    asked: list[dict[str, Any]] = []
    seen: set[Id | None] = set()
    for answer in answers:

        def fresh(message: Message) -> bool:
            return isinstance(message, Request) and message.id not in seen

        request = await client.until(fresh)
        assert isinstance(request, Request)
        seen.add(request.id)
        asked.append(request.params)
        await client.link.send(
            Result(request.id, {"answer": answer or "half of an answer", "cancelled": answer is None})
        )
    return asked


async def dialogue(
    folder: Path, vendor: LoopbackAnthropic, message: str, *answers: str | None
) -> tuple[object, list[dict[str, Any]]]:
    providers = {
        "anthropic": {"url": vendor.url, "models": MODELS},
        "house": {"api": "anthropic", "models": MODELS},
    }
    async with desk(folder, []) as table, connect_and_initialize(table, **CAN) as client:
        config = table.host.config.model_dump() | {"providers": providers}
        await table.host.configure(Config.model_validate(config))
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(commands.run(table.host, "chat", message))
            asked = tasks.create_task(talk(client, *answers))
        return running.result(), asked.result()


async def test_a_sign_in_asks_for_provider_and_key_and_says_that_the_key_is_a_secret(
    tmp_path: Path, vendor: LoopbackAnthropic
) -> None:
    made, asked = await dialogue(tmp_path, vendor, "/login", "anthropic", f" {KEY} ")
    assert made == CommandAnswer("You are signed in to anthropic.")
    assert kept(tmp_path) == {"anthropic": KEY}
    assert {"anthropic", "house"} <= {option["label"] for option in asked[0]["options"]}
    assert asked[1] == {"chatId": "chat", "question": "API key", "allowFreeform": True, "secret": True}
    assert "secret" not in asked[0]


async def test_a_server_of_somebody_elses_is_also_asked_where_it_is(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    made, asked = await dialogue(tmp_path, vendor, "/login house", KEY, vendor.url)
    assert made == CommandAnswer("You are signed in to house.")
    assert [one["question"] for one in asked] == ["API key", "Address of the server"]
    assert [one.get("secret") for one in asked] == [True, None]


@pytest.mark.parametrize("answers", [(None,), ("anthropic", None), ("house", KEY, None)])
async def test_a_sign_in_can_be_given_up_at_any_step(
    tmp_path: Path, vendor: LoopbackAnthropic, answers: tuple[str | None, ...]
) -> None:
    made, _ = await dialogue(tmp_path, vendor, "/login", *answers)
    assert (made, kept(tmp_path)) == (CommandAnswer(CANCELLED), {})


async def test_a_wrong_key_and_a_wrong_provider_are_told(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    made, _ = await dialogue(tmp_path, vendor, "/login anthropic", "sk-ant-wrong")
    assert isinstance(made, CommandAnswer)
    assert made.text.startswith("Anthropic did not take this key")
    made, _ = await dialogue(tmp_path, vendor, "/login nobody")
    assert isinstance(made, CommandAnswer)
    assert made.text.startswith("There is no provider 'nobody'.")
    assert kept(tmp_path) == {}


async def test_a_key_that_is_typed_into_the_chat_is_refused(tmp_path: Path, vendor: LoopbackAnthropic) -> None:
    made, _ = await dialogue(tmp_path, vendor, f"/login anthropic {KEY}")
    assert (made, kept(tmp_path)) == (CommandAnswer(NO_KEYS_HERE), {})
