from __future__ import annotations

import pytest

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.ollama import PROVIDER
from tests.plugins.providers.ask import KEY, answer, asking, at, says, text_of
from tests.support.anthropic_server import Fault, LoopbackAnthropic

QWEN = "qwen3:latest"


async def failure_of(fault: Fault, model: str) -> str:
    with LoopbackAnthropic(says("hi"), [fault], tags=[QWEN]) as server, pytest.raises(ProviderError) as caught:
        await answer(asking("hi", model=f"ollama/{model}"), at(server, key=None), PROVIDER)
    return str(caught.value)


@pytest.mark.asyncio
async def test_there_are_no_models_without_a_server() -> None:
    assert await PROVIDER.models(ProviderConfig(url="http://127.0.0.1:1")) == ()


@pytest.mark.asyncio
async def test_the_models_are_those_the_server_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with LoopbackAnthropic(says("hi"), tags=[QWEN, "gpt-oss:20b"]) as server:
        assert await PROVIDER.models(ProviderConfig(url=server.url)) == (QWEN, "gpt-oss:20b")


@pytest.mark.asyncio
async def test_something_else_at_that_address_has_no_models() -> None:
    with LoopbackAnthropic(says("hi")) as server:
        assert await PROVIDER.models(ProviderConfig(url=server.url)) == ()


@pytest.mark.asyncio
async def test_another_machine_is_not_asked_for_its_models() -> None:
    settings = ProviderConfig.model_validate({"url": "http://nowhere.invalid", "models": {"mine": {}}})
    assert await PROVIDER.models(settings) == ("mine",)


@pytest.mark.asyncio
async def test_an_answer_is_free_and_carries_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with LoopbackAnthropic(says("hi"), tags=[QWEN]) as server:
        deltas = await answer(asking("hi", model=f"ollama/{QWEN}"), at(server, key=None), PROVIDER)
    assert text_of(deltas) == "hi"
    assert isinstance(deltas[-1], UsageDelta)
    assert deltas[-1].cost == 0
    assert KEY not in str(server.requests[0].headers)


@pytest.mark.asyncio
async def test_a_model_of_the_cloud_is_not_called_free() -> None:
    with LoopbackAnthropic(says("hi")) as server:
        deltas = await answer(asking("hi", model="ollama/gpt-oss:120b-cloud"), at(server, key=None), PROVIDER)
    assert isinstance(deltas[-1], UsageDelta)
    assert deltas[-1].cost is None


@pytest.mark.parametrize("model", [QWEN, "qwen3"])
@pytest.mark.asyncio
async def test_an_ollama_without_the_messages_api_must_be_upgraded(model: str) -> None:
    assert "Upgrade it to 0.14" in await failure_of(Fault(404, "404 page not found", plain=True), model)


@pytest.mark.asyncio
async def test_a_model_that_is_not_there_must_be_pulled() -> None:
    assert "`ollama pull llama9`" in await failure_of(Fault(404, "model 'llama9' not found"), "llama9")


@pytest.mark.asyncio
async def test_other_errors_are_told_as_they_are() -> None:
    assert "failed with status 500: out of memory" in await failure_of(Fault(500, "out of memory"), QWEN)
