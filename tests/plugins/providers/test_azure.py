"""OpenAI's models at Azure: the recordings of the Responses API, with a key and with an account of Entra."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, ProviderConfig
from jupyter_eca.config.credentials import KeyStore
from jupyter_eca.engine.model.delta import Delta
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.azure import PROVIDER
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.plugins.providers.connection import sdk_clients
from jupyter_eca.plugins.providers.credentials.sign_in import Logins
from tests.plugins.providers.ask import answer, asking
from tests.plugins.providers.test_streams import fits, told
from tests.support.keyrings import Ring
from tests.support.openai_server import LoopbackOpenAI, recording

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.provider import ProviderStatus

pytestmark = pytest.mark.asyncio

MODEL = "azure/my-deployment"


def at(url: str, **more: Any) -> ProviderConfig:
    own = ProviderConfig.model_validate({"url": url} | more)
    return PROVIDER.presets["azure"].settings.model_copy(
        update={name: getattr(own, name) for name in own.model_fields_set}
    )


def find_nothing(_package: str) -> object:
    return None


def find_anything(_package: str) -> object:
    return True


@pytest.mark.parametrize(
    "name",
    [
        "text_comes_in_pieces",
        "parallel_calls_come_in_turns",
        "reasoning_is_summed_up_and_encrypted",
        "an_error_comes_in_the_stream",
    ],
)
async def test_the_recordings_are_understood_at_azure(name: str) -> None:
    stream, expected = recording("responses", name)
    deltas, error = list[Delta](), None
    with LoopbackOpenAI([stream]) as server:
        try:
            await answer(asking("hi", model=MODEL), at(server.url, key="a-key"), PROVIDER, deltas)
        except ProviderError as raised:
            error = raised
        (asked,) = server.requests
    said = json.loads(json.dumps(expected["says"]).replace("openai-responses/m#", f"{MODEL}#"))
    assert fits(told(deltas), said), told(deltas)
    assert (error is None) == ("error" not in expected)
    assert (asked.path, asked.key) == ("/openai/v1/responses", "a-key")


async def test_the_models_of_azure_have_the_variants_and_the_web_search_of_openai(tmp_path: Path) -> None:
    own = {"url": "https://my.openai.azure.com", "key": "a-key", "models": {"gpt-5.2": None}, "webSearch": True}
    store = KeyStore(tmp_path / "auth.json", Ring())
    catalog = Catalog({"azure": PROVIDER}, Config.model_validate({"providers": {"azure": own}}), store)
    assert catalog.variants("azure/gpt-5.2") == ("low", "medium", "high")

    async def ignore(_status: ProviderStatus, _default: str | None) -> None:
        pass

    status = await Logins(catalog, store, ignore).status("azure")
    assert status.models[0].capabilities.web_search
    assert status.login is not None
    assert [method.key for method in status.login.methods] == ["api-key"]


async def test_without_a_key_the_account_of_the_azure_tools_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("azure.identity")
    scopes: list[str] = []

    def provide(_credential: object, scope: str) -> Any:
        scopes.append(scope)
        return lambda: "a-token"

    monkeypatch.setattr(importlib.import_module("azure.identity"), "get_bearer_token_provider", provide)
    with LoopbackOpenAI([recording("responses", "text_comes_in_pieces")[0]]) as server:
        await answer(asking("hi", model=MODEL), at(server.url), PROVIDER)
        assert server.requests[0].key == "a-token"
    assert scopes == ["https://cognitiveservices.azure.com/.default"]


@pytest.mark.parametrize("key", [None, "", " "])
async def test_without_a_key_the_missing_extra_is_named(key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdk_clients, "find_spec", find_nothing)
    with pytest.raises(ProviderError, match=r'pip install "jupyter-eca\[azure\]"'):
        await answer(asking("hi", model=MODEL), at("https://my.openai.azure.com", key=key), PROVIDER)


@pytest.mark.parametrize("key", [None, "", " "])
async def test_a_project_that_sets_the_address_does_not_get_the_account(
    key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk_clients, "find_spec", find_anything)
    settings = at("https://evil.example", foreign_address=True, key=key)
    with pytest.raises(ProviderError, match="not sent there"):
        await answer(asking("hi", model=MODEL), settings, PROVIDER)
    with pytest.raises(ProviderError, match="not sent there"):
        await PROVIDER.warm("azure", settings.model_copy(update={"requires_auth": False}))
