"""OpenAI, and every server that speaks one of its two APIs, over the official SDK.

Owns the connection: addresses, keys, clients, and what an exception of the SDK means. The words of the APIs are in
`responses/` and `completions/`. The SDK is imported in a thread on first use.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import time
import urllib.request
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from jupyter_eca import redaction
from jupyter_eca.config import ModelConfig
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import failures, prices
from jupyter_eca.plugins.providers.failures import RequestTarget
from jupyter_eca.plugins.providers.messages.local_address import is_here
from jupyter_eca.plugins.providers.modalities import adapt_to, senses
from jupyter_eca.plugins.providers.presets import RESPONSES
from jupyter_eca.plugins.providers.responses.events import ResponsesReader as ResponsesReading
from jupyter_eca.plugins.providers.responses.request import body as responses_body
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
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

    from openai import AsyncOpenAI

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.config.provider_schema import Payload
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.plugins.providers.base import Preset

# A server on this machine lists its models in a few milliseconds; without one the refusal is immediate.
LIST_SECONDS = 0.3

_BRIEF = Patience(CHECK_SECONDS, CHECK_SECONDS)

# An address that has one already is not given another.
_VERSION = re.compile(r"/v\d")

_NO_URL = "There is no address for {provider}. Set `providers.{provider}.url` in ~/.config/eca/config.json."


class StreamReader(Protocol):
    """Reads one answer. `failed` is the code and the text of an error that came in its stream."""

    complete: bool
    failed: tuple[str, str] | None

    def take(self, event: Any) -> Iterable[Delta]: ...

    def usage(self) -> UsageDelta | None: ...


@dataclass(frozen=True, slots=True)
class OpenAIApi:
    """One of the two APIs. `path` comes after the URL. `version` is put between them where the URL has no version: ECA
    does so for the Responses API alone, so a URL for Chat Completions is complete."""

    label: str
    path: str
    version: str
    body: Callable[[str, ModelRequest, Payload, ModelConfig], Payload]
    reading: Callable[[str, ProviderConfig], StreamReader]


@dataclass(frozen=True, slots=True)
class OpenAIProvider:
    name: str
    dialect: OpenAIApi
    presets: Mapping[str, Preset]
    rank: int | None
    label: str = "OpenAI"
    key_variable: str = "OPENAI_API_KEY"
    patience: Patience = PATIENCE

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        configured = tuple(settings.models)
        if not settings.url or (_needs_key(settings) and not _key(settings)):
            return ()
        if not (is_here(settings.url) and settings.fetch_models):
            return configured
        there = await asyncio.to_thread(_list_models, self._address(settings.url, "/models"), _key(settings))
        return (*configured, *(name for name in there if name not in configured))

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        chosen = settings.models.get(model, ModelConfig())
        model_id = chosen.model_name or model
        searching = chosen.model_copy(update={"web_search": settings.searches(model)})
        seen = adapt_to(request, senses(model_id, chosen))
        return self.dialect.body(model_id, seen, settings.payload(model), searching)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        provider = request.model.partition("/")[0]
        chosen = settings.models.get(model, ModelConfig())
        asked = self._find_target(provider, chosen.model_name or model, settings)
        patience = self.patience.configure(settings)
        wanted = self.request_body(model, request, settings)
        reading = self.dialect.reading(request.model, settings)
        client = await get_client("openai", asked, patience, _connect)
        import httpx2
        from openai import AsyncStream, OpenAIError

        try:
            # `object` makes the SDK hand out the events as the JSON they came as: half the time of its models.
            stream_class = AsyncStream[object]
            async with await client.post(
                self._path(settings),
                body=wanted,
                cast_to=object,
                options={"headers": settings.headers(model)},
                stream=True,
                stream_cls=stream_class,
            ) as stream:
                async for event in stream:
                    for delta in reading.take(event):
                        yield delta
                kind = stream.response.headers.get("content-type", "")
        except (OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            if not reading.complete:
                # `from None`: a server may have echoed the key, and a log would show the chain.
                raise _explain(error, asked, patience) from None
        else:
            if reading.failed is not None:
                raise failures.explain_refusal(asked, 200, *reading.failed)
            if not reading.complete:
                raise (
                    failures.explain_disconnect(asked) if "event-stream" in kind else failures.explain_wrong_api(asked)
                )
        yield await self._price(provider, asked.model, settings, reading.usage())

    async def check(self, settings: ProviderConfig) -> None:
        asked = self._find_target(self.name, "", settings)
        # A client of its own: one with a wrong key is not kept.
        client = await asyncio.to_thread(_connect, asked, _BRIEF)
        async with client:
            await self._check_key(client, asked, _BRIEF, settings)

    async def warm(self, provider: str, settings: ProviderConfig) -> None:
        asked, patience = self._find_target(provider, "", settings), self.patience.configure(settings)
        await self._check_key(await get_client("openai", asked, patience, _connect), asked, patience, settings)

    def _find_target(self, provider: str, model_id: str, settings: ProviderConfig) -> RequestTarget:
        """Return the target of a request. Raises: ProviderError without an address, or without a key that is needed."""
        if not settings.url:
            raise ProviderError(_NO_URL.format(provider=provider))
        preset = self.presets.get(provider)
        variable = re.sub(r"\W", "_", provider).upper() + "_API_KEY"
        asked = RequestTarget(
            provider, model_id, settings.url, _key(settings), self.dialect.label, variable, self.dialect.path
        )
        return check_target(asked, needs_key=_needs_key(settings), vendor=preset.label if preset else provider)

    def _path(self, settings: ProviderConfig) -> str:
        url, path = settings.url or "", settings.completion_url_relative_path
        return self._address(url, self.dialect.path) if path is None else f"{url.rstrip('/')}/{path.lstrip('/')}"

    def _address(self, url: str, path: str) -> str:
        version = "" if _VERSION.search(urlsplit(url).path) else self.dialect.version
        return f"{url.rstrip('/')}{version}{path}"

    async def _check_key(
        self, client: AsyncOpenAI, asked: RequestTarget, patience: Patience, settings: ProviderConfig
    ) -> None:
        """Send the cheapest request there is; its answer is not read. Raises: ProviderError."""
        import httpx2
        from openai import OpenAIError

        options: Any = {"headers": settings.headers(""), "timeout": _BRIEF.idle}
        try:
            await client.get(self._address(asked.url, "/models"), cast_to=object, options=options)
        except (OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            raise _explain(error, asked, patience) from None

    async def _price(
        self, provider: str, model_id: str, settings: ProviderConfig, usage: UsageDelta | None
    ) -> UsageDelta:
        """Return the usage with its price; usage that was not counted has none."""
        preset = self.presets.get(provider)
        if preset is None or usage is None or settings.url != preset.settings.url:
            return usage or UsageDelta(0, 0)
        if preset.free:
            return replace(usage, cost=0.0)
        found = await prices.add_price(provider, model_id, usage)
        return found if usage.cost is None else replace(found, cost=usage.cost)  # the vendor's own word comes first


def _explain(error: Exception, asked: RequestTarget, patience: Patience) -> ProviderError:
    from openai import APIConnectionError, APIError, APIStatusError

    match error:
        case APIConnectionError():
            return explain_connection_error(error.__cause__, asked, patience)
        case APIStatusError():
            headers = error.response.headers
            temporary = {"true": True, "false": False}.get(headers.get("x-should-retry", ""))
            after = retry_after(headers, time.time())
            kind, said = error.code or error.type or "", _words(error.body)
            return failures.explain_refusal(
                asked, error.status_code, kind, said, temporary=temporary, retry_after=after
            )
        case APIError():  # in mid-stream
            return failures.explain_refusal(asked, 200, error.code or error.type or "", _words(error.body))
        case _:
            return explain_connection_error(error, asked, patience)


def _words(body: object) -> str:
    """Return what a server said is wrong, in whatever form it says that."""
    match body:
        case {"message": str(said)} | {"error": {"message": str(said)}} | {"error": str(said)} | {"detail": str(said)}:
            return said
        case str():
            return body
        case _:
            return ""


def _key(settings: ProviderConfig) -> str:
    return settings.key.get_secret_value().strip() if settings.key else ""


def _needs_key(settings: ProviderConfig) -> bool:
    """Whether a key is needed. A server whose address the user wrote may need none."""
    return bool(settings.requires_auth)


def _list_models(address: str, key: str) -> tuple[str, ...]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy reaches this machine
    asking = urllib.request.Request(address, headers={"Authorization": f"Bearer {key}"} if key else {})  # noqa: S310  # ours
    try:
        with opener.open(asking, timeout=LIST_SECONDS) as answer:
            return tuple(str(model["id"]) for model in json.load(answer)["data"])
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return ()  # not there, or something else


def _connect(asked: RequestTarget, patience: Patience) -> AsyncOpenAI:
    sdk = importlib.import_module("openai")
    redaction.install_log_filter()
    timeout = sdk.Timeout(patience.idle, connect=patience.connect, pool=patience.connect)
    here = is_here(asked.url)
    # What the environment says of the user at OpenAI is no other server's business.
    theirs = urlsplit(asked.url).hostname == "api.openai.com"
    nobody = {} if theirs else {"OpenAI-Organization": sdk.Omit(), "OpenAI-Project": sdk.Omit()}
    return sdk.AsyncOpenAI(
        api_key=asked.key or NO_KEY,
        base_url=asked.url,
        timeout=timeout,
        max_retries=0,
        http_client=sdk.DefaultAsyncHttpxClient(timeout=timeout, mounts=DIRECT) if here else None,
        default_headers={**PLAINLY, **nobody},
    )


_RESPONSES: Final = OpenAIApi("OpenAI Responses API", "/responses", "/v1", responses_body, ResponsesReading)

PROVIDER = OpenAIProvider("openai-responses", _RESPONSES, RESPONSES, rank=15)
