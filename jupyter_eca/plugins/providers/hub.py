"""The provider of an institution's model gateway, which is LiteLLM Proxy, usually as a service of a JupyterHub. A model
gateway sends the requests of all users to the vendors of models with the keys of the institution.

The variables of the environment say where it is, so users set up nothing: `JUPYTER_ECA_GATEWAY_URL`, where the key is
the token of the user's own server (`JUPYTERHUB_API_TOKEN`), or `LITELLM_API_BASE` and `LITELLM_API_KEY`, which
`jupyterhub-litellm` sets. Without them this provider is not listed.

The gateway lists the models that this user may use. Models of Claude get the Messages API, which the gateway passes on
unchanged, with the marks for the cache; all others get the Responses API. The limit of the answer is always sent,
because the gateway reserves the price of the longest answer in the user's budget.

`gateway_models` asks for the list, `anthropic` and `openai` have the connections, and `connection.failures` the errors.
"""

from __future__ import annotations

import os
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config import ModelConfig
from jupyter_eca.config.provider_schema import LimitConfig
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers import prices
from jupyter_eca.plugins.providers.anthropic import AnthropicProvider
from jupyter_eca.plugins.providers.gateway_models import GatewayModels, ListedModel, fetch_budget
from jupyter_eca.plugins.providers.messages.request import MAX_TOKENS
from jupyter_eca.plugins.providers.openai import RESPONSES_API, OpenAIProvider

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest

# The name that people know.
_LABEL: Final = "JupyterHub"

# The variables with an address, and for each the variable with the key that is sent there and to no other address.
_VARIABLES: Final = {"JUPYTER_ECA_GATEWAY_URL": "JUPYTERHUB_API_TOKEN", "LITELLM_API_BASE": "LITELLM_API_KEY"}

# The fields of a request to the Responses API that only OpenAI's own servers know.
_ONLY_OPENAI: Final = ("prompt_cache_key", "store", "include")

# The errors that users read.
_SERVER_REFUSED: Final = (
    "{url} does not accept the token of your server. On the Hub, stop your server and start it again. If that does "
    "not help, tell the administrator."
)
_KEY_REFUSED: Final = "{url} does not accept the key in LITELLM_API_KEY. Ask whoever runs the gateway for a new one."
_NO_ADDRESS: Final = "There is no gateway: JUPYTER_ECA_GATEWAY_URL is not set, and neither is `providers.hub.url`."
_NOT_LISTED: Final = "The gateway at {url} does not list its models: {reason}. Ask again in a minute."
_NO_MODELS: Final = "The gateway at {url} has no models for you. Ask its administrator for access."


