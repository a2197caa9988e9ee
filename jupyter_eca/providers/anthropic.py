"""Claude, and every server that speaks the Anthropic Messages API, over the official SDK.

Owns the connection: keys, clients, timeouts, and what an exception of the SDK means. The words of the API are in
`messages/`. The SDK is imported in a thread on first use (it takes seconds).
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jupyter_eca.config import ModelConfig
from jupyter_eca.errors import ProviderError
from jupyter_eca.providers import prices
from jupyter_eca.providers.messages import failures
from jupyter_eca.providers.messages.events import Reading
from jupyter_eca.providers.messages.failures import Asked
from jupyter_eca.providers.messages.request import body
from jupyter_eca.providers.messages.url import is_here

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anthropic import APIStatusError, AsyncAnthropic

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.delta import Delta
    from jupyter_eca.engine.spec import ModelRequest

# The best first: for work in a notebook Sonnet's answers are as good as the larger models', sooner and for less.
MODELS = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2")

# ECA's own limits (3.12). A black-holed connect hangs for minutes without the first; the API pings every few seconds,
# so a silence as long as the second means that nobody is there any more.
CONNECT_SECONDS = 15.0
IDLE_SECONDS = 120.0

# Somebody who types in a key is waiting for the answer.
CHECK_SECONDS = 10.0

KEY_VARIABLE = "ANTHROPIC_API_KEY"

# The SDK looks for keys in the environment and in files unless it is given one: a server that needs none gets this.
_NO_KEY = "none"

_MISSING_KEY = (
    "There is no key for Anthropic. Set ANTHROPIC_API_KEY in the environment and restart Jupyter, "
    "or set `providers.{provider}.key` in ~/.config/eca/config.json."
)
_ODD_KEY = "The key for {url} has characters no key has. Copy `providers.{provider}.key` or ANTHROPIC_API_KEY again."
_NO_URL = "`providers.{provider}.url` is no address: it must start with https:// or http://."


@dataclass(frozen=True, slots=True)
class AnthropicProvider:
    """`priced_as` is whose price list holds, empty for none."""

    name: str = "anthropic"
    label: str = "Anthropic"
    key_variable: str = KEY_VARIABLE
    rank: int | None = 10
    connect: float = CONNECT_SECONDS
    idle: float = IDLE_SECONDS
    priced_as: str = "anthropic"

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        configured = tuple(settings.models)
        if settings.url:
            return configured or MODELS  # another server need not have ours
        return (*configured, *(m for m in MODELS if m not in configured)) if _key(settings, self.name) else ()

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        chosen = settings.models.get(model, ModelConfig())
        return body(chosen.model_name or model, request, chosen.extra_payload)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        provider = request.model.partition("/")[0]
        chosen = settings.models.get(model, ModelConfig())
        model_id = chosen.model_name or model
        asked = _checked(Asked(provider, model_id, _url(settings), _key(settings, provider)), settings)
        wanted = self.request_body(model, request, settings)
        reading = Reading(request.model)
        client = await _client(asked, self.connect, self.idle)
        import httpx2
        from anthropic import AnthropicError, AsyncStream

        try:
            # `object` makes the SDK hand out the events as the JSON they came as: half the time of its models.
            stream_class = AsyncStream[object]
            async with await client.post(
                "/v1/messages", body=wanted, cast_to=object, stream=True, stream_cls=stream_class
            ) as stream:
                # To its very end, past the last event: only then is the connection kept for the next request.
                async for event in stream:
                    for delta in reading.take(event):
                        yield delta
                kind = stream.response.headers.get("content-type", "")
        except (AnthropicError, httpx2.HTTPError, httpx2.StreamError, json.JSONDecodeError) as error:
            if not reading.complete:
                # `from None`: a server may have echoed the key, and a log would show the chain.
                raise self._told(error, asked) from None
        else:
            if not reading.complete:
                raise failures.broke_off(asked) if "event-stream" in kind else failures.not_the_api(asked)
        usage = replace(reading.usage(), output_limit=wanted["max_tokens"])
        yield await prices.priced(self.priced_as, model_id, usage) if self.priced_as else usage

    async def check(self, settings: ProviderConfig) -> None:
        asked = _checked(Asked(self.name, "", _url(settings), _key(settings, self.name)), settings)
        # A client of its own: one with a wrong key is not kept.
        client = await asyncio.to_thread(_connected, asked, CHECK_SECONDS, CHECK_SECONDS)
        import httpx2
        from anthropic import AnthropicError

        try:
            async with client:
                await client.get("/v1/models", cast_to=object, options={"params": {"limit": 1}})
        except (AnthropicError, httpx2.HTTPError, httpx2.StreamError, json.JSONDecodeError) as error:
            raise self._told(error, asked) from None

    def _told(self, error: Exception, asked: Asked) -> ProviderError:
        import httpx2
        from anthropic import APIConnectionError, APIStatusError

        cause = error.__cause__ if isinstance(error, APIConnectionError) else error
        match cause:
            case APIStatusError():
                return _refused(cause, asked)
            case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
                return failures.no_connection(asked, self.connect)
            case httpx2.TimeoutException():
                return failures.stalled(asked, self.idle)
            case httpx2.ConnectError() | httpx2.ProxyError():
                return failures.unreachable(asked, cause)
            case httpx2.HTTPError() | httpx2.StreamError():
                return failures.broke_off(asked)
            case _:
                return failures.not_the_api(asked)


def _refused(error: APIStatusError, asked: Asked) -> ProviderError:
    headers = error.response.headers
    passing = {"true": True, "false": False}.get(headers.get("x-should-retry", ""))
    wait = headers.get("retry-after", "")
    after = float(wait) if wait.isdecimal() else None
    said = error.api_message or (error.body if isinstance(error.body, str) else "")
    return failures.refused(asked, error.status_code, error.type or "", said, passing=passing, retry_after=after)


def _key(settings: ProviderConfig, provider: str) -> str:
    own = settings.key.get_secret_value().strip() if settings.key else ""
    if own or (settings.url and provider != "anthropic"):
        return own  # the key for Anthropic is not sent to somebody else's server
    return os.environ.get(KEY_VARIABLE, "").strip()


def _url(settings: ProviderConfig) -> str:
    """The SDK's own rule, here because messages name the address."""
    return settings.url or os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"


