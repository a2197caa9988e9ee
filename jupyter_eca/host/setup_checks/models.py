"""Finds names of models that no provider serves, providers that cannot work, and files of models that do not exist.

It must not ask a provider. `host.doctor` says whether the default model can answer.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.config import Config, ResolvedConfig
    from jupyter_eca.plugins.providers.catalog import CatalogEntry

# The vendors, with patterns of the names of their models. A vendor's own address serves no model of another vendor.
_MODEL_NAMES: Final = {
    "anthropic": re.compile(r"claude"),
    "openai": re.compile(r"gpt-|chatgpt|o[1-9](?:-|$)"),
    "google": re.compile(r"gemini"),
    "deepseek": re.compile(r"deepseek-"),
    "mistral": re.compile(r"(?:mi|code|magi|ministra|devs)stral"),
}


def find_model_problems(
    resolved: ResolvedConfig, entries: Mapping[str, CatalogEntry], models: tuple[str, ...]
) -> Iterator[str]:
    """Yield what is wrong with the names of models and with providers. `entries` are the providers by name, and
    `models` all models that can answer now. Blocks: it looks for files."""
    config = resolved.config
    yield from _find_provider_problems(config, entries)
    named = {
        "defaultModel": config.default_model,
        "completion.model": config.completion.model,
        "rewrite.model": config.rewrite.model,
    }
    for place, full_name in named.items():
        if not full_name:
            continue
        name, slash, model = full_name.partition("/")
        if not (slash and model):
            similar = next((offer for offer in models if offer.partition("/")[2].startswith(full_name)), "")
            advice = f"Write `{similar}`." if similar else "Write it as `PROVIDER/MODEL`."
            yield f"`{place}` is `{full_name}`, without the provider. {advice}"
        elif place != "defaultModel" and name not in entries:  # the report has a sentence about the default model
            yield f"`{place}` is `{full_name}`, but there is no such provider. Change it in the configuration."
        elif vendor := _find_other_vendor(name, model, config):
            yield (
                f"`{place}` is `{full_name}`, but such a model is one of `{vendor}`. Write `{vendor}/{model}`, or "
                f"choose another model of `{name}`."
            )
    if config.default_agent not in resolved.agents:
        yield (
            f"`defaultAgent` is `{config.default_agent}`, but there is no such agent. The agent `code` answers instead."
            " Correct the name, or remove it."
        )


def _find_other_vendor(name: str, model: str, config: Config) -> str:
    """Return the vendor whose models have such names; "" if the provider may have the model. A provider with another
    address than the vendor's may have any model."""
    own = config.providers.get(name)
    if name not in _MODEL_NAMES or (own is not None and (own.url or model in own.models)):
        return ""
    return next((vendor for vendor, names in _MODEL_NAMES.items() if vendor != name and names.match(model)), "")


def _find_provider_problems(config: Config, entries: Mapping[str, CatalogEntry]) -> Iterator[str]:
    """Yield a sentence for each configured provider that cannot work."""
    apis = sorted({entry.plug.name for entry in entries.values()} | {"openai-chat", "openai-responses", "anthropic"})
    for name, settings in config.providers.items():
        if name not in entries:
            if not config.policy.find_provider_refusal(name) and not config.policy.find_url_refusal(settings.url or ""):
                reason = f"has the unknown `api` {settings.api!r}" if settings.api else "has no `api`"
                yield f"The provider {name!r} {reason}, so it is not used. Write one of {', '.join(apis)}."
        elif settings.api and not settings.models and entries[name].label is None and not settings.fetch_models:
            yield f"The provider {name!r} has no models. Name them in `providers.{name}.models`."
        for model, own in settings.models.items():
            for key, file in (("path", own.path), ("script", own.script), ("chatTemplate", own.chat_template)):
                if file and not (Path(settings.folder) / Path(file).expanduser()).exists():
                    yield (
                        f"The model `{name}/{model}` has the file {file!r} in its key `{key}`, which does not exist. "
                        "Correct the path."
                    )
