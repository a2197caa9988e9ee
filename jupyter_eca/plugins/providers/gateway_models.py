"""Asks a model gateway (LiteLLM Proxy) which models a user may use, what they cost, and how large the user's budget is.

The answers are remembered, because clients ask for the models often. It must not send a request to a model: `hub` does.
"""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.config.provider_schema import RatesConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

# The seconds until the list of models is requested again: after a list that was received, and after a failed request.
_FRESH_SECONDS: Final = 30.0
_FAILED_SECONDS: Final = 5.0
# The seconds that a user waits for the first list, without which there is no model, and for a newer list. The request
# continues after that, and its list is used later.
_FIRST_SECONDS: Final = 3.0
_REFRESH_SECONDS: Final = 0.5
# The seconds that the gateway may take for each of the two requests: for the list, and for the details of the models.
# They are few, because this process cannot end while a request is running.
_REQUEST_SECONDS: Final = 3.0

# The sentences about the budget of a key.
_BUDGET: Final = "Your budget is ${budget:.2f}{period}, of which ${spent:.2f} are spent.{reset}"
_RESET: Final = " It begins anew at {moment}."

NO_ANSWER: Final = -1
"""Stands for the status of a gateway that does not answer."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model of the gateway. What the gateway does not say is 0 or None."""

    name: str
    """The name that the gateway gives to the model."""
    vendors_name: str = ""
    """The name of the model behind the gateway."""
    vendor: str = ""
    """The vendor behind the gateway, as LiteLLM names it."""
    context_limit: int = 0
    """The size of the context window in tokens."""
    output_limit: int = 0
    """The longest answer in tokens."""
    rates: RatesConfig | None = None
    """The prices for a million tokens."""
    reads_images: bool | None = None
    """Whether the model can read images."""

    @property
    def is_claude(self) -> bool:
        """Whether the model is Claude, for which requests in the form of the Messages API are best."""
        return "claude" in (self.vendors_name or self.name).lower()

    @property
    def is_openai(self) -> bool:
        """Whether a request may contain fields that only OpenAI's models know. If the gateway does not name the vendor,
        the vendor counts as OpenAI."""
        return self.vendor in {"", "openai", "azure"}


@dataclass(slots=True)
class _Entry:
    """What is known about one gateway and key."""

    models: dict[str, ListedModel] = field(default_factory=dict[str, ListedModel])
    """The models of the gateway by their names."""
    failure: int = 0
    """The HTTP status of the last request if it failed, `NO_ANSWER` if there was no answer, 0 if it did not fail."""
    until: float = 0.0
    """When the list is requested again, in seconds of the monotonic clock."""
    running: Future[None] | None = None
    """The newest request for the list, which may have ended; None before the first one."""


