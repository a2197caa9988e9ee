"""Signing in at OpenRouter with a browser: over the wire, with a server that plays OpenRouter on this machine."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64encode
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

import pytest

from jupyter_eca.config import Config
from jupyter_eca.plugins.providers.credentials import browser_sign_in
from jupyter_eca.protocol.jsonrpc import ErrorResponse, Message, Notification, Result
from tests.plugins.providers.ask import KEY
from tests.support.anthropic_server import Fault, Recorded
from tests.support.file_keyring import read
from tests.support.host_and_client import Desk, desk
from tests.support.openai_server import LoopbackOpenAI
from tests.support.raw_client import SessionClient, connect_and_initialize
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from pathlib import Path

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk", "keyless")]

CODE = "auth_code_of_this_test"
METHODS = [
    {"key": "browser", "label": "Sign in in the browser"},
    {"key": "api-key", "label": "Enter an API key"},
]


class OpenRouter(LoopbackOpenAI):
    """Gives `KEY` for the code, to whoever has the verifier of the challenge that the browser came with."""

    challenge = ""
    grant: Fault | None = None

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if asked.path != "/api/v1/auth/keys":
            return super().answered(asked)
        if self.grant is not None:
            return self.grant, ()
        hashed = urlsafe_b64encode(sha256(asked.body["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if (asked.body["code"], asked.body["code_challenge_method"], hashed) != (CODE, "S256", self.challenge):
            return Fault(403, "Invalid code or code_verifier"), ()
        return Fault(said=json.dumps({"key": KEY, "user_id": "user_1"}), plain=True), ()


@dataclass
class Table:
    desk: Desk
    client: SessionClient
    router: OpenRouter
    folder: Path

    async def begin(self) -> str:
        reply = await self.client.ask("providers/login", {"provider": "openrouter", "method": "browser"})
        assert isinstance(reply, Result)
        assert reply.result["action"] == "authorize"
        assert "fields" not in reply.result
        return str(reply.result["url"])

    async def browse(self, address: str, **answer: str) -> tuple[int, str]:
        """A user who says yes, or with what else the browser comes back."""
        query = parse_qs(urlsplit(address).query)
        self.router.challenge = query["code_challenge"][0]
        back = query["callback_url"][0]
        return await asyncio.to_thread(_get, f"{back}&{urlencode(answer or {'code': CODE})}")

    async def message(self, type: str) -> str:
        def shown(message: Message) -> bool:
            return isinstance(message, Notification) and message.method == "$/showMessage" and _type(message) == type

        found = await self.client.until(shown)
        assert isinstance(found, Notification)
        return str(found.params["message"])

    async def said(self, words: str) -> str:
        def shown(message: Message) -> bool:
            return (
                isinstance(message, Notification)
                and message.method == "chat/contentReceived"
                and words in _text(message)
            )

        found = await self.client.until(shown)
        assert isinstance(found, Notification)
        return _text(found)

    @property
    def kept(self) -> list[str]:
        """The keys that are there after the next start; none is in a file."""
        assert [file for file in self.folder.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []
        return list(read(self.folder / "system-keyring").values())


def _type(message: Notification) -> object:
    return message.params["type"]


def _text(message: Notification) -> str:
    content: dict[str, Any] = message.params["content"]
    return str(content.get("text", ""))


def _get(url: str) -> tuple[int, str]:
    try:
        with urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310  # the address is ours
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


@asynccontextmanager
async def table(folder: Path, url: str = "") -> AsyncGenerator[Table]:
    with OpenRouter([], key=KEY) as router:
        async with desk(folder, [{"message": "", "reply": [{"text": "Hello"}]}]) as at:
            config = at.host.config.model_dump()
            ours = {"openrouter": {"url": url or f"{router.url}/api/v1"}}
            await at.host.configure(Config.model_validate(config | {"providers": {**config["providers"], **ours}}))
            async with connect_and_initialize(at) as client:
                yield Table(at, client, router, folder)


async def test_a_user_signs_in_with_a_browser_and_the_key_is_kept_as_if_it_was_typed_in(tmp_path: Path) -> None:
    async with table(tmp_path) as at:
        address = await at.begin()
        assert address.startswith(f"{at.router.url}/auth?callback_url=http%3A%2F%2Flocalhost%3A")
        assert parse_qs(urlsplit(address).query)["code_challenge_method"] == ["S256"]
        status, page = await at.browse(address)
        assert (status, "You are signed in to OpenRouter." in page) == (200, True)
        assert await at.message("info") == "You are signed in to OpenRouter."
        assert at.kept == [KEY]
        (updated,) = at.client.params("providers/updated")
        assert (updated["id"], updated["auth"]["source"]) == ("openrouter", "login")
        heard = "".join(map(repr, at.client.heard))
        assert not any(secret in heard + page for secret in (KEY, CODE))


async def test_who_does_not_say_how_is_given_the_choice_and_may_still_type_a_key(tmp_path: Path) -> None:
    async with table(tmp_path) as at:
        reply = await at.client.ask("providers/login", {"provider": "openrouter"})
        assert isinstance(reply, Result)
        assert reply.result == {"action": "choose-method", "methods": METHODS}
        typed = await at.client.ask("providers/login", {"provider": "openrouter", "method": "api-key"})
        assert isinstance(typed, Result)
        assert [field["key"] for field in typed.result["fields"]] == ["key"]
        other = await at.client.ask("providers/login", {"provider": "mistral", "method": "browser"})
        assert isinstance(other, ErrorResponse)


async def test_a_browser_with_another_state_changes_nothing_and_the_right_one_counts_once(tmp_path: Path) -> None:
    async with table(tmp_path) as at:
        address = await at.begin()
        query = parse_qs(urlsplit(address).query)
        state = parse_qs(urlsplit(query["callback_url"][0]).query)["state"][0]
        forged = address.replace(state, "forged").replace(state, "forged")
        assert (await at.browse(forged))[0] == 404
        assert not at.router.requests
        assert (await at.browse(address))[0] == 200
        await at.message("info")
        with pytest.raises(OSError, match="refused"):
            await at.browse(address)  # nobody listens there any more


@pytest.mark.parametrize(
    ("answer", "grant", "why"),
    [
        ({"error": "access_denied", "error_description": "not \n today"}, None, "OpenRouter said no: not today."),
        ({"other": "1"}, None, "OpenRouter said no: it gave no code."),
        ({"code": "stale"}, None, "did not take the code that the browser came back with (403)."),
        ({}, Fault(500, "down"), "did not take the code that the browser came back with (500)."),
        ({}, Fault(said="{}", plain=True), "OpenRouter answered with no key (200)."),
        ({}, Fault(said="<html>", plain=True), "OpenRouter answered with no key (200)."),
        ({}, Fault(said='{"key": "sk-wrong"}', plain=True), "did not take this key, and it was not kept."),
    ],
)
async def test_what_goes_wrong_is_told_once_in_the_client_and_on_the_page(
    answer: dict[str, str], grant: Fault | None, why: str, tmp_path: Path
) -> None:
    async with table(tmp_path) as at:
        at.router.grant = grant
        status, page = await at.browse(await at.begin(), **answer)
        message = await at.message("error")
        assert message.startswith("The sign-in to OpenRouter did not work: ")
        assert why in message
        assert (status, "Not signed in" in page) == (400, True)
        assert len(at.client.params("$/showMessage")) == 1
        assert at.kept == []


async def test_whoever_does_not_come_back_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_sign_in, "AWAY_SECONDS", 0.05)
    async with table(tmp_path) as at:
        address = await at.begin()
        assert "nobody came back" in await at.message("error")
        with pytest.raises(OSError, match="refused"):
            await at.browse(address)


async def test_a_sign_in_that_is_begun_anew_ends_the_one_before_and_signing_out_ends_both(tmp_path: Path) -> None:
    async with table(tmp_path) as at:
        first, second = await at.begin(), await at.begin()
        with pytest.raises(OSError, match="refused"):
            await at.browse(first)
        await at.client.ask("providers/logout", {"provider": "openrouter"})
        with pytest.raises(OSError, match="refused"):
            await at.browse(second)
        assert at.kept == []


async def test_a_provider_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9/api/v1"
    async with table(tmp_path, nowhere) as at:
        await at.browse(await at.begin())
        assert f"OpenRouter cannot be reached at {nowhere}." in await at.message("error")


async def test_the_command_offers_the_browser_and_gives_the_address(tmp_path: Path) -> None:
    async with table(tmp_path) as at:
        prompt = {"chatId": "c", "message": "/login openrouter"}
        await at.client.ask("chat/prompt", prompt)
        assert METHODS[0]["label"] in await at.said("How do you want to sign in?")
        await at.client.ask("chat/prompt", prompt | {"message": "1"})
        (address,) = [word for word in (await at.said("/auth?callback_url=")).split() if "/auth?" in word]
        assert (await at.browse(address))[0] == 200
        assert at.kept == [KEY]
