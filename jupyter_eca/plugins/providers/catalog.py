"""Owns the catalog of providers and models: it lists the models, finds the default one, and chooses the provider of a
model.

It must not send a request: the plugs do. `credentials.api_keys` finds the keys, `presets` has the known providers, and
`prices` the prices.
"""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config import ModelConfig, ProviderConfig, register_secrets
from jupyter_eca.config.policy.applied_policy import UNKNOWN_ADDRESS
from jupyter_eca.config.policy.document import Feature
from jupyter_eca.engine.model.texts import NO_MODEL
from jupyter_eca.errors import FailureKind, ProviderError, UnknownModel
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.providers import prices
from jupyter_eca.plugins.providers.base import (
    HasAddress,
    HasSmallModel,
    Keyed,
    MayCostNothing,
    MayLackModels,
    Provider,
    Serves,
    StandsIn,
)
from jupyter_eca.plugins.providers.credentials import api_keys
from jupyter_eca.plugins.providers.credentials.api_keys import KeyOutcomes
from jupyter_eca.plugins.providers.credentials.key_variables import find_key_variables
from jupyter_eca.plugins.providers.variants import (
    PLUGS_WITH_DEFAULT_THINKING,
    find_default_thinking,
    find_variants,
    merge_payloads,
)
from jupyter_eca.workspace.environment import inherit_environment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from jupyter_eca.config import Config
    from jupyter_eca.config.credentials import KeyStore
    from jupyter_eca.config.provider_schema import Payload
    from jupyter_eca.engine.model.delta import UsageDelta
    from jupyter_eca.plugins.providers.base import Preset
    from jupyter_eca.plugins.providers.credentials.api_keys import ApiKey


_log = logging.getLogger(__name__)


