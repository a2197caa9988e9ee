"""What the administrator's policy refuses while the program runs: each refusal says so, and whom to ask."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config.policy.sources import VARIABLE
from jupyter_eca.errors import RemoteError
from jupyter_eca.host.doctor import report
from jupyter_eca.protocol import approval, chats, mcp, provider
from jupyter_eca.protocol import lifecycle as defaults
from jupyter_eca.protocol.base import Done, Empty
from jupyter_eca.protocol.context import WebContext
from tests.fronts.eca.test_approvals import filed, mine
from tests.fronts.eca.test_defaults import find, set_default
from tests.support.host_and_client import answer, said
from tests.support.openai_server import LoopbackOpenAI, recording
from tests.support.priced_host import RATES
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio

CONTACT = "Ask it@uni.example."


def impose(monkeypatch: pytest.MonkeyPatch, **policy: Any) -> None:
    monkeypatch.setenv(VARIABLE, json.dumps({"contact": CONTACT, **policy}))


async def refuse(client: EcaClient, method: str, params: Any, result: type[Any]) -> None:
    with pytest.raises(RemoteError) as caught:
        await client.request(method, params, result)
    assert CONTACT in str(caught.value)


async def test_a_model_that_is_not_allowed_is_not_listed_and_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, deny={"models": ["scripted/t*"]})
    async with filed(tmp_path, monkeypatch) as table:
        assert "scripted/test" not in await table.host.catalog.models()
        received = await answer(await table.client(), "Hello", model="scripted/test")
        assert "`scripted/test`" in said(received, "system")
        assert CONTACT in said(received, "system")
        assert not said(received)


async def test_offline_no_provider_of_the_internet_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-x")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    impose(monkeypatch, offline=True)
    async with filed(tmp_path, monkeypatch) as table:
        names = table.host.catalog.names
        assert {"scripted", "ollama"} <= set(names)
        assert not {"anthropic", "openai", "openrouter", "bedrock", "vertex", "github-copilot", "google"} & set(names)
        received = await answer(await table.client(), "Hello", model="anthropic/claude-opus-5")
        assert "offline" in said(received, "system")


async def test_a_project_cannot_lead_an_allowed_provider_to_another_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, allow={"urls": ["https://api.anthropic.com"]})
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-x")
    async with filed(tmp_path, monkeypatch) as table:
        assert "anthropic" in table.host.catalog.names
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://evil.example")
        received = await answer(await table.client(), "Hello", model="anthropic/claude-opus-5")
        assert "https://evil.example" in said(received, "system")
        assert CONTACT in said(received, "system")


@pytest.mark.parametrize(
    ("path", "is_usable"),
    [
        (None, True),
        ("chat", True),
        ("/v2/chat?version=1", True),
        ("../admin/chat", False),
        ("%2e%2e/admin/chat", False),
        ("..\\admin", False),
        ("secret/chat", False),
    ],
)
async def test_the_path_of_an_allowed_provider_leads_to_no_other_address(
    path: str | None, is_usable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls = ["https://house.example/v1"]
    impose(monkeypatch, allow={"urls": urls}, deny={"urls": ["https://house.example/v1/secret/*"]})
    house = {"api": "openai-chat", "url": urls[0], "key": "k", "completionUrlRelativePath": path}
    async with filed(tmp_path, monkeypatch, providers={"house": house}) as table:
        assert ("house" in table.host.catalog.names) is is_usable


async def test_nobody_signs_in_where_typed_keys_are_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    impose(monkeypatch, features={"typedKeys": "force-off"})
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        listed = await client.request("providers/list", Empty(), provider.ProvidersListResult)
        assert [entry.id for entry in listed.providers if entry.login is not None] == []
        params = provider.ProvidersLoginParams(provider="anthropic")
        await refuse(client, "providers/login", params, provider.LoginStep)


async def test_trust_cannot_be_switched_on_and_does_not_count_if_a_prompt_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, features={"trust": "force-off"})
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        await answer(client, "Hello")
        await refuse(client, "chat/update", chats.ChatUpdateParams(chat_id="chat", trust=True), Done)
        table.host.turns.choose("chat", table.host.chats.get_live("chat").choice.__class__(trust=True))  # pyright: ignore
        assert table.host.chats.get_live("chat").state.trust is False  # pyright: ignore[reportOptionalMemberAccess]


async def test_a_server_that_is_not_allowed_never_starts_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    program = [sys.executable, "-c", f"open({str(started)!r}, 'w')"]
    impose(monkeypatch, allow={"mcpServers": ["uvx good-*"]})
    servers = {"mine": {"command": program[0], "args": program[1:]}}
    async with filed(tmp_path, monkeypatch, mcpServers=servers) as table:
        async with asyncio.timeout(PATIENCE):
            await table.host.mcp.servers_known.wait()
            while (server := table.host.mcp.list_servers()[0]).status is not mcp.ServerStatus.FAILED:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert CONTACT.rstrip(".") in (server.error or "")
        client = await table.client()
        params = mcp.McpAddServerParams(name="another", command=program[0], args=tuple(program[1:]))
        added = await client.request("mcp/addServer", params, mcp.McpAddServerResult)
        assert added.error is not None
        assert CONTACT in added.error.message
        assert not mine(tmp_path).exists()
    assert not started.exists()


async def test_no_rule_that_allows_is_added_or_proposed_where_they_are_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, features={"allowRules": "force-off"})
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        allow = approval.ApprovalsAddParams(decision="allow", rule="write_file", scope="global")
        await refuse(client, "approvals/add", allow, approval.ApprovalsAddResult)
        ask = approval.ApprovalsAddParams(decision="alwaysAsk", rule="write_file", scope="global")
        await client.request("approvals/add", ask, approval.ApprovalsAddResult)
        old = approval.RuleText(decision="alwaysAsk", rule="write_file")
        loosened = approval.ApprovalsReplaceParams(decision="allow", rule="write_file", old=old)
        await refuse(client, "approvals/replace", loosened, approval.ApprovalsAddResult)
        assert "write_file" in table.host.config.tool_call.approval.always_ask


async def test_a_budget_of_the_policy_is_not_asked_about_and_cannot_be_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, limits={"budget": {"perDay": 0.0}})
    mine(tmp_path).parent.mkdir(parents=True)
    mine(tmp_path).write_text(json.dumps({"providers": {"scripted": {"models": {"test": {"cost": RATES}}}}}))
    async with filed(tmp_path, monkeypatch) as table:
        providers = table.host.config.providers
        scripted = providers["scripted"]
        model = scripted.models["test"].model_validate(
            {**scripted.models["test"].model_dump(by_alias=True), "cost": RATES}
        )
        priced = scripted.model_copy(update={"models": {"test": model}})
        table.host.catalog.configure(
            table.host.config.model_copy(update={"providers": {**providers, "scripted": priced}})
        )
        client = await table.client()
        received = await answer(client, "Hello")
        assert CONTACT in said(received, "system")
        assert not said(received)
        with pytest.raises(RemoteError, match=CONTACT):
            await set_default(client, "budget.perDay", dollars=5)
        listed = await client.request("config/defaults", Empty(), defaults.ConfigDefaultsResult)
        assert CONTACT in (find(listed, "budget.perDay").limited or "")


async def test_a_model_of_unknown_price_is_asked_once_where_the_policy_sets_a_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, limits={"budget": {"perDay": 5.0}})
    mine(tmp_path).parent.mkdir(parents=True)
    with LoopbackOpenAI([recording("chat", "text_comes_in_pieces_and_usage_after_it")[0]] * 3) as server:
        house: dict[str, Any] = {"api": "openai-chat", "url": server.url, "key": "sk-x", "models": {"m": {}}}
        mine(tmp_path).write_text(json.dumps({"providers": {"house": house}}))
        async with filed(tmp_path, monkeypatch) as table:
            client = await table.client()
            assert said(await answer(client, "Hello", model="house/m")) == "Hello."
            refused = said(await answer(client, "Hello", model="house/m"), "system")
            assert "providers.house.models.m.cost" in refused
            assert CONTACT in refused
    assert [request.path for request in server.requests].count("/chat/completions") == 1


async def test_a_locked_default_is_shown_with_its_reason_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, locked={"completion": {"model": "house/small"}})
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        setting = find(
            await client.request("config/defaults", Empty(), defaults.ConfigDefaultsResult), "completion.model"
        )
        assert setting.model == "house/small"
        assert CONTACT in (setting.locked or "")
        with pytest.raises(RemoteError, match=CONTACT):
            await set_default(client, "completion.model", model="mine/own")
        assert not mine(tmp_path).exists()


@pytest.mark.parametrize("policy", [{"features": {"webPages": "force-off"}}, {"offline": True}])
async def test_a_web_page_is_not_fetched_where_the_policy_forbids_it(
    policy: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, **policy)
    async with filed(tmp_path, monkeypatch) as table:
        received = await answer(await table.client(), "Hello", contexts=(WebContext(url="http://192.0.2.1/page"),))
        assert CONTACT in said(received, "system")


async def test_doctor_and_config_say_what_the_policy_restricts_and_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, locked={"defaultAgent": "plan"}, limits={"chatRetentionDays": 30})
    async with filed(tmp_path, monkeypatch) as table:
        text = await report(table.host.services, "here")
        for word in ("Policy of the administrator", VARIABLE, "`defaultAgent`", "`chatRetentionDays`", CONTACT):
            assert word in text
        shown = said(await answer(await table.client(), "/config"), "system")
        assert '"locked"' in shown
        assert CONTACT in shown


async def test_a_running_host_applies_a_policy_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"contact": CONTACT}))
    monkeypatch.setenv(VARIABLE, str(file))
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        assert CONTACT not in said(await answer(client, "Hello"), "system")
        file.write_text(json.dumps({"contact": CONTACT, "deny": {"providers": ["scripted"]}}))
        await table.host.reload()
        assert CONTACT in said(await answer(client, "Hello"), "system")


@pytest.mark.parametrize(
    "renamed",
    [
        {"modelName": "forbidden"},
        {"extraPayload": {"model": "forbidden"}},
        {"extraPayload": {"models": ["good", "forbidden"]}},
    ],
)
async def test_an_allowed_name_does_not_lead_to_a_model_that_is_not_allowed(
    renamed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impose(monkeypatch, deny={"models": ["house/forbidden"]})
    house = {"api": "openai-chat", "url": "http://127.0.0.1:9/v1", "key": "sk-x", "models": {"good": renamed}}
    mine(tmp_path).parent.mkdir(parents=True)
    mine(tmp_path).write_text(json.dumps({"providers": {"house": house}}))
    async with filed(tmp_path, monkeypatch) as table:
        received = await answer(await table.client(), "Hello", model="house/good")
        assert "`house/forbidden`" in said(received, "system")
        assert CONTACT in said(received, "system")


async def test_a_name_that_the_policy_gives_a_model_is_not_refused_by_its_lists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = {"api": "openai-chat", "url": "http://127.0.0.1:9/v1", "models": {"good": {"modelName": "vendor-7"}}}
    impose(monkeypatch, locked={"providers": {"house": house}}, allow={"models": ["house/good"]})
    async with filed(tmp_path, monkeypatch) as table:
        assert table.host.catalog.choose("house/good").model == "good"
