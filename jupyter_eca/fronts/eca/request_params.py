"""Owns the parsing of a request's params into the model of its method, for clients of every revision of ECA. It also
knows two properties of methods: which a client may send first, and which are answered last.

It must not know what a method does. `protocol/dialect/` translates the params of older revisions, and the table of
methods is in `protocol/methods.py`.
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

# The methods that a client may send before it is initialized. An editor that gives up early still sends `shutdown`.
BEFORE_INITIALIZE: Final = frozenset({"initialize", "shutdown"})

# For these methods, the reply is sent after the notifications that they cause. Emacs waits for the reply, and drops
# everything that comes after it in the same piece of data.
REPLY_LAST: Final = frozenset(
    {f"chat/{name}" for name in ("addFlag", "clear", "delete", "fork", "removeFlag", "revert", "rollback", "update")}
)


def parse_params(revision: dialect.Dialect, method: str, params: Any) -> Model:
    """Parse the params of a method from a client that speaks this revision of ECA. Raises: RemoteError that names the
    field that is wrong."""
    try:
        # Until `initialize` is read, nobody knows whether the client is one of ours, which need no translation.
        is_ours = revision is dialect.Dialect.OWN and method != "initialize"
        return METHODS[method].parse(params if is_ours else dialect.translate_incoming(revision, method, params))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "params"
        raise RemoteError(f"{method}: {place}: {first['msg']}", ErrorCode.INVALID_PARAMS) from error
