"""What a client of any revision says, as the model that its row of the table has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol import dialect
from jupyter_eca.protocol.jsonrpc import Code
from jupyter_eca.protocol.methods import METHODS

if TYPE_CHECKING:
    from jupyter_eca.protocol.base import Model


def parsed(spoken: dialect.Dialect, method: str, params: Any) -> Model:
    """Raises: RemoteError that names the place."""
    try:
        return METHODS[method].parse(dialect.incoming(spoken, method, params))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "params"
        raise RemoteError(f"{method}: {place}: {first['msg']}", Code.INVALID_PARAMS) from error
