"""Owns the messages from `initialize` to `exit`, the notifications about the server's set-up, and the user's defaults:
models and budgets, which a settings page reads and changes.

A field marked "Not in ECA" is our addition to ECA, the protocol that our clients speak. This module must not know how a
chat works. `chat` is its neighbour: it has the messages of a chat.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_validator

from jupyter_eca.protocol.base import EMPTY_IS_DEFAULT, ChatId, Model
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.event import Person


class ClientInfo(Model):
    """The name of the client. Some sizes and words of our messages depend on it."""

    name: str
    version: str | None = None


class WorkspaceFolder(Model):
    """A folder of the workspace."""

    uri: str
    name: str = ""


class EditorCapabilities(Model):
    """The requests about its files that the client answers."""

    diagnostics: bool = False
    definition: bool = False
    references: bool = False


class ChatCapabilities(Model):
    """The requests in a chat that the client answers."""

    ask_question: bool = False


class CodeAssistant(Model):
    """The capabilities of the client. ECA's own values are not only booleans: some clients send an empty object for
    "yes"."""

    chat: Any = None
    """Whether the client shows chats."""
    rewrite: Any = None
    """Whether the client can rewrite a selection."""
    doc: Any = None
    """Only clients of the oldest revision of ECA send `doc`, `edit` and `fix`."""
    edit: Any = None
    fix: Any = None
    editor: EditorCapabilities = EditorCapabilities()
    chat_capabilities: ChatCapabilities = ChatCapabilities()
    kernel: bool = False
    """Not in ECA: the client is a kernel, and runs code for the chats in which it asks."""
    notebook: bool = False
    """Not in ECA: the client has notebooks open, which it reads and edits for the server."""
    envelope: bool = False
    """Not in ECA: the client wants `seq`, `turn`, `at` and `outcome` beside each content."""
    trust: bool = False
    """Not in ECA: the client shows which settings of a folder wait for trust, and lets the user trust them."""
    review: bool = False
    """Not in ECA: the client shows changes after they were made, each with the buttons Keep and Undo."""
    unattended: bool = False
    """Not in ECA: no user is there who could approve a tool call."""

    @field_validator("editor", "chat_capabilities", mode="before")
    @classmethod
    def _read_null_as_default(cls, value: object) -> object:
        """Return an empty object for a value that is none, such as null or true. Then all its fields have their
        defaults."""
        return cast("object", value) if isinstance(value, dict | Model) else {}


class ClientCapabilities(Model):
    """The object `capabilities` of a client. ECA puts all capabilities into one member of it."""

    code_assistant: CodeAssistant = CodeAssistant()

    @field_validator("code_assistant", mode="before")
    @classmethod
    def _read_null_as_default(cls, value: object) -> object:
        return value or {}


class InitializeParams(Model):
    """The first message of a client."""

    process_id: int | None = None
    client_info: ClientInfo | None = None
    initialization_options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Keys of the configuration. The configuration files override them."""
    capabilities: ClientCapabilities = ClientCapabilities()
    workspace_folders: Annotated[tuple[WorkspaceFolder, ...], EMPTY_IS_DEFAULT] = ()

    @field_validator("initialization_options", "capabilities", mode="before")
    @classmethod
    def _read_null_as_default(cls, value: object) -> object:
        return value or {}


class ClientRights(Model):
    """What the client may do, if it may not do everything. It may read all chats that it sees."""

    asks: bool
    """Whether it may send prompts. If not, the server refuses every request that does not only read."""
    approves: bool
    """Whether it may approve tool calls and answer questions."""
    reason: str
    """A sentence for the user: what is not allowed, and who decides that."""


class InitializeResult(Model):
    """The first answer of the server. Only clients of the two older revisions of ECA read these fields, except for
    `rights` and `user`; they harm nobody else. A `behavior` is the older name of an agent."""

    models: tuple[str, ...] = ()
    chat_default_model: str = ""
    chat_behaviors: tuple[str, ...] = ()
    chat_default_behavior: str = ""
    chat_welcome_message: str = ""
    rights: ClientRights | None = None
    """Not in ECA: what the client may do. It is absent if it may do everything, and for clients that are not ours."""
    user: Person | None = None
    """Not in ECA: the client's own user, as the events of chats name them in `by`. It is absent where the server does
    not tell its users apart, and for clients that are not ours."""


class MessageType(StrEnum):
    """How important a message to the user is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class ShowMessageParams(Model):
    """A message to show to the user."""

    type: MessageType
    message: str
    chat_id: ChatId | None = None
    """The chat that the message is about. Not part of ECA."""


class ProgressParams(Model):
    """The progress of a task at the server's start. Each started task must be finished, because clients wait for it."""

    type: Literal["start", "finish"]
    task_id: str
    title: str = ""


class CancelParams(Model):
    """Cancels a request of the sender, for example a question that another client has answered. Either side may send
    it.
    """

    id: str | int
    """The id of the request."""


class AgentOptionValue(Model):
    """A value of an option."""

    value: str
    name: str
    """The name of the value for the user."""


