"""The keys of ECA's configuration that are used here; others are left alone. Knows no file."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pydantic import Field, SecretStr, field_serializer, field_validator

from jupyter_eca.config.custom_tools import CustomToolConfig
from jupyter_eca.config.provider_schema import Payload, ProviderConfig, compiled
from jupyter_eca.engine.approval.policy import Decision, Policy
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from pathlib import Path

# What the two older revisions and some clients call today's default agent.
ALIASES = {"agent": "code", "build": "code"}

State = tuple[int, int, int]
"""Of a file: when it was changed, its size, its inode (an editor may replace a file within one tick of the clock)."""


class OutputConfig(Model):
    """What of a tool's output the model is given; the whole is kept, and the model can read on."""

    lines: int = Field(default=2_000, gt=0)
    """Lines, from the head and the tail of the output."""
    size_kb: int = Field(default=50, gt=0)
    """Thousands of characters."""


class ToolCallConfig(Model):
    """Tool calls: which of them run, and what comes of them."""

    approval: Policy = Policy()
    """Which calls run, are asked about or are refused."""
    output_truncation: OutputConfig = OutputConfig()
    """What of a long output the model is given."""


class AgentMode(StrEnum):
    """`subagent` is not offered to the user, only spawned by another agent."""

    PRIMARY = "primary"
    SUBAGENT = "subagent"
    BOTH = "both"


class PromptsConfig(Model):
    """Text that stands in for ours; empty is ours."""

    chat: str = ""
    """What the model is told at the beginning of a chat, in place of our words for the agent."""
    init: str = ""
    """What `/init` asks."""


class RulesConfig(Model):
    """Rules beside those in `.eca/rules`."""

    path: str
    """A Markdown file, or a folder of them; a relative one is looked for in each folder of the workspace."""


