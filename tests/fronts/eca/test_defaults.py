"""The user's defaults, as a settings page reads and changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config.jsonc import parse
from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol import lifecycle as defaults
from jupyter_eca.protocol.base import Empty
from jupyter_eca.protocol.jsonrpc import ErrorResponse
from tests.fronts.eca.test_approvals import filed, mine
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio


async def set_default(client: EcaClient, name: str, **value: Any) -> defaults.ConfigDefaultsResult:
    params = defaults.ConfigSetDefaultParams.model_validate({"name": name, **value})
    return await client.request("config/setDefault", params, defaults.ConfigDefaultsResult)


def find(result: defaults.ConfigDefaultsResult, name: str) -> defaults.DefaultSetting:
    return next(setting for setting in result.defaults if setting.name == name)


async def test_a_default_is_written_to_the_users_own_file_and_holds_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        before = await client.request("config/defaults", Empty(), defaults.ConfigDefaultsResult)
        assert before.file == "~/home/eca/config.json"
        assert find(before, "completion.model") == defaults.DefaultSetting(name=defaults.DefaultName.COMPLETION_MODEL)
        await set_default(client, "completion.model", model="house/small")
        after = await set_default(client, "budget.perDay", dollars=2.5)
        assert find(after, "completion.model").model == "house/small"
        assert find(after, "budget.perDay").file == "~/home/eca/config.json"
        assert table.host.config.budget.per_day == 2.5
        assert parse(mine(tmp_path).read_text()) == {"completion": {"model": "house/small"}, "budget": {"perDay": 2.5}}
        removed = await set_default(client, "budget.perDay")
        assert find(removed, "budget.perDay").dollars is None
        assert table.host.config.budget.per_day is None


async def test_the_default_agent_and_its_variant_are_set_from_the_names_that_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        before = await client.request("config/defaults", Empty(), defaults.ConfigDefaultsResult)
        assert find(before, "defaultAgent").choice == "code"
        assert find(before, "defaultAgent").choices == ("code", "plan", "tutor")
        assert find(before, "agent.code.variant").choice is None
        after = await set_default(client, "defaultAgent", choice="plan")
        assert find(after, "defaultAgent").file == "~/home/eca/config.json"
        after = await set_default(client, "agent.code.variant", choice="high")
        assert find(after, "agent.code.variant").choice == "high"
        assert table.host.current.resolved.get_agent().name == "plan"
        assert table.host.current.resolved.get_agent("code").variant == "high"


async def test_a_default_that_the_workspace_sets_is_named_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch, budget={"perChat": 1}) as table:
        client = await table.client()
        after = await set_default(client, "budget.perChat", dollars=3)
        assert find(after, "budget.perChat") == defaults.DefaultSetting(
            name=defaults.DefaultName.BUDGET_PER_CHAT, dollars=1.0, file=".eca/config.json", own=False
        )


async def test_a_client_that_may_not_approve_sets_no_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code in a cell could lift the budget, or send the next question to a model of its choice."""
    async with filed(tmp_path, monkeypatch) as table:
        for stranger in (await table.client(sees_all_chats=False), await table.client(unattended=True)):
            with pytest.raises(RemoteError, match="only a client of the user's"):
                await set_default(stranger, "budget.perDay", dollars=1000)
        assert not mine(tmp_path).exists()


@pytest.mark.parametrize(
    "params",
    [
        {"name": "defaultModel", "dollars": 3},
        {"name": "defaultModel", "choice": "plan"},
        {"name": "defaultAgent", "model": "a/plan"},
        {"name": "defaultAgent", "choice": "${env:AGENT}"},
        {"name": "budget.perDay", "model": "a/b"},
        {"name": "budget.perDay", "dollars": -1},
        {"name": "defaultModel", "model": "x/${file:/etc/passwd}"},
        {"name": "toolCall.approval.byDefault", "model": "a/b"},
    ],
)
async def test_a_value_of_the_wrong_kind_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, params: dict[str, Any]
) -> None:
    async with filed(tmp_path, monkeypatch) as table:
        async with connect_and_initialize(table, chat=True) as client:
            assert isinstance(await client.ask("config/setDefault", params), ErrorResponse)
        assert not mine(tmp_path).exists()
