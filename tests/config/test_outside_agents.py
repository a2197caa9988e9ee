"""Outside agents in the configuration: known ones, changes to them, and others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, OutsideAgent, resolve
from jupyter_eca.config.trust.split_settings import split_settings
from jupyter_eca.host.outside.known_agents import find_outside_agents

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = {"known": OutsideAgent(title="Known", command=("known", "--acp"), mode="asks")}


def resolved(**agents: Any) -> dict[str, OutsideAgent]:
    found = resolve(Config.model_validate({"acpAgents": agents}), KNOWN).agents
    return {name: agent.outside for name, agent in found.items() if agent.outside is not None}


def test_a_known_agent_is_there_without_any_configuration() -> None:
    assert resolved() == KNOWN


def test_an_agent_of_the_configuration_is_there_too() -> None:
    house = resolved(house={"command": "our-agent", "args": ["--acp"], "mode": "careful"})["house"]
    assert (house.command, house.mode, house.title) == (("our-agent", "--acp"), "careful", "house")


def test_a_change_keeps_what_it_does_not_name() -> None:
    changed = resolved(known={"mode": "plan"})["known"]
    assert (changed.command, changed.mode, changed.is_mode_chosen) == (("known", "--acp"), "plan", True)
    assert resolved(known={"command": "other"})["known"].command == ("other",)
    assert resolved(known={"args": ["-x"]})["known"].command == ("known", "-x")


def test_a_disabled_agent_and_one_without_a_program_are_not_there() -> None:
    assert resolved(known={"disabled": True}, nothing={}) == {}


@pytest.mark.parametrize("name", ["eca", "client", "python", "code", "plan"])
def test_no_agent_has_a_name_that_means_something_else_in_rules(name: str) -> None:
    assert resolved(**{name: {"command": "trap"}}) == KNOWN


def test_no_agent_has_the_name_of_a_tool_server() -> None:
    config = {"acpAgents": {"db": {"command": "trap"}}, "mcpServers": {"db": {"command": "db"}}}
    assert "db" not in resolve(Config.model_validate(config), KNOWN).agents


def test_an_outside_agent_is_never_spawned() -> None:
    found = resolve(Config.model_validate({"acpAgents": {"house": {"command": "x"}}}), KNOWN)
    assert not {"house", "known"} & found.list_spawnable("code").keys()


def test_an_agent_of_a_project_waits_for_trust() -> None:
    settings = {"acpAgents": {"trap": {"command": "rm"}}}
    assert split_settings(settings, {}) == ({}, settings)


def test_an_agent_whose_program_is_missing_is_not_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "qwen"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = resolve(Config(), find_outside_agents())
    assert [name for name in found.list_selectable() if found.agents[name].outside] == ["qwen"]


def test_the_variables_of_an_agent_are_secrets() -> None:
    house = Config.model_validate({"acpAgents": {"house": {"command": "x", "env": {"KEY": "hush"}}}})
    assert "hush" not in json.dumps(house.model_dump(mode="json"))