def find_plugs() -> dict[str, Provider]:
    """Return the plugs of all providers, by the names of their modules and entry points."""
    wanted = "an object with `name`, `rank`, `models` and `stream`, such as `PROVIDER = Echo()`"
    return loader.find("providers", "PROVIDER", lambda plug: loader.check_plug(plug, Provider, wanted))


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model with its provider and settings: `provider.stream(model, request, settings)` sends a request to it."""

    provider: Provider
    """The plug that sends the requests."""
    model: str
    """The name of the model, without the provider."""
    settings: ProviderConfig
    """The settings of the provider, with its key and the payload of the variant."""
    free: bool = False
    """Whether the model costs nothing."""
    key_outcomes: KeyOutcomes = field(default_factory=KeyOutcomes)
    """Stores what the request shows about the key, for example that it is refused."""

    def apply_rates(self, usage: UsageDelta) -> UsageDelta:
        """Return the usage that the provider reports, with the user's own rates if there are any."""
        own = self.settings.models.get(self.model)
        return prices.apply_own_rates(usage, own) if own and (own.cost or own.limit) else usage


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A provider with a configured or known name."""

    plug: Provider
    """The plug that sends its requests."""
    key: ApiKey
    """Its key, and its settings."""
    label: str | None = None
    """The name for users. None if the provider is not known."""
    priced_as: str = ""
    """The provider whose prices count, by its name in the table of prices; "" for none."""
    has_address: bool = False
    """Whether its URL is known without a configuration."""
    free: bool = False
    """Whether its models cost nothing."""
    browser_sign_in: bool = False
    """Whether a user can sign in there with a browser, and gets a key."""
    small_model: str = ""
    """Its cheap and fast model, by its name without the provider; "" for none that is known."""

    @property
    def settings(self) -> ProviderConfig:
        """The settings, with the key."""
        return self.key.settings


class Catalog:
    """All providers and their models."""

    def __init__(self, plugs: dict[str, Provider], config: Config, credentials: KeyStore | None = None) -> None:
        """`credentials` has the keys that users have typed in."""
        self._plugs = {plug.name: plug for plug in plugs.values()}
        self._credentials = credentials
        self.key_outcomes: Final = KeyOutcomes()
        # The keys that are registered for redaction already.
        self._registered_keys: dict[str, api_keys.ApiKey] = {}
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Use a configuration from now on. Requests under way are not changed."""
        self._config = config
        # The providers that the administrator's policy does not allow, each with the reason.
        self._refused: dict[str, str] = {}
        # The environment variables in which the keys of all providers are looked for, also of those that are refused.
        self._key_variables: set[str] = set()
        # Of each provider, by name: its plug, its preset and its settings without a key.
        self._offers = self._resolve_offers()
        # The entries, and before them the typed keys and the environment variables with which they were made. If these
        # have changed, the entries are made again.
        self._cached_entries: tuple[object, Mapping[str, CatalogEntry]] = None, {}

    @property
    def config(self) -> Config:
        """The configuration that is used now."""
        return self._config

    @property
    def names(self) -> Collection[str]:
        """The names of all providers."""
        return self._offers.keys()

    async def refresh(self) -> None:
        """Load the keys that users have typed in meanwhile, here or in another process. Call this before `choose`."""
        if self._credentials is not None:
            await asyncio.to_thread(self._credentials.load)

    def entries(self) -> Mapping[str, CatalogEntry]:
        """Return all providers by name: the plugs, the known providers, and those of the configuration.

        A user may type in a key or set a variable at any time. Then the keys are looked up again.
        """
        key_sources = self._credentials and self._credentials.revision, dict(os.environ)
        if self._cached_entries[0] != key_sources:
            entries = {name: self._make_entry(name, *offer) for name, offer in self._offers.items()}
            self._cached_entries = key_sources, entries
        return self._cached_entries[1]

    def find_key_variables(self, environment: Mapping[str, str]) -> frozenset[str]:
        """Return the names of the variables that have keys of providers, without those that the user lets programs
        have (`keptVariables`)."""
        names = {plug.key_variable for plug in self._plugs.values() if isinstance(plug, Keyed)} | self._key_variables
        keys = {entry.settings.read_key() for entry in self.entries().values()}
        return find_key_variables(environment, names, keys, self._config.kept_variables)

    def build_environment(self) -> dict[str, str]:
        """Return the environment of a program that we start for a model, a project or the user: ours without the keys
        of providers, except those in `keptVariables`, and without the tokens of servers."""
        environment = inherit_environment()
        removed = self.find_key_variables(environment)
        return {name: value for name, value in environment.items() if name not in removed}

    def _resolve_offers(self) -> dict[str, tuple[Provider, Preset | None, ProviderConfig]]:
        """Return the plug, the preset and the settings of each provider. They follow from the configuration alone.

        A provider is a plug itself, a preset (a server that is known by name), or an entry of the configuration. The
        key `api` of the configuration names the plug. Without this key, the preset has the plug.
        """
        presets = {
            name: (plug, preset)
            for plug in self._plugs.values()
            if isinstance(plug, Serves)
            for name, preset in plug.presets.items()
        }
        found: dict[str, tuple[Provider, Preset | None, ProviderConfig]] = {}
        for name in [*self._list_plug_names(), *presets, *self._config.providers]:
            preset_plug, preset = presets.get(name, (None, None))
            own = self._config.providers.get(name)
            api = own.api if own else None
            plug = self._plugs.get(api or name) or (None if api else preset_plug)
            if plug is not None:
                settings = own or ProviderConfig()
                settings = settings if preset is None else _merge_settings(preset.settings, settings)
                if isinstance(plug, Keyed):
                    extra_variable = preset.variable if preset else ""
                    self._key_variables.update(api_keys.list_variables(name, plug, settings, extra_variable))
                if refusal := self._refuse_provider(name, plug, settings):
                    self._refused[name] = refusal
                else:
                    found[name] = plug, preset, settings
        return found

    def _refuse_provider(self, name: str, plug: Provider, settings: ProviderConfig) -> str:
        """Return why the administrator's policy does not allow a provider or its address; "" if it does."""
        address = settings.url or ""
        if not address:
            address = plug.find_address(settings) if isinstance(plug, HasAddress) else ""
        if not address and isinstance(plug, Keyed):
            address = UNKNOWN_ADDRESS
        path = settings.completion_url_relative_path or ""
        return self._config.policy.find_provider_refusal(name) or self._config.policy.find_url_refusal(address, path)

    def _list_plug_names(self) -> list[str]:
        """Return the names of the plugs that are also names of a provider."""
        return [name for name, plug in self._plugs.items() if not isinstance(plug, Serves)]

    def _make_entry(self, name: str, plug: Provider, preset: Preset | None, settings: ProviderConfig) -> CatalogEntry:
        """Look up the key of a provider, and return its entry. The key is registered, so that no text shows it."""
        takes_typed_keys = not self._config.policy.find_feature_refusal(Feature.TYPED_KEYS)
        login = self._credentials.get(name) if self._credentials is not None and takes_typed_keys else None
        key = api_keys.find_key(
            name, plug, settings, login, self._config.get_variable, preset.variable if preset else ""
        )
        if self._registered_keys.get(name) != key:
            register_secrets(key.settings)
            self._registered_keys[name] = key
        if preset is None:
            label = plug.label if isinstance(plug, Keyed) and name == plug.name else None
            priced_as = plug.name if isinstance(plug, Keyed) and not key.settings.url else ""
            free = isinstance(plug, MayCostNothing) and plug.free
            has_address = name == plug.name and not (isinstance(plug, HasAddress) and not plug.find_address(settings))
            small = plug.small_model if isinstance(plug, HasSmallModel) and priced_as else ""
            return CatalogEntry(plug, key, label, priced_as, has_address, free=free, small_model=small)
        is_at_vendor = preset.settings.url is not None and key.settings.url == preset.settings.url
        priced_as = name if is_at_vendor and not preset.free else ""
        free, has_address = is_at_vendor and preset.free, preset.settings.url is not None
        small = preset.small_model if is_at_vendor else ""
        return CatalogEntry(plug, key, preset.label, priced_as, has_address, free, preset.browser_sign_in, small)

    async def models(self) -> tuple[str, ...]:
        """Return the full names of all models that can answer now. They are in the order in which a default is looked
        for. Models that are never a default come last."""
        await self.refresh()
        entries = self._rank_entries()
        offers = await asyncio.gather(*(entry.plug.models(entry.settings) for _, entry in entries))
        names = (f"{name}/{model}" for (name, _), offer in zip(entries, offers, strict=True) for model in offer)
        return tuple(name for name in names if not self._config.policy.find_model_refusal(name))

    async def default(self) -> str:
        """Return the configured model, or else the best model of the first provider that is usable here; "" if there is
        none."""
        policy = self._config.policy
        configured = self._config.default_model
        # A policy without documents allows everything.
        if configured and not (policy.documents and policy.find_model_refusal(configured)):
            return configured
        await self.refresh()
        for name, entry in self._rank_entries():
            if entry.plug.rank is not None:
                for model in await entry.plug.models(entry.settings):
                    if not policy.find_model_refusal(f"{name}/{model}"):
                        return f"{name}/{model}"
                if _explain_no_models(entry):
                    return ""  # while a gateway does not answer, nothing is sent to somebody else instead
        return ""

    async def list_models(self) -> tuple[tuple[str, ...], str]:
        """Return the models that a client may choose from, and the default, which is always among them."""
        models, default = await self.models(), await self.default()
        return (models if not default or default in models else (default, *models)), default

    async def filter_usable(self, full_names: Collection[str]) -> frozenset[str]:
        """Return those of the models that can answer now. Only their own providers are asked."""
        await self.refresh()
        entries = self.entries()
        wanted = {name.partition("/")[0] for name in full_names}.intersection(entries)
        offers = {name: await entries[name].plug.models(entries[name].settings) for name in wanted}
        usable = frozenset(full_names).intersection(f"{name}/{model}" for name in offers for model in offers[name])
        return frozenset(name for name in usable if not self._config.policy.find_model_refusal(name))

    def _rank_entries(self) -> list[tuple[str, CatalogEntry]]:
        """Return the names and the entries of all providers, in the order in which a default model is looked for."""
        return sorted(self.entries().items(), key=lambda item: _get_rank(item[1].plug))

    def variants(self, full_name: str) -> tuple[str, ...]:
        """Return the variants of a model; none for a model that no provider serves."""
        name, _, model = full_name.partition("/")
        entry = self.entries().get(name)
        return tuple(self._find_variants(name, entry, model)) if entry else ()

    def _find_variants(self, name: str, entry: CatalogEntry, model: str) -> dict[str, dict[str, Any]]:
        """Return the variants of a model by name: what each adds to a request."""
        model_config = entry.settings.models.get(model, ModelConfig())
        return find_variants(name, entry.plug.name, model, model_config, self._config)

    def has(self, full_name: str) -> bool:
        """Return whether the provider of a full name exists. Only the provider itself knows whether it has the
        model."""
        provider, _, model = full_name.partition("/")
        return bool(model) and provider in self._offers

    async def quote(self, full_name: str, usage: UsageDelta) -> UsageDelta:
        """Return the usage with its cost and the limits of the model, as far as they are known."""
        name, _, model = full_name.partition("/")
        entry = self.entries().get(name)
        if entry is None:
            return usage
        model_config = entry.settings.models.get(model, ModelConfig())
        if entry.priced_as:
            usage = await prices.add_price(entry.priced_as, model_config.model_name or model, usage)
        elif entry.free and not model.endswith(("-cloud", ":cloud")):  # Ollama's models that do not run here
            usage = replace(usage, cost=0.0)
        return prices.apply_own_rates(usage, model_config)

    def choose(self, full_name: str, variant: str = "", *, thinks: bool = False) -> ChosenModel:
        """Choose the provider of a model. A variant that the model does not have is ignored, as in ECA: an agent names
        a variant for all models that it may be used with. With `thinks`, the model is asked to think even without a
        variant. Only chats do this, because a user who waits for a completion does not want to wait for thoughts.

        Raises: UnknownModel for a name that no provider serves; ProviderError for no name, and for a model that the
        administrator's policy does not allow.
        """
        if not full_name:
            raise ProviderError(self.explain_no_models() or NO_MODEL, kind=FailureKind.SETUP)
        provider, slash, model = full_name.partition("/")
        if self._config.policy.documents and (refusal := self._refuse(full_name)):
            raise ProviderError(refusal, kind=FailureKind.SETUP)
        entries = self.entries()
        if not (slash and model):
            raise UnknownModel(f"{full_name!r} is not a model. Write PROVIDER/MODEL, with a model that is listed.")
        if provider not in entries:
            known = ", ".join(sorted(entries))
            raise UnknownModel(f"There is no provider {provider!r}. Known are {known}.")
        entry = entries[provider]
        settings = self._add_time_limits(entry.settings)
        payload = self._find_variant(provider, entry, model, variant) if variant else None
        if payload is None and thinks and entry.plug.name in PLUGS_WITH_DEFAULT_THINKING:
            # The name of the model at its vendor. The configuration may give the model another name here.
            vendors_name = settings.models.get(model, ModelConfig()).model_name or model
            payload = find_default_thinking(entry.plug.name, vendors_name, settings.get_payload(model))
        if payload:
            settings = _add_payload(settings, model, payload)
        if self._config.policy.documents:
            for vendors_name in _list_vendors_names(settings, model):
                if refusal := self._config.policy.find_vendors_model_refusal(full_name, vendors_name):
                    raise ProviderError(refusal, kind=FailureKind.SETUP)
        return ChosenModel(entry.plug, model, settings, entry.free, self.key_outcomes)

    def find_title_model(self, full_name: str) -> str:
        """Return the model that makes the title of a chat in which this model answers: the small model of its provider,
        where one is known and allowed, else the model itself. Return "" for a model that only stands in for a real one:
        it would make a bad title, and the next question would wait for it."""
        name = full_name.partition("/")[0]
        entry = self.entries().get(name)
        if entry is None or isinstance(entry.plug, StandsIn):
            return ""
        small = f"{name}/{entry.small_model}"
        return full_name if not entry.small_model or self._config.policy.find_model_refusal(small) else small

    def explain_no_models(self) -> str:
        """Return why a provider that is set up has no models; "" if there is no such provider."""
        return next(filter(None, (_explain_no_models(entry) for _, entry in self._rank_entries())), "")

    def _refuse(self, full_name: str) -> str:
        """Return why the administrator's policy does not allow a model, its provider or its address; "" if it does."""
        if refusal := self._config.policy.find_model_refusal(full_name):
            return refusal
        provider = full_name.partition("/")[0]
        if entry := self.entries().get(provider):
            return self._refuse_provider(provider, entry.plug, entry.settings)
        return self._refused.get(provider, "")

    def _add_time_limits(self, settings: ProviderConfig) -> ProviderConfig:
        """Add the limits of the whole configuration where the provider has none of its own."""
        names = ("connect_timeout_seconds", "stream_idle_timeout_seconds")
        common = {name: getattr(self._config, name) for name in names if getattr(settings, name) is None}
        common = {name: seconds for name, seconds in common.items() if seconds is not None}
        return settings.model_copy(update=common) if common else settings

    def _find_variant(self, name: str, entry: CatalogEntry, model: str, variant: str) -> Payload | None:
        """Return the payload of a variant, None if the model does not have it."""
        payload = self._find_variants(name, entry, model).get(variant)
        if payload is None:
            _log.warning("%s/%s has no variant %r; it is left out", name, model, variant)
        return payload


