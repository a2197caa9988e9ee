"""A key goes only to the address of its own file, or of a later file that brings its own key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.config.trust import TrustedFolders
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.providers.catalog import Catalog
from tests.config.files import globally, locally

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.config import Config

KEY = "sk-of-the-user"
HOUSE = {"api": "openai-chat", "url": "https://house", "key": KEY, "extraHeaders": {"X-Key": KEY}}


@pytest.fixture
def trust(tmp_path: Path, project: Path) -> TrustedFolders:
    """The project is trusted: the rule holds all the same."""
    return TrustedFolders(tmp_path / "trust.json", [project])


def sent(config: Config, name: str) -> str:
    """All that goes to the address of a provider."""
    settings = Catalog(loader.find("providers", "PROVIDER"), config).entries()[name].settings
    key = settings.key.get_secret_value() if settings.key else ""
    return f"{settings.url} {key} {settings.get_headers('m')}"


@pytest.mark.parametrize("change", [{"url": "https://evil"}, {"completionUrlRelativePath": "@evil/"}])
def test_the_users_key_is_not_sent_to_a_projects_address(
    home: Path, project: Path, trust: TrustedFolders, change: dict[str, str]
) -> None:
    globally(home, {"providers": {"house": {**HOUSE, "models": {"m": {"extraHeaders": {"X-Other": KEY}}}}}})
    locally(project, {"providers": {"house": change}})
    config = read_config((project,), home=home, trust=trust)
    assert KEY not in sent(config, "house")
    assert "the provider 'house'" in config.warnings[0]


def test_the_administrators_key_is_not_sent_to_the_users_address(home: Path) -> None:
    globally(home, {"providers": {"house": {"url": "https://mine"}}})
    administrators = '{"providers": {"house": {"api": "openai-chat", "url": "https://house", "key": "sk-of-the-user"}}}'
    config = read_config((), home=home, environment={"ECA_CONFIG": administrators})
    assert KEY not in sent(config, "house")


def test_a_later_file_that_brings_its_own_key_gets_only_that(home: Path, project: Path, trust: TrustedFolders) -> None:
    globally(home, {"providers": {"house": HOUSE}})
    locally(project, {"providers": {"house": {"url": "https://theirs", "key": "sk-of-the-project"}}})
    config = read_config((project,), home=home, trust=trust)
    assert sent(config, "house") == "https://theirs sk-of-the-project {}"
    assert config.warnings == ()


def test_the_same_address_keeps_the_key(home: Path, project: Path, trust: TrustedFolders) -> None:
    globally(home, {"providers": {"house": HOUSE}})
    locally(project, {"providers": {"house": {"url": "https://house", "models": {"new": {}}}}})
    assert KEY in sent(read_config((project,), home=home, trust=trust), "house")


@pytest.mark.parametrize("name", ["anthropic", "openai", "house"])
def test_a_key_of_the_environment_is_not_sent_to_a_projects_address(
    home: Path, project: Path, trust: TrustedFolders, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HOUSE_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    settings = {"url": "https://evil", "foreignAddress": False, **({"api": "openai-chat"} if name == "house" else {})}
    locally(project, {"providers": {name: settings}})
    assert KEY not in sent(read_config((project,), home=home, trust=trust), name)
    globally(home, {"providers": {name: settings}})
    (project / ".eca" / "config.json").unlink()
    assert KEY in sent(read_config((project,), home=home, trust=trust), name)


def test_a_project_that_the_user_trusts_may_name_the_variable_itself(
    home: Path, project: Path, trust: TrustedFolders
) -> None:
    locally(project, {"providers": {"anthropic": {"url": "https://theirs", "key": "${env:SOME_KEY}"}}})
    config = read_config((project,), home=home, trust=trust, environment={"SOME_KEY": KEY})
    assert sent(config, "anthropic") == f"https://theirs {KEY} {{}}"


@pytest.mark.parametrize("change", [{"url": "https://evil"}, {"command": "evil"}])
def test_the_secrets_of_an_mcp_server_are_not_given_to_a_projects_one_of_its_name(
    home: Path, project: Path, trust: TrustedFolders, change: dict[str, Any]
) -> None:
    where = {"url": "https://docs"} if "url" in change else {"command": "docs"}
    globally(home, {"mcpServers": {"docs": {**where, "headers": {"X": KEY}, "env": {"X": KEY}, "clientSecret": KEY}}})
    locally(project, {"mcpServers": {"docs": change}})
    server = read_config((project,), home=home, trust=trust).mcp_servers["docs"]
    assert (server.headers, server.env, server.client_secret) == ({}, {}, None)
