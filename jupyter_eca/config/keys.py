"""The keys of ECA's configuration that are used here; others are left alone. Knows no file."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field, SecretStr, field_serializer, field_validator, model_validator

from jupyter_eca.engine.approval import Decision, Policy
from jupyter_eca.engine.retrying import MAX_RETRIES, MAX_WAIT_SECONDS
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from pathlib import Path

# What the two older revisions and some clients call today's default agent.
ALIASES = {"agent": "code", "build": "code"}

State = tuple[int, int, int]
"""Of a file: when it was changed, its size, its inode (an editor may replace a file within one tick of the clock)."""

Payload = dict[str, Any]
"""What is added to the body of a request."""


class RetryRule(Model):
    """A failure that passes, though it does not look so: by its status, by a pattern in its words, or by both. `label`
    is what is shown of it."""

    status: int | None = None
    error_pattern: str | None = None
    label: str = ""

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
    """How often a request is repeated at most."""

    max_retries: int = Field(default=MAX_RETRIES, ge=0)


class ModelConfig(Model):
    """`model_name` is the vendor's name for it, `extra_payload` is merged into each request (`thinking`, `max_tokens`),
    and of `variants` the one that was chosen; an empty one takes a built-in variant away. `reasoning_history` is which
    of its own thoughts an OpenAI-like model is given back. `script` is the file of a `scripted` model, `path` the GGUF
    file of a `local` one."""

    model_name: str | None = None
    extra_payload: Payload = Field(default_factory=dict[str, Any])
    extra_headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    reasoning_history: Literal["all", "turn", "off"] = "all"
    variants: dict[str, Payload] = Field(default_factory=dict[str, Payload])
    script: str | None = None
    path: str | None = None


class ProviderConfig(Model):
    """`api` names the provider plug that speaks to this one; by default the plug of the same name. `folder` is where
    the relative paths of its models start. The headers and the payload are added to each request, those of the model
    over these. `fetch_models`: list those of a server on this machine. `requires_auth`: without a key it is not usable;
    not set, a server with an address of its own may well need none. The two timeouts, here or at the top of the file,
    stand in for the provider's own."""

    api: str = ""
    url: str | None = None
    key: SecretStr | None = None
    models: dict[str, ModelConfig] = Field(default_factory=dict[str, ModelConfig])
    folder: str = ""
    extra_headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    extra_payload: Payload = Field(default_factory=dict[str, Any])
    completion_url_relative_path: str | None = None
    think_tag_start: str = "<think>"
    think_tag_end: str = "</think>"
    fetch_models: bool = True
    requires_auth: bool | None = None
    retry: RetryConfig = RetryConfig()
    retry_rules: tuple[RetryRule, ...] = ()
    rate_limit_max_wait_seconds: float = Field(default=MAX_WAIT_SECONDS, ge=0)
    connect_timeout_seconds: float | None = Field(default=None, gt=0)
    stream_idle_timeout_seconds: float | None = Field(default=None, gt=0)

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

    @field_serializer("key")
    def _hide(self, key: SecretStr | None) -> str | None:
        return None if key is None else "**********"


class ToolCallConfig(Model):
    approval: Policy = Policy()


class AgentMode(StrEnum):
    """`subagent` is not offered to the user, only spawned by another agent."""

    PRIMARY = "primary"
    SUBAGENT = "subagent"
    BOTH = "both"


class PromptsConfig(Model):
    """Text that stands in for ours; empty is ours."""

    chat: str = ""


class AgentConfig(Model):
    """What is not set comes from the agent it inherits from, if any. `prompt`, `system_prompt` and `prompts.chat` are
    ECA's three spellings of one thing, `steps` an older one of `max_steps`."""

    mode: AgentMode | None = None
    description: str = ""
    inherit: str | None = None
    prompt: str = ""
    system_prompt: str = ""
    prompts: PromptsConfig = PromptsConfig()
    default_model: str | None = None
    variant: str | None = None
    disabled_tools: tuple[str, ...] | None = None
    tool_call: ToolCallConfig = ToolCallConfig()
    auto_compact_percentage: int | None = Field(default=None, ge=0, le=100)
    max_steps: int | None = Field(default=None, gt=0)
    steps: int | None = Field(default=None, gt=0)

    @property
    def words(self) -> str:
        return self.prompt or self.system_prompt or self.prompts.chat


