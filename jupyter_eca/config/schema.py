"""Owns the schema of the configuration: the keys of ECA's files that we use, and our own. Other keys are ignored.

It must not know where a configuration is read from: `layers` does. `provider_schema` is its neighbour: it has the keys
of providers. The docstring below each field is its text in the configuration reference, which `reference` generates.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import Field, SecretStr, field_serializer, field_validator

from jupyter_eca.config.custom_tools import CustomToolConfig
from jupyter_eca.config.policy.applied_policy import AppliedPolicy
from jupyter_eca.config.provider_schema import Payload, ProviderConfig, check_pattern
from jupyter_eca.engine.approval.policy import Decision, Policy
from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.lifecycle import HeldSettings
from jupyter_eca.redaction import redact_url

if TYPE_CHECKING:
    from pathlib import Path

# The older names of the agent `code`, each with its current name. The two older revisions of ECA and some clients use
# them.
AGENT_ALIASES = {"agent": "code", "build": "code"}

FileState = tuple[int, int, int]
"""The state of a file: the time of its last change, its size and its inode. Another state means that the file has
changed. The inode is needed because an editor may replace a file within one tick of the clock."""


class OutputConfig(Model):
    """How much of a tool's output the model receives. The whole output is stored, and the model can read the rest."""

    lines: int = Field(default=2_000, gt=0)
    """The number of lines, taken from the beginning and the end of the output."""
    size_kb: int = Field(default=20, gt=0)
    """The size in thousands of characters."""


class SandboxMode(StrEnum):
    """Whether commands run in a sandbox. `off`: never. `ask`: always, and each command needs the same approval as
    without a sandbox. `auto`: always, and a command that no rule selects runs without approval."""

    OFF = "off"
    ASK = "ask"
    AUTO = "auto"


class SandboxConfig(Model):
    """A key of ours: the sandbox for shell commands, custom tools and, if you wish, hooks and kernels. In it a command
    changes only the workspace, sees no keys, and has no network. Linux needs bubblewrap (`bwrap`); macOS has
    `sandbox-exec`."""

    mode: SandboxMode = SandboxMode.OFF
    """`off`: no sandbox. `ask`: commands run in it, and need the approval that they need without it. `auto`: they run
    in it without your approval, unless a rule asks or denies. The model can ask to run a command outside of it."""
    network: bool = False
    """Commands in the sandbox have the network of this machine."""
    hooks: bool = False
    """Hooks run in the sandbox, too. Where the machine has none, they fail."""
    kernels: bool = False
    """Kernels that Jupyter starts from now on run in the sandbox, whatever the `mode` is. Without bubblewrap, no kernel
    starts then. See [The sandbox](security.md#the-sandbox)."""
    writable: tuple[str, ...] = ()
    """Folders outside of the workspace that they may change, for example `~/.cache/pip`."""
    hidden: tuple[str, ...] = ()
    """Files and folders that they cannot read, besides the places of keys that are always hidden."""


class ToolCallConfig(Model):
    """Tool calls: which of them may run, and how much of their output the model receives."""

    approval: Policy = Policy()
    """Which calls run, which ask the user first, and which are refused."""
    output_truncation: OutputConfig = OutputConfig()
    """How much of a long output the model receives."""
    sandbox: SandboxConfig = SandboxConfig()
    """Whether commands run in a sandbox, and what is in it."""


class AgentMode(StrEnum):
    """Who can use an agent: the user, other agents (`subagent`), or both."""

    PRIMARY = "primary"
    SUBAGENT = "subagent"
    BOTH = "both"


class PromptsConfig(Model):
    """Prompts that replace ours. An empty text keeps ours."""

    chat: str = ""
    """Replaces our system prompt for the agent."""
    init: str = ""
    """Replaces the prompt that `/init` sends."""
    chat_title: str = ""
    """Replaces the prompt for the title of a chat. Only the key at the top level counts."""


class RulesConfig(Model):
    """Rules in addition to those in `.eca/rules`."""

    path: str
    """A Markdown file, or a folder with such files. A relative path is looked up in each folder of the workspace."""


