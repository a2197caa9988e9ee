"""The provider of Ollama, which runs models on this machine.

It lists the models, and explains errors of Ollama. Everything else is the Messages API: `anthropic` has it.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from contextlib import aclosing
from dataclasses import replace
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.anthropic import AnthropicProvider
from jupyter_eca.plugins.providers.connection.sdk_clients import TimeLimits

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest

# Where Ollama listens if nothing else is configured.
URL = "http://127.0.0.1:11434"

# The seconds to wait for the list of models. A running Ollama answers in a few milliseconds. If no Ollama runs, the
# connection is refused immediately.
TAGS_SECONDS = 0.3

# Ollama sends nothing while it loads a model and reads a long prompt. Without a GPU this takes minutes.
_MESSAGES_PROVIDER = AnthropicProvider(name="ollama", time_limits=TimeLimits(idle_seconds=600.0), priced_as="")

# The errors that users read.
_TOO_OLD = "Ollama at {url} is too old for chats with tools. Upgrade it to 0.14 or newer: https://ollama.com/download"
_NOT_PULLED = "Ollama has no model {model!r}. Get it with `ollama pull {model}`, then ask again."


class OllamaProvider:
    """The provider plug `ollama`. It passes requests on to an instance of `AnthropicProvider`. The class implements
    `base.Provider`."""

    # The name that users write before the model: `ollama/MODEL`.
    name = "ollama"
    # The lower the number, the earlier this provider is asked for the default model.
    rank = 20
    # Its models cost nothing, because they run on this machine. `stream` knows the exceptions.
    free = True

    def find_address(self, settings: ProviderConfig) -> str:
        """Return the URL to which requests go."""
        return settings.url or URL

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models and those that Ollama has pulled; none if no Ollama runs here."""
        url, configured = settings.url or URL, tuple(settings.models)
        if not is_on_this_machine(url):
            return configured  # do not ask another machine just to fill a list
        pulled = await asyncio.to_thread(_list_pulled, url)
        return (*configured, *(name for name in pulled if name not in configured)) if pulled else ()

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        """Return the JSON that `stream` sends."""
        return _MESSAGES_PROVIDER.request_body(model, request, settings)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Stream as `AnthropicProvider` does, at no cost, and explain a model that is missing. Raises:
        ProviderError."""
        settings = settings.model_copy(update={"url": settings.url or URL})
        try:
            async with aclosing(_MESSAGES_PROVIDER.stream(model, request, settings)) as deltas:
                async for delta in deltas:
                    # A model that runs here costs nothing. Models of Ollama's cloud have a tag that says so.
                    free = isinstance(delta, UsageDelta) and not model.endswith(("-cloud", ":cloud"))
                    yield replace(delta, cost=0.0) if free else delta
        except ProviderError as error:
            if error.status != 404:
                raise
            # If Ollama has the model, it does not know the address of the Messages API yet.
            is_pulled = not {model, f"{model}:latest"}.isdisjoint(await self.models(settings))
            sentence = _TOO_OLD if is_pulled else _NOT_PULLED
            raise ProviderError(sentence.format(url=settings.url, model=model), status=404) from None


def _list_pulled(url: str) -> tuple[str, ...]:
    """Return the models that Ollama has pulled, none if no Ollama answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy cannot reach this machine
    try:
        with opener.open(f"{url.rstrip('/')}/api/tags", timeout=TAGS_SECONDS) as answer:
            return tuple(str(model["name"]) for model in json.load(answer)["models"])
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return ()  # no server, or no Ollama


PROVIDER = OllamaProvider()