class AgentOption(Model):
    """An option of the session of an outside agent, for example its model. Not in ECA."""

    id: str
    name: str
    """The name of the option for the user."""
    description: str = ""
    category: str = ""
    """`model`, `model_config`, `thought_level` or another word of the Agent Client Protocol; empty for none."""
    value: str
    """The value that is chosen now."""
    values: tuple[AgentOptionValue, ...]
    is_switch: bool = False
    """Whether the option is switched on and off. Then its values are `true` and `false`."""
    can_choose: bool = False
    """Whether the user can choose a value here. If not, it is set in the agent's own configuration, because the option
    may decide which calls the agent asks the user to approve."""


class ChatConfig(Model):
    """The settings of chats. An absent field is unchanged. A field `select_...` is what the client must select for the
    next prompt. `behaviors`, `select_behavior` and the fields `default_...` are older names of the others."""

    models: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    outside_agents: tuple[str, ...] | None = None
    """The names in `agents` of those that are separate programs. They choose their model themselves."""
    agent_options: tuple[AgentOption, ...] | None = None
    """Not in ECA: the options of the chat's outside agent. They are known while the agent runs."""
    behaviors: tuple[str, ...] | None = None
    select_model: str | None = None
    select_agent: str | None = None
    select_behavior: str | None = None
    default_model: str | None = None
    default_agent: str | None = None
    default_behavior: str | None = None
    variants: tuple[str, ...] | None = None
    """The variants of the selected model, for example its reasoning efforts."""
    select_variant: str | None = None
    """The selected variant; empty for none."""
    select_trust: bool | None = None
    """Whether tool calls run without a question where the rules would ask."""
    welcome_message: str | None = None
    """The text with which clients show an empty chat."""


class ConfigUpdatedParams(Model):
    """The server's set-up has changed."""

    chat: ChatConfig | None = None
    chat_id: ChatId | None = None
    """The only chat that the change is about; absent when it is about all chats."""


class WorkspaceFoldersEvent(Model):
    """Which folders of the workspace were added and removed."""

    added: tuple[WorkspaceFolder, ...] = ()
    removed: tuple[WorkspaceFolder, ...] = ()


class DidChangeWorkspaceFoldersParams(Model):
    """The folders of the workspace have changed."""

    event: WorkspaceFoldersEvent


class DoctorResult(Model):
    """A report about the set-up. It never contains a secret."""

    text: str
    """Markdown: what is set up, what is missing, and what to do about it."""


class HeldSetting(Model):
    """One setting of a project that is held back: it has no effect until the user trusts the folder."""

    key: str
    """Its key, for example `mcpServers.db`."""
    value: str
    """Its value, as JSON. Secrets are masked."""


class HeldSettings(Model):
    """The settings of one folder that are held back."""

    folder: str
    """The path of the folder."""
    digest: str
    """Identifies the content of these settings. The user trusts exactly this content: if it changes, the user is
    asked again."""
    summary: str
    """What they are, in a few words, for example `2 MCP servers, 1 hook`."""
    settings: tuple[HeldSetting, ...]
    """Each of them."""


class UntrustedSettingsParams(Model):
    """All settings that are held back now; empty when there are none."""

    folders: tuple[HeldSettings, ...] = ()
    can_trust: bool = True
    """Whether this client may send `workspace/trust`."""


class TrustParams(Model):
    """The user trusts settings of a folder."""

    folder: str
    """The path of the folder."""
    digest: str
    """The digest that was shown. If the settings have changed since, the request is refused."""


class DefaultName(StrEnum):
    """A default that can be set, as the path of its key in the configuration."""

    MODEL = "defaultModel"
    AGENT = "defaultAgent"
    VARIANT = "agent.code.variant"
    COMPLETION_MODEL = "completion.model"
    REVIEW = "review"
    BUDGET_PER_CHAT = "budget.perChat"
    BUDGET_PER_NOTEBOOK = "budget.perNotebook"
    BUDGET_PER_DAY = "budget.perDay"


class DefaultSetting(Model):
    """A default, as it is now."""

    name: DefaultName
    model: str | None = None
    """For a model: its full name; absent when it is not set."""
    choice: str | None = None
    """For an agent or a variant: its name; absent when it is not set."""
    choices: tuple[str, ...] = ()
    """For an agent or a variant: the names that can be set."""
    dollars: float | None = None
    """For a budget: US dollars; absent when there is no limit."""
    review: ReviewTime | None = None
    """For `review`: when the user decides about changes of cells and files."""
    file: str | None = None
    """The file whose value counts; absent when no file sets it."""
    own: bool = True
    """Whether a change of the user's file takes effect: no other file overrides it."""
    locked: str | None = None
    """Why the user cannot change it, in a sentence; absent when the user can."""
    limited: str | None = None
    """Why the user cannot raise it beyond a limit, in a sentence; absent when the user can."""


class ConfigDefaultsResult(Model):
    """All defaults."""

    defaults: tuple[DefaultSetting, ...]
    file: str
    """The user's own file, to which a change is written."""


class ConfigSetDefaultParams(Model):
    """Sets a default in the user's own file. Without a value, it is removed from that file."""

    name: DefaultName
    model: str | None = Field(default=None, pattern=r"^[^\s${}/]+/[^\s${}]+$")
    """For a model: its full name `provider/model`. It cannot contain a variable, such as `${env:NAME}`."""
    choice: str | None = Field(default=None, pattern=r"^[^${}]+$")
    """For an agent or a variant: its name. It cannot contain a variable."""
    dollars: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """For a budget: US dollars."""
    review: ReviewTime | None = None
    """For `review`: when the user decides about changes of cells and files."""