class AgentConfig(Model):
    """An agent, or a change to a built-in one (`code`, `plan`, `tutor`, `explorer`, `general`)."""

    mode: AgentMode | None = None
    """Who can use the agent: you (`primary`), other agents (`subagent`), or both. Not set: you."""
    description: str = ""
    """What the agent is for. You read it, and so do the agents that may spawn it."""
    inherit: str | None = None
    """The agent whose settings are used where nothing is set here."""
    prompt: str = ""
    """The system prompt of the agent, instead of ours."""
    system_prompt: str = ""
    """The same as `prompt`, in another spelling of ECA's."""
    prompts: PromptsConfig = PromptsConfig()
    """The same as `prompt`, in its key `chat`: another spelling of ECA's."""
    default_model: str | None = None
    """The agent's model, as PROVIDER/MODEL. Not set: the default model."""
    variant: str | None = None
    """The variant of its model, for example a reasoning effort."""
    disabled_tools: tuple[str, ...] | None = None
    """Tools that the agent does not have, in addition to those disabled for all: a server, `server__tool`, or the name
    of one of our tools."""
    tool_call: ToolCallConfig = ToolCallConfig()
    """The agent's own approval rules. They override the general ones, but a call denied for all agents stays denied."""
    auto_compact_percentage: int | None = Field(default=None, ge=0, le=100)
    """The same as the key of this name at the top level, for this agent only."""
    max_steps: int | None = Field(default=None, gt=0)
    """The largest number of requests to the model in a turn. Not set: no limit."""
    steps: int | None = Field(default=None, gt=0)
    """The same as `maxSteps`, in ECA's older spelling."""
    spawnable_by: tuple[str, ...] | None = None
    """The agents that may spawn it: a name or a list. Not set: all agents."""

    @field_validator("spawnable_by", mode="before")
    @classmethod
    def _wrap_single(cls, value: object) -> object:
        """Accept one name instead of a list."""
        return (value,) if isinstance(value, str) else value

    @property
    def prompt_text(self) -> str:
        """The system prompt, from the first of its three keys that is set."""
        return self.prompt or self.system_prompt or self.prompts.chat


class VariantSet(Model):
    """Variants of the models whose names match a pattern. The key is the pattern, a regular expression."""

    variants: dict[str, Payload] = Field(default_factory=dict[str, Payload])
    """By the name of the variant, what is merged into the body of a request. An empty object removes the variant."""
    exclude_providers: tuple[str, ...] = ()
    """Providers whose models do not have these variants."""
    api: tuple[str, ...] = ()
    """The APIs whose models have these variants: one, or a list. Empty: all."""

    @field_validator("api", mode="before")
    @classmethod
    def _wrap_single(cls, value: object) -> object:
        """Accept one name instead of a list, and null instead of an empty list."""
        return (value,) if isinstance(value, str) else value or ()


class SubagentsConfig(Model):
    """A key of ours: subagents, which are agents that other agents spawn."""

    max_parallel: int = Field(default=4, gt=0)
    """The largest number of subagents of a chat that work at the same time. The others wait."""


class ChatDefaults(Model):
    """The settings of new chats."""

    title: bool = True
    """After its first answer, a chat gets a title of a few words in your language, by a small request to a model. It
    goes to the cheap and fast model of the provider where we know one, else to the model of the chat, and its cost is
    counted with the chat. Off: the first message stays the title. A title that you gave is never replaced. No title is
    made by a model of `scripted` or `local`, by an outside agent, in the replay of a locked answer, or when a budget is
    used up."""
    default_trust: bool = False
    """New chats run tool calls that would otherwise ask you. Denied calls stay denied."""
    auto_sync_system_prompt: bool = False
    """The system prompt is built for each prompt, and not only once when the chat begins. The vendor's cache is then
    used less, so requests cost more."""
    continue_after_jobs: bool = False
    """When a background job of the assistant has ended, it continues by itself, if nothing else goes on in the chat and
    somebody could approve its calls. Off by default: each time costs a request that nobody has asked for."""


