"""Who may say where the chats are stored: the user's own file and the policy. Nobody else can send them elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca import redaction
from jupyter_eca.config import read_config, register_secrets
from jupyter_eca.errors import ConfigError
from tests.config.files import globally, locally, trusting

if TYPE_CHECKING:
    from pathlib import Path

OWN = "postgresql://ada@db.example.org/eca"
OTHER = "postgresql://eve@elsewhere.example.org/eca"


def read(home: Path, project: Path, **more: Any) -> tuple[str | None, bool]:
    """The address, and whether a warning says that one was ignored."""
    config = read_config((project,), home=home, trust=trusting(project), **more)
    url = None if config.store.url is None else config.store.url.get_secret_value()
    return url, any("`store` was ignored" in warning for warning in config.warnings)


def test_the_users_own_file_says_where_chats_are_stored(home: Path, project: Path) -> None:
    assert read(home, project) == (None, False)
    globally(home, {"store": {"url": OWN}})
    assert read(home, project) == (OWN, False)


def test_neither_a_trusted_project_nor_a_client_nor_the_command_line_sends_chats_elsewhere(
    home: Path, project: Path
) -> None:
    globally(home, {"store": {"url": OWN}})
    locally(project, {"store": {"url": OTHER}})
    assert read(home, project) == (OWN, True)
    locally(project, {})
    assert read(home, project, client={"store": {"url": OTHER}}) == (OWN, True)
    variables = {"ECA_CONFIG": json.dumps({"store": {"url": OTHER}})}
    assert read(home, project, environment=variables) == (OWN, True)


def test_the_policy_says_it_last_and_fills_in_the_name_of_the_user(home: Path, project: Path) -> None:
    globally(home, {"store": {"url": OTHER}})
    url = "postgresql://${env:JUPYTERHUB_USER}@db.example.org/eca"
    variables = {
        "JUPYTER_ECA_POLICY": json.dumps({"contact": "Ask Ben.", "locked": {"store": {"url": url}}}),
        "JUPYTERHUB_USER": "ada",
    }
    assert read(home, project, environment=variables) == (OWN, False)
    config = read_config((project,), home=home, environment=variables)
    assert config.policy.locked["store.url"].endswith("Ask Ben.")


@pytest.mark.parametrize("url", ["mysql://ada@db/eca", "host=db user=ada", ""])
def test_another_address_is_an_error_that_does_not_show_it(home: Path, project: Path, url: str) -> None:
    globally(home, {"store": {"url": url}})
    with pytest.raises(ConfigError, match="`postgresql://`") as refused:
        read(home, project)
    assert not url or url not in str(refused.value)


def test_a_password_in_the_address_is_shown_nowhere(home: Path, project: Path) -> None:
    globally(
        home, {"store": {"url": "postgresql://adalovelace:correct%20horse@db.example.org/eca?password=battery-staple"}}
    )
    config = read_config((project,), home=home)
    register_secrets(config)
    assert "horse" not in config.model_dump_json() + repr(config)
    assert "staple" not in config.model_dump_json() + repr(config)
    text = redaction.redact("correct horse, correct%20horse, battery-staple: adalovelace@db.example.org")
    assert "horse" not in text
    assert "staple" not in text
    assert "adalovelace@db.example.org" in text
