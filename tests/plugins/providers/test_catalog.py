"""Which models there are, which is the default, who answers to a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from jupyter_eca.config import Config, ModelConfig, ProviderConfig
from jupyter_eca.engine.model.delta import TextDelta
from jupyter_eca.engine.model.texts import NO_MODEL
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.base import Preset
from jupyter_eca.plugins.providers.catalog import Catalog, find_plugs

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest


@dataclass
class Maker:
    """Offers what it is given, and what its settings add."""

    name: str
    rank: int | None
    offers: tuple[str, ...] = ()
    asked: list[ProviderConfig] = field(default_factory=list[ProviderConfig])

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        self.asked.append(settings)
        return (*self.offers, *settings.models)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:  # noqa: ARG002
        yield TextDelta(model)


def catalog(*makers: Maker, default: str | None = None, **providers: ProviderConfig) -> Catalog:
    return Catalog({maker.name: maker for maker in makers}, Config(default_model=default, providers=providers))


def refusal(among: Catalog, name: str) -> str:
    with pytest.raises(ProviderError) as caught:
        among.choose(name)
    return str(caught.value)


@pytest.mark.asyncio
async def test_the_default_is_the_first_model_of_the_lowest_rank_that_is_usable() -> None:
    makers = Maker("c", 30, ("c1",)), Maker("b", 20, ("b1", "b2")), Maker("a", 10)
    assert await catalog(*makers).default() == "b/b1"


@pytest.mark.asyncio
async def test_the_configured_default_wins_unasked() -> None:
    maker = Maker("a", 10, ("a1",))
    assert await catalog(maker, default="x/y").default() == "x/y"
    assert maker.asked == []


@pytest.mark.asyncio
async def test_a_provider_without_a_rank_is_never_the_default_and_is_listed_last() -> None:
    among = catalog(Maker("script", None, ("s1",)), Maker("b", 20, ("b1",)))
    assert await among.models() == ("b/b1", "script/s1")
    assert await catalog(Maker("script", None, ("s1",))).default() == ""


@pytest.mark.asyncio
async def test_without_any_model_there_is_no_default_and_the_user_is_told_how_to_get_one() -> None:
    among = catalog(Maker("a", 10))
    assert await among.default() == ""
    assert refusal(among, "") == NO_MODEL


@pytest.mark.asyncio
async def test_models_are_listed_by_their_full_names_in_the_order_of_ranks() -> None:
    among = catalog(Maker("b", 20, ("b1", "b/2")), Maker("a", 10, ("a1",)))
    assert await among.models() == ("a/a1", "b/b1", "b/b/2")


@pytest.mark.asyncio
async def test_a_configured_provider_is_spoken_to_by_the_plug_of_its_api() -> None:
    maker = Maker("a", 10, ("a1",))
    settings = ProviderConfig(api="a", url="http://here", models={"mine": ModelConfig()})
    among = catalog(maker, house=settings)
    assert await among.models() == ("a/a1", "house/a1", "house/mine")
    chosen = among.choose("house/mine")
    assert (chosen.provider, chosen.model, chosen.settings) == (maker, "mine", settings)


@pytest.mark.asyncio
async def test_settings_of_a_plugs_own_name_are_its_settings() -> None:
    maker = Maker("a", 10)
    settings = ProviderConfig(url="http://here")
    assert catalog(maker, a=settings).choose("a/x").settings is settings


@pytest.mark.asyncio
async def test_a_configured_provider_that_nobody_speaks_to_is_left_out() -> None:
    among = catalog(Maker("a", 10, ("a1",)), other=ProviderConfig(models={"m": ModelConfig()}))
    assert await among.models() == ("a/a1",)
    assert "There is no provider 'other'" in refusal(among, "other/m")


def test_the_name_of_a_model_may_hold_a_slash() -> None:
    assert catalog(Maker("a", 10)).choose("a/org/model").model == "org/model"


def test_a_model_that_nobody_lists_may_be_chosen() -> None:
    assert catalog(Maker("a", 10, ("a1",))).choose("a/newer").model == "newer"


def test_an_unknown_provider_is_refused_with_those_that_are_known() -> None:
    assert "There is no provider 'c'. Known are a, b." in refusal(catalog(Maker("b", 1), Maker("a", 2)), "c/d")


@pytest.mark.parametrize("name", ["a", "a/", "claude"])
def test_a_name_without_a_provider_or_a_model_is_refused_with_its_form(name: str) -> None:
    assert "Write PROVIDER/MODEL" in refusal(catalog(Maker("a", 10)), name)


@dataclass
class ApiMaker(Maker):
    """Of an API, with names of its own."""

    presets: dict[str, Preset] = field(default_factory=dict[str, Preset])


def known(**providers: ProviderConfig) -> Catalog:
    settings = ProviderConfig(url="http://known", models={"best": ModelConfig()}, requires_auth=True)
    return catalog(ApiMaker("api", 10, presets={"known": Preset("Known", settings)}), default=None, **providers)


@pytest.mark.asyncio
async def test_a_provider_that_is_known_by_name_needs_no_configuration_and_its_api_is_none() -> None:
    assert await known().models() == ("known/best",)
    assert known().choose("known/best").settings.url == "http://known"
    assert "Known are known." in refusal(known(), "api/best")


@pytest.mark.asyncio
async def test_a_configuration_is_laid_over_what_is_known() -> None:
    own = ProviderConfig(models={"mine": ModelConfig(), "best": ModelConfig(model_name="better")})
    chosen = known(known=own).choose("known/best")
    assert await known(known=own).models() == ("known/mine", "known/best")
    assert (chosen.settings.url, chosen.settings.requires_auth) == ("http://known", True)
    assert chosen.settings.models["best"].model_name == "better"


@pytest.mark.asyncio
async def test_any_name_may_be_given_to_an_api() -> None:
    house = ProviderConfig(api="api", url="http://house", models={"m": ModelConfig()})
    assert await known(house=house).models() == ("known/best", "house/m")


def test_a_price_list_does_not_hold_for_another_address() -> None:
    assert known().entries()["known"].priced_as == "known"
    assert known(known=ProviderConfig(url="http://proxy")).entries()["known"].priced_as == ""


def test_limits_of_time_are_for_all_providers_that_have_none_of_their_own() -> None:
    config: dict[str, Any] = {"connectTimeoutSeconds": 3, "streamIdleTimeoutSeconds": 4}
    config["providers"] = {"b": {"connectTimeoutSeconds": 5}}
    among = Catalog({name: Maker(name, 10) for name in "ab"}, Config.model_validate(config))
    found = [among.choose(f"{name}/m").settings for name in "ab"]
    assert [(one.connect_timeout_seconds, one.stream_idle_timeout_seconds) for one in found] == [(3, 4), (5, 4)]


def test_a_plug_goes_by_the_name_it_says_not_by_its_module() -> None:
    maker = Maker("said", 10)
    assert Catalog({"module": maker}, Config()).choose("said/m").provider is maker


@pytest.mark.parametrize(
    "model",
    [
        "anthropic/claude-opus-5-5",
        "openai/gpt-6.2-sol",
        "google/gemini-3.1-pro-preview",
        "mistral/mistral-large-latest",
        "deepseek/deepseek-reasoner",
        "github-copilot/claude-sonnet-4.5",
    ],
)
@pytest.mark.asyncio
async def test_a_known_vendor_makes_titles_by_a_small_model_that_it_lists(model: str) -> None:
    provider = model.partition("/")[0]
    key = ProviderConfig(key=SecretStr("sk-not-a-key"))
    found = Catalog(find_plugs(), Config(providers={provider: key}))
    assert found.find_title_model(model) != model
    assert found.find_title_model(model) in await found.models()


def test_at_another_address_the_model_of_the_chat_makes_the_title() -> None:
    elsewhere = ProviderConfig(key=SecretStr("sk-not-a-key"), url="http://models.example.org")
    found = Catalog(find_plugs(), Config(providers={"anthropic": elsewhere, "openai": elsewhere}))
    assert found.find_title_model("anthropic/big") == "anthropic/big"
    assert found.find_title_model("openai/big") == "openai/big"


@pytest.mark.parametrize("model", ["scripted/tour", "local/small", "nobody/none", ""])
def test_what_only_stands_in_for_a_model_makes_no_title(model: str) -> None:
    assert Catalog(find_plugs(), Config()).find_title_model(model) == ""