class McpServerConfig(Model):
    """A server of the Model Context Protocol: a program (`command`) or an address (`url`)."""

    command: str | None = None
    """A program that speaks the protocol on its standard streams."""
    args: tuple[str, ...] = ()
    """The arguments of the program."""
    env: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Variables that are added to the environment of the program. It inherits ours, without the keys of model providers
    and the tokens of Jupyter."""
    url: str | None = None
    """The address of the server. It speaks streamable HTTP, or SSE."""
    headers: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Headers of each request to the `url`."""
    disabled: bool = False
    """The server is not started."""
    client_id: str | None = None
    """OAuth: our client id at the server, or the URL of a document about us. Not set: we register at the server."""
    client_secret: SecretStr | None = None
    """OAuth: the secret for the `clientId`, if the server needs one."""
    oauth_port: int | None = None
    """OAuth, outside of Jupyter: the port of this machine to which the browser returns. Not set: any free port."""
    client_name: str | None = None
    """OAuth: the name under which we register. Not set: `jupyter-eca`."""
    auth_scope: str | None = None
    """OAuth: the scopes that we ask for. Not set: those that the server names."""


class AcpAgentConfig(Model):
    """An outside agent: a program that speaks the Agent Client Protocol (ACP) on its standard streams, such as Claude
    Code or Codex. Nothing starts before its first prompt."""

    command: str | None = None
    """The program. Not set: that of a known agent of this name."""
    args: tuple[str, ...] | None = None
    """The arguments of the program. Not set: those of a known agent of this name."""
    env: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Variables that are added to the environment of the program. It inherits ours, without the tokens of Jupyter."""
    mode: str | None = None
    """The session mode in which the agent works, by the agent's own name for it. Not set: for a known agent the mode in
    which it asks before it acts, for another one its own default. A mode in which it does not ask is your decision."""
    description: str = ""
    """What the agent is for. You read it."""
    disabled: bool = False
    """The agent is not offered."""


class SamplingConfig(Model):
    """A key of ours: requests of tool servers to a model. The limits are for each server in each chat."""

    approval: Decision = Decision.ASK
    """Whether a request of a server is sent to the model."""
    max_requests: int = Field(default=20, ge=0)
    """The largest number of requests."""
    max_tokens: int = Field(default=100_000, ge=0)
    """The largest number of tokens, of the requests and their answers together."""


class BudgetConfig(Model):
    """A key of ours: limits in US dollars, for all models whose price is known. Before a request that would cost more,
    you are asked. If nobody is there to answer, the request is not sent. Not set: no limit."""

    per_chat: float | None = Field(default=None, ge=0)
    """US dollars for each chat."""
    per_notebook: float | None = Field(default=None, ge=0)
    """US dollars for all chats of a notebook."""
    per_day: float | None = Field(default=None, ge=0)
    """US dollars for all chats of a day."""


class ModelChoice(Model):
    """A model for one kind of work."""

    model: str | None = None
    """The model, as PROVIDER/MODEL. Not set: the default model."""


class VariableDetail(StrEnum):
    """How much a model learns about a variable, whether the user adds the variable or the model asks for it. `names`:
    its name and type. `schema`: its shape, columns and memory too. `full`: a sample of its values too."""

    NAMES = "names"
    SCHEMA = "schema"
    FULL = "full"


class VariablesConfig(Model):
    """How much a model learns about variables, by their kind: `names` (name and type), `schema` (shape, columns and
    memory too) or `full` (a sample of the values too). One word instead of the object is for all kinds."""

    table: VariableDetail = VariableDetail.FULL
    """Data frames."""
    array: VariableDetail = VariableDetail.FULL
    """Arrays and series."""
    figure: VariableDetail = VariableDetail.FULL
    """Figures."""
    value: VariableDetail = VariableDetail.FULL
    """All other variables."""


class NotebookConfig(Model):
    """A key of ours: notebooks."""

    variables: VariablesConfig = VariablesConfig()
    """How much a model learns about variables: an object, or one word for all kinds."""
    lock: bool = False
    """Locks the answers in every notebook that has no setting of its own, as `%eca lock on` does."""
    place: bool = True
    """Whether a question in a cell tells the model where it was asked: the cell above it, and what has run and failed.
    The panel has a chip for this, which the user clicks away."""
    mark_cells: bool = False
    """Marks the cells in which the assistant has written, in their metadata: `"jupyter_eca": {"written": true}`. The
    mark stays when the user edits the cell later, and is gone when the change is undone."""

    @field_validator("variables", mode="before")
    @classmethod
    def _expand_single_word(cls, value: object) -> object:
        """Accept one word, which is for all kinds of variables, instead of the object."""
        return dict.fromkeys(VariablesConfig.model_fields, value) if isinstance(value, str) else value


class PathConfig(Model):
    """Files of yours."""

    path: str
    """A file or a folder. A relative path is looked up in each folder of the workspace."""


class StoreConfig(Model):
    """Where your chats are stored. Only your own configuration file and the policy can set it. It is read when the
    assistant starts."""

    url: SecretStr | None = None
    """A database of PostgreSQL, as `postgresql://USER@HOST/DATABASE`. It needs `pip install 'jupyter-eca[postgres]'`.
    Not set: a file in Jupyter's data folder. See [For administrators](administrators.md#chats-in-postgresql)."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: SecretStr | None) -> SecretStr | None:
        """Refuse an address that is not one of PostgreSQL."""
        if value is not None and not value.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("it must begin with `postgresql://`")
        return value

    def list_passwords(self) -> list[str]:
        """Return the passwords in the address, as they are written and as they are sent."""
        if self.url is None:
            return []
        parts = urlsplit(self.url.get_secret_value())
        queried = [value for name, value in parse_qsl(parts.query) if name in {"password", "sslpassword"}]
        return [*queried, parts.password or "", unquote(parts.password or "")]

    @field_serializer("url")
    def _hide(self, url: SecretStr | None) -> str | None:
        """Write the address without its password when the configuration is dumped."""
        return None if url is None else redact_url(url.get_secret_value())


