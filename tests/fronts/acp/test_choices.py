"""Modes and options: both ways to choose stay in step, whoever chooses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import ErrorCode
from tests.fronts.acp.script import RULES
from tests.host.outside.talking import fake
from tests.support.acp_client import chatting_with, connected, needs_schema
from tests.support.host_and_client import desk, settings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.acp_client import Json

pytestmark = [pytest.mark.asyncio, needs_schema]


def values(options: list[Json]) -> Json:
    return {option["id"]: option["currentValue"] for option in options}


async def test_a_new_session_says_what_can_be_chosen(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        opened = await client.open()
        assert {"code", "plan"} <= {mode["id"] for mode in opened["modes"]["availableModes"]}
        assert values(opened["configOptions"]) == {"mode": "code", "model": "scripted/test"}
        assert [option["category"] for option in opened["configOptions"]] == ["mode", "model"]


async def test_a_mode_that_is_set_shows_as_an_option_and_runs(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        assert await client.result("session/set_mode", {"sessionId": client.session, "modeId": "plan"}) == {}
        options = (await client.update("config_option_update"))["configOptions"]
        assert values(options)["mode"] == "plan"
        assert await client.prompt("write a.txt no") == "end_turn"
        assert not (tmp_path / "a.txt").exists()


async def test_an_option_that_is_set_shows_as_the_mode(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        params: Any = {"sessionId": client.session, "configId": "mode", "value": "plan"}
        changed = await client.result("session/set_config_option", params)
        assert values(changed["configOptions"])["mode"] == "plan"
        assert (await client.update("current_mode_update"))["currentModeId"] == "plan"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/set_mode", {"modeId": "no-such"}),
        ("session/set_config_option", {"configId": "mode", "value": "no-such"}),
        ("session/set_config_option", {"configId": "no-such", "value": "code"}),
        ("session/set_config_option", {"configId": "model", "value": "no-such/model"}),
    ],
)
async def test_a_value_that_was_not_offered_is_refused(tmp_path: Path, method: str, params: Json) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        assert await client.code(method, {"sessionId": client.session, **params}) == ErrorCode.INVALID_PARAMS


async def test_another_model_answers_the_next_prompt_and_is_kept_with_the_session(tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "The other one."}]}]}))
    models = settings(tmp_path, RULES)["providers"]["scripted"]["models"] | {"other": {"script": str(other)}}
    more: dict[str, Any] = {"providers": {"scripted": {"models": models}}}
    async with desk(tmp_path, RULES, **more) as table:
        async with connected(table) as client:
            session = client.session
            params: Any = {"sessionId": session, "configId": "model", "value": "scripted/other"}
            changed = await client.result("session/set_config_option", params)
            assert values(changed["configOptions"])["model"] == "scripted/other"
            await client.prompt("you")
            assert client.said() == "The other one."
        async with connected(table) as again:
            params: Any = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
            opened = await again.result("session/load", params)
            assert values(opened["configOptions"])["model"] == "scripted/other"


async def test_a_plan_that_is_carried_out_changes_the_mode(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES) as client:
        await client.result("session/set_mode", {"sessionId": client.session, "modeId": "plan"})
        await client.prompt("you")
        await client.prompt("go")
        assert (await client.update("current_mode_update"))["currentModeId"] == "code"


async def test_the_options_of_an_outside_agent_take_the_place_of_the_model_and_are_set(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, RULES, acpAgents=fake(tmp_path, "options")) as client:

        async def set_option(id: str, value: str) -> Json:
            params: Any = {"sessionId": client.session, "configId": id, "value": value}
            return values((await client.result("session/set_config_option", params))["configOptions"])

        chosen = {"mode": "fake", "model": "small", "effort": "low", "web": "false"}
        assert await set_option("mode", "fake") == {"mode": "fake"}
        await client.prompt("DO: say Hello")
        options = (await client.update("config_option_update"))["configOptions"]
        assert values(options) == chosen
        assert await set_option("model", "large") == {**chosen, "model": "large"}
        params: Any = {"sessionId": client.session, "configId": "effort", "value": "huge"}
        assert await client.code("session/set_config_option", params) == ErrorCode.INVALID_PARAMS
        await client.prompt("DO: values")
        assert "model large, effort low" in client.said()
        assert (await set_option("mode", "code"))["model"] == "scripted/test"