def _explain_no_models(entry: CatalogEntry) -> str:
    """Return why a provider that is set up has no models; "" if it is not set up, or knows no reason."""
    return entry.plug.explain_no_models(entry.settings) if isinstance(entry.plug, MayLackModels) else ""


def _list_vendors_names(settings: ProviderConfig, model: str) -> Iterator[str]:
    """Yield the names of models that a request to the vendor contains: the configured `modelName`, and the names with
    which a payload replaces it. OpenRouter reads a list of `models`, too."""
    yield settings.models.get(model, ModelConfig()).model_name or model
    payload = settings.get_payload(model)
    others: Any = payload.get("models")
    for name in (payload.get("model"), *cast("list[Any]", others if isinstance(others, list) else [])):
        if isinstance(name, str):
            yield name


def _add_payload(settings: ProviderConfig, model: str, payload: Payload) -> ProviderConfig:
    """Return the settings with a payload merged into that of a model."""
    model_config = settings.models.get(model, ModelConfig())
    merged = model_config.model_copy(update={"extra_payload": merge_payloads(model_config.extra_payload, payload)})
    return settings.model_copy(update={"models": {**settings.models, model: merged}})


def _merge_settings(preset: ProviderConfig, own: ProviderConfig) -> ProviderConfig:
    """Return our settings of a known provider, overridden by the user's settings. The models of both are kept."""
    configured = {name: getattr(own, name) for name in own.model_fields_set if name != "models"}
    return preset.model_copy(update={**configured, "models": {**own.models, **_find_missing_models(preset, own)}})


def _find_missing_models(preset: ProviderConfig, own: ProviderConfig) -> dict[str, ModelConfig]:
    """Return our models of a known provider that the user has not configured."""
    return {name: model for name, model in preset.models.items() if name not in own.models}


def _get_rank(plug: Provider) -> float:
    """Return the rank of a plug. A plug whose models never become the default comes last."""
    return float("inf") if plug.rank is None else plug.rank
