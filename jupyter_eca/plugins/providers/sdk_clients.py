"""The clients of the official SDKs: made off the event loop, cached for the next request, and closed with their
loop. It also explains errors of the connection; `failures` has the sentences.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import failures

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.plugins.providers.failures import RequestTarget

# ECA's own limits (3.12). A black-holed connect hangs for minutes without the first; the APIs ping every few seconds,
# so a silence as long as the second means that nobody is there any more.
CONNECT_SECONDS = 15.0
IDLE_SECONDS = 120.0

# Somebody who types in a key is waiting for the answer.
CHECK_SECONDS = 10.0

# The SDKs look for keys in the environment and in files unless they are given one: a server that needs none gets this.
NO_KEY = "none"

# A proxy cannot reach this machine's own servers, and the environment often forgets to say so.
DIRECT: dict[str, Any] = {"all://": None, "http://": None, "https://": None}

# Compressed events arrive when the compressor's buffer is full, not when they happen.
PLAINLY = {"Accept-Encoding": "identity"}

_MISSING_KEY = (
    "There is no key for {api}. Set {variable} in the environment and restart Jupyter or your editor, "
    "or set `providers.{provider}.key` in ~/.config/eca/config.json."
)
_ODD_KEY = "The key for {url} has characters no key has. Copy `providers.{provider}.key` or {variable} again."
_NO_URL = "`providers.{provider}.url` is no address: it must start with https:// or http://."


class Closing(Protocol):
    async def close(self) -> None: ...


Client = TypeVar("Client", bound=Closing)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait for a connection, and for the next data on it."""

    connect: float = CONNECT_SECONDS
    idle: float = IDLE_SECONDS

    def configure(self, settings: ProviderConfig) -> Patience:
        """Apply the limits of the configuration."""
        return Patience(
            settings.connect_timeout_seconds or self.connect, settings.stream_idle_timeout_seconds or self.idle
        )


PATIENCE = Patience()


def check_target(asked: RequestTarget, *, needs_key: bool, vendor: str) -> RequestTarget:
    """Return the target if it is valid. Raises: ProviderError, where an SDK would raise an error that shows the key, or
    none at all."""
    if needs_key and not asked.key:
        raise ProviderError(asked.say(_MISSING_KEY.replace("{api}", vendor)), kind=failures.kind_of(401)[0])
    if not (asked.key.isascii() and asked.key.isprintable()):
        raise ProviderError(asked.say(_ODD_KEY), kind=failures.kind_of(401)[0])
    try:
        parts = urlsplit(asked.url)
        good = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
    except ValueError:
        good = False
    if not good:
        raise ProviderError(_NO_URL.format(provider=asked.provider))
    return asked


def explain_connection_error(cause: BaseException | None, asked: RequestTarget, patience: Patience) -> ProviderError:
    """Explain an error of the connection."""
    import httpx2

    match cause:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return failures.explain_connect_timeout(asked, patience.connect)
        case httpx2.TimeoutException():
            return failures.explain_stall(asked, patience.idle)
        case httpx2.ConnectError() | httpx2.ProxyError():
            return failures.explain_unreachable(asked, cause)
        case httpx2.HTTPError() | httpx2.StreamError():
            return failures.explain_disconnect(asked)
        case _:
            return failures.explain_wrong_api(asked)


# Kept so that a turn of many requests makes one connection, and for each event loop apart: connections belong to one.
# With each is the generator that closes it.
_Place = tuple[asyncio.AbstractEventLoop, str, str, str, Patience]
_clients: dict[_Place, tuple[Closing, AsyncGenerator[None]]] = {}


async def get_client(
    sdk: str, asked: RequestTarget, patience: Patience, make: Callable[[RequestTarget, Patience], Client]
) -> Client:
    """Return the cached client, or make one. `make` runs in a thread: the first import of an SDK takes seconds."""
    place = (asyncio.get_running_loop(), sdk, asked.url, asked.key, patience)
    if place not in _clients:
        fresh = await asyncio.to_thread(make, asked, patience)
        if place in _clients:
            await fresh.close()  # another request was quicker
        else:
            end = _end(place)
            _clients[place] = (fresh, end)
            await anext(end)
    return cast("Client", _clients[place][0])


async def _end(place: _Place) -> AsyncGenerator[None]:
    """Close a client with its event loop: a loop that ends closes the generators that were started in it."""
    try:
        yield
    finally:
        await _clients.pop(place)[0].close()
