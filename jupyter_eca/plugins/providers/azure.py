"""The provider of OpenAI's models at Azure, with their Responses API.

It owns the credentials: a key, or without a key the account of Microsoft Entra with which the user is signed in to the
Azure tools (this needs the extra `azure`). The URL is that of the user's own resource. `openai` has the connection.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers.connection.sdk_clients import check_own_address, require_extra
from jupyter_eca.plugins.providers.openai import RESPONSES_API, OpenAIProvider
from jupyter_eca.plugins.providers.presets import AZURE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.plugins.providers.connection.failures import RequestTarget

# What a token of the account must allow.
_SCOPE: Final = "https://cognitiveservices.azure.com/.default"

# The error for an account that cannot be used.
_NO_CREDENTIALS: Final = (
    "There are no valid Azure credentials ({reason}). Sign in with `az login`, or set AZURE_API_KEY or "
    "`providers.{provider}.key`."
)


@dataclass(frozen=True, slots=True)
class AzureProvider(OpenAIProvider):
    """The provider plug `azure`. It sends requests as `OpenAIProvider` does, and can use the account of the user in
    place of a key."""

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models; none without the URL of the user's resource."""
        return tuple(settings.models) if settings.url else ()

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Stream as `OpenAIProvider` does, with the account if there is no key."""
        settings = await self._allow_account(settings)
        # The class is named, because `super()` does not work in a dataclass with slots.
        async with aclosing(OpenAIProvider.stream(self, model, request, settings)) as deltas:
            async for delta in deltas:
                yield delta

    async def warm(self, provider: str, settings: ProviderConfig) -> None:
        """Prepare for the first request as `OpenAIProvider` does, with the account if there is no key."""
        await OpenAIProvider.warm(self, provider, await self._allow_account(settings))

    async def _allow_account(self, settings: ProviderConfig) -> ProviderConfig:
        """Return settings that need no key if there is none. Raises: ProviderError if the account cannot be used, or
        must not be used for this address."""
        if settings.read_key() or not settings.url:
            return settings
        await asyncio.to_thread(require_extra, "azure", "azure.identity", "Azure without a key")
        check_own_address(settings, self.label)
        return settings.model_copy(update={"requires_auth": False})

    def make_api_key(self, target: RequestTarget) -> str | Callable[[], Awaitable[str]]:
        """Return the key, or a function that returns a token of the account. The SDK calls it for each request."""
        if target.key:
            return target.key
        identity = importlib.import_module("azure.identity")
        # The function caches a token until shortly before the token expires.
        fetch: Callable[[], str] = identity.get_bearer_token_provider(identity.DefaultAzureCredential(), _SCOPE)
        failure: Any = importlib.import_module("azure.core.exceptions").ClientAuthenticationError

        async def fetch_token() -> str:
            """Return a token of the account. Raises: ProviderError when the account cannot be used."""
            try:
                return await asyncio.to_thread(fetch)
            except failure as error:
                text = _NO_CREDENTIALS.format(reason=type(error).__name__, provider=target.provider)
                raise ProviderError(text, kind=FailureKind.AUTH) from None

        return fetch_token


PROVIDER = AzureProvider("azure", RESPONSES_API, AZURE, rank=17, label="Azure", key_variable="AZURE_API_KEY")
