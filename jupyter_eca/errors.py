"""Owns every exception class of this package, in one tree. Each class says whose mistake it reports.

Any room (folder of the package) may import this module; it imports nothing of the package. Its neighbour `redaction`
removes secrets from error texts. MCP is the Model Context Protocol: an MCP server offers tools to the assistant. ECA is
the protocol between our server and its clients.

EcaError                    the root of the tree
|-- CellError               ends a notebook cell with one line instead of a traceback
|-- LocalError              the caller of our code made a mistake
|   |-- IllegalSignal       the state table lists no such signal for the current status; nothing has changed
|   |-- BusyError           the chat is still answering an earlier prompt
|   |-- ConfigError         the configuration cannot be used; the message names the file
|   |   `-- NewerStore      a newer version of this program has written the chats
|   |-- McpRefusal          the MCP server cannot be changed in this way; has ECA's error code
|   |-- NotSaved            the chats cannot be stored or read now; the message says why
|   |-- SamplingRefusal     an MCP server must not send this request to a model
|   `-- UnknownChat         the store has no chat with this id
|-- RemoteError             the peer broke the protocol, answered with an error, or left
|   |-- PeerLeft            the other side of a link has left
|   |-- AgentError          an outside agent cannot be started, fails, or has left; the message is for the user
|   `-- FrameError          the bytes are not a valid JSON-RPC frame
|-- TurnError               a question from Python got no complete answer
|-- ProviderError           the model's provider failed; has `kind`, `status` and `retryable`
|   |-- UnknownModel        no provider serves a model of this name
|   `-- OverBudget          the request was not sent because it would cost more than the user allows
`-- ToolError               goes back to the model, with a suggested fix
    |-- StoppedRunError     the turn was stopped while a call waited for code
    `-- StaleSourceError    the model wants to replace a text that has changed since the model read it
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class EcaError(Exception):
    """The root of the tree. Catch it to catch every error of this package."""


class CellError(EcaError):
    """Ends a notebook cell, and a "Run All" with it, because later cells may need the missing answer."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows instead of a traceback."""
        return [str(self)]


class LocalError(EcaError):
    """The caller of our code made a mistake."""


class IllegalSignal(LocalError):
    """The state table lists no such signal for the current status. Nothing has changed."""


class BusyError(LocalError):
    """The chat is still answering an earlier prompt."""


class ConfigError(LocalError):
    """The configuration cannot be used. The message names the file."""


class NewerStore(ConfigError):
    """A newer version of this program has written the chats, in a form that this one does not know."""


class McpRefusal(LocalError):
    """A client asked for a change to an MCP server that cannot be made."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        """ECA's code for the reason. Programs compare it."""


class NotSaved(LocalError):
    """The chats cannot be stored or read now: the disk is full, or another program holds the file."""


class SamplingRefusal(LocalError):
    """An MCP server must not send this request to a model. The message says why."""


class UnknownChat(LocalError):
    """The store has no chat with this id."""


class RemoteError(EcaError):
    """The peer broke the protocol, answered with an error, or left."""

    def __init__(self, message: str, code: int = -32603, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        """The JSON-RPC error code."""
        self.data = data
        """Details that a program can read."""


class PeerLeft(RemoteError):
    """The other side of a link has left."""

    def __init__(self) -> None:
        super().__init__("the other side has left")


class AgentError(RemoteError):
    """An outside agent cannot be started, reports an error, breaks its protocol or has left. The message is for the
    user."""


class FrameError(RemoteError):
    """The bytes are not a valid JSON-RPC frame."""

    def __init__(self, message: str, code: int = -32700, *, fatal: bool = True) -> None:
        super().__init__(message, code)
        self.fatal = fatal
        """Whether the start of the next frame is unknown too. Then the link must be closed."""


class TurnError(EcaError):
    """A question from Python got no complete answer: the turn failed or was stopped."""


class FailureKind(StrEnum):
    """Why a request to a model failed. Clients get it, to offer what helps."""

    OVERLOADED = "overloaded"
    """The server has too much to do."""
    RATE_LIMITED = "rate-limited"
    """The user has sent too many requests in a short time."""
    QUOTA = "quota"
    """The user's quota or credit is used up."""
    BUDGET_EXCEEDED = "budget-exceeded"
    """The budget that the operator of a gateway gives the user is used up. The gateway refuses requests until the next
    period of the budget."""
    CONTEXT = "context-overflow"
    """The request is too long for the model."""
    AUTH = "auth"
    """There is no key, or the server does not accept it."""
    NETWORK = "network"
    """The server could not be reached."""
    PREMATURE = "premature-end"
    """The connection ended in the middle of the answer."""
    IMAGE = "invalid-image"
    """The server does not accept an image or a document."""
    MODEL = "unknown-model"
    """No model has the name in the request."""
    SETUP = "no-model"
    """No model is set up."""
    BUDGET = "budget"
    """The request would cost more than the user allows."""
    OTHER = "other"
    """Any other reason."""


class ProviderError(EcaError):
    """The model's provider failed."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: FailureKind = FailureKind.OTHER,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status; None when there was no HTTP response."""
        self.kind = kind
        """Why the request failed."""
        self.retryable = retryable
        """Whether the same request is likely to succeed later."""
        self.retry_after = retry_after
        """Seconds to wait before the next attempt, as the server asked for; None when it did not say."""


class UnknownModel(ProviderError):
    """No provider serves a model of this name. Nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind=FailureKind.MODEL)


class OverBudget(ProviderError):
    """The request was not sent because it would cost more than the user allows."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind=FailureKind.BUDGET)


class ToolError(EcaError):
    """A tool could not do what the model asked it to do."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(f"{message} {fix}".strip())
        self.fix = fix
        """A sentence that tells the model what to try instead."""


class StoppedRunError(ToolError):
    """The turn was stopped while a call waited for code. The message says how far the code was."""


class StaleSourceError(ToolError):
    """The model wants to replace a text that has changed since the model read it. Nothing was changed. The call fails
    before the user is asked to approve it, and the message contains the current text."""
