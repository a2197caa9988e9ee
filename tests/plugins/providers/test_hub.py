"""The gateway of an institution as a provider: where it is, which models it has, what it is sent, what an answer costs,
and what users read when it refuses. `tests/apps/hub` has the same with a real LiteLLM Proxy and a real JupyterHub."""

from __future__ import annotations

import asyncio
import socket
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, ProviderConfig
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.host.turn.effect_runner import build_failure
from jupyter_eca.plugins.providers import openai_chat
from jupyter_eca.plugins.providers.catalog import Catalog, find_plugs
from jupyter_eca.plugins.providers.hub import HubProvider
from tests.plugins.providers.ask import answer, asking, at, text_of
from tests.support.anthropic_server import Fault
from tests.support.gateway_server import CLAUDE, COSTS, GPT, LoopbackGateway, refuse

if TYPE_CHECKING:
    from jupyter_eca.engine.model.delta import Delta

TOKEN = "a-token-of-the-hub-0123456789"  # noqa: S105
SPENT = "You have spent $2.01 of your budget of $2.00 a month. It begins anew on 2026-12-01 at 00:00 UTC. Ask Ada."

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def no_other_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_ECA_GATEWAY_URL", "JUPYTERHUB_API_TOKEN", "LITELLM_API_BASE", "LITELLM_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def set_hub(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("JUPYTER_ECA_GATEWAY_URL", url)
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", TOKEN)


def make_catalog(**config: Any) -> Catalog:
    plugs = {name: plug for name, plug in find_plugs().items() if name != "hub"}
    return Catalog({**plugs, "hub": HubProvider()}, Config.model_validate(config))


async def ask(catalog: Catalog, full_name: str) -> list[Delta]:
    chosen = catalog.choose(full_name)
    stream = chosen.provider.stream(chosen.model, asking("hi", model=full_name), chosen.settings)
    async with asyncio.timeout(30), aclosing(stream):
        return [chosen.apply_rates(delta) if isinstance(delta, UsageDelta) else delta async for delta in stream]


async def fail(catalog: Catalog, full_name: str) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(catalog, full_name)
    assert TOKEN not in str(caught.value)
    return caught.value


def find_usage(deltas: list[Delta]) -> UsageDelta:
    (usage,) = (delta for delta in deltas if isinstance(delta, UsageDelta))
    return usage


# -- where it is, and with which key


async def test_a_server_of_a_hub_lists_the_models_of_its_user_and_asks_the_first_by_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with LoopbackGateway(TOKEN) as gateway:
        set_hub(monkeypatch, gateway.url)
        catalog = make_catalog()
        assert await catalog.default() == f"hub/{CLAUDE}"
        assert {f"hub/{CLAUDE}", f"hub/{GPT}"} <= {*await catalog.models()}
        assert text_of(await ask(catalog, f"hub/{GPT}")) == "Hello 1"
    assert {asked.key for asked in gateway.requests} == {TOKEN}


@pytest.mark.parametrize("path", ["", "/", "/v1"])
async def test_the_variables_of_jupyterhub_litellm_are_enough(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    with LoopbackGateway("sk-virtual") as gateway:
        monkeypatch.setenv("LITELLM_API_BASE", gateway.url + path)
        monkeypatch.setenv("LITELLM_API_KEY", "sk-virtual")
        monkeypatch.setenv("JUPYTERHUB_API_TOKEN", TOKEN)
        catalog = make_catalog()
        assert [text_of(await ask(catalog, f"hub/{name}")) for name in (CLAUDE, GPT)] == ["Hello 1"] * 2
    assert {asked.path for asked in gateway.asked_for} == {"/v1/messages", "/v1/responses"}
    # The token of the server belongs to the Hub, and not to this address.
    assert {asked.key for asked in gateway.requests} == {"sk-virtual"}


async def test_without_a_gateway_there_is_no_such_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", TOKEN)
    catalog = make_catalog()
    assert not [name for name in await catalog.models() if name.startswith("hub/")]
    entry = catalog.entries()["hub"]
    assert (entry.plug.rank, entry.has_address) == (None, False)
    assert (await fail(catalog, "hub/x")).kind is FailureKind.SETUP


async def test_the_token_of_the_server_goes_to_no_address_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackGateway("") as other:
        set_hub(monkeypatch, "http://127.0.0.1:9")
        catalog = make_catalog(providers={"hub": {"url": other.url}})
        await catalog.models()
        assert (await fail(catalog, f"hub/{GPT}")).kind is FailureKind.AUTH
    assert other.requests
    assert {asked.key for asked in other.requests} <= {"", "none"}


async def test_a_list_that_leads_elsewhere_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackGateway(TOKEN) as other, LoopbackRedirect(other.url) as gateway:
        set_hub(monkeypatch, gateway.url)
        assert not [name for name in await make_catalog().models() if name.startswith("hub/")]
    assert gateway.requests
    assert other.requests == []


class LoopbackRedirect(LoopbackGateway):
    def __init__(self, target: str) -> None:
        super().__init__(TOKEN)
        self._target = target

    def answered(self, asked: Any) -> Any:
        return Fault(302, "{}", plain=True, headers={"Location": f"{self._target}{asked.path}"}), ()


# -- what it is sent, and what an answer costs


@pytest.mark.parametrize(("model", "path", "limit"), [(CLAUDE, "messages", 32_000), (GPT, "responses", 16_384)])
async def test_claude_gets_messages_and_others_responses_each_with_a_limit_for_the_answer(
    monkeypatch: pytest.MonkeyPatch, model: str, path: str, limit: int
) -> None:
    with LoopbackGateway(TOKEN) as gateway:
        set_hub(monkeypatch, gateway.url)
        usage = find_usage(await ask(make_catalog(), f"hub/{model}"))
    (asked,) = gateway.asked_for
    assert asked.path == f"/v1/{path}"
    assert asked.body.get("max_tokens", asked.body.get("max_output_tokens")) == limit
    assert usage.context_limit > 100_000


async def test_the_model_behind_a_name_decides_about_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    vendors = {"tutor": "bedrock/anthropic.claude-sonnet-4-5", "claude-killer": "openai/gpt-4o"}
    with LoopbackGateway(TOKEN, models=vendors, vendors=vendors) as gateway:
        set_hub(monkeypatch, gateway.url)
        catalog = make_catalog()
        for name in vendors:
            await ask(catalog, f"hub/{name}")
    assert [asked.path for asked in gateway.asked_for] == ["/v1/messages", "/v1/responses"]


async def test_other_vendors_get_nothing_that_only_openai_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    vendors = {"french": "mistral/large", "own": "openai/gpt-5"}
    with LoopbackGateway(TOKEN, models=vendors, vendors=vendors) as gateway:
        set_hub(monkeypatch, gateway.url)
        catalog = make_catalog()
        for name in vendors:
            await ask(catalog, f"hub/{name}")
    french, own = (asked.body.keys() for asked in gateway.asked_for)
    assert not {"store", "prompt_cache_key", "include"} & french
    assert {"store", "prompt_cache_key"} <= own


async def test_marks_for_the_cache_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackGateway(TOKEN) as gateway:
        set_hub(monkeypatch, gateway.url)
        await ask(make_catalog(), f"hub/{CLAUDE}")
    assert gateway.asked_for[0].body["system"][-1]["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_an_answer_costs_what_the_gateway_says(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    with LoopbackGateway(TOKEN, says_cost=True) as gateway:
        set_hub(monkeypatch, gateway.url)
        assert find_usage(await ask(make_catalog(), f"hub/{model}")).cost == 0.5


@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_an_answer_without_a_cost_costs_what_the_gateway_lists(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    with LoopbackGateway(TOKEN) as gateway:
        set_hub(monkeypatch, gateway.url)
        usage = find_usage(await ask(make_catalog(), f"hub/{model}"))
    assert usage.cost == pytest.approx(COSTS[model])
    assert usage.cache_read_tokens == 1000


async def test_a_cost_is_read_on_chat_completions_too() -> None:
    with LoopbackGateway("sk-x", says_cost=True) as gateway:
        settings = ProviderConfig.model_validate({"url": f"{gateway.url}/v1", "key": "sk-x"})
        usage = find_usage(await answer(asking("hi", model="house/m"), settings, openai_chat.PROVIDER))
    assert usage.cost == 0.5


async def test_the_prices_of_the_user_count_first(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackGateway(TOKEN, says_cost=True) as gateway:
        set_hub(monkeypatch, gateway.url)
        models = {GPT: {"cost": {"input": 0, "output": 1}, "limit": {"output": 500}}}
        usage = find_usage(await ask(make_catalog(providers={"hub": {"models": models}}), f"hub/{GPT}"))
    assert usage.cost == pytest.approx(200 / 1e6)
    assert gateway.asked_for[0].body["max_output_tokens"] == 500


# -- what goes wrong


@pytest.mark.parametrize("status", [422, 400, 429])
@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_a_budget_that_is_used_up_is_a_kind_of_its_own_and_is_never_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, model: str, status: int
) -> None:
    with LoopbackGateway(TOKEN, [refuse(status, "budget_exceeded", SPENT)]) as gateway:
        set_hub(monkeypatch, gateway.url)
        error = await fail(make_catalog(), f"hub/{model}")
    assert (error.kind, error.retryable) == (FailureKind.BUDGET_EXCEEDED, False)
    assert SPENT.rstrip(".") in str(error)
    always = ProviderConfig.model_validate({"retryRules": [{"status": status}]})
    assert build_failure(error, always) is None
    assert [asked.path for asked in gateway.requests].count("/key/info") == 0  # this gateway has said it all


async def test_a_budget_is_a_kind_of_its_own_on_chat_completions_too() -> None:
    with LoopbackGateway("sk-x", [refuse(422, "budget_exceeded", SPENT)]) as gateway:
        settings = ProviderConfig.model_validate({"url": f"{gateway.url}/v1", "key": "sk-x"})
        with pytest.raises(ProviderError) as caught:
            await answer(asking("hi", model="house/m"), settings, openai_chat.PROVIDER)
    assert caught.value.kind is FailureKind.BUDGET_EXCEEDED


async def test_a_gateway_with_a_database_is_asked_what_the_budget_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Budget has been exceeded! Current cost: 2.01, Max budget: 2.0"
    budget = {"spend": 2.01, "max_budget": 2.0, "budget_duration": "30d", "budget_reset_at": "2026-12-01T00:00:00Z"}
    with LoopbackGateway("sk-virtual", [refuse(422, "budget_exceeded", said)], budget=budget) as gateway:
        monkeypatch.setenv("LITELLM_API_BASE", gateway.url)
        monkeypatch.setenv("LITELLM_API_KEY", "sk-virtual")
        error = await fail(make_catalog(), f"hub/{GPT}")
    assert "Your budget is $2.00 for 30d, of which $2.01 are spent. It begins anew at 2026-12-01" in str(error)


@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_a_refused_token_is_that_of_the_server(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    with LoopbackGateway("another") as gateway:
        set_hub(monkeypatch, gateway.url)
        catalog = make_catalog()
        error = await fail(catalog, f"hub/{model}")
        assert await catalog.default() == ""
        missing = await fail(catalog, "")
    assert error.kind is FailureKind.AUTH
    assert "stop your server and start it again" in str(error)
    assert "stop your server and start it again" in str(missing)


async def test_a_gateway_that_is_down_is_named_and_not_a_model_that_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_hub(monkeypatch, "http://127.0.0.1:9")
    catalog = make_catalog()
    assert await catalog.default() == ""
    assert "The gateway at http://127.0.0.1:9 does not list its models: it does not answer." in str(
        await fail(catalog, "")
    )


async def test_a_gateway_that_is_silent_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        set_hub(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}")
        catalog = make_catalog()
        assert await catalog.default() == ""
        assert "it does not answer" in str(await fail(catalog, ""))


async def test_a_gateway_that_goes_down_keeps_its_list(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackGateway(TOKEN) as gateway:
        set_hub(monkeypatch, gateway.url)
        catalog = make_catalog()
        assert f"hub/{GPT}" in await catalog.models()
    assert f"hub/{GPT}" in await catalog.models()
    assert (await fail(catalog, f"hub/{GPT}")).kind is FailureKind.NETWORK


async def test_a_user_without_models_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackGateway(TOKEN, models=()) as gateway:
        set_hub(monkeypatch, gateway.url)
        catalog = make_catalog()
        await catalog.default()
        assert "has no models for you" in str(await fail(catalog, ""))


async def test_other_keys_keep_their_own_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackGateway("another") as gateway:
        set_hub(monkeypatch, gateway.url)
        settings = at(gateway, key="mistyped")
        with pytest.raises(ProviderError, match=r"providers\.hub\.key"):
            await answer(asking("hi", model=f"hub/{GPT}"), settings, HubProvider())
