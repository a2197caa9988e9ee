"""Owns the shared states (specification, 6.1, 6.2, 6.6 to 6.8): the root, sessions, terminals.

It must not know what changes them (`actions.py`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt

from jupyter_eca.protocol.ahp.base import Ahp, Json, Meta, Uri
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


class ConfigProperty(Ahp):
    type: Literal["string", "number", "boolean", "array", "object"]
    title: str
    description: str | None = None
    default: Any = None
    enum: tuple[str, ...] | None = None
    enum_labels: tuple[str, ...] | None = None
    enum_descriptions: tuple[str, ...] | None = None
    read_only: StrictBool | None = None
    items: Json | None = None
    properties: Json | None = None
    required: tuple[str, ...] | None = None
    enum_dynamic: StrictBool | None = None
    session_mutable: StrictBool | None = None


class ConfigSchema(Ahp):
    type: Literal["object"] = "object"
    properties: dict[str, ConfigProperty]
    required: tuple[str, ...] | None = None


class AhpConfig(Ahp):
    schema_: ConfigSchema = Field(alias="schema")
    values: Json


class Icon(Ahp):
    src: Uri
    content_type: str | None = None
    sizes: tuple[str, ...] | None = None
    theme: Literal["light", "dark"] | None = None


class CustomizationRef(Ahp):
    uri: Uri
    display_name: str
    description: str | None = None
    icons: tuple[Icon, ...] | None = None
    nonce: str | None = None


class Customization(Ahp):
    customization: CustomizationRef
    enabled: StrictBool
    client_id: str | None = None
    status: Literal["loading", "loaded", "degraded", "error"] | None = None
    status_message: str | None = None


class ActiveClient(Ahp):
    client_id: str = Field(min_length=1)
    display_name: str | None = None
    tools: tuple[ToolDefinition, ...]
    customizations: tuple[CustomizationRef, ...] | None = None


class Project(Ahp):
    uri: Uri
    display_name: str


class SessionSummary(Ahp):
    resource: Uri
    provider: str
    title: str
    status: StrictInt
    created_at: StrictInt
    modified_at: StrictInt
    activity: str | None = None
    project: Project | None = None
    model: ModelSelection | None = None
    working_directory: Uri | None = None
    diffs: tuple[FileEdit, ...] | None = None


class SessionState(Meta):
    summary: SessionSummary
    lifecycle: Literal["creating", "ready", "creationFailed"]
    creation_error: ErrorInfo | None = None
    server_tools: tuple[ToolDefinition, ...] | None = None
    active_client: ActiveClient | None = None
    turns: tuple[AhpTurn, ...]
    active_turn: ActiveTurn | None = None
    steering_message: PendingMessage | None = None
    queued_messages: tuple[PendingMessage, ...] | None = None
    input_requests: tuple[InputRequest, ...] | None = None
    config: AhpConfig | None = None
    customizations: tuple[Customization, ...] | None = None


# Terminals and the root ----------------------------------------------------------------------------------------------


class ClientClaim(Ahp):
    kind: Literal["client"] = "client"
    client_id: str


class SessionClaim(Ahp):
    kind: Literal["session"] = "session"
    session: Uri
    turn_id: str | None = None
    tool_call_id: str | None = None


TerminalClaim = Annotated[ClientClaim | SessionClaim, Field(discriminator="kind")]


class Unclassified(Ahp):
    type: Literal["unclassified"] = "unclassified"
    value: str


class TerminalCommand(Ahp):
    type: Literal["command"] = "command"
    command_id: str
    command_line: str
    output: str
    timestamp: StrictInt
    is_complete: StrictBool
    exit_code: StrictInt | None = None
    duration_ms: StrictInt | None = None


class TerminalState(Ahp):
    title: str
    claim: TerminalClaim
    content: tuple[Annotated[Unclassified | TerminalCommand, Field(discriminator="type")], ...]
    cwd: Uri | None = None
    cols: StrictInt | None = None
    rows: StrictInt | None = None
    exit_code: StrictInt | None = None
    supports_command_detection: StrictBool | None = None


class TerminalInfo(Ahp):
    resource: Uri
    title: str
    claim: TerminalClaim
    exit_code: StrictInt | None = None


class ModelInfo(Meta):
    id: str
    provider: str
    name: str
    max_context_window: StrictInt | None = None
    supports_vision: StrictBool | None = None
    policy_state: Literal["enabled", "disabled", "unconfigured"] | None = None
    config_schema: ConfigSchema | None = None


class AgentInfo(Ahp):
    """An agent. Ours needs no sign-in, so it has no protected resources."""

    provider: str
    display_name: str
    description: str
    models: tuple[ModelInfo, ...]
    protected_resources: tuple[Json, ...] | None = None
    customizations: tuple[CustomizationRef, ...] | None = None


class RootState(Ahp):
    agents: tuple[AgentInfo, ...]
    active_sessions: StrictInt | None = None
    terminals: tuple[TerminalInfo, ...] | None = None
    config: AhpConfig | None = None
