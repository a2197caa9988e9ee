"""The provider of Claude, and of every server that speaks the Anthropic Messages API, with the official SDK.

It owns the connection: keys, clients, timeouts, and the errors of the SDK. It must not know the form of the API's
messages: `messages/` does. The SDK is imported in a thread on first use, because this takes seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jupyter_eca import redaction
from jupyter_eca.config import ModelConfig
from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.plugins.providers import prices
from jupyter_eca.plugins.providers.connection import failures
from jupyter_eca.plugins.providers.connection.failures import RequestTarget
from jupyter_eca.plugins.providers.connection.package_parts import import_parts
from jupyter_eca.plugins.providers.connection.retry_after import parse_retry_after
from jupyter_eca.plugins.providers.connection.sdk_clients import (
    CHECK_SECONDS,
    DIRECT,
    NO_KEY,
    TIME_LIMITS,
    UNCOMPRESSED,
    TimeLimits,
    check_target,
    explain_connection_error,
    get_client,
)
from jupyter_eca.plugins.providers.messages.events import MessagesReader
from jupyter_eca.plugins.providers.messages.request import build_body
from jupyter_eca.plugins.providers.modalities import adapt_to, find_modalities

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from anthropic import APIStatusError, AsyncAnthropic

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.errors import ProviderError

# The best model comes first. For work in a notebook the answers of Sonnet are as good as those of larger models, faster
# and cheaper.
MODELS = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5-2")

# The environment variable of the key.
KEY_VARIABLE = "ANTHROPIC_API_KEY"

# The host of Anthropic's own server.
_VENDOR_HOST = "api.anthropic.com"

# The names of the SDK that are used here, each with the module that defines it. See `package_parts`.
_SDK_PARTS = {
    "APIConnectionError": "_exceptions",
    "APIStatusError": "_exceptions",
    "AnthropicError": "_exceptions",
    "AsyncAnthropic": "_client",
    "AsyncStream": "_streaming",
    "DefaultAsyncHttpxClient": "_base_client",
    "Timeout": "_client",
}

# The packages of the SDK with the types of the whole API. The SDK's own traces name these of them, and errors others,
# by their modules. Without this table, a request imports them all, which takes 20 MB of memory.
_SDK_TYPES = {
    "types": {
        "Message": "message",
        "ParsedMessage": "parsed_message",
        "RawMessageStartEvent": "raw_message_start_event",
        "RawMessageStreamEvent": "raw_message_stream_event",
        "SearchResultBlockParam": "search_result_block_param",
        "TextBlockParam": "text_block_param",
    },
    "types.shared": {},
    "types.organization": {},
    "types.beta": {
        "BetaMessage": "beta_message",
        "BetaRawMessageStartEvent": "beta_raw_message_start_event",
        "BetaRawMessageStreamEvent": "beta_raw_message_stream_event",
        "BetaSearchResultBlockParam": "beta_search_result_block_param",
        "BetaTextBlockParam": "beta_text_block_param",
        "BetaToolResultBlockParam": "beta_tool_result_block_param",
    },
    "types.beta.environments": {"BetaSelfHostedWork": "beta_self_hosted_work"},
    "types.beta.organization": {},
    "types.beta.organization.claude_code": {},
    "types.beta.sessions": {
        "BetaManagedAgentsSearchResultBlockParam": "beta_managed_agents_search_result_block_param",
        "BetaManagedAgentsTextBlockParam": "beta_managed_agents_text_block_param",
    },
}

# Errors of the SDK for an event that is not JSON, or not UTF-8.
_NO_EVENT = (json.JSONDecodeError, UnicodeDecodeError)

# The time limits of a check of a key: one for the connection, one for the answer.
_CHECK_LIMITS = TimeLimits(CHECK_SECONDS, CHECK_SECONDS)


def _make_client(sdk: Any, target: RequestTarget, options: dict[str, Any]) -> Any:
    """Create the SDK's client for Anthropic's own API. See `AnthropicProvider.make_client`."""
    return sdk.AsyncAnthropic(api_key=target.key or NO_KEY, **options)


@dataclass(frozen=True, slots=True)
class AnthropicProvider:
    """A provider plug for the Messages API. Other providers, such as `ollama` and `vertex`, have instances of their own
    and pass requests on to them. The class implements `base.Provider` and some of the optional protocols in `base`."""

    name: str = "anthropic"
    """The name that users write before the model: `anthropic/MODEL`."""
    label: str = "Anthropic"
    """The name that people know."""
    key_variable: str = KEY_VARIABLE
    """The environment variable where the vendor's own tools look for the key."""
    rank: int | None = 10
    """The lower the number, the earlier this provider is asked for the default model. With None, its models never
    become the default model by themselves."""
    time_limits: TimeLimits = TIME_LIMITS
    """How long to wait for a connection and for the next data, unless the configuration says something else."""
    priced_as: str = "anthropic"
    """The provider whose prices count, by its name in the table of prices; "" for none."""
    small_model: str = ""
    """The cheap and fast model, for small requests; "" for none."""
    make_client: Callable[[Any, RequestTarget, dict[str, Any]], Any] = _make_client
    """Creates a client of the SDK, with the options that all clients get. The SDK has another class of clients for each
    cloud. This function is called in a thread."""

    def find_address(self, settings: ProviderConfig) -> str:
        """Return the URL to which requests go."""
        return _find_url(settings)

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models, then ours; none without a key. For another server (`url`), return only the
        configured models, or ours if none are configured."""
        configured = tuple(settings.models)
        if settings.url:
            return configured or MODELS  # another server may not have our models
        others = tuple(model for model in MODELS if model not in configured)
        return (*configured, *others) if _find_key(settings, self.name) else ()

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        """Return the JSON that `stream` sends."""
        model_config = settings.models.get(model, ModelConfig())
        model_id = model_config.model_name or model
        # Other servers that speak this API have no web search.
        searches = self.name == "anthropic" and settings.can_search_web(model)
        adapted_request = adapt_to(request, find_modalities(model_id, model_config))
        return build_body(
            model_id,
            adapted_request,
            settings.get_payload(model),
            searches=searches,
            output_limit=model_config.output_limit,
            # A cache that is kept for an hour. Other servers that speak this API may refuse a request for it.
            offers_hour=self.name == "anthropic" and _is_of_vendor(_find_url(settings)),
        )

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Send a request, and yield the pieces of the answer, and its usage last. Raises: ProviderError."""
        provider = request.model.partition("/")[0]
        model_config = settings.models.get(model, ModelConfig())
        model_id = model_config.model_name or model
        target = RequestTarget(provider, model_id, _find_url(settings), _find_key(settings, provider))
        target = check_target(target, needs_key=not settings.url, vendor=self.label)
        time_limits = self.time_limits.configure(settings)
        request_json = self.request_body(model, request, settings)
        reader = MessagesReader(request.model)
        client = await get_client(self.name, target, time_limits, self._create_client)
        import httpx2
        from anthropic import AnthropicError, AsyncStream

        try:
            # With `object` the SDK returns the events as plain JSON. Events as pydantic models take twice as long.
            stream_class = AsyncStream[object]
            async with await client.post(
                # The client would follow a complete URL to another server.
                "/" + (settings.completion_url_relative_path or "v1/messages").lstrip("/"),
                body=request_json,
                cast_to=object,
                options={"headers": settings.get_headers(model)},
                stream=True,
                stream_cls=stream_class,
            ) as stream:
                # The stream is read to its end, after the last event. Only then is the connection kept for later
                # requests.
                async for event in stream:
                    for delta in reader.take(event):
                        yield delta
                content_type = stream.response.headers.get("content-type", "")
        except (AnthropicError, httpx2.HTTPError, httpx2.StreamError, *_NO_EVENT) as error:
            if not reader.is_complete:
                # `from None`, because a server may have repeated the key in its error, and a log would show the chain.
                raise _explain(error, target, time_limits) from None
        else:
            if not reader.is_complete:
                raise (
                    failures.explain_disconnect(target)
                    if "event-stream" in content_type or "eventstream" in content_type  # the second is Amazon's
                    else failures.explain_wrong_api(target)
                )
        usage = replace(reader.get_usage(), output_limit=request_json["max_tokens"])
        if self.priced_as:
            priced = await prices.add_price(self.priced_as, model_id, usage)
            usage = priced if usage.cost is None else replace(priced, cost=usage.cost)  # the server's own price counts
        yield usage

    async def check(self, settings: ProviderConfig) -> None:
        """Ask the server whether it accepts the key. Raises: ProviderError when it does not."""
        target = RequestTarget(self.name, "", _find_url(settings), _find_key(settings, self.name))
        target = check_target(target, needs_key=not settings.url, vendor=self.label)
        # The client is not cached, because the key may be wrong.
        client = await asyncio.to_thread(self._create_client, target, _CHECK_LIMITS)
        async with client:
            await _check_key(client, target, _CHECK_LIMITS, settings)

    async def warm(self, provider: str, settings: ProviderConfig) -> None:
        """Import the SDK and open a connection, so that the first request need not wait. Raises: ProviderError."""
        target = RequestTarget(provider, "", _find_url(settings), _find_key(settings, provider))
        target = check_target(target, needs_key=not settings.url, vendor=self.label)
        time_limits = self.time_limits.configure(settings)
        # The request of the check opens the connection, which is kept for the first question.
        client = await get_client(self.name, target, time_limits, self._create_client)
        await _check_key(client, target, time_limits, settings)

    def _create_client(self, target: RequestTarget, time_limits: TimeLimits) -> AsyncAnthropic:
        """Create a client of the SDK for a server. Blocks: the first import takes seconds."""
        sdk: Any = import_parts("anthropic", _SDK_PARTS, _SDK_TYPES)
        redaction.install_log_filter()
        timeout = sdk.Timeout(
            time_limits.idle_seconds, connect=time_limits.connect_seconds, pool=time_limits.connect_seconds
        )
        mounts = DIRECT if is_on_this_machine(target.url) else {}  # no proxy is used for a server on this machine
        options = {
            "base_url": target.url,
            "timeout": timeout,
            "max_retries": 0,  # the engine repeats requests
            # A redirect would lead the key (the SDK's `x-api-key`) and the chat to an address that nobody has allowed.
            "http_client": sdk.DefaultAsyncHttpxClient(timeout=timeout, mounts=mounts, follow_redirects=False),
            "default_headers": UNCOMPRESSED,
        }
        return self.make_client(sdk, target, options)


