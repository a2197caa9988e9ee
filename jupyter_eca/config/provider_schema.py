"""Owns the schema of the configuration's keys about providers and their models.

A provider is a vendor of models, or a server with models, such as `anthropic` or a server in your company. The
docstring below each field is its text in the configuration reference, which `reference` generates. This module must not
know any provider: `plugins.providers` has them. `schema` is its neighbour: it has all other keys.
"""

from __future__ import annotations

import re
from typing import Any, Literal, cast

from pydantic import Field, SecretStr, field_serializer, field_validator, model_validator

from jupyter_eca.engine.model.retry import MAX_RETRIES, MAX_WAIT_SECONDS
from jupyter_eca.protocol.base import Model

Payload = dict[str, Any]
"""Fields that are added to the body of a request."""


class RetryRule(Model):
    """A failure after which a request is repeated: it has this status, its text matches this pattern, or both."""

    status: int | None = None
    """The HTTP status."""
    error_pattern: str | None = None
    """A regular expression for a part of the error's text. Upper and lower case are the same."""
    label: str = ""
    """What you see while we wait for the next attempt."""

    @model_validator(mode="after")
    def _check_not_empty(self) -> RetryRule:
        """Raise ValueError for a rule that would match every failure."""
        if self.status is None and self.error_pattern is None:
            raise ValueError("a rule needs a `status` or an `errorPattern`")
        return self

    @field_validator("error_pattern")
    @classmethod
    def _check_error_pattern(cls, value: str | None) -> str | None:
        """Refuse a text that is not a regular expression."""
        return None if value is None else check_pattern(value)

    def matches(self, status: int | None, text: str) -> bool:
        """Return whether the rule is about a failure with this status (None for no HTTP response) and this text."""
        return self.status in {None, status} and bool(re.search(self.error_pattern or "", text, re.IGNORECASE))


class RetryConfig(Model):
    """How failed requests are repeated."""

    max_retries: int = Field(default=MAX_RETRIES, ge=0)
    """The largest number of repetitions of a request."""


class RatesConfig(Model):
    """Prices in US dollars, for a million tokens or for a thousand searches. Tokens read from a cache or written to one
    cost as much as other input, unless their own price is set."""

    input: float = Field(ge=0)
    """Input tokens."""
    output: float = Field(ge=0)
    """Output tokens."""
    cache_read: float | None = Field(default=None, ge=0)
    """Input tokens that are read from the vendor's cache."""
    cache_write: float | None = Field(default=None, ge=0)
    """Input tokens that are written to the vendor's cache."""
    web_search: float = Field(default=0, ge=0)
    """A thousand of the vendor's own web searches."""


class LimitConfig(Model):
    """Limits of a model in tokens. 0: the limit is not known."""

    context: int = Field(default=0, ge=0)
    """The context window, which holds the whole conversation."""
    output: int = Field(default=0, ge=0)
    """The longest answer. It is sent with each request, unless `extraPayload` has another one."""


class ModelConfig(Model):
    """A model of a provider. `null` stands for a model without settings."""

    model_name: str | None = None
    """The vendor's name for the model. Not set: the key is the name."""
    extra_payload: Payload = Field(default_factory=dict[str, Any])
    """Fields that are merged into the body of each request, for example `thinking` or `max_tokens`."""
    extra_headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Headers of each request."""
    reasoning_history: Literal["all", "turn", "off"] = "all"
    """Which of its own reasoning an OpenAI-like model receives again: that of the whole chat, of this turn, or none."""
    variants: dict[str, Payload] = Field(default_factory=dict[str, Payload])
    """By the name of the variant, what is merged into the body of a request. An empty object removes a built-in
    variant.
    """
    cost: RatesConfig | None = None
    """The prices of the model. They replace the prices that come with the package."""
    limit: LimitConfig | None = None
    """The limits of the model. They replace the limits that come with the package."""
    image_input: bool | None = None
    """Whether the model reads images. Not set: its name decides."""
    document_input: bool | None = None
    """Whether the model reads PDFs. Not set: its name decides."""
    web_search: bool | None = None
    """The same as the provider's `webSearch`, for this model only."""
    script: str | None = None
    """The file of a `scripted` model."""
    path: str | None = None
    """The GGUF file of a `local` model."""
    chat_template: str | None = None
    """For a `local` model: a file with a Jinja template, which replaces the one in the GGUF file."""
    tools: bool | None = None
    """For a `local` model: whether it can use tools. Not set: its template decides."""

    @property
    def output_limit(self) -> int:
        """The longest answer in tokens, 0 if it is not configured."""
        return self.limit.output if self.limit is not None else 0


