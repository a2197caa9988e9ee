"""Claude, and every server that speaks the Anthropic Messages API, over the official SDK.

Owns the connection: keys, clients, timeouts, and what an exception of the SDK means. The words of the API are in
`messages/`. The SDK is imported in a thread on first use (it takes seconds).
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jupyter_eca import redaction
from jupyter_eca.config import ModelConfig
from jupyter_eca.plugins.providers import failures, prices
from jupyter_eca.plugins.providers.failures import RequestTarget
from jupyter_eca.plugins.providers.messages.events import MessagesReader
from jupyter_eca.plugins.providers.messages.local_address import is_here
from jupyter_eca.plugins.providers.messages.request import body
from jupyter_eca.plugins.providers.modalities import adapt_to, senses
from jupyter_eca.plugins.providers.retry_after import retry_after
from jupyter_eca.plugins.providers.sdk_clients import (
    CHECK_SECONDS,
    DIRECT,
    NO_KEY,
    PATIENCE,
    PLAINLY,
    Patience,
    check_target,
    explain_connection_error,
    get_client,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anthropic import APIStatusError, AsyncAnthropic

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.errors import ProviderError

# The best first: for work in a notebook Sonnet's answers are as good as the larger models', sooner and for less.
MODELS = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2")

KEY_VARIABLE = "ANTHROPIC_API_KEY"

_BRIEF = Patience(CHECK_SECONDS, CHECK_SECONDS)


@dataclass(frozen=True, slots=True)
class AnthropicProvider:
    """A provider of the Messages API. `priced_as` names the price list that holds, empty for none."""

    name: str = "anthropic"
    label: str = "Anthropic"
    key_variable: str = KEY_VARIABLE
    rank: int | None = 10
    patience: Patience = PATIENCE
    priced_as: str = "anthropic"

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        configured = tuple(settings.models)
        if settings.url:
            return configured or MODELS  # another server need not have ours
        return (*configured, *(m for m in MODELS if m not in configured)) if _key(settings, self.name) else ()

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        chosen = settings.models.get(model, ModelConfig())
        model_id = chosen.model_name or model
        # Servers that only speak the API have no search to offer.
        searches = self.name == "anthropic" and settings.searches(model)
        seen = adapt_to(request, senses(model_id, chosen))
        return body(model_id, seen, settings.payload(model), searches=searches)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        provider = request.model.partition("/")[0]
        chosen = settings.models.get(model, ModelConfig())
        model_id = chosen.model_name or model
        asked = RequestTarget(provider, model_id, _url(settings), _key(settings, provider))
        asked = check_target(asked, needs_key=not settings.url, vendor=self.label)
        patience = self.patience.configure(settings)
        wanted = self.request_body(model, request, settings)
        reading = MessagesReader(request.model)
        client = await get_client("anthropic", asked, patience, _connect)
        import httpx2
        from anthropic import AnthropicError, AsyncStream

        try:
            # `object` makes the SDK hand out the events as the JSON they came as: half the time of its models.
            stream_class = AsyncStream[object]
            async with await client.post(
                settings.completion_url_relative_path or "/v1/messages",
                body=wanted,
                cast_to=object,
                options={"headers": settings.headers(model)},
                stream=True,
                stream_cls=stream_class,
            ) as stream:
                # To its very end, past the last event: only then is the connection kept for the next request.
                async for event in stream:
                    for delta in reading.take(event):
                        yield delta
                kind = stream.response.headers.get("content-type", "")
        except (AnthropicError, httpx2.HTTPError, httpx2.StreamError, json.JSONDecodeError) as error:
            if not reading.complete:
                # `from None`: a server may have echoed the key, and a log would show the chain.
                raise _explain(error, asked, patience) from None
        else:
            if not reading.complete:
                raise (
                    failures.explain_disconnect(asked) if "event-stream" in kind else failures.explain_wrong_api(asked)
                )
        usage = replace(reading.usage(), output_limit=wanted["max_tokens"])
        yield await prices.add_price(self.priced_as, model_id, usage) if self.priced_as else usage

    async def check(self, settings: ProviderConfig) -> None:
        asked = RequestTarget(self.name, "", _url(settings), _key(settings, self.name))
        asked = check_target(asked, needs_key=not settings.url, vendor=self.label)
        # A client of its own: one with a wrong key is not kept.
        client = await asyncio.to_thread(_connect, asked, _BRIEF)
        async with client:
            await _check_key(client, asked, _BRIEF, settings)

    async def warm(self, provider: str, settings: ProviderConfig) -> None:
        asked = RequestTarget(provider, "", _url(settings), _key(settings, provider))
        asked = check_target(asked, needs_key=not settings.url, vendor=self.label)
        patience = self.patience.configure(settings)
        client = await get_client("anthropic", asked, patience, _connect)
        await _check_key(client, asked, patience, settings)


async def _check_key(
    client: AsyncAnthropic, asked: RequestTarget, patience: Patience, settings: ProviderConfig
) -> None:
    """Send the cheapest request there is; its answer is not read. Raises: ProviderError."""
    import httpx2
    from anthropic import AnthropicError

    options: Any = {"params": {"limit": 1}, "headers": settings.headers(""), "timeout": _BRIEF.idle}
    try:
        await client.get("/v1/models", cast_to=object, options=options)
    except (AnthropicError, httpx2.HTTPError, httpx2.StreamError, json.JSONDecodeError) as error:
        raise _explain(error, asked, patience) from None


def _explain(error: Exception, asked: RequestTarget, patience: Patience) -> ProviderError:
    from anthropic import APIConnectionError, APIStatusError

    cause = error.__cause__ if isinstance(error, APIConnectionError) else error
    return (
        _explain_status(cause, asked)
        if isinstance(cause, APIStatusError)
        else explain_connection_error(cause, asked, patience)
    )


def _explain_status(error: APIStatusError, asked: RequestTarget) -> ProviderError:
    headers = error.response.headers
    temporary = {"true": True, "false": False}.get(headers.get("x-should-retry", ""))
    after = retry_after(headers, time.time())
    said = error.api_message or (error.body if isinstance(error.body, str) else "")
    return failures.explain_refusal(
        asked, error.status_code, error.type or "", said, temporary=temporary, retry_after=after
    )


def _key(settings: ProviderConfig, provider: str) -> str:
    own = settings.key.get_secret_value().strip() if settings.key else ""
    if own or settings.foreign_address or (settings.url and provider != "anthropic"):
        return own  # the key for Anthropic is not sent to somebody else's server
    return os.environ.get(KEY_VARIABLE, "").strip()


def _url(settings: ProviderConfig) -> str:
    """Apply the SDK's own rule, because messages name the address."""
    return settings.url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"


def _connect(asked: RequestTarget, patience: Patience) -> AsyncAnthropic:
    sdk = importlib.import_module("anthropic")
    redaction.install_log_filter()
    timeout = sdk.Timeout(patience.idle, connect=patience.connect, pool=patience.connect)
    http = sdk.DefaultAsyncHttpxClient(timeout=timeout, mounts=DIRECT) if is_here(asked.url) else None
    return sdk.AsyncAnthropic(
        api_key=asked.key or NO_KEY,
        base_url=asked.url,
        timeout=timeout,
        max_retries=0,
        http_client=http,
        default_headers=PLAINLY,
    )


PROVIDER = AnthropicProvider()