class Config(Model):
    """A configuration: all files together, and the built-in defaults."""

    providers: dict[str, ProviderConfig] = Field(default_factory=dict[str, ProviderConfig])
    """The providers of models, by name. `anthropic`, `openai` and some others are built in."""
    default_model: str | None = None
    """The model of chats in which nobody has chosen one, as PROVIDER/MODEL. Not set: the first usable model."""
    default_agent: str = "code"
    """The agent of new chats."""
    agent: dict[str, AgentConfig] = Field(default_factory=dict[str, AgentConfig])
    """Your own agents by name, and changes to the built-in ones."""
    acp_agents: dict[str, AcpAgentConfig] = Field(default_factory=dict[str, AcpAgentConfig])
    """A key of ours: outside agents by name, and changes to the known ones (`claude`, `codex` and others)."""
    subagents: SubagentsConfig = SubagentsConfig()
    """Agents that other agents spawn."""
    disabled_tools: tuple[str, ...] = ()
    """Tools that no model has: a server, `server__tool`, or the name of one of our tools. A project's list is added to
    yours."""
    variants_by_model: dict[str, VariantSet] = Field(default_factory=dict[str, VariantSet])
    """Variants of models, for example reasoning efforts. The key is a regular expression for the names of models."""
    welcome_message: str = "Ask about this notebook, its data or its errors."
    """Markdown that an empty chat shows."""
    chat_retention_days: int = Field(default=0, ge=0)
    """How many days after its last use a chat is deleted. 0 keeps all chats. It is the default (ECA: 14), because
    nothing that you wrote is deleted without your consent."""
    store: StoreConfig = StoreConfig()
    """A key of ours: where chats are stored."""
    auto_compact_percentage: int = Field(default=75, ge=0, le=100)
    """The percentage of a model's context window at which the conversation is replaced by a summary of it. 0: never."""
    chat: ChatDefaults = ChatDefaults()
    """The settings of new chats."""
    prompts: PromptsConfig = PromptsConfig()
    """Prompts that replace ours."""
    rules: tuple[RulesConfig, ...] = ()
    """Rules in addition to those in `.eca/rules`. The rules of a project must be files of the project."""
    include_parent_agents_files: bool = False
    """`AGENTS.md` files in the folders above the workspace are read too."""
    rewrite: ModelChoice = ModelChoice()
    """The model that rewrites selected text in an editor."""
    completion: ModelChoice = ModelChoice()
    """The model that completes text while you type."""
    tool_call: ToolCallConfig = ToolCallConfig()
    """The approval of tool calls, and how much of their output the model receives."""
    review: ReviewTime = ReviewTime.BEFORE
    """A key of ours: when you decide about edits of cells and of files in the workspace that no rule allows. `before`:
    before they are made. `after`: they are made at once, and you keep or undo them. `never`: they are made at once, you
    are not asked, and you can undo them. Only your own configuration file can set `after` and `never`."""
    notebook: NotebookConfig = NotebookConfig()
    """Variables and locked answers."""
    skills: tuple[PathConfig, ...] = ()
    """Skills in addition to those in `.eca/skills` and `.agents/skills`."""
    commands: tuple[PathConfig, ...] = ()
    """Commands in addition to those in `.eca/commands`."""
    custom_tools: dict[str, CustomToolConfig] = Field(default_factory=dict[str, CustomToolConfig])
    """Your own command lines that the model can call as tools, by name. Your approval rules hold for them."""
    hooks: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Your own programs that run before or after chats, prompts, tool calls and summaries, by name. They run in the
    order of their names. A hook with an error is ignored, and the others still run."""
    budget: BudgetConfig = BudgetConfig()
    """How many US dollars may be spent without a question."""
    kept_variables: tuple[str, ...] = ()
    """A key of ours: environment variables that have keys of providers, and that programs get all the same, for example
    `["OPENAI_API_KEY"]`. Without it, such variables are in no command, hook, custom tool, background job, tool server
    and kernel. See [Secrets](security.md#secrets)."""
    mcp_servers: dict[str, McpServerConfig] = Field(default_factory=dict[str, McpServerConfig])
    """Tool servers by name. No server can be named `eca`, `client`, `python` or like one of our own tools, because
    these names mean other tools in rules. The servers in a project's `.mcp.json` are listed too, but start only when
    you start them."""
    mcp_timeout_seconds: float = Field(default=60.0, gt=0)
    """How many seconds a tool server has to start, and to answer a call."""
    mcp_keep_alive_seconds: float = Field(default=30.0, gt=0)
    """The seconds between two checks whether a tool server still answers."""
    mcp_sampling: SamplingConfig = SamplingConfig()
    """Requests of tool servers to a model."""
    connect_timeout_seconds: float | None = Field(default=None, gt=0)
    """How many seconds to wait for a connection to a provider. Not set: the provider's own setting."""
    stream_idle_timeout_seconds: float | None = Field(default=None, gt=0)
    """How many seconds to wait for the next piece of an answer. Not set: the provider's own setting."""
    sources: tuple[str, ...] = ()
    """Not a key of a file: the files that this configuration was read from."""
    watched: dict[str, FileState | None] = Field(default_factory=dict[str, "FileState | None"])
    """Not a key of a file: all files whose change would change this configuration, with their state at that time."""
    warnings: tuple[str, ...] = ()
    """Not a key of a file: sentences about settings that could not be used."""
    held_back: tuple[HeldSettings, ...] = ()
    """Not a key of a file: settings of projects that do nothing until the user trusts their folder."""
    variables: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Not a key of a file: variables that the client adds to the environment."""

    policy: AppliedPolicy = AppliedPolicy()
    """Not a key of a file: the administrator's policy, which is applied already, and what it refuses later."""

    @field_validator("default_agent")
    @classmethod
    def _to_current_name(cls, value: str) -> str:
        """Accept an older name of the default agent."""
        return AGENT_ALIASES.get(value, value)

    @field_validator("variants_by_model")
    @classmethod
    def _check_patterns(cls, value: dict[str, VariantSet]) -> dict[str, VariantSet]:
        """Raise ValueError for a key that is not a regular expression."""
        for pattern in value:
            check_pattern(pattern)
        return value

    @field_serializer("variables")
    def _hide(self, variables: dict[str, SecretStr]) -> dict[str, str]:
        """Hide the values when the configuration is written as JSON."""
        return dict.fromkeys(variables, "**********")

    def get_variable(self, name: str) -> str:
        """Return a variable of the environment, as the client sees it; empty when it is not set."""
        added = self.variables.get(name)
        return os.environ.get(name, "") if added is None else added.get_secret_value()


def read_file_state(path: Path) -> FileState | None:
    """Return the state of a file, or None when the file does not exist."""
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