class ProviderConfig(Model):
    """A provider of models. Relative paths in it start at the folder of the configuration file."""

    api: str = ""
    """The API of its server: `anthropic`, `openai-responses`, `openai-chat`, or the name of a plug. Not set: the API of
    the built-in provider with this name."""
    url: str | None = None
    """The address of its server. Not set: the vendor's own server. For `openai-chat` it is complete, with its version
    (`https://models.example.org/v1`), as in ECA. For `openai-responses` a missing `/v1` is added."""
    key: SecretStr | None = None
    """The key. It is better to write `${env:NAME}`, or to sign in with `/login`."""
    models: dict[str, ModelConfig] = Field(default_factory=dict[str, ModelConfig])
    """Its models by name, in addition to the built-in ones."""
    folder: str = ""
    """Not a key of a file: the folder of the configuration file."""
    foreign_address: bool = False
    """Not a key of a file: a project's file set the address, so no key of the environment is sent there."""
    extra_headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Headers of each request. Headers of the model override them."""
    extra_payload: Payload = Field(default_factory=dict[str, Any])
    """Fields that are merged into the body of each request. Fields of the model override them."""
    completion_url_relative_path: str | None = None
    """The path below the `url` to which requests for an OpenAI-like server are sent. Not set: OpenAI's own path."""
    think_tag_start: str = "<think>"
    """The tag before reasoning that a model writes into its answer."""
    think_tag_end: str = "</think>"
    """The tag after such reasoning."""
    fetch_models: bool = True
    """A server on this machine is asked for its models, and they are listed."""
    requires_auth: bool | None = None
    """Whether the provider needs a key. Not set: only a provider at its vendor's own address needs one."""
    web_search: bool = False
    """Its models can use the vendor's own web search, for which the vendor charges extra."""
    retry: RetryConfig = RetryConfig()
    """How often a failed request is repeated: an object, a number, or `false` for never."""
    retry_rules: tuple[RetryRule, ...] = ()
    """Failures after which a request is repeated, in addition to the built-in ones."""
    rate_limit_max_wait_seconds: float = Field(default=MAX_WAIT_SECONDS, ge=0)
    """The longest wait in seconds. If a server asks us to wait longer, the request is not repeated."""
    connect_timeout_seconds: float | None = Field(default=None, gt=0)
    """How many seconds to wait for a connection. Not set: the key of this name at the top level, or 15."""
    stream_idle_timeout_seconds: float | None = Field(default=None, gt=0)
    """How many seconds to wait for the next piece of an answer. Not set: the key of this name at the top level, or
    120."""

    @field_validator("retry", mode="before")
    @classmethod
    def _expand_retry(cls, value: object) -> object:
        """Accept `true`, `false` or a number instead of the object."""
        if isinstance(value, bool):
            return {} if value else {"maxRetries": 0}
        return {"maxRetries": value} if isinstance(value, int) else value

    @field_validator("models", mode="before")
    @classmethod
    def _expand_nulls(cls, value: object) -> object:
        """Accept `"name": null` and `"models": null`, as ECA does."""
        if not isinstance(value, dict):
            return {} if value is None else value
        named = cast("dict[str, Any]", value)
        filled: dict[str, Any] = {name: {} if settings is None else settings for name, settings in named.items()}
        return filled

    def get_headers(self, model: str) -> dict[str, str]:
        """Return the headers that are added to a request for a model, with their secrets in plain text."""
        chosen = self.models.get(model, ModelConfig())
        both = {**self.extra_headers, **chosen.extra_headers}
        return {name: value.get_secret_value() for name, value in both.items()}

    def read_key(self) -> str:
        """Return the key in plain text; "" for none. A placeholder without a value, such as `${env:NAME}`, is none."""
        return self.key.get_secret_value().strip() if self.key else ""

    def get_payload(self, model: str) -> Payload:
        """Return the fields that are added to the body of a request for a model."""
        return {**self.extra_payload, **self.models.get(model, ModelConfig()).extra_payload}

    def can_search_web(self, model: str) -> bool:
        """Return whether a model can use the vendor's web search."""
        of_model = self.models.get(model, ModelConfig()).web_search
        return self.web_search if of_model is None else of_model

    @field_serializer("key")
    def _hide(self, key: SecretStr | None) -> str | None:
        """Hide the key when the configuration is written as JSON."""
        return None if key is None else "**********"


def check_pattern(pattern: str) -> str:
    """Return the pattern unchanged. Raises: ValueError when it is not a regular expression."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {pattern!r}: {error}") from error
    return pattern
