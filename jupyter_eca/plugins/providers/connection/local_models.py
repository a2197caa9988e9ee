"""Asks servers of OpenAI's APIs on this machine which models they have. The standard library does it, because the SDK
takes seconds to import.

A known server, such as vLLM, has a usual address. Any other program may use the same address: JupyterHub has the port
of vLLM, and many web servers have that of llama.cpp. So a known server is recognised by its answer, and no key is sent
before that. This module must not contain the known servers: `presets` has them.
"""

from __future__ import annotations

import json
import time
import urllib.request
from http import HTTPStatus
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPResponse

# The seconds to wait for the list of models. A running server answers in a few milliseconds. If no server runs, the
# connection is refused immediately.
LIST_SECONDS: Final = 0.3

# A list of models is shorter. Another program may send data without an end.
_MAX_BYTES: Final = 1_000_000
_CHUNK_BYTES: Final = 65_536

# The seconds for which a program that is not the known server is left alone. Models are listed often, and each request
# is a line in the log of that program.
_PAUSE_SECONDS: Final = 60.0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect. It may lead to another machine, and `urllib` would send the key there."""

    def redirect_request(self, *_args: Any, **_named: Any) -> None:
        """Return no request, so that the redirect is an error."""


def list_models(address: str, key: str) -> tuple[str, ...]:
    """Return the models that a server on this machine lists, none if no such server answers. For a known server, see
    `KnownServers`. Blocks."""
    try:
        return tuple(str(model["id"]) for model in _read_list(address, key))
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return ()  # no server, or another kind of server


class KnownServers:
    """The known servers at their usual addresses, and the other programs that were found there."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        self._clock = clock
        # The addresses at which another program was found, and the time of the clock at which each is asked again.
        self._paused_until: dict[str, float] = {}

    def list_models(self, address: str, owner: str) -> tuple[str, ...]:
        """Return the models of a known server, none if it does not run here. `owner` is the value of `owned_by` that
        it writes into each model. Blocks."""
        if self._clock() < self._paused_until.get(address, 0.0):
            return ()
        try:
            found = tuple(str(model["id"]) for model in _read_list(address, "") if model["owned_by"] == owner)
        except HTTPError as error:
            # llama.cpp answers so while it loads its model.
            is_foreign = error.code != HTTPStatus.SERVICE_UNAVAILABLE
            found = ()
        except ConnectionRefusedError:
            return ()
        except (OSError, HTTPException, ValueError, LookupError, TypeError) as error:
            # urllib wraps the error of a refused connection.
            is_foreign = not isinstance(getattr(error, "reason", None), ConnectionRefusedError)
            found = ()
        else:
            is_foreign = not found
        if is_foreign:
            self._paused_until[address] = self._clock() + _PAUSE_SECONDS
        return found


def _read_list(address: str, key: str) -> list[Any]:
    """Return the models in the answer of a server, as they are in its JSON. Raises: OSError, HTTPException, ValueError,
    LookupError, TypeError."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)  # a proxy cannot reach us
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310  # ours
    try:
        with opener.open(request, timeout=LIST_SECONDS) as answer:
            return json.loads(_read_all(answer))["data"]
    except HTTPError as error:
        error.close()  # it has the connection
        raise


def _read_all(answer: HTTPResponse) -> bytes:
    """Return the whole body of an answer. Raises: TimeoutError for one that comes too slowly; ValueError for one that
    is too long."""
    deadline, parts, size = time.monotonic() + LIST_SECONDS, list[bytes](), 0
    while part := answer.read1(_CHUNK_BYTES):
        parts.append(part)
        size += len(part)
        if size > _MAX_BYTES:
            raise ValueError("the answer is too long for a list of models")
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts)
