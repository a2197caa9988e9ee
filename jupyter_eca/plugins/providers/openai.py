"""The provider of OpenAI, and of every server that speaks one of its two APIs, with the official SDK.

It owns the connection: URLs, keys, clients, and the errors of the SDK. It must not know the form of the APIs' messages:
`responses/` and `completions/` do. The SDK is imported in a thread on first use.
"""

from __future__ import annotations

import asyncio
import importlib
import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from jupyter_eca import redaction
from jupyter_eca.config import ModelConfig
from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import prices
from jupyter_eca.plugins.providers.connection import failures
from jupyter_eca.plugins.providers.connection.failures import RequestTarget
from jupyter_eca.plugins.providers.connection.local_models import KnownServers, list_models
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
from jupyter_eca.plugins.providers.modalities import adapt_to, find_modalities
from jupyter_eca.plugins.providers.presets import RESPONSES
from jupyter_eca.plugins.providers.responses.events import ResponsesReader
from jupyter_eca.plugins.providers.responses.request import build_body as build_responses_body

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping

    from openai import AsyncOpenAI

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.config.provider_schema import Payload
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.plugins.providers.base import Preset

# The servers on this machine that are recognized by their answers.
_KNOWN_SERVERS: Final = KnownServers()

# The time limits of a check of a key: one for the connection, one for the answer.
_CHECK_LIMITS = TimeLimits(CHECK_SECONDS, CHECK_SECONDS)

# A version in a URL. If a URL has one, no other version is added.
_VERSION = re.compile(r"/v\d")

# The error for a provider without a URL.
_NO_URL = "There is no address for {provider}. Set `providers.{provider}.url` in ~/.config/eca/config.json."


class StreamReader(Protocol):
    """Turns the events of one answer into deltas."""

    is_complete: bool
    """Whether the server has sent the end of the answer."""
    error: tuple[str, str] | None
    """The code and the text of an error in the stream, None for none."""

    def take(self, event: Any) -> Iterable[Delta]:
        """Return the deltas of an event."""
        ...

    def get_usage(self) -> UsageDelta | None:
        """Return the usage of the answer, None if the server has not counted it."""
        ...


@dataclass(frozen=True, slots=True)
class OpenAIApi:
    """One of the two APIs."""

    label: str
    """The name that users know."""
    path: str
    """The path of a request, which is added to the URL."""
    version: str
    """The version that is put between the URL and the path if the URL has none. As in ECA it is empty for Chat
    Completions, where the URL must be complete."""
    build_body: Callable[[str, ModelRequest, Payload, ModelConfig], Payload]
    """Builds the JSON of a request."""
    make_reader: Callable[[str, ProviderConfig], StreamReader]
    """Makes the reader of an answer, for the full name of the model and the settings of its provider."""


