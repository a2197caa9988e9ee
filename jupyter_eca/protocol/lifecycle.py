"""`initialize` to `exit`, and what the server tells a client about itself and its set-up."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, cast

from pydantic import Field, field_validator

from jupyter_eca.protocol.base import ChatId, Model


class ClientInfo(Model):
    name: str
    version: str | None = None


class WorkspaceFolder(Model):
    uri: str
    name: str = ""


class EditorCapabilities(Model):
    """Requests the client answers about its files."""

    diagnostics: bool = False
    definition: bool = False
    references: bool = False


class ChatCapabilities(Model):
    """Requests the client answers in a chat."""

    ask_question: bool = False


class CodeAssistant(Model):
    """What the client can do. An empty object means "yes" in some clients, so ECA's values are not only booleans.

    Ours: with `kernel` it runs code for the chats it asks in, with `notebook` it has notebooks open, with `envelope` it
    wants `seq`, `turn`, `at`, `outcome` beside each content, and `unattended` says that nobody is there to approve a
    tool call. `doc`, `edit` and `fix` are known only to the older seed.
    """

    chat: Any = None
    rewrite: Any = None
    doc: Any = None
    edit: Any = None
    fix: Any = None
    editor: EditorCapabilities = EditorCapabilities()
    chat_capabilities: ChatCapabilities = ChatCapabilities()
    kernel: bool = False
    notebook: bool = False
    envelope: bool = False
    unattended: bool = False

    @field_validator("editor", "chat_capabilities", mode="before")
    @classmethod
    def _absent(cls, value: object) -> object:
        return cast("object", value) if isinstance(value, dict | Model) else {}


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


class CancelParams(Model):
    """A request of the sender that needs no answer any more: a question that somebody else has answered, say. Either
    side may send it."""

    id: str | int


class ChatConfig(Model):
    """An absent field is "unchanged". `behaviors`, `select_behavior` and the `default_...` are older names.

    `variants` are the selected model's (reasoning efforts, say); an empty `select_variant` is none of them.
    """

    models: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    behaviors: tuple[str, ...] | None = None
    select_model: str | None = None
    select_agent: str | None = None
    select_behavior: str | None = None
    default_model: str | None = None
    default_agent: str | None = None
    default_behavior: str | None = None
    variants: tuple[str, ...] | None = None
    select_variant: str | None = None
    select_trust: bool | None = None
    welcome_message: str | None = None


class ConfigUpdatedParams(Model):
    """With `chat_id`, about that chat alone."""

    chat: ChatConfig | None = None
    chat_id: ChatId | None = None


class WorkspaceFoldersEvent(Model):
    added: tuple[WorkspaceFolder, ...] = ()
    removed: tuple[WorkspaceFolder, ...] = ()


class DidChangeWorkspaceFoldersParams(Model):
    event: WorkspaceFoldersEvent


class DoctorResult(Model):
    """A report in Markdown: what is set up, what is missing, what to do about it. Never a secret."""

    text: str
