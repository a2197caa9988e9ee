"""`/login` as a dialogue with a client that answers questions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca import commands
from jupyter_eca.commands import Answer
from jupyter_eca.commands.login import BY_HAND, CANCELLED, NO_KEYS_HERE
from jupyter_eca.errors import LocalError
from jupyter_eca.protocol.jsonrpc import Message, Request, Result
from jupyter_eca.protocol.provider import (
    AuthStatus,
    LoginAction,
    LoginField,
    LoginMethod,
    LoginStep,
    ProviderAuth,
    ProviderLogin,
    ProviderStatus,
)
from tests.desk import desk
from tests.fronts.line import Line, line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.asyncio

METHODS = (LoginMethod(key="manual", label="API key"), LoginMethod(key="max", label="Subscription"))
CAN: dict[str, Any] = {"chatCapabilities": {"askQuestion": True}}


class Logins:
    """One provider with two ways in; its key begins with `sk-`."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}

    async def list(self) -> tuple[ProviderStatus, ...]:
        auth = ProviderAuth(status=AuthStatus.UNAUTHENTICATED)
        asked = ProviderStatus(id="anthropic", configured=False, auth=auth, login=ProviderLogin(methods=METHODS))
        return (asked, ProviderStatus(id="local", configured=True, auth=ProviderAuth(status=AuthStatus.LOCAL)))

    async def login(self, name: str, method: str | None = None) -> LoginStep:
        if name != "anthropic":
            raise LocalError(f"There is no provider {name!r}.")
        match method:
            case None:
                return LoginStep(action=LoginAction.CHOOSE_METHOD, methods=METHODS)
            case "manual":
                fields = (LoginField(key="key", label="The key", type="secret"),)
                return LoginStep(action=LoginAction.INPUT, fields=fields)
            case _:
                return LoginStep(action=LoginAction.DEVICE_CODE, url="https://example.org", code="AB-1", message="Go")

    async def enter(self, name: str, data: Mapping[str, str]) -> LoginStep:
        if not data["key"].startswith("sk-"):
            raise LocalError("That is no key.")
        self.keys[name] = data["key"]
        return LoginStep(action=LoginAction.DONE)


async def talk(client: Line, *answers: str | None) -> list[dict[str, Any]]:
    """Answer each question that comes; gives the questions."""
    asked: list[dict[str, Any]] = []
    seen: set[str | int] = set()
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


async def dialogue(folder: Path, message: str, *answers: str | None) -> tuple[object, list[dict[str, Any]], Logins]:
    async with desk(folder, []) as table, line(table, **CAN) as client:
        table.host.logins = logins = Logins()  # pyright: ignore[reportAttributeAccessIssue]
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(commands.run(table.host, "chat", message))
            asked = tasks.create_task(talk(client, *answers))
        return running.result(), asked.result(), logins


async def test_a_sign_in_asks_for_provider_method_and_key(tmp_path: Path) -> None:
    made, asked, logins = await dialogue(tmp_path, "/login", "anthropic", "API key", " sk-1 ")
    assert made == Answer("You are signed in to anthropic.")
    assert logins.keys == {"anthropic": "sk-1"}
    assert [[option["label"] for option in one.get("options", [])] for one in asked] == [
        ["anthropic"],
        ["API key", "Subscription"],
        [],
    ]
    assert asked[2]["question"] == "The key"
    assert {one["chatId"] for one in asked} == {"chat"}


async def test_a_code_for_the_browser_is_shown(tmp_path: Path) -> None:
    made, _, _ = await dialogue(tmp_path, "/login anthropic", "Subscription")
    assert made == Answer("Go\n\nhttps://example.org\n\nCode: `AB-1`")


@pytest.mark.parametrize("answers", [(None,), ("anthropic", None), ("anthropic", "API key", None)])
async def test_a_sign_in_can_be_given_up_at_any_step(tmp_path: Path, answers: tuple[str | None, ...]) -> None:
    made, _, logins = await dialogue(tmp_path, "/login", *answers)
    assert made == Answer(CANCELLED)
    assert logins.keys == {}


async def test_a_wrong_key_and_a_wrong_provider_are_told(tmp_path: Path) -> None:
    made, _, _ = await dialogue(tmp_path, "/login anthropic", "API key", "wrong")
    assert made == Answer("That is no key.")
    made, _, _ = await dialogue(tmp_path, "/login nobody")
    assert made == Answer("There is no provider 'nobody'.")


async def test_a_key_that_is_typed_into_the_chat_is_refused(tmp_path: Path) -> None:
    made, _, logins = await dialogue(tmp_path, "/login anthropic sk-1")
    assert (made, logins.keys) == (Answer(NO_KEYS_HERE), {})


async def test_a_client_that_cannot_be_asked_is_told_the_other_ways(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table, line(table):
        table.host.logins = Logins()  # pyright: ignore[reportAttributeAccessIssue]
        assert await commands.run(table.host, "chat", "/login") == Answer(BY_HAND)