async def _check_key(
    client: AsyncAnthropic, target: RequestTarget, time_limits: TimeLimits, settings: ProviderConfig
) -> None:
    """Check the key with the cheapest request. Its answer is not read. `time_limits` are those of the client, which an
    error may name. Raises: ProviderError."""
    import httpx2
    from anthropic import AnthropicError

    options: Any = {"params": {"limit": 1}, "headers": settings.get_headers(""), "timeout": _CHECK_LIMITS.idle_seconds}
    try:
        await client.get("/v1/models", cast_to=object, options=options)
    except (AnthropicError, httpx2.HTTPError, httpx2.StreamError, *_NO_EVENT) as error:
        raise _explain(error, target, time_limits) from None


def _explain(error: Exception, target: RequestTarget, time_limits: TimeLimits) -> ProviderError:
    """Return the error to show for an error of the SDK."""
    from anthropic import APIConnectionError, APIStatusError

    cause = error.__cause__ if isinstance(error, APIConnectionError) else error
    return (
        _explain_status(cause, target)
        if isinstance(cause, APIStatusError)
        else explain_connection_error(cause, target, time_limits)
    )


def _explain_status(error: APIStatusError, target: RequestTarget) -> ProviderError:
    """Return the error to show for an answer with an HTTP status that is no success."""
    headers = error.response.headers
    if error.response.has_redirect_location:
        return failures.explain_redirect(target, error.status_code, headers["location"])
    temporary = {"true": True, "false": False}.get(headers.get("x-should-retry", ""))
    after = parse_retry_after(headers, time.time())
    server_message = error.api_message or (error.body if isinstance(error.body, str) else "")
    return failures.explain_refusal(
        target, error.status_code, error.type or "", server_message, temporary=temporary, retry_after=after
    )


def _find_key(settings: ProviderConfig, provider: str) -> str:
    """Return the configured key, or else the key in the environment; "" for none. The key in the environment is for
    Anthropic. So it is not used for another server, or if a file of a project has set the address
    (`foreign_address`)."""
    configured = settings.read_key()
    if configured or settings.foreign_address or (settings.url and provider != "anthropic"):
        return configured
    return os.environ.get(KEY_VARIABLE, "").strip()


def _find_url(settings: ProviderConfig) -> str:
    """Return the URL as the SDK chooses it, because error messages name it."""
    return settings.url or os.environ.get("ANTHROPIC_BASE_URL") or f"https://{_VENDOR_HOST}"


def _is_of_vendor(url: str) -> bool:
    """Return whether a URL leads to Anthropic itself, and not to another server that speaks its API."""
    try:
        return urlsplit(url).hostname == _VENDOR_HOST
    except ValueError:  # no URL: the request will fail, and say so
        return False


PROVIDER = AnthropicProvider(small_model="claude-haiku-5-5")
