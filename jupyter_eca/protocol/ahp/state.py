"""Owns the shared states of the Agent Host Protocol (specification, 6.1, 6.2, 6.6 to 6.8): root, sessions, terminals.

The server and its clients each have a copy of a state. A session is a chat in this protocol. This module must not know
what changes a state: its neighbour `actions` does. The fields are those of the specification.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt

from jupyter_eca.protocol.ahp.base import AhpModel, Json, ModelWithMeta, Uri
from jupyter_eca.protocol.ahp.content import (
    ActiveTurn,
    AhpTurn,
    ErrorInfo,
    FileEdit,
    InputRequest,
    ModelSelection,
    PendingMessage,
    ToolDefinition,
)


class ConfigProperty(AhpModel):
    """The JSON schema of one setting, with some fields that only this protocol has."""

    type: Literal["string", "number", "boolean", "array", "object"]
    title: str
    description: str | None = None
    default: Any = None
    enum: tuple[str, ...] | None = None
    enum_labels: tuple[str, ...] | None = None
    """A label for each value in `enum`, for the user."""
    enum_descriptions: tuple[str, ...] | None = None
    read_only: StrictBool | None = None
    items: Json | None = None
    properties: Json | None = None
    required: tuple[str, ...] | None = None
    enum_dynamic: StrictBool | None = None
    """Whether a client gets the values by the command `sessionConfigCompletions`."""
    session_mutable: StrictBool | None = None
    """Whether the setting can be changed after the session was created."""


class ConfigSchema(AhpModel):
    """The JSON schema of some settings."""

    type: Literal["object"] = "object"
    properties: dict[str, ConfigProperty]
    required: tuple[str, ...] | None = None


class AhpConfig(AhpModel):
    """Some settings: their schema and their values."""

    schema_: ConfigSchema = Field(alias="schema")
    values: Json
    """The values by the names of the settings."""


class Icon(AhpModel):
    """An icon."""

    src: Uri
    content_type: str | None = None
    sizes: tuple[str, ...] | None = None
    """The sizes that it is made for, such as `48x48` or `any`."""
    theme: Literal["light", "dark"] | None = None


class CustomizationRef(AhpModel):
    """A customization: something that extends an agent, such as a tool server, a rule or a skill. See
    `fronts/ahp/customizations.py`."""

    uri: Uri
    display_name: str
    description: str | None = None
    icons: tuple[Icon, ...] | None = None
    nonce: str | None = None
    """A text that differs for each version of the customization, so that a client sees when it has changed."""


class Customization(AhpModel):
    """A customization that a session has, and whether it is enabled and loaded there."""

    customization: CustomizationRef
    enabled: StrictBool
    client_id: str | None = None
    """The client that brings the customization; absent for one of the server."""
    status: Literal["loading", "loaded", "degraded", "error"] | None = None
    status_message: str | None = None


class ActiveClient(AhpModel):
    """The client whose tools a session can use."""

    client_id: str = Field(min_length=1)
    display_name: str | None = None
    tools: tuple[ToolDefinition, ...]
    customizations: tuple[CustomizationRef, ...] | None = None


class Project(AhpModel):
    """The project that a session belongs to."""

    uri: Uri
    display_name: str


class SessionSummary(AhpModel):
    """A session in a list."""

    resource: Uri
    """The URI of the session."""
    provider: str
    """The kind of agent. Ours is `eca`."""
    title: str
    status: StrictInt
    """A sum of bits: 1 idle, 2 error, 8 in progress, 24 input needed; 32 read, 64 archived (specification, 6.2)."""
    created_at: StrictInt
    """In milliseconds since the epoch, as all times of the protocol."""
    modified_at: StrictInt
    activity: str | None = None
    """What the session is doing now, for the user."""
    project: Project | None = None
    model: ModelSelection | None = None
    working_directory: Uri | None = None
    diffs: tuple[FileEdit, ...] | None = None
    """The files that the session has changed."""


class SessionState(ModelWithMeta):
    """The shared state of one session."""

    summary: SessionSummary
    lifecycle: Literal["creating", "ready", "creationFailed"]
    creation_error: ErrorInfo | None = None
    server_tools: tuple[ToolDefinition, ...] | None = None
    """The tools that the server offers in the session."""
    active_client: ActiveClient | None = None
    turns: tuple[AhpTurn, ...]
    """The turns that have ended."""
    active_turn: ActiveTurn | None = None
    """The turn that is running."""
    steering_message: PendingMessage | None = None
    """The message that the model reads before its next step."""
    queued_messages: tuple[PendingMessage, ...] | None = None
    """The messages that begin the next turns."""
    input_requests: tuple[InputRequest, ...] | None = None
    """The requests for input that wait for the user."""
    config: AhpConfig | None = None
    customizations: tuple[Customization, ...] | None = None


# Terminals and the root ----------------------------------------------------------------------------------------------


class ClientClaim(AhpModel):
    """A terminal belongs to a client."""

    kind: Literal["client"] = "client"
    client_id: str


class SessionClaim(AhpModel):
    """A terminal belongs to a session."""

    kind: Literal["session"] = "session"
    session: Uri
    turn_id: str | None = None
    tool_call_id: str | None = None
    """The tool call that runs in the terminal, in the turn `turn_id`."""


TerminalClaim = Annotated[ClientClaim | SessionClaim, Field(discriminator="kind")]


class UnclassifiedOutput(AhpModel):
    """Output of a terminal that belongs to no known command."""

    type: Literal["unclassified"] = "unclassified"
    value: str


class TerminalCommand(AhpModel):
    """A command in a terminal, with its output."""

    type: Literal["command"] = "command"
    command_id: str
    command_line: str
    output: str
    timestamp: StrictInt
    """When the command was started, in milliseconds since the epoch."""
    is_complete: StrictBool
    exit_code: StrictInt | None = None
    duration_ms: StrictInt | None = None


class TerminalState(AhpModel):
    """The shared state of one terminal."""

    title: str
    claim: TerminalClaim
    content: tuple[Annotated[UnclassifiedOutput | TerminalCommand, Field(discriminator="type")], ...]
    """The output so far, divided into commands."""
    cwd: Uri | None = None
    cols: StrictInt | None = None
    """The width in characters."""
    rows: StrictInt | None = None
    """The height in lines."""
    exit_code: StrictInt | None = None
    """Present when the program in the terminal has ended."""
    supports_command_detection: StrictBool | None = None
    """Whether the server knows where each command begins and ends."""


class TerminalInfo(AhpModel):
    """A terminal in a list."""

    resource: Uri
    """The URI of the terminal."""
    title: str
    claim: TerminalClaim
    exit_code: StrictInt | None = None


class ModelInfo(ModelWithMeta):
    """A model that an agent can use."""

    id: str
    provider: str
    name: str
    max_context_window: StrictInt | None = None
    supports_vision: StrictBool | None = None
    policy_state: Literal["enabled", "disabled", "unconfigured"] | None = None
    """Whether the user may use the model."""
    config_schema: ConfigSchema | None = None
    """The settings of the model, such as its reasoning effort."""


class AgentInfo(AhpModel):
    """An agent. Ours needs no sign-in, so it has no protected resources."""

    provider: str
    display_name: str
    description: str
    models: tuple[ModelInfo, ...]
    protected_resources: tuple[Json, ...] | None = None
    """What the client must sign in to before it uses the agent (RFC 9728)."""
    customizations: tuple[CustomizationRef, ...] | None = None


class RootState(AhpModel):
    """The shared state of the root: the agents, the terminals and the configuration."""

    agents: tuple[AgentInfo, ...]
    active_sessions: StrictInt | None = None
    """The number of sessions."""
    terminals: tuple[TerminalInfo, ...] | None = None
    config: AhpConfig | None = None