def _checked(asked: Asked, settings: ProviderConfig) -> Asked:
    """Raises: ProviderError for what the SDK would answer with an error that shows the key, or none at all."""
    if not asked.key and not settings.url:
        raise ProviderError(asked.say(_MISSING_KEY))
    if not (asked.key.isascii() and asked.key.isprintable()):
        raise ProviderError(asked.say(_ODD_KEY))
    try:
        parts = urlsplit(asked.url)
        good = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if not good:
        raise ProviderError(_NO_URL.format(provider=asked.provider))
    return asked


# Kept so that a turn of many requests makes one connection, and for each event loop apart: connections belong to one.
# With each is the generator that closes it.
_Place = tuple[asyncio.AbstractEventLoop, str, str, float, float]
_clients: dict[_Place, tuple[AsyncAnthropic, AsyncGenerator[None]]] = {}


async def _client(asked: Asked, connect: float, idle: float) -> AsyncAnthropic:
    place = (asyncio.get_running_loop(), asked.url, asked.key, connect, idle)
    if place not in _clients:
        fresh = await asyncio.to_thread(_connected, asked, connect, idle)
        if place in _clients:
            await fresh.close()  # another request was quicker
        else:
            end = _end(place)
            _clients[place] = (fresh, end)
            await anext(end)
    return _clients[place][0]


async def _end(place: _Place) -> AsyncGenerator[None]:
    """Closes a client with its event loop: a loop that ends closes the generators that were started in it."""
    try:
        yield
    finally:
        await _clients.pop(place)[0].close()


def _connected(asked: Asked, connect: float, idle: float) -> AsyncAnthropic:
    sdk = importlib.import_module("anthropic")
    timeout = sdk.Timeout(idle, connect=connect, pool=connect)
    # A proxy cannot reach this machine's own servers, and the environment often forgets to say so.
    direct: dict[str, Any] = {"all://": None, "http://": None, "https://": None}
    http = sdk.DefaultAsyncHttpxClient(timeout=timeout, mounts=direct) if is_here(asked.url) else None
    return sdk.AsyncAnthropic(
        api_key=asked.key or _NO_KEY,
        base_url=asked.url,
        timeout=timeout,
        max_retries=0,
        http_client=http,
        # Compressed events arrive when the compressor's buffer is full, not when they happen.
        default_headers={"Accept-Encoding": "identity"},
    )


PROVIDER = AnthropicProvider()
