"""`initialize` to `exit`, and what the server tells a client about itself and its set-up."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, field_validator

from jupyter_eca.protocol.base import Model


class ClientInfo(Model):
    name: str
    version: str | None = None


class WorkspaceFolder(Model):
    uri: str
    name: str = ""


class CodeAssistant(Model):
    """What the client can do. An empty object means "yes" in some clients, so ECA's values are not only booleans.

    Ours: with `kernel` it runs code for the chats it asks in, with `envelope` it wants `seq`, `turn`, `at`, `outcome`
    beside each content, and `unattended` says that nobody is there to approve a tool call.
    """

    chat: Any = None
    editor: Any = None
    kernel: bool = False
    envelope: bool = False
    unattended: bool = False


class ClientCapabilities(Model):
    code_assistant: CodeAssistant = CodeAssistant()

    @field_validator("code_assistant", mode="before")
    @classmethod
    def _absent(cls, value: object) -> object:
        return value or {}


class InitializeParams(Model):
    process_id: int | None = None
    client_info: ClientInfo | None = None
    initialization_options: dict[str, Any] = Field(default_factory=dict[str, Any])
    capabilities: ClientCapabilities = ClientCapabilities()
    workspace_folders: tuple[WorkspaceFolder, ...] = ()

    @field_validator("initialization_options", "capabilities", mode="before")
    @classmethod
    def _absent(cls, value: object) -> object:
        return value or {}

    @field_validator("workspace_folders", mode="before")
    @classmethod
    def _no_folders(cls, value: object) -> object:
        return value or ()


class InitializeResult(Model):
    """The newer revision wants nothing here, the older one wants all of it: giving all harms nobody."""

    models: tuple[str, ...] = ()
    chat_default_model: str = ""
    chat_behaviors: tuple[str, ...] = ()
    chat_default_behavior: str = ""
    chat_welcome_message: str = ""


class MessageType(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class ShowMessageParams(Model):
    type: MessageType
    message: str


class ProgressParams(Model):
    """Every task that was started is finished: clients wait for it."""

    type: Literal["start", "finish"]
    task_id: str
    title: str = ""


class ChatConfig(Model):
    """An absent field is "unchanged"."""

    models: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    behaviors: tuple[str, ...] | None = None
    select_model: str | None = None
    select_agent: str | None = None
    select_behavior: str | None = None
    welcome_message: str | None = None


class ConfigUpdatedParams(Model):
    chat: ChatConfig | None = None


class ServerTool(Model):
    """`parameters` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]
    disabled: bool = False


class NativeServerUpdatedParams(Model):
    type: Literal["native"] = "native"
    name: str = "ECA"
    status: Literal["running"] = "running"
    tools: tuple[ServerTool, ...] = ()


class DoctorResult(Model):
    """A report in Markdown: what is set up, what is missing, what to do about it. Never a secret."""

    text: str