class GatewayModels:
    """The models of gateways, by the URL and the key."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], _Entry] = {}  # by the URL and the key
        self._executor: ThreadPoolExecutor | None = None  # runs the requests; None before the first one

    async def list(self, url: str, key: str) -> tuple[str, ...]:
        """Return the names of the models, in the gateway's order. Until a newer list has come, the last known list is
        returned."""
        entry = self._entries.setdefault((url, key), _Entry())
        if time.monotonic() >= entry.until:
            running = entry.running
            if running is None or running.done():
                self._executor = self._executor or ThreadPoolExecutor(2, "gateway-models")
                running = entry.running = self._executor.submit(_refresh, entry, url, key)
            waits = _REFRESH_SECONDS if entry.models else _FIRST_SECONDS
            await asyncio.wait((asyncio.wrap_future(running),), timeout=waits)
            if not running.done():
                entry.failure, entry.until = NO_ANSWER, time.monotonic() + _FAILED_SECONDS
        return tuple(entry.models)

    def find(self, url: str, key: str, name: str) -> ListedModel:
        """Return what is known about a model; only its name if the gateway has not listed it."""
        entry = self._entries.get((url, key))
        return (entry and entry.models.get(name)) or ListedModel(name)

    def has_models(self, url: str, key: str) -> bool:
        """Return whether the last known list has a model."""
        entry = self._entries.get((url, key))
        return bool(entry and entry.models)

    def find_failure(self, url: str, key: str) -> int:
        """Return the status with which the last request for the list failed, `NO_ANSWER` if there was no answer, 0 if
        it did not fail."""
        entry = self._entries.get((url, key))
        return entry.failure if entry else 0


async def fetch_budget(url: str, key: str) -> str:
    """Return what the budget of a key is and when it is renewed, as sentences; "" if the gateway does not say. Only a
    gateway with a database knows it."""
    status, answer = await asyncio.to_thread(_get, f"{url}/key/info", key)
    match answer:
        case {"info": {"max_budget": int() | float() as budget, **info}} if status == 200:
            spent, period, moment = info.get("spend"), info.get("budget_duration"), info.get("budget_reset_at")
            return _BUDGET.format(
                budget=budget,
                period=f" for {period}" if isinstance(period, str) else "",
                spent=spent if isinstance(spent, int | float) else budget,
                reset=_RESET.format(moment=moment) if isinstance(moment, str) else "",
            )
        case _:
            return ""


def _refresh(entry: _Entry, url: str, key: str) -> None:
    """Request the list of models and their details, and store the result or the failure in the entry. Blocks."""
    status, answer = _get(f"{url}/v1/models", key)
    names = [str(model["id"]) for model in _list_objects(answer) if "id" in model] if status == 200 else []
    if status == 200:
        limits = {str(model.get("id")): model for model in _list_objects(answer)}
        _, details = _get(f"{url}/v1/model/info", key)
        by_name = {str(model.get("model_name")): model for model in _list_objects(details)}
        entry.models = {name: _read_model(name, limits[name], by_name.get(name, {})) for name in names}
        entry.failure = 0
    else:
        entry.failure = status
        if status in {401, 403}:
            entry.models = {}
    entry.until = time.monotonic() + (_FAILED_SECONDS if entry.failure else _FRESH_SECONDS)


def _read_model(name: str, listed: Mapping[str, Any], details: Mapping[str, Any]) -> ListedModel:
    """Return a model. `listed` is its entry in `/v1/models`, and `details` that in `/v1/model/info`."""
    parameters, info = _get_object(details, "litellm_params"), _get_object(details, "model_info")
    return ListedModel(
        name,
        vendors_name=str(parameters.get("model") or ""),
        vendor=str(info.get("litellm_provider") or ""),
        context_limit=_get_count({**info, **listed}, "max_input_tokens"),
        output_limit=_get_count({**info, **listed}, "max_output_tokens"),
        rates=_read_rates(info),
        reads_images=value if isinstance(value := info.get("supports_vision"), bool) else None,
    )


def _read_rates(info: Mapping[str, Any]) -> RatesConfig | None:
    """Return the prices for a million tokens; None if the gateway does not know them."""
    names = {
        "input": "input_cost_per_token",
        "output": "output_cost_per_token",
        "cache_read": "cache_read_input_token_cost",
        "cache_write": "cache_creation_input_token_cost",
    }
    rates = {name: info[key] * 1e6 for name, key in names.items() if isinstance(info.get(key), int | float)}
    return RatesConfig(**rates) if {"input", "output"} <= rates.keys() and any(rates.values()) else None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, because the key would be sent along."""

    def redirect_request(self, *_: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # it needs none of its arguments
        """Return None, which means that the redirect is an error."""


def _get(address: str, key: str) -> tuple[int, Any]:
    """Return the status and the JSON of an answer; `NO_ANSWER` and None without one. Blocks."""
    proxies = [urllib.request.ProxyHandler({})] if is_on_this_machine(address) else []  # no proxy reaches this machine
    opener = urllib.request.build_opener(_NoRedirects, *proxies)
    try:
        request = urllib.request.Request(address, headers={"Authorization": f"Bearer {key}"} if key else {})  # noqa: S310  # of the configuration
        with opener.open(request, timeout=_REQUEST_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code, None
    except (OSError, HTTPException, ValueError):
        return NO_ANSWER, None


def _list_objects(answer: Any) -> list[Mapping[str, Any]]:
    """Return the objects in the list `data` of an answer."""
    match answer:
        case {"data": [*models]}:
            return [cast("dict[str, Any]", model) for model in models if isinstance(model, dict)]
        case _:
            return []


def _get_object(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object; an empty one if it is missing."""
    value = values.get(name)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _get_count(values: Mapping[str, Any], name: str) -> int:
    """Return a number of tokens, 0 if it is missing."""
    value = values.get(name)
    return int(value) if isinstance(value, int | float) and value > 0 else 0
