"""Owns the params and results of requests in the Agent Client Protocol (ACP): those that a client sends to the agent,
and those that the agent sends to the client.

It must not know how a request is answered: `fronts/acp/` does. `updates.py` beside it has the updates of a session.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, StrictInt
from pydantic_core import PydanticUseDefault

from jupyter_eca.protocol.acp.content import ContentBlock
from jupyter_eca.protocol.acp.updates import CallFields, SelectOption
from jupyter_eca.protocol.base import Done, Model


def _skip_null(value: Any) -> Any:
    """Return a value unchanged. For null, let pydantic use the default of the field."""
    if value is None:
        raise PydanticUseDefault
    return value


NULL_IS_DEFAULT: Final = BeforeValidator(_skip_null)
"""For a field that a client may send as null when it means to leave it out. It then has its default."""


# -- what a client sends


class AcpCapabilities(Model):
    """What the client can do. A capability is an object, which may be empty, or true."""

    session: dict[str, Any] | None = None
    """Capabilities in sessions, such as `notices`."""
    elicitation: dict[str, Any] | None = None
    """The ways in which the client can ask its user for input, such as `form`."""

    @property
    def shows_notices(self) -> bool:
        """Whether the client shows notices."""
        return (self.session or {}).get("notices") not in (None, False)

    @property
    def shows_forms(self) -> bool:
        """Whether the client can ask its user by a form."""
        return (self.elicitation or {}).get("form") not in (None, False)


class InitializeRequest(Model):
    """The first request of a connection."""

    protocol_version: StrictInt = Field(ge=0, le=65535)
    """The newest version that the client speaks."""
    client_capabilities: Annotated[AcpCapabilities, NULL_IS_DEFAULT] = AcpCapabilities()


class AuthenticateRequest(Model):
    """The user has chosen a way to sign in."""

    method_id: str
    """The id of the way, see `InitializeAnswer.auth_methods`."""


class EnvVariable(Model):
    """A variable of the environment."""

    name: str
    value: str


class HttpHeader(Model):
    """A header of HTTP requests."""

    name: str
    value: str


class StdioServer(Model):
    """An MCP server that is a program. In this protocol it has no field `type`, but some clients send one."""

    type: Literal["stdio"] | None = None
    name: str
    command: str
    args: Annotated[tuple[str, ...], NULL_IS_DEFAULT] = ()
    env: Annotated[tuple[EnvVariable, ...], NULL_IS_DEFAULT] = ()


class HttpServer(Model):
    """An MCP server at an address, which speaks streamable HTTP, or SSE in its older form."""

    type: Literal["http", "sse"]
    name: str
    url: str
    headers: Annotated[tuple[HttpHeader, ...], NULL_IS_DEFAULT] = ()


McpServerEntry = StdioServer | HttpServer


class SessionRequest(Model):
    """A request about one session."""

    session_id: str


class NewSessionRequest(Model):
    """Starts a session."""

    cwd: str
    """The working directory, an absolute path."""
    mcp_servers: Annotated[tuple[McpServerEntry, ...], NULL_IS_DEFAULT] = ()
    """The MCP servers whose tools the session gets."""


class OpenSessionRequest(NewSessionRequest):
    """Opens a session that exists: `session/load`, which sends its history again, or `session/resume`."""

    session_id: str


class ListSessionsRequest(Model):
    """Lists the sessions."""

    cwd: str | None = None
    """Only the sessions with this working directory."""
    cursor: str | None = None
    """The place of the next page, as the previous page named it."""


class PromptRequest(SessionRequest):
    """A prompt of the user."""

    prompt: tuple[ContentBlock, ...]


class SetModeRequest(SessionRequest):
    """The user has chosen a mode."""

    mode_id: str


class SetOptionRequest(SessionRequest):
    """The user has chosen the value of an option."""

    config_id: str
    """The id of the option."""
    value: str


# -- what the agent answers


class AcpImplementation(Model):
    """The name and the version of a program."""

    name: str
    title: str
    version: str


class InitializeAnswer(Model):
    """The result of `initialize`."""

    protocol_version: int
    """The version in which the agent answers."""
    agent_capabilities: dict[str, Any]
    """What the agent can do, in the words of the protocol."""
    auth_methods: tuple[()] = ()
    """Ways to sign in to the agent. There are none: providers of models are signed in to by `/login`."""
    agent_info: AcpImplementation
    """The name and the version of the agent's program."""


