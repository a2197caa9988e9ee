"""Which models there are, which is the default, and which provider serves a model. It sends no request: the plugs
do.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config import ModelConfig, ProviderConfig, register_secrets
from jupyter_eca.engine.model.texts import NO_MODEL
from jupyter_eca.errors import ProviderError, UnknownModel
from jupyter_eca.plugins.providers import api_keys, prices
from jupyter_eca.plugins.providers.base import Keyed, Serves
from jupyter_eca.plugins.providers.variants import merge_payloads, variants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config import Config
    from jupyter_eca.config.credentials import KeyStore
    from jupyter_eca.engine.model.delta import UsageDelta
    from jupyter_eca.plugins.providers.api_keys import ApiKey
    from jupyter_eca.plugins.providers.base import Preset, Provider


_log = logging.getLogger(__name__)

# What runs on this machine. Of somebody else's plug nothing is known.
_FREE: Final = frozenset({"local", "ollama", "scripted"})


@dataclass(frozen=True, slots=True)
class Chosen:
    """The chosen provider: `provider.stream(model, request, settings)` answers."""

    provider: Provider
    model: str
    settings: ProviderConfig
    free: bool = False

    def bill(self, usage: UsageDelta) -> UsageDelta:
        """Return the usage that the provider reports, priced by the user's own rates where there are some."""
        return prices.apply_own_rates(usage, self.settings.models.get(self.model, ModelConfig()))


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A provider by its configured name: the plug that speaks to it, and its settings with its key. `label` is what
    people call it, when it is a known one. `priced_as` names the price list that holds, empty for none. `free`: its
    models cost nothing. `grants` is as in `Preset`."""

    plug: Provider
    key: ApiKey
    label: str | None = None
    priced_as: str = ""
    has_address: bool = False
    free: bool = False
    grants: bool = False

    @property
    def settings(self) -> ProviderConfig:
        return self.key.settings


class Catalog:
    """All providers and their models. `credentials` are the keys that users typed in."""

    def __init__(self, plugs: dict[str, Provider], config: Config, credentials: KeyStore | None = None) -> None:
        self._plugs = {plug.name: plug for plug in plugs.values()}
        self._credentials = credentials
        # Keys may be typed in and variables set at any time, so they are looked up for each use. Those that redaction
        # knows already are not gathered again.
        self._known: dict[str, api_keys.ApiKey] = {}
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Use a configuration from now on. What is being streamed continues as it began."""
        self._config = config
        self._offers = self._resolve()

    @property
    def config(self) -> Config:
        return self._config

    async def refresh(self) -> None:
        """Load keys that were typed in since, here or in another process. Call it before `choose`."""
        if self._credentials is not None:
            await asyncio.to_thread(self._credentials.load)

    def entries(self) -> dict[str, CatalogEntry]:
        """Return the providers by name: the plugs, the names that they serve, and those of the configuration."""
        return {name: self._entry(name, *offer) for name, offer in self._offers.items()}

    def without_keys(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment without the keys of providers: no other program needs them. They are found by the
        names of the variables, and by their values: a configuration may read a key from any variable."""
        names = {plug.key_variable for plug in self._plugs.values() if isinstance(plug, Keyed)}
        keys: set[str] = set()
        for name, (plug, preset, settings) in self._offers.items():
            if isinstance(plug, Keyed):
                names.update(api_keys.list_variables(name, plug, settings, preset.variable if preset else ""))
            if settings.key is not None:
                keys.add(settings.key.get_secret_value())
        return {name: value for name, value in environment.items() if name not in names and value not in keys - {""}}

    def _resolve(self) -> dict[str, tuple[Provider, Preset | None, ProviderConfig]]:
        """Work out what follows from the configuration alone: of each provider its plug, preset and settings."""
        presets = {
            name: (plug, preset)
            for plug in self._plugs.values()
            if isinstance(plug, Serves)
            for name, preset in plug.presets.items()
        }
        found: dict[str, tuple[Provider, Preset | None, ProviderConfig]] = {}
        for name in [*self._own(), *presets, *self._config.providers]:
            known = presets.get(name)
            own = self._config.providers.get(name)
            plug = self._plugs.get((own and own.api) or name) or (known[0] if known and not (own and own.api) else None)
            if plug is not None:
                preset, settings = known[1] if known else None, own or ProviderConfig()
                found[name] = plug, preset, settings if preset is None else _merge_settings(preset.settings, settings)
        return found

    def _own(self) -> list[str]:
        return [name for name, plug in self._plugs.items() if not isinstance(plug, Serves)]

    def _entry(self, name: str, plug: Provider, preset: Preset | None, settings: ProviderConfig) -> CatalogEntry:
        login = self._credentials.get(name) if self._credentials is not None else None
        key = api_keys.find(name, plug, settings, login, self._config.variable, preset.variable if preset else "")
        if self._known.get(name) != key:
            register_secrets(key.settings)
            self._known[name] = key
        if preset is None:
            label = plug.label if isinstance(plug, Keyed) and name == plug.name else None
            priced_as = plug.name if isinstance(plug, Keyed) and not key.settings.url else ""
            return CatalogEntry(plug, key, label, priced_as, name == plug.name, free=plug.name in _FREE)
        at_vendors = preset.settings.url is not None and key.settings.url == preset.settings.url
        priced_as = name if at_vendors and not preset.free else ""
        free, there = at_vendors and preset.free, preset.settings.url is not None
        return CatalogEntry(plug, key, preset.label, priced_as, there, free, preset.grants)

    async def models(self) -> tuple[str, ...]:
        """Return full names, in the order in which a default is looked for; those that are never a default come
        last."""
        await self.refresh()
        entries = self._rank_entries()
        offers = await asyncio.gather(*(entry.plug.models(entry.settings) for _, entry in entries))
        return tuple(f"{name}/{model}" for (name, _), offer in zip(entries, offers, strict=True) for model in offer)

    async def default(self) -> str:
        """Return the configured model, else the best model of the first provider that is usable here, else ""."""
        if self._config.default_model:
            return self._config.default_model
        await self.refresh()
        for name, entry in self._rank_entries():
            if entry.plug.rank is not None and (models := await entry.plug.models(entry.settings)):
                return f"{name}/{models[0]}"
        return ""

    async def list_models(self) -> tuple[tuple[str, ...], str]:
        """Return the models that a client may choose from, and the default, which is always among them."""
        models, default = await self.models(), await self.default()
        return (models if not default or default in models else (default, *models)), default

    def _rank_entries(self) -> list[tuple[str, CatalogEntry]]:
        return sorted(self.entries().items(), key=lambda item: _rank(item[1].plug))

    def variants(self, full_name: str) -> tuple[str, ...]:
        """Return the variants of a model; none for a model that no provider serves."""
        name, _, model = full_name.partition("/")
        entry = self.entries().get(name)
        return tuple(self._variants(name, entry, model)) if entry else ()

    def _variants(self, name: str, entry: CatalogEntry, model: str) -> dict[str, dict[str, Any]]:
        chosen = entry.settings.models.get(model, ModelConfig())
        return variants(name, entry.plug.name, model, chosen, self._config)

    def has(self, full_name: str) -> bool:
        """Whether a provider of that name exists. Only the provider knows whether it has the model."""
        provider, _, model = full_name.partition("/")
        return bool(model) and provider in self._offers

    async def quote(self, full_name: str, usage: UsageDelta) -> UsageDelta:
        """Return the usage with its cost and the limits of the model, as far as they are known."""
        name, _, model = full_name.partition("/")
        entry = self.entries().get(name)
        if entry is None:
            return usage
        chosen = entry.settings.models.get(model, ModelConfig())
        if entry.priced_as:
            usage = await prices.add_price(entry.priced_as, chosen.model_name or model, usage)
        elif entry.free and not model.endswith(("-cloud", ":cloud")):  # as Ollama names what it does not run here
            usage = replace(usage, cost=0.0)
        return prices.apply_own_rates(usage, chosen)

    def choose(self, full_name: str, variant: str = "") -> Chosen:
        """Choose the provider of a model. Its settings carry the key, and the payload of the variant. A variant that
        the model does not have is ignored, as in ECA: agents name one for whichever model is used.

        Raises: UnknownModel for a name that no provider serves; ProviderError for no name.
        """
        if not full_name:
            raise ProviderError(NO_MODEL)
        provider, slash, model = full_name.partition("/")
        entries = self.entries()
        if not (slash and model):
            raise UnknownModel(f"{full_name!r} is not a model. Write PROVIDER/MODEL, with a model that is listed.")
        if provider not in entries:
            known = ", ".join(sorted(entries))
            raise UnknownModel(f"There is no provider {provider!r}. Known are {known}.")
        entry = entries[provider]
        settings = self._patient(entry.settings)
        if variant:
            settings = self._apply_variant(provider, entry, model, variant, settings)
        return Chosen(entry.plug, model, settings, entry.free)

    def _patient(self, settings: ProviderConfig) -> ProviderConfig:
        """Add the limits of the whole configuration where the provider has none of its own."""
        names = ("connect_timeout_seconds", "stream_idle_timeout_seconds")
        common = {name: getattr(self._config, name) for name in names if getattr(settings, name) is None}
        common = {name: seconds for name, seconds in common.items() if seconds is not None}
        return settings.model_copy(update=common) if common else settings

    def _apply_variant(
        self, name: str, entry: CatalogEntry, model: str, variant: str, settings: ProviderConfig
    ) -> ProviderConfig:
        payload = self._variants(name, entry, model).get(variant)
        if payload is None:
            _log.warning("%s/%s has no variant %r; it is left out", name, model, variant)
            return settings
        chosen = settings.models.get(model, ModelConfig())
        varied = chosen.model_copy(update={"extra_payload": merge_payloads(chosen.extra_payload, payload)})
        return settings.model_copy(update={"models": {**settings.models, model: varied}})


def _merge_settings(preset: ProviderConfig, own: ProviderConfig) -> ProviderConfig:
    """Lay a user's settings over ours; the models of both remain."""
    said = {name: getattr(own, name) for name in own.model_fields_set if name != "models"}
    return preset.model_copy(update={**said, "models": {**own.models, **_find_missing_models(preset, own)}})


def _find_missing_models(preset: ProviderConfig, own: ProviderConfig) -> dict[str, ModelConfig]:
    return {name: model for name, model in preset.models.items() if name not in own.models}


def _rank(plug: Provider) -> float:
    return float("inf") if plug.rank is None else plug.rank
