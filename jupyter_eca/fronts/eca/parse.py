"""Owns the parsing of params, from a client of any revision, into the models of the method table.

The dialects are in `protocol/dialect/`, the table in `protocol/methods.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol import dialect
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.protocol.methods import METHODS

if TYPE_CHECKING:
    from jupyter_eca.protocol.base import Model

# An editor that gives up before it was initialized may still send `shutdown`.
BEFORE_INITIALIZE: Final = frozenset({"initialize", "shutdown"})

# The reply to these methods is sent after the notifications that they cause. Emacs waits for the reply, and drops
# everything after it in the same piece.
SHOWN_FIRST: Final = frozenset(
    {f"chat/{name}" for name in ("addFlag", "clear", "delete", "fork", "removeFlag", "revert", "rollback", "update")}
)


def parse_params(spoken: dialect.Dialect, method: str, params: Any) -> Model:
    """Read the params of a method. Raises: RemoteError that names the field."""
    try:
        return METHODS[method].parse(dialect.translate_incoming(spoken, method, params))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "params"
        raise RemoteError(f"{method}: {place}: {first['msg']}", ErrorCode.INVALID_PARAMS) from error
