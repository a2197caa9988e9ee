"""Owns three lists of ECA's methods: those that a client may send before it is initialized, those that a client may
send if it may only read, and those whose reply is sent after their notifications. It also makes the error for wrong
params.

It must not know what a method does. The table of methods is in `protocol/methods.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from pydantic import ValidationError

# The methods that a client may send before it is initialized. An editor that gives up early still sends `shutdown`.
BEFORE_INITIALIZE: Final = frozenset({"initialize", "shutdown"})

# The methods that a client may send if it may only read. Every other method counts as one that does more: it changes a
# chat or the set-up, costs money, or runs code. This includes methods that are added later.
READING: Final = BEFORE_INITIALIZE | {
    "approvals/list",
    "approvals/try",
    "chat/changes",
    "chat/costs",
    "chat/history",
    "chat/list",
    "chat/open",
    "chat/queryCommands",
    "chat/remainingChange",
    "chat/selection",
    "chat/toolOutput",
    "config/defaults",
    "exit",
    "initialized",
    "jobs/list",
    "jobs/readOutput",
    "mcp/serverLog",
    "providers/list",
    "workspace/doctor",
}

# For these methods, the reply is sent after the notifications that they cause. Emacs waits for the reply, and drops
# everything that comes after it in the same piece of data.
REPLY_LAST: Final = frozenset({
    "chat/addFlag", "chat/clear", "chat/delete", "chat/fork", "chat/rateAnswer", "chat/removeFlag", "chat/restore",
    "chat/revert", "chat/rollback", "chat/update",
})  # fmt: skip


def make_params_error(method: str, error: ValidationError) -> RemoteError:
    """Return the error for a client whose params were refused by the model of the method: it names the first field
    that is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "params"
    return RemoteError(f"{method}: {place}: {first['msg']}", ErrorCode.INVALID_PARAMS)
