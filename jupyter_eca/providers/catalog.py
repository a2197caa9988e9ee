"""Which models there are, which is the default, and who speaks to a given one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.prompt import NO_MODEL
from jupyter_eca.errors import ProviderError

if TYPE_CHECKING:
    from jupyter_eca.config import Config
    from jupyter_eca.providers.base import Provider


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who answers: `provider.stream(model, request, settings)`."""

    provider: Provider
    model: str
    settings: ProviderConfig


class Catalog:
    def __init__(self, plugs: dict[str, Provider], config: Config) -> None:
        self._plugs = {plug.name: plug for plug in plugs.values()}
        self._config = config

    def _entries(self) -> dict[str, tuple[Provider, ProviderConfig]]:
        """Provider name to its plug and settings: each plug under its own name, and what the configuration adds."""
        entries = {name: (plug, ProviderConfig()) for name, plug in self._plugs.items()}
        for name, settings in self._config.providers.items():
            if plug := self._plugs.get(settings.api or name):
                entries[name] = (plug, settings)
        return entries

    async def models(self) -> tuple[str, ...]:
        """Full names, in the order in which a default is looked for; those that never are one come last."""
        entries = sorted(self._entries().items(), key=lambda entry: _rank(entry[1][0]))
        offers = await asyncio.gather(*(plug.models(settings) for _, (plug, settings) in entries))
        return tuple(f"{name}/{model}" for (name, _), offer in zip(entries, offers, strict=True) for model in offer)

    async def default(self) -> str:
        """The configured model; else the best of the first provider that is usable here; else ""."""
        if self._config.default_model:
            return self._config.default_model
        for name, (plug, settings) in sorted(self._entries().items(), key=lambda entry: _rank(entry[1][0])):
            if plug.rank is not None and (models := await plug.models(settings)):
                return f"{name}/{models[0]}"
        return ""

    def choose(self, full_name: str) -> Chosen:
        """Raises: ProviderError for a name nobody answers to, or for none."""
        if not full_name:
            raise ProviderError(NO_MODEL)
        provider, slash, model = full_name.partition("/")
        entries = self._entries()
        if not (slash and model):
            raise ProviderError(
                f"{full_name!r} is not a model. Write PROVIDER/MODEL; `%eca models` lists those there are."
            )
        if provider not in entries:
            known = ", ".join(sorted(entries))
            raise ProviderError(
                f"There is no provider {provider!r}. Known are {known}; `%eca models` lists the models there are."
            )
        plug, settings = entries[provider]
        return Chosen(plug, model, settings)


def _rank(plug: Provider) -> float:
    return float("inf") if plug.rank is None else plug.rank