class VariantSet(Model):
    """The variants of the models that a pattern of `variantsByModel` finds. `api` restricts it to some APIs."""

    variants: dict[str, Payload] = Field(default_factory=dict[str, Payload])
    exclude_providers: tuple[str, ...] = ()
    api: tuple[str, ...] = ()

    @field_validator("api", mode="before")
    @classmethod
    def _one(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value or ()


class ChatDefaults(Model):
    """`default_trust`: new chats run what would be asked about, never what is denied."""

    default_trust: bool = False


class McpServerConfig(Model):
    """A server of the Model Context Protocol: a `command` that speaks it on its standard streams, or a `url`. The keys
    from `client_id` on are for its OAuth."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    url: str | None = None
    headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    disabled: bool = False
    client_id: str | None = None
    client_secret: SecretStr | None = None
    oauth_port: int | None = None
    client_name: str | None = None
    auth_scope: str | None = None


class SamplingConfig(Model):
    """A key of ours: what a tool server may have a model asked. The limits are for each server in each chat;
    `max_tokens` are those of its requests and their answers together."""

    approval: Decision = Decision.ASK
    max_requests: int = Field(default=20, ge=0)
    max_tokens: int = Field(default=100_000, ge=0)


class ModelChoice(Model):
    model: str | None = None


class Telling(StrEnum):
    """What a model is told of a variable, whether the user points at it or the model looks. `names`: its type too.
    `schema`: shape, columns and memory too. `full`: its values too, a sample of them."""

    NAMES = "names"
    SCHEMA = "schema"
    FULL = "full"


class VariablesConfig(Model):
    """By what a variable is: data frames, arrays and series, figures, all others. One word in its place is for all."""

    table: Telling = Telling.FULL
    array: Telling = Telling.FULL
    figure: Telling = Telling.FULL
    value: Telling = Telling.FULL


class NotebookConfig(Model):
    """A key of ours. `lock`: as `%eca lock on` in every notebook that does not say otherwise."""

    variables: VariablesConfig = VariablesConfig()
    lock: bool = False

    @field_validator("variables", mode="before")
    @classmethod
    def _for_all(cls, value: object) -> object:
        return dict.fromkeys(VariablesConfig.model_fields, value) if isinstance(value, str) else value


class Config(Model):
    """`chat_retention_days` counts from a chat's last use; 0 keeps all of them, and is the default here (ECA: 14): what
    somebody wrote is not deleted unasked. `auto_compact_percentage` is the share of a model's window from which on a
    conversation goes on with a summary of itself; 0 for never.

    Not keys of a file: `sources` are the files it was read from, `watched` all whose change would change it, as they
    were then, `warnings` sentences about what could not be used, `variables` what the client adds to the environment.
    """

    providers: dict[str, ProviderConfig] = Field(default_factory=dict[str, ProviderConfig])
    default_model: str | None = None
    default_agent: str = "code"
    agent: dict[str, AgentConfig] = Field(default_factory=dict[str, AgentConfig])
    disabled_tools: tuple[str, ...] = ()
    variants_by_model: dict[str, VariantSet] = Field(default_factory=dict[str, VariantSet])
    welcome_message: str = "Ask about this notebook, its data or its errors."
    chat_retention_days: int = Field(default=0, ge=0)
    auto_compact_percentage: int = Field(default=75, ge=0, le=100)
    chat: ChatDefaults = ChatDefaults()
    prompts: PromptsConfig = PromptsConfig()
    rewrite: ModelChoice = ModelChoice()
    completion: ModelChoice = ModelChoice()
    tool_call: ToolCallConfig = ToolCallConfig()
    notebook: NotebookConfig = NotebookConfig()
    mcp_servers: dict[str, McpServerConfig] = Field(default_factory=dict[str, McpServerConfig])
    mcp_timeout_seconds: float = Field(default=60.0, gt=0)
    mcp_keep_alive_seconds: float = Field(default=30.0, gt=0)
    mcp_sampling: SamplingConfig = SamplingConfig()
    connect_timeout_seconds: float | None = Field(default=None, gt=0)
    stream_idle_timeout_seconds: float | None = Field(default=None, gt=0)
    sources: tuple[str, ...] = ()
    watched: dict[str, State | None] = Field(default_factory=dict[str, "State | None"])
    warnings: tuple[str, ...] = ()
    variables: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])

    @field_validator("default_agent")
    @classmethod
    def _todays_name(cls, value: str) -> str:
        return ALIASES.get(value, value)

    @field_validator("variants_by_model")
    @classmethod
    def _patterns(cls, value: dict[str, VariantSet]) -> dict[str, VariantSet]:
        for pattern in value:
            compiled(pattern)
        return value

    @field_serializer("variables")
    def _hide(self, variables: dict[str, SecretStr]) -> dict[str, str]:
        return dict.fromkeys(variables, "**********")

    def variable(self, name: str) -> str:
        """Of the environment as the client sees it; empty when it is not set."""
        added = self.variables.get(name)
        return os.environ.get(name, "") if added is None else added.get_secret_value()


def compiled(pattern: str) -> str:
    """Raises: ValueError for what is no regular expression."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"not a regular expression: {pattern!r}: {error}") from error
    return pattern


def state(path: Path) -> State | None:
    """None when it is not there."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