@dataclass(frozen=True, slots=True)
class OpenAIProvider:
    """A provider plug for one of the two APIs: an instance for the Responses API is in `openai`, and one for Chat
    Completions in `openai_chat`. The class implements `base.Provider` and most of the optional protocols in `base`."""

    name: str
    """The name of the plug. Users write the names in `presets`, or their own, before the model."""
    api: OpenAIApi
    """The API that its servers speak."""
    presets: Mapping[str, Preset]
    """The known providers that speak this API, by name."""
    rank: int | None
    """The lower the number, the earlier this provider is asked for the default model. With None, its models never
    become the default model by themselves."""
    label: str = "OpenAI"
    """The name that people know."""
    key_variable: str = "OPENAI_API_KEY"
    """The environment variable where the vendor's own tools look for the key."""
    time_limits: TimeLimits = TIME_LIMITS
    """How long to wait for a connection and for the next data, unless the configuration says something else."""

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models, and those that a server on this machine lists; none without a needed key."""
        configured = tuple(settings.models)
        if not settings.url or (_needs_key(settings) and not settings.read_key()):
            return ()
        if not (is_on_this_machine(settings.url) and settings.fetch_models):
            return configured
        address = self._add_path(settings.url, "/models")
        if owner := self._find_expected_owner(settings):
            listed_models = await asyncio.to_thread(_KNOWN_SERVERS.list_models, address, owner)
        else:
            listed_models = await asyncio.to_thread(list_models, address, settings.read_key())
        return (*configured, *(name for name in listed_models if name not in configured))

    def _find_expected_owner(self, settings: ProviderConfig) -> str:
        """Return the value of `owned_by` in the list of models by which the server at the usual address of a preset is
        recognized, because another program may listen there. Return "" if no check is needed: the user has configured
        another address or `api`, or the preset has no such value."""
        owners = (preset.owner for preset in self.presets.values() if preset.settings.url == settings.url)
        return "" if settings.api else next(filter(None, owners), "")

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        """Return the JSON that `stream` sends."""
        model_config = settings.models.get(model, ModelConfig())
        model_id = model_config.model_name or model
        adapted_request = adapt_to(request, find_modalities(model_id, model_config))
        # The web search may also be set for the whole provider, which `can_search_web` knows.
        config_with_search = model_config.model_copy(update={"web_search": settings.can_search_web(model)})
        return self.api.build_body(model_id, adapted_request, settings.get_payload(model), config_with_search)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Send a request, and yield the pieces of the answer, and its usage last. Raises: ProviderError."""
        provider = request.model.partition("/")[0]
        model_config = settings.models.get(model, ModelConfig())
        target = self._find_target(provider, model_config.model_name or model, settings)
        time_limits = self.time_limits.configure(settings)
        request_json = self.request_body(model, request, settings)
        reader = self.api.make_reader(request.model, settings)
        client = await get_client(self.name, target, time_limits, self._create_client)
        import httpx2
        from openai import AsyncStream, OpenAIError

        try:
            # With `object` the SDK returns the events as plain JSON. Events as pydantic models take twice as long.
            stream_class = AsyncStream[object]
            async with await client.post(
                self._build_url(settings),
                body=request_json,
                cast_to=object,
                options={"headers": settings.get_headers(model)},
                stream=True,
                stream_cls=stream_class,
            ) as stream:
                async for event in stream:
                    for delta in reader.take(event):
                        yield delta
                content_type = stream.response.headers.get("content-type", "")
        except (OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            # An error after the end of the answer does not matter.
            if not reader.is_complete:
                # `from None`, because a server may have repeated the key in its error, and a log would show the chain.
                raise _explain(error, target, time_limits) from None
        else:
            if reader.error is not None:
                # The error came in the stream, after the status 200.
                raise failures.explain_refusal(target, 200, *reader.error)
            if not reader.is_complete:
                raise (
                    failures.explain_disconnect(target)
                    if "event-stream" in content_type
                    else failures.explain_wrong_api(target)
                )
        yield await self._add_price(provider, target.model, settings, reader.get_usage())

    async def check(self, settings: ProviderConfig) -> None:
        """Ask the server whether it accepts the key. Raises: ProviderError when it does not."""
        target = self._find_target(self.name, "", settings)
        # The client is not cached, because the key may be wrong.
        client = await asyncio.to_thread(self._create_client, target, _CHECK_LIMITS)
        async with client:
            await self._check_key(client, target, _CHECK_LIMITS, settings)

    async def warm(self, provider: str, settings: ProviderConfig) -> None:
        """Import the SDK and open a connection, so that the first request need not wait. Raises: ProviderError."""
        target, time_limits = self._find_target(provider, "", settings), self.time_limits.configure(settings)
        # The request of the check opens the connection, which is kept for the first question.
        client = await get_client(self.name, target, time_limits, self._create_client)
        await self._check_key(client, target, time_limits, settings)

    def _find_target(self, provider: str, model_id: str, settings: ProviderConfig) -> RequestTarget:
        """Return the target of a request. Raises: ProviderError without an address, or without a key that is needed."""
        if not settings.url:
            raise ProviderError(_NO_URL.format(provider=provider))
        preset = self.presets.get(provider)
        variable = re.sub(r"\W", "_", provider).upper() + "_API_KEY"
        target = RequestTarget(
            provider, model_id, settings.url, settings.read_key(), self.api.label, variable, self.api.path
        )
        return check_target(target, needs_key=_needs_key(settings), vendor=preset.label if preset else provider)

    def _build_url(self, settings: ProviderConfig) -> str:
        """Return the URL that requests are sent to. The configuration can name another path."""
        url, path = settings.url or "", settings.completion_url_relative_path
        return self._add_path(url, self.api.path) if path is None else f"{url.rstrip('/')}/{path.lstrip('/')}"

    def _add_path(self, url: str, path: str) -> str:
        """Return the URL of the server with a path, and with the version of the API if it has none."""
        version = "" if _VERSION.search(urlsplit(url).path) else self.api.version
        return f"{url.rstrip('/')}{version}{path}"

    async def _check_key(
        self, client: AsyncOpenAI, target: RequestTarget, time_limits: TimeLimits, settings: ProviderConfig
    ) -> None:
        """Check the key with the cheapest request. Its answer is not read. `time_limits` are those of the client, which
        an error may name. Raises: ProviderError."""
        import httpx2
        from openai import OpenAIError

        options: Any = {"headers": settings.get_headers(""), "timeout": _CHECK_LIMITS.idle_seconds}
        try:
            await client.get(self._add_path(target.url, "/models"), cast_to=object, options=options)
        except (OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            raise _explain(error, target, time_limits) from None

    def make_api_key(self, target: RequestTarget) -> str | Callable[[], Awaitable[str]]:
        """Return the key for the SDK. A subclass whose keys expire overrides this, and may return a function that the
        SDK calls for the key of each request."""
        return target.key or NO_KEY

    def _create_client(self, target: RequestTarget, time_limits: TimeLimits) -> AsyncOpenAI:
        """Create a client of the SDK for a server. Blocks: the first import takes seconds."""
        sdk = importlib.import_module("openai")
        redaction.install_log_filter()
        timeout = sdk.Timeout(
            time_limits.idle_seconds, connect=time_limits.connect_seconds, pool=time_limits.connect_seconds
        )
        mounts = DIRECT if is_on_this_machine(target.url) else {}  # no proxy is used for a server on this machine
        # The user's organization and project at OpenAI, which the SDK takes from the environment, are not sent to
        # others.
        is_openai = urlsplit(target.url).hostname == "api.openai.com"
        no_account_headers = {} if is_openai else {"OpenAI-Organization": sdk.Omit(), "OpenAI-Project": sdk.Omit()}
        return sdk.AsyncOpenAI(
            api_key=self.make_api_key(target),
            base_url=target.url,
            timeout=timeout,
            max_retries=0,  # the engine repeats requests
            # A redirect would lead the key and the chat to an address that nobody has allowed.
            http_client=sdk.DefaultAsyncHttpxClient(timeout=timeout, mounts=mounts, follow_redirects=False),
            default_headers={**UNCOMPRESSED, **no_account_headers},
        )

    async def _add_price(
        self, provider: str, model_id: str, settings: ProviderConfig, usage: UsageDelta | None
    ) -> UsageDelta:
        """Return the usage with its price. A usage that was not counted has no price. The prices are known only for the
        usual address of a preset: another server may ask for others."""
        preset = self.presets.get(provider)
        if preset is None or usage is None or settings.url != preset.settings.url:
            return usage or UsageDelta(0, 0)
        if preset.free:
            return replace(usage, cost=0.0)
        priced = await prices.add_price(provider, model_id, usage)
        return priced if usage.cost is None else replace(priced, cost=usage.cost)  # the vendor's own price counts


def _explain(error: Exception, target: RequestTarget, time_limits: TimeLimits) -> ProviderError:
    """Return the error to show for an error of the SDK."""
    from openai import APIConnectionError, APIError, APIStatusError

    match error:
        case APIConnectionError():
            return explain_connection_error(error.__cause__, target, time_limits)
        case APIStatusError():
            headers = error.response.headers
            if error.response.has_redirect_location:
                return failures.explain_redirect(target, error.status_code, headers["location"])
            temporary = {"true": True, "false": False}.get(headers.get("x-should-retry", ""))
            after = parse_retry_after(headers, time.time())
            # LiteLLM writes the status into `code`, and what the error is only into `type`.
            is_budget = error.type == failures.BUDGET_EXCEEDED
            kind = error.type if is_budget and error.type else error.code or error.type or ""
            server_message = _find_message(error.body)
            return failures.explain_refusal(
                target, error.status_code, kind, server_message, temporary=temporary, retry_after=after
            )
        case APIError():  # in the middle of the stream
            return failures.explain_refusal(target, 200, error.code or error.type or "", _find_message(error.body))
        case _:
            return explain_connection_error(error, target, time_limits)


def _find_message(body: object) -> str:
    """Return the error message of a server. Servers send it in different forms."""
    match body:
        case (
            {"message": str(server_message)}
            | {"error": {"message": str(server_message)}}
            | {"error": str(server_message)}
            | {"detail": str(server_message)}
        ):
            return server_message
        case str():
            return body
        case _:
            return ""


def _needs_key(settings: ProviderConfig) -> bool:
    """Return whether a key is needed. A server of the user may need none."""
    return bool(settings.requires_auth)


# The Responses API, with its path and the functions that write requests and read answers.
RESPONSES_API: Final = OpenAIApi("OpenAI Responses API", "/responses", "/v1", build_responses_body, ResponsesReader)

PROVIDER = OpenAIProvider("openai-responses", RESPONSES_API, RESPONSES, rank=15)
