"""Owns the keys of a policy document. Unlike in the user's files, an unknown key is an error: a misspelt restriction
must not be left out silently.

It must not apply a policy: its neighbours do. The docstring below each field is its text in the documentation.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from jupyter_eca.engine.approval.policy import Decision, Rule
from jupyter_eca.protocol.base import Model


class _StrictModel(Model):
    """A model that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid")


class Feature(StrEnum):
    """A part of the assistant that a policy can switch."""

    TRUST = "trust"
    ALLOW_RULES = "allowRules"
    TYPED_KEYS = "typedKeys"
    HOOKS = "hooks"
    CUSTOM_TOOLS = "customTools"
    MCP_SERVERS = "mcpServers"
    OUTSIDE_AGENTS = "outsideAgents"
    AGENT_MODES = "agentModes"
    PROJECT_SETTINGS = "projectSettings"
    WEB_PAGES = "webPages"
    COMPLETIONS = "completions"
    SANDBOX = "sandbox"


class FeatureState(StrEnum):
    """Whether a part of the assistant is off, on, or as the user wants."""

    FORCE_OFF = "force-off"
    USER_CHOICE = "user-choice"
    FORCE_ON = "force-on"


class FeatureStates(_StrictModel):
    """The parts of the assistant that are `force-off`, `force-on` or left to the user (`user-choice`)."""

    trust: FeatureState = FeatureState.USER_CHOICE
    """Trust, which runs calls without approval that would need it. It cannot be forced on."""
    allow_rules: FeatureState = FeatureState.USER_CHOICE
    """The `allow` rules of users and projects. Without them, only what is allowed by default runs without approval."""
    typed_keys: FeatureState = FeatureState.USER_CHOICE
    """Keys of providers that users type in, and signing in."""
    hooks: FeatureState = FeatureState.USER_CHOICE
    """Hooks, which are programs of users and projects."""
    custom_tools: FeatureState = FeatureState.USER_CHOICE
    """Custom tools, which are commands of users and projects."""
    mcp_servers: FeatureState = FeatureState.USER_CHOICE
    """MCP servers."""
    outside_agents: FeatureState = FeatureState.USER_CHOICE
    """Outside agents, such as Claude Code."""
    agent_modes: FeatureState = FeatureState.USER_CHOICE
    """The choice of the mode in which an outside agent works. Off: known agents work in the mode in which they ask
    before they act, and others in their own default."""
    project_settings: FeatureState = FeatureState.USER_CHOICE
    """Settings of a project that need the user's trust. Off: nobody can trust a folder."""
    web_pages: FeatureState = FeatureState.USER_CHOICE
    """Web pages as contexts of a prompt."""
    completions: FeatureState = FeatureState.USER_CHOICE
    """Completions at the cursor (ghost text)."""
    sandbox: FeatureState = FeatureState.USER_CHOICE
    """The sandbox. Off: neither for commands nor for kernels. On: `toolCall.sandbox.mode` is at least `ask`."""

    def get(self, feature: Feature) -> FeatureState:
        """Return the state of a feature."""
        return getattr(self, _FIELDS[feature])


# The name of the field for each feature.
_FIELDS = {Feature(to_camel(name)): name for name in FeatureStates.model_fields}

# The features that can be forced on.
FORCIBLE = frozenset({Feature.SANDBOX})


class PatternLists(_StrictModel):
    """Patterns as in file names (`*`, `?`, `[...]`), by what they are compared with. Case counts."""

    agents: tuple[str, ...] | None = None
    """Names of agents, for example `tutor`. With a list in `allow`, the agents are as they are built in, or as `locked`
    defines them: settings of users for agents are not used."""
    providers: tuple[str, ...] | None = None
    """Names of providers, for example `anthropic`."""
    models: tuple[str, ...] | None = None
    """Models, as PROVIDER/MODEL."""
    urls: tuple[str, ...] | None = None
    """Addresses of providers, MCP servers and web pages. They are compared in lower case up to the path, without a user
    name, the usual port, and a dot after the host."""
    mcp_servers: tuple[str, ...] | None = None
    """The command line of an MCP server (its command and arguments, with spaces between them), or its URL."""
    outside_agents: tuple[str, ...] | None = None
    """The command line of an outside agent."""
    hooks: tuple[str, ...] | None = None
    """The shell command or the script of each action of a hook."""
    custom_tools: tuple[str, ...] | None = None
    """The command of a custom tool. Here and in hooks, a `*` of `allow` stands for no other command."""


class BudgetLimits(_StrictModel):
    """US dollars that nobody can go beyond: there is no question whether to go on."""

    per_chat: float | None = Field(default=None, ge=0)
    """US dollars for each chat."""
    per_notebook: float | None = Field(default=None, ge=0)
    """US dollars for all chats of a notebook."""
    per_day: float | None = Field(default=None, ge=0)
    """US dollars for all chats of a day."""


class PolicyLimits(_StrictModel):
    """Limits. The user's own limits count where they are lower."""

    budget: BudgetLimits = BudgetLimits()
    """How many US dollars may be spent."""
    chat_retention_days: int | None = Field(default=None, gt=0)
    """The largest number of days for which chats are kept."""
    sampling_requests: int | None = Field(default=None, ge=0)
    """The largest `mcpSampling.maxRequests`."""
    sampling_tokens: int | None = Field(default=None, ge=0)
    """The largest `mcpSampling.maxTokens`."""
    parallel_subagents: int | None = Field(default=None, gt=0)
    """The largest `subagents.maxParallel`."""


class ApprovalFloor(_StrictModel):
    """Approval rules that no rule of the user, of a project or of an agent loosens."""

    deny: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """Calls that are denied."""
    always_ask: dict[str, Rule] = Field(default_factory=dict[str, Rule])
    """Calls that need approval each time, also with trust."""
    by_default: Decision = Decision.ALLOW
    """The mildest decision about calls that no rule selects."""


class PolicyDocument(_StrictModel):
    """An administrator's policy. It can only take away."""

    contact: str = ""
    """A sentence that follows each refusal, for example whom to ask."""
    locked: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Settings with the keys of the configuration. Each of these values replaces that of the user. For
    `toolCall.approval`, use `approval`."""
    limits: PolicyLimits = PolicyLimits()
    """Limits that nobody can raise."""
    approval: ApprovalFloor = ApprovalFloor()
    """The mildest approval rules."""
    allow: PatternLists = PatternLists()
    """What may be used. A list that is not set allows everything."""
    deny: PatternLists = PatternLists()
    """What may not be used, even if it is allowed."""
    features: FeatureStates = FeatureStates()
    """Parts of the assistant that are off or on."""
    offline: bool = False
    """Providers, MCP servers and web pages are used only on this machine, or at an address that `allow.urls` names.
    Programs, such as MCP servers with a command, are not kept from the network."""
