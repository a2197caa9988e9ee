"""The models of a local Ollama. Owns finding them and Ollama's own advice; the rest is the Messages API."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from contextlib import aclosing
from dataclasses import replace
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.anthropic import AnthropicProvider
from jupyter_eca.plugins.providers.messages.local_address import is_here
from jupyter_eca.plugins.providers.sdk_clients import Patience

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest

URL = "http://127.0.0.1:11434"

# A server on this machine lists its models in a few milliseconds; without one the refusal is immediate.
TAGS_SECONDS = 0.3

# Ollama is silent while it loads a model and reads a long prompt without a GPU: minutes, not the API's seconds.
_MESSAGES = AnthropicProvider(name="ollama", patience=Patience(idle=600.0), priced_as="")

_OLD = "Ollama at {url} is too old for chats with tools. Upgrade it to 0.14 or newer: https://ollama.com/download"
_NOT_PULLED = "Ollama has no model {model!r}. Get it with `ollama pull {model}`, then ask again."


class OllamaProvider:
    name = "ollama"
    rank = 20

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        url, configured = settings.url or URL, tuple(settings.models)
        if not is_here(url):
            return configured  # another machine is not asked just to fill a list
        there = await asyncio.to_thread(_tags, url)
        return (*configured, *(name for name in there if name not in configured)) if there else ()

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        return _MESSAGES.request_body(model, request, settings)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        settings = settings.model_copy(update={"url": settings.url or URL})
        try:
            async with aclosing(_MESSAGES.stream(model, request, settings)) as deltas:
                async for delta in deltas:
                    # What runs here costs nothing; models of Ollama's cloud are known by their tag.
                    free = isinstance(delta, UsageDelta) and not model.endswith(("-cloud", ":cloud"))
                    yield replace(delta, cost=0.0) if free else delta
        except ProviderError as error:
            if error.status != 404:
                raise
            pulled = {model, f"{model}:latest"} & set(await self.models(settings))
            sentence = _OLD if pulled else _NOT_PULLED
            raise ProviderError(sentence.format(url=settings.url, model=model), status=404) from None


def _tags(url: str) -> tuple[str, ...]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy reaches this machine
    try:
        with opener.open(f"{url.rstrip('/')}/api/tags", timeout=TAGS_SECONDS) as answer:
            return tuple(str(model["name"]) for model in json.load(answer)["models"])
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return ()  # not there, or not an Ollama


PROVIDER = OllamaProvider()