@dataclass(frozen=True, slots=True)
class HubProvider:
    """The provider plug `hub`. It passes each request on to the provider of the API that the model needs. The class
    implements `base.Provider` and some of the optional protocols in `base`."""

    name: str = "hub"
    """The name that users write before the model: `hub/MODEL`."""
    label: str = _LABEL
    """The name that people know."""
    _messages: AnthropicProvider = field(
        default_factory=lambda: AnthropicProvider("hub-messages", _LABEL, "", None, priced_as="")
    )
    """Sends the requests to models of Claude, with the Messages API. It has no rank, because it is not listed
    itself."""
    _responses: OpenAIProvider = field(
        default_factory=lambda: OpenAIProvider("hub", RESPONSES_API, {}, None, _LABEL, "")
    )
    """Sends the requests to all other models, with the Responses API."""
    _models: GatewayModels = field(default_factory=GatewayModels)
    """The models that the gateway lists, as they were last fetched."""

    @property
    def rank(self) -> int | None:
        """The number by which the default model is chosen: the lowest is asked first, so the institution's models come
        before all others. Without a gateway this is None, and the provider is not listed."""
        return 5 if _find_variable() else None

    @property
    def key_variable(self) -> str:
        """The variable with the key for the address in the environment."""
        return _VARIABLES.get(_find_variable(), "JUPYTERHUB_API_TOKEN")

    def find_address(self, settings: ProviderConfig) -> str:
        """Return the URL of the gateway; "" for none."""
        return (settings.url or os.environ.get(_find_variable(), "")).strip().rstrip("/").removesuffix("/v1")

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models and those that the gateway lists for this user; none without a gateway."""
        url = self.find_address(settings)
        if not url:
            return ()
        configured = tuple(settings.models)
        listed = await self._models.list(url, settings.read_key())
        return (*configured, *(name for name in listed if name not in configured))

    def explain_no_models(self, settings: ProviderConfig) -> str:
        """Return why there are no models, although there is a gateway; "" if there is none, or if there are models."""
        url = self.find_address(settings)
        if not url or settings.models or self._models.has_models(url, settings.read_key()):
            return ""
        failure = self._models.find_failure(url, settings.read_key())
        if failure == 401 and (refusal := self._explain_refused_key(settings)):
            return refusal
        return _NOT_LISTED.format(url=url, reason=_describe(failure)) if failure else _NO_MODELS.format(url=url)

    def request_body(self, model: str, request: ModelRequest, settings: ProviderConfig) -> dict[str, Any]:
        """Return the JSON that `stream` sends."""
        listed = self._models.find(self.find_address(settings), settings.read_key(), model)
        return self._choose_api(listed).request_body(model, request, self._complete(settings, model, listed))

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Send a request with the API for this model. Raises: ProviderError."""
        url, key = self.find_address(settings), settings.read_key()
        if not url:
            raise ProviderError(_NO_ADDRESS, kind=FailureKind.SETUP)
        await self._models.list(url, key)
        listed = self._models.find(url, key, model)
        completed = self._complete(settings, model, listed)
        try:
            async with aclosing(self._choose_api(listed).stream(model, request, completed)) as deltas:
                async for delta in deltas:
                    yield _add_price(delta, listed) if isinstance(delta, UsageDelta) else delta
        except ProviderError as error:
            raise await self._explain(error, url, settings) from None

    async def check(self, settings: ProviderConfig) -> None:
        """Ask the gateway whether it accepts the key. Raises: ProviderError when it does not."""
        await self._responses.check(self._with_address(settings))

    async def warm(self, provider: str, settings: ProviderConfig) -> None:
        """Prepare for the first request with the API of the first model. Raises: ProviderError."""
        url, key = self.find_address(settings), settings.read_key()
        names = await self.models(settings)
        if names:
            plug = self._choose_api(self._models.find(url, key, names[0]))
            await plug.warm(provider, self._with_address(settings))

    def _choose_api(self, listed: ListedModel) -> AnthropicProvider | OpenAIProvider:
        """Return the plug for the API that a model needs: Messages for Claude, Responses for others."""
        return self._messages if listed.is_claude else self._responses

    def _with_address(self, settings: ProviderConfig) -> ProviderConfig:
        """Return the settings with the address of the gateway."""
        return settings.model_copy(update={"url": self.find_address(settings)})

    def _complete(self, settings: ProviderConfig, model: str, listed: ListedModel) -> ProviderConfig:
        """Return the settings with the address, and with the limits of the model that are not configured."""
        own = settings.models.get(model, ModelConfig())
        output = own.output_limit or min(listed.output_limit or MAX_TOKENS, MAX_TOKENS)
        # LiteLLM may refuse a request with these fields to another vendor. A field that is None is not sent.
        extra = {} if listed.is_openai or listed.is_claude else dict.fromkeys(_ONLY_OPENAI)
        completed = own.model_copy(
            update={
                "extra_payload": {**extra, **settings.extra_payload, **own.extra_payload},
                "limit": LimitConfig(context=listed.context_limit, output=output),
                "image_input": listed.reads_images if own.image_input is None else own.image_input,
            }
        )
        return self._with_address(settings).model_copy(update={"models": {**settings.models, model: completed}})

    async def _explain(self, error: ProviderError, url: str, settings: ProviderConfig) -> ProviderError:
        """Return the error to show. It replaces an error about a key that the user has not set up, and adds the budget
        to an error about a budget that is used up."""
        # Only a gateway with a database knows budgets. One that takes the token of the user's server as key has none.
        has_database = bool(settings.url) or self.key_variable == "LITELLM_API_KEY"
        if error.kind is FailureKind.BUDGET_EXCEEDED and has_database:
            budget = await fetch_budget(url, settings.read_key())
            return ProviderError(f"{error} {budget}".strip(), status=error.status, kind=error.kind)
        if error.status == 401 and (refusal := self._explain_refused_key(settings)):
            return ProviderError(refusal, status=401, kind=FailureKind.AUTH)
        return error

    def _explain_refused_key(self, settings: ProviderConfig) -> str:
        """Return what to do when the gateway refuses the key of the environment; "" for a key of the user."""
        variable = self.key_variable
        if settings.url or settings.read_key() != os.environ.get(variable, "").strip():
            return ""
        sentence = _KEY_REFUSED if variable == "LITELLM_API_KEY" else _SERVER_REFUSED
        return sentence.format(url=self.find_address(settings))


def _find_variable() -> str:
    """Return the variable with the address of the gateway, "" if none is set."""
    return next((name for name in _VARIABLES if os.environ.get(name, "").strip()), "")


def _add_price(usage: UsageDelta, listed: ListedModel) -> UsageDelta:
    """Return the usage with the context window, and with the cost by the gateway's prices if the gateway did not report
    the cost itself."""
    usage = replace(usage, context_limit=listed.context_limit or usage.context_limit)
    return usage if usage.cost is not None else prices.apply_own_rates(usage, ModelConfig(cost=listed.rates))


def _describe(failure: int) -> str:
    """Return why the list could not be read, as a part of a sentence. `failure` is a status, or less than 0."""
    return f"it answers with status {failure}" if failure > 0 else "it does not answer"


PROVIDER = HubProvider()
