"""Every error of ours, with its owner.

EcaError                    the message says what to do next
|-- CellError               ends a notebook cell in one line, instead of a traceback
|-- LocalError              we were misused
|   |-- IllegalSignal       a signal that the status' table does not list; nothing changed
|   |-- BusyError           a prompt for a chat that is still answering
|   |-- ConfigError         a configuration that cannot be used, with the file it came from
|   |-- McpRefusal          what cannot be done to an MCP server, with ECA's code for it
|   |-- SamplingRefusal     what an MCP server may not have a model asked, and why
|   `-- UnknownChat         a chat id that is not in the store
|-- RemoteError             the peer broke the protocol, answered with an error, or left
|   `-- FrameError          bytes that are no JSON-RPC frame
|-- TurnError               a question from Python that got no answer, or only a part
|-- ProviderError           the model's side failed: has `kind`, `status` and `retryable`
|   `-- OverBudget          a request that was not sent, for what it would have cost
`-- ToolError               goes back to the model with a suggested fix
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class EcaError(Exception):
    """The root: catch this to catch all of ours."""


class CellError(EcaError):
    """Ends a cell, and with it a "Run all": what follows may need the answer that is missing."""

    def _render_traceback_(self) -> list[str]:
        """How IPython shows it."""
        return [str(self)]


class LocalError(EcaError):
    """We were misused."""


class IllegalSignal(LocalError):
    """A signal the table does not list for this status."""


class BusyError(LocalError):
    """The chat is still answering its last prompt."""


class ConfigError(LocalError):
    """A configuration that cannot be used; the message names the file."""


class McpRefusal(LocalError):
    """What a client may not do to an MCP server; `code` is a word for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class SamplingRefusal(LocalError):
    """What an MCP server wanted a model to be asked, and may not."""


class UnknownChat(LocalError):
    """A chat id that nobody has used yet."""


class RemoteError(EcaError):
    """The peer broke the protocol, answered with an error, or left.

    `code` is a JSON-RPC error code, `data` what a program can make of it.
    """

    def __init__(self, message: str, code: int = -32603, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class FrameError(RemoteError):
    """Bytes that are no frame. When `fatal`, the start of the next frame is lost too and the link must close."""

    def __init__(self, message: str, code: int = -32700, *, fatal: bool = True) -> None:
        super().__init__(message, code)
        self.fatal = fatal


class TurnError(EcaError):
    """A question from Python that got no answer, or only a part: it failed, or was stopped."""


class FailureKind(StrEnum):
    """What sort of failure a request to a model ended in."""

    OVERLOADED = "overloaded"
    RATE_LIMITED = "rate limited"
    QUOTA = "quota"
    CONTEXT = "context overflow"
    AUTH = "auth"
    NETWORK = "network"
    PREMATURE = "premature end"
    IMAGE = "invalid image"
    OTHER = "other"


class ProviderError(EcaError):
    """The model's side failed. `status` is the HTTP status if there was one, `retry_after` the seconds after which the
    server said to ask again, `retryable` that the same request may well succeed then."""

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
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after


class OverBudget(ProviderError):
    """A request that was not sent, since it would have cost more than the user allows."""


class ToolError(EcaError):
    """A tool could not do what it was asked; `fix` tells the model what to try instead."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(f"{message} {fix}".strip())
        self.fix = fix
