"""The keys of ECA's configuration about providers and their models."""

from __future__ import annotations

import re
from typing import Any, Literal, cast

from pydantic import Field, SecretStr, field_serializer, field_validator, model_validator

from jupyter_eca.engine.model.retry import MAX_RETRIES, MAX_WAIT_SECONDS
from jupyter_eca.protocol.base import Model

Payload = dict[str, Any]
"""What is added to the body of a request."""


class RetryRule(Model):
    """A failure that passes, though it does not look so: by its status, by a pattern in its words, or by both."""

    status: int | None = None
    """The HTTP status."""
    error_pattern: str | None = None
    """A regular expression that is found in the words of the error; case does not matter."""
    label: str = ""
    """What is shown of it while it is waited for."""

    @model_validator(mode="after")
    def _matches_something(self) -> RetryRule:
        if self.status is None and self.error_pattern is None:
            raise ValueError("a rule needs a `status` or an `errorPattern`")
        return self

    @field_validator("error_pattern")
    @classmethod
    def _pattern(cls, value: str | None) -> str | None:
        return None if value is None else compiled(value)

    def matches(self, status: int | None, words: str) -> bool:
        return self.status in {None, status} and bool(re.search(self.error_pattern or "", words, re.IGNORECASE))


class RetryConfig(Model):
    """Requests that failed and may work the next time."""

    max_retries: int = Field(default=MAX_RETRIES, ge=0)
    """How often a request is repeated at most."""


class RatesConfig(Model):
    """US dollars for a million tokens, or for a thousand searches. What is read from a cache or written to one costs as
    much as any input where nothing is said of it."""

    input: float = Field(ge=0)
    """What is sent."""
    output: float = Field(ge=0)
    """What is answered."""
    cache_read: float | None = Field(default=None, ge=0)
    """What is sent and was in the vendor's cache."""
    cache_write: float | None = Field(default=None, ge=0)
    """What is sent and goes into the vendor's cache."""
    web_search: float = Field(default=0, ge=0)
    """A thousand of the vendor's own searches of the web."""


class LimitConfig(Model):
    """Tokens; 0 is not said."""

    context: int = Field(default=0, ge=0)
    """The model's window: all of a conversation."""
    output: int = Field(default=0, ge=0)
    """The longest answer."""


class ModelConfig(Model):
    """A model of a provider. `null` is one without settings."""

    model_name: str | None = None
    """The vendor's name for it. Not set: the key."""
    extra_payload: Payload = Field(default_factory=dict[str, Any])
    """Merged into the body of each request: `thinking`, `max_tokens`."""
    extra_headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Headers of each request."""
    reasoning_history: Literal["all", "turn", "off"] = "all"
    """Which of its own thoughts an OpenAI-like model is given back: of the whole chat, of this turn, or none."""
    variants: dict[str, Payload] = Field(default_factory=dict[str, Payload])
    """By name, what is merged into the request when it is chosen; an empty one takes a built-in variant away."""
    cost: RatesConfig | None = None
    """What it costs; the last word, over the prices that come with the package."""
    limit: LimitConfig | None = None
    """How much it takes; the last word."""
    image_input: bool | None = None
    """Whether it reads pictures. Not set: its name tells."""
    document_input: bool | None = None
    """Whether it reads PDFs. Not set: its name tells."""
    web_search: bool | None = None
    """As with the provider, for this model."""
    script: str | None = None
    """The file of a `scripted` model."""
    path: str | None = None
    """The GGUF file of a `local` model."""
    chat_template: str | None = None
    """Of a `local` model: a file with a Jinja template in place of the one in the GGUF file."""
    tools: bool | None = None
    """Of a `local` model: whether it is given tools. Not set: its template tells."""


class ProviderConfig(Model):
    """Who offers models. Relative paths in it start at the folder of the file it is written in."""

    api: str = ""
    """How it is spoken to: `anthropic`, `openai-responses`, `openai-chat`, or the name of a plug. Not set: as the
    provider of this name is known."""
    url: str | None = None
    """The address of its server. Not set: the vendor's own."""
    key: SecretStr | None = None
    """The key; better as `${env:NAME}`, or typed in by `/login`."""
    models: dict[str, ModelConfig] = Field(default_factory=dict[str, ModelConfig])
    """Its models by name, beside those that it is known for."""
    folder: str = ""
    """No key to be written: the folder of the file it is from."""
    extra_headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Headers of each request; those of the model go over these."""
    extra_payload: Payload = Field(default_factory=dict[str, Any])
    """Merged into the body of each request; that of the model goes over this."""
    completion_url_relative_path: str | None = None
    """Where behind the `url` an OpenAI-like server is asked. Not set: where OpenAI is."""
    think_tag_start: str = "<think>"
    """Where thoughts begin that a model writes into its answer."""
    think_tag_end: str = "</think>"
    """Where they end."""
    fetch_models: bool = True
    """The models of a server on this machine are asked for and listed."""
    requires_auth: bool | None = None
    """Without a key it is not usable. Not set: one at its vendor's address is not."""
    web_search: bool = False
    """The vendor's own search is offered to its models; the vendor bills it apart."""
    retry: RetryConfig = RetryConfig()
    """How often a request that failed is repeated: an object, a number, or `false` for never."""
    retry_rules: tuple[RetryRule, ...] = ()
    """Failures that pass, beside those that are known to."""
    rate_limit_max_wait_seconds: float = Field(default=MAX_WAIT_SECONDS, ge=0)
    """Seconds; a server that wants to be left alone for longer is not asked again."""
    connect_timeout_seconds: float | None = Field(default=None, gt=0)
    """Seconds to wait for a connection. Not set: 15, or what the top of the file says."""
    stream_idle_timeout_seconds: float | None = Field(default=None, gt=0)
    """Seconds to wait for the next word of an answer. Not set: 120, or what the top of the file says."""

    @field_validator("retry", mode="before")
    @classmethod
    def _switched(cls, value: object) -> object:
        """`true`, `false`, or how often."""
        if isinstance(value, bool):
            return {} if value else {"maxRetries": 0}
        return {"maxRetries": value} if isinstance(value, int) else value

    @field_validator("models", mode="before")
    @classmethod
    def _bare_names(cls, value: object) -> object:
        """ECA allows `"name": null`, and `"models": null`."""
        if not isinstance(value, dict):
            return {} if value is None else value
        named = cast("dict[str, Any]", value)
        filled: dict[str, Any] = {name: {} if settings is None else settings for name, settings in named.items()}
        return filled

    def headers(self, model: str) -> dict[str, str]:
        """What is added to a request for a model, in plain text."""
        chosen = self.models.get(model, ModelConfig())
        both = {**self.extra_headers, **chosen.extra_headers}
        return {name: value.get_secret_value() for name, value in both.items()}

    def payload(self, model: str) -> Payload:
        return {**self.extra_payload, **self.models.get(model, ModelConfig()).extra_payload}

    def searches(self, model: str) -> bool:
        own = self.models.get(model, ModelConfig()).web_search
        return self.web_search if own is None else own

    @field_serializer("key")
    def _hide(self, key: SecretStr | None) -> str | None:
        return None if key is None else "**********"


def compiled(pattern: str) -> str:
    """Raises: ValueError for what is no regular expression."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {pattern!r}: {error}") from error
    return pattern