class AgentConfig(Model):
    """An agent, or a change to a built-in one (`code`, `plan`, `explorer`, `general`)."""

    mode: AgentMode | None = None
    """Who may use it: you (`primary`), other agents (`subagent`), or both. Not set: you."""
    description: str = ""
    """What it is for: you read it, and the agents that may spawn it do."""
    inherit: str | None = None
    """The agent that decides what is not set here."""
    prompt: str = ""
    """What the model is told of its part, in place of our words."""
    system_prompt: str = ""
    """As `prompt`: another of ECA's spellings."""
    prompts: PromptsConfig = PromptsConfig()
    """As `prompt`, in `chat`: another of ECA's spellings."""
    default_model: str | None = None
    """PROVIDER/MODEL; not set: as everywhere."""
    variant: str | None = None
    """How hard its model thinks, where it has a choice."""
    disabled_tools: tuple[str, ...] | None = None
    """Tools that it is not given, beside those that nobody is: a server, `server__tool`, or the name of one of ours."""
    tool_call: ToolCallConfig = ToolCallConfig()
    """Its own approval rules, over those for everybody; what is denied to everybody stays denied."""
    auto_compact_percentage: int | None = Field(default=None, ge=0, le=100)
    """As the key of the same name at the top, for this agent."""
    max_steps: int | None = Field(default=None, gt=0)
    """How often the model is asked in a turn at most. Not set: as often as it takes."""
    steps: int | None = Field(default=None, gt=0)
    """As `maxSteps`: ECA's older spelling."""
    spawnable_by: tuple[str, ...] | None = None
    """The agents that may spawn it: a name or a list. Not set: all."""

    @field_validator("spawnable_by", mode="before")
    @classmethod
    def _one(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @property
    def words(self) -> str:
        return self.prompt or self.system_prompt or self.prompts.chat


class VariantSet(Model):
    """Variants of the models whose names a pattern (a regular expression, the key) finds."""

    variants: dict[str, Payload] = Field(default_factory=dict[str, Payload])
    """By name, what is merged into the request when it is chosen; an empty one takes a variant away."""
    exclude_providers: tuple[str, ...] = ()
    """Providers whose models it is not for."""
    api: tuple[str, ...] = ()
    """The APIs that it is for: one, or a list. Empty: all."""

    @field_validator("api", mode="before")
    @classmethod
    def _one(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value or ()


class SubagentsConfig(Model):
    """A key of ours: agents that agents spawn."""

    max_parallel: int = Field(default=4, gt=0)
    """So many of one chat are at work at once; the others wait."""


class ChatDefaults(Model):
    """What new chats begin with."""

    default_trust: bool = False
    """New chats run what would be asked about; what is denied stays denied."""
    auto_sync_system_prompt: bool = False
    """What the model is told at the beginning is made anew for each question, not kept as it was when the chat began.
    That costs the vendor's cache."""


class McpServerConfig(Model):
    """A server of the Model Context Protocol: a `command`, or a `url`."""

    command: str | None = None
    """A program that speaks the protocol on its standard streams."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Variables of the environment that it is given beside ours."""
    url: str | None = None
    """Where a server listens: streamable HTTP, else SSE."""
    headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Headers of each request to the `url`."""
    disabled: bool = False
    """It is not started."""
    client_id: str | None = None
    """OAuth: the id that the server knows us by, or the address of a document about us. Not set: we register."""
    client_secret: SecretStr | None = None
    """OAuth: what belongs to the `clientId`, where the server wants it."""
    oauth_port: int | None = None
    """OAuth, outside of Jupyter: the port of this machine that the browser comes back to. Not set: any free one."""
    client_name: str | None = None
    """OAuth: what we are called where we register. Not set: `jupyter-eca`."""
    auth_scope: str | None = None
    """OAuth: what we ask leave for. Not set: what the server says."""


class SamplingConfig(Model):
    """A key of ours: what a tool server may have a model asked. The limits are for each server in each chat."""

    approval: Decision = Decision.ASK
    """Whether a request of a server's is sent to the model."""
    max_requests: int = Field(default=20, ge=0)
    """Requests."""
    max_tokens: int = Field(default=100_000, ge=0)
    """Tokens of the requests and their answers together."""


class BudgetConfig(Model):
    """A key of ours: US dollars, of all models whose price is known. Where a request would cost more you are asked, and
    where nobody is there it is not sent. Not set: no limit."""

    per_chat: float | None = Field(default=None, ge=0)
    """US dollars for a chat."""
    per_notebook: float | None = Field(default=None, ge=0)
    """US dollars for all chats of a notebook."""
    per_day: float | None = Field(default=None, ge=0)
    """US dollars for all chats of a day."""


class ModelChoice(Model):
    """A model for one job."""

    model: str | None = None
    """PROVIDER/MODEL; not set: the default model."""


class Telling(StrEnum):
    """What a model is told of a variable, whether the user points at it or the model looks. `names`: its type too.
    `schema`: shape, columns and memory too. `full`: its values too, a sample of them."""

    NAMES = "names"
    SCHEMA = "schema"
    FULL = "full"


class VariablesConfig(Model):
    """What a model is told of variables, by what they are: `names` (with the type), `schema` (shape, columns and memory
    too) or `full` (a sample of the values too). One word in place of the object is for all."""

    table: Telling = Telling.FULL
    """Data frames."""
    array: Telling = Telling.FULL
    """Arrays and series."""
    figure: Telling = Telling.FULL
    """Figures."""
    value: Telling = Telling.FULL
    """All others."""


class NotebookConfig(Model):
    """A key of ours: notebooks."""

    variables: VariablesConfig = VariablesConfig()
    """What a model is told of variables: an object, or one word for all."""
    lock: bool = False
    """As `%eca lock on` in every notebook that does not say otherwise."""

    @field_validator("variables", mode="before")
    @classmethod
    def _for_all(cls, value: object) -> object:
        return dict.fromkeys(VariablesConfig.model_fields, value) if isinstance(value, str) else value


class PathConfig(Model):
    """Files of yours."""

    path: str
    """A file or a folder; a relative one is looked for in each folder of the workspace."""


class Config(Model):
    """A configuration: all files together, with what is built in."""

    providers: dict[str, ProviderConfig] = Field(default_factory=dict[str, ProviderConfig])
    """Who offers models, by name. `anthropic`, `openai` and some others are known already."""
    default_model: str | None = None
    """PROVIDER/MODEL that answers where nobody chose. Not set: the first that is there."""
    default_agent: str = "code"
    """The agent that new chats begin with."""
    agent: dict[str, AgentConfig] = Field(default_factory=dict[str, AgentConfig])
    """Agents of your own by name, and changes to the built-in ones."""
    subagents: SubagentsConfig = SubagentsConfig()
    """Agents that agents spawn."""
    disabled_tools: tuple[str, ...] = ()
    """Tools that no model is offered: a server, `server__tool`, or the name of one of ours."""
    variants_by_model: dict[str, VariantSet] = Field(default_factory=dict[str, VariantSet])
    """Variants (how hard a model thinks) by a regular expression that finds names of models."""
    welcome_message: str = "Ask about this notebook, its data or its errors."
    """Markdown that an empty chat shows."""
    chat_retention_days: int = Field(default=0, ge=0)
    """Days after its last use that a chat is deleted. 0, and so the default, keeps all (ECA: 14): what somebody wrote
    is not deleted unasked."""
    auto_compact_percentage: int = Field(default=75, ge=0, le=100)
    """Percent of a model's window from which on a conversation goes on with a summary of itself; 0: never."""
    chat: ChatDefaults = ChatDefaults()
    """What new chats begin with."""
    prompts: PromptsConfig = PromptsConfig()
    """Texts that stand in for ours."""
    rules: tuple[RulesConfig, ...] = ()
    """Rules beside those in `.eca/rules`. A project's must lie in the project."""
    include_parent_agents_files: bool = False
    """`AGENTS.md` of the folders above the workspace is read, too."""
    rewrite: ModelChoice = ModelChoice()
    """Who rewrites selected text in an editor."""
    completion: ModelChoice = ModelChoice()
    """Who completes while somebody types."""
    tool_call: ToolCallConfig = ToolCallConfig()
    """Approval of tool calls, and how much of their output the model is given."""
    notebook: NotebookConfig = NotebookConfig()
    """Variables and locked answers."""
    skills: tuple[PathConfig, ...] = ()
    """Skills beside those in `.eca/skills` and `.agents/skills`."""
    commands: tuple[PathConfig, ...] = ()
    """Commands beside those in `.eca/commands`."""
    custom_tools: dict[str, CustomToolConfig] = Field(default_factory=dict[str, CustomToolConfig])
    """Command lines of yours that the model may call, by name. Your approval rules hold for them."""
    hooks: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Programs of yours around chats, prompts, tool calls and summaries, by name; they run in the order of the names.
    A bad one costs itself alone, so they are read where they are run."""
    budget: BudgetConfig = BudgetConfig()
    """US dollars that may be spent without asking."""
    mcp_servers: dict[str, McpServerConfig] = Field(default_factory=dict[str, McpServerConfig])
    """Tool servers by name. Those of a project's `.mcp.json` are listed too, and started only when you say so."""
    mcp_timeout_seconds: float = Field(default=60.0, gt=0)
    """Seconds that a tool server has to start, and to answer a call."""
    mcp_keep_alive_seconds: float = Field(default=30.0, gt=0)
    """Seconds between two looks at whether a tool server still answers."""
    mcp_sampling: SamplingConfig = SamplingConfig()
    """What tool servers may have a model asked."""
    connect_timeout_seconds: float | None = Field(default=None, gt=0)
    """Seconds to wait for a connection to a provider. Not set: the provider's own."""
    stream_idle_timeout_seconds: float | None = Field(default=None, gt=0)
    """Seconds to wait for the next word of an answer. Not set: the provider's own."""
    sources: tuple[str, ...] = ()
    """No key of a file: the files that it was read from."""
    watched: dict[str, State | None] = Field(default_factory=dict[str, "State | None"])
    """No key of a file: all files whose change would change it, as they were then."""
    warnings: tuple[str, ...] = ()
    """No key of a file: sentences about what could not be used."""
    variables: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """No key of a file: what the client adds to the environment."""

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


def state(path: Path) -> State | None:
    """None when it is not there."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
