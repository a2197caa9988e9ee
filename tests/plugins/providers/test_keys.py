"""Whose key is sent where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.config.credentials import KeyStore, StoredKey
from jupyter_eca.plugins.providers.anthropic import AnthropicProvider
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.plugins.providers.ollama import OllamaProvider
from tests.support.keyrings import Ring

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.plugins.providers.base import Provider
    from jupyter_eca.plugins.providers.catalog import CatalogEntry

CONFIGURED = {"anthropic": {"key": "from-config"}}
HOUSE = {"house": {"api": "anthropic", "url": "https://house.example"}}


@pytest.fixture
def credentials(tmp_path: Path) -> KeyStore:
    return KeyStore(tmp_path / "auth.json", Ring())


def entry(credentials: KeyStore, name: str = "anthropic", **given: Any) -> CatalogEntry:
    credentials.load()
    plugs: dict[str, Provider] = {"a": AnthropicProvider(), "o": OllamaProvider()}
    return Catalog(plugs, Config.model_validate(given), credentials).entries()[name]


def secret(found: CatalogEntry) -> str | None:
    return found.settings.key.get_secret_value() if found.settings.key else None


def test_the_configured_key_comes_first_then_the_typed_one_then_the_environments(
    credentials: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-env")
    assert secret(entry(credentials)) == "from-env"
    credentials.store("anthropic", StoredKey("from-login"))
    assert secret(entry(credentials)) == "from-login"
    found = entry(credentials, providers=CONFIGURED)
    assert (secret(found), found.key.source) == ("from-config", "config")


def test_a_key_counts_as_soon_as_it_is_set_or_typed_in_and_no_longer_when_it_is_gone(
    credentials: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    known = Catalog({"a": AnthropicProvider()}, Config(), credentials)
    assert secret(known.entries()["anthropic"]) is None
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-env")
    assert secret(known.entries()["anthropic"]) == "from-env"
    credentials.store("anthropic", StoredKey("from-login"))
    assert secret(known.entries()["anthropic"]) == "from-login"
    credentials.forget("anthropic")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert secret(known.entries()["anthropic"]) is None


def test_a_key_in_the_configuration_that_is_blank_is_none(credentials: KeyStore) -> None:
    credentials.store("anthropic", StoredKey("from-login"))
    found = entry(credentials, providers={"anthropic": {"key": " "}})
    assert (secret(found), found.key.source) == ("from-login", "login")


def test_without_any_key_it_is_known_where_one_would_be_looked_for(credentials: KeyStore) -> None:
    found = entry(credentials)
    assert (secret(found), found.key.source, found.key.variable) == (None, None, "ANTHROPIC_API_KEY")


def test_the_environment_is_the_one_that_the_client_sees(credentials: KeyStore) -> None:
    found = entry(credentials, variables={"ANTHROPIC_API_KEY": "from-client"})
    assert (secret(found), found.key.source, found.key.variable) == ("from-client", "env", "ANTHROPIC_API_KEY")


def test_somebody_elses_server_gets_a_key_of_its_own_name_only(
    credentials: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "vendors")
    assert secret(entry(credentials, "house", providers=HOUSE)) is None
    monkeypatch.setenv("HOUSE_API_KEY", "houses")
    assert secret(entry(credentials, "house", providers=HOUSE)) == "houses"


def test_a_typed_key_goes_only_to_the_address_it_was_typed_for(credentials: KeyStore) -> None:
    credentials.store("anthropic", StoredKey("vendors"))
    credentials.store("house", StoredKey("houses", "https://house.example"))
    elsewhere = {
        "anthropic": {"url": "https://evil.example"},
        "house": {"api": "anthropic", "url": "https://evil.example"},
    }
    assert secret(entry(credentials, providers=elsewhere)) is None
    assert secret(entry(credentials, "house", providers=elsewhere)) is None
    assert secret(entry(credentials, "house", providers=HOUSE)) == "houses"


def test_an_address_that_was_typed_in_is_used_where_none_is_configured(credentials: KeyStore) -> None:
    credentials.store("house", StoredKey("houses", "https://house.example"))
    found = entry(credentials, "house", providers={"house": {"api": "anthropic"}})
    assert (found.settings.url, secret(found)) == ("https://house.example", "houses")


def test_a_provider_that_wants_no_key_gets_none(credentials: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "x")
    credentials.store("ollama", StoredKey("y"))
    assert secret(entry(credentials, "ollama")) is None


def test_a_key_is_in_no_form_of_an_entry(credentials: KeyStore) -> None:
    credentials.store("anthropic", StoredKey("sk-very-secret"))
    found = entry(credentials)
    assert "sk-very-secret" not in repr(found) + str(found) + repr(found.key)