class SessionMode(Model):
    """A mode of a session: a way in which the agent works, such as `plan`."""

    id: str
    name: str
    description: str | None = None


class ModeState(Model):
    """The modes of a session."""

    current_mode_id: str
    available_modes: tuple[SessionMode, ...]


class OpenedSession(Model):
    """The result of `session/load` and `session/resume`."""

    modes: ModeState
    config_options: tuple[SelectOption, ...]


class NewSession(OpenedSession):
    """The result of `session/new`."""

    session_id: str


class SessionEntry(Model):
    """A session in a list."""

    session_id: str
    cwd: str
    """The working directory, an absolute path."""
    title: str | None = None
    updated_at: str | None = None
    """The time of the last activity, in the form of ISO 8601."""


class ListedSessions(Model):
    """The result of `session/list`."""

    sessions: tuple[SessionEntry, ...]
    next_cursor: str | None = None
    """The place of the next page; absent when there is none."""


class EndedTurn(Model):
    """The result of `session/prompt`."""

    stop_reason: Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
    """Why the turn ended. `max_tokens`: the answer has the greatest length that is allowed. `max_turn_requests`: the
    model was asked as often as is allowed, or a budget is used up. `refusal`: the agent does not want to continue."""


class ChangedOptions(Model):
    """The result of `session/set_config_option`: all options, because one choice may change others."""

    config_options: tuple[SelectOption, ...]


# -- what the agent asks


class PermissionChoice(Model):
    """An answer that the user can choose."""

    option_id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]
    """What the answer means. `allow_always` and `reject_always` also decide about similar calls."""


class PermissionRequest(SessionRequest):
    """Asks the user whether a tool call may run."""

    tool_call: CallFields
    options: tuple[PermissionChoice, ...]
    """The answers from which the user chooses."""


class PermissionOutcome(Model):
    """What the user has decided."""

    outcome: str
    """`selected`, or `cancelled` when the turn was cancelled before."""
    option_id: str | None = None
    """The id of the choice; absent when the turn was cancelled."""


class PermissionAnswer(Model):
    """The result of `session/request_permission`."""

    outcome: PermissionOutcome


class FormRequest(SessionRequest):
    """Asks the user to fill in a form."""

    message: str
    mode: Literal["form"] = "form"
    tool_call_id: str | None = None
    """The tool call that asks; absent for none."""
    requested_schema: dict[str, Any]
    """The JSON schema of the answer, with a property for each field of the form."""


class FormAnswer(Model):
    """The result of `elicitation/create`."""

    action: str
    """`accept`, `decline` or `cancel`."""
    content: dict[str, Any] | None = None
    """The values by the names of the fields; only with `accept`."""


REQUESTS: Final[dict[str, type[Model]]] = {
    "initialize": InitializeRequest,
    "authenticate": AuthenticateRequest,
    "session/new": NewSessionRequest,
    "session/load": OpenSessionRequest,
    "session/resume": OpenSessionRequest,
    "session/list": ListSessionsRequest,
    "session/close": SessionRequest,
    "session/delete": SessionRequest,
    "session/prompt": PromptRequest,
    "session/set_mode": SetModeRequest,
    "session/set_config_option": SetOptionRequest,
}
"""The requests that a client may send, with the models of their params."""

CANCEL_PROMPT: Final = "session/cancel"
"""The notification that ends the turn of a session. Its params are a `SessionRequest`."""

DONE: Final = Done()
"""The result of a request that returns no data."""
