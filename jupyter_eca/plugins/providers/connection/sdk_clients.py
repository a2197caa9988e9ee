"""Owns the clients of the official SDKs: they are made in a thread, cached for the next request, and closed with their
event loop. It also checks the target of a request, and explains errors of connections.

It must not know an API: the providers do. `failures` has the messages of errors.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.connection import failures

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.plugins.providers.connection.failures import RequestTarget

# The seconds to wait for a connection, which could otherwise hang for minutes, and the seconds to wait for the next
# data. Both are the same in ECA 3.12. The APIs send a ping every few seconds, so a server that is silent for such a
# long time does not answer any more.
CONNECT_SECONDS = 15.0
IDLE_SECONDS = 120.0

# The seconds that a check of a key may take, because the user who has typed it in is waiting.
CHECK_SECONDS = 10.0

# The key for a server that needs none. Without a key, the SDKs would look for one in the environment and in files.
NO_KEY = "none"

# The setting that bypasses a proxy, for servers on this machine. A proxy cannot reach them, and the environment often
# does not exclude them.
DIRECT: dict[str, Any] = {"all://": None, "http://": None, "https://": None}

# The headers that request an uncompressed stream. Compressed events arrive only when the compressor's buffer is full.
UNCOMPRESSED = {"Accept-Encoding": "identity"}

# The errors that users read.
_MISSING_KEY = (
    "There is no key for {api}. Set {variable} in the environment and restart Jupyter or your editor, "
    "or set `providers.{provider}.key` in ~/.config/eca/config.json."
)
_ODD_KEY = "The key for {url} has characters no key has. Copy `providers.{provider}.key` or {variable} again."
_NO_URL = "`providers.{provider}.url` is no address: it must start with https:// or http://."
_NO_EXTRA = (
    '{vendor} needs packages that are not installed. Run `pip install "jupyter-eca[{extra}]"` where Jupyter or your '
    "editor runs, and restart it."
)
_FOREIGN = (
    "A file of this project sets the address of {vendor}, so your own credentials are not sent there. "
    "Set the address in ~/.config/eca/config.json, or set a key beside it."
)


class ClosableClient(Protocol):
    """A client that can be closed."""

    async def close(self) -> None:
        """Close all connections."""
        ...


Client = TypeVar("Client", bound=ClosableClient)


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """The time limits of a client."""

    connect_seconds: float = CONNECT_SECONDS
    """How long to wait for a connection."""
    idle_seconds: float = IDLE_SECONDS
    """How long to wait for the next data."""

    def configure(self, settings: ProviderConfig) -> TimeLimits:
        """Return the limits of the configuration, with these as defaults."""
        return TimeLimits(
            settings.connect_timeout_seconds or self.connect_seconds,
            settings.stream_idle_timeout_seconds or self.idle_seconds,
        )


# The time limits of most providers.
TIME_LIMITS = TimeLimits()


def check_target(target: RequestTarget, *, needs_key: bool, vendor: str) -> RequestTarget:
    """Return the target if it is valid. `needs_key`: without a key it is not. `vendor` is the name of the provider in
    the error about a missing key.

    Raises: ProviderError. For such a target an SDK would raise an error that shows the key, or no error at all.
    """
    if needs_key and not target.key:
        raise ProviderError(
            target.fill_in(_MISSING_KEY.replace("{api}", vendor)), kind=failures.classify_status(401)[0]
        )
    if not (target.key.isascii() and target.key.isprintable()):
        raise ProviderError(target.fill_in(_ODD_KEY), kind=failures.classify_status(401)[0])
    try:
        parts = urlsplit(target.url)
        # `port` is None for no port, and raises ValueError for one that is no number.
        is_valid = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ProviderError(_NO_URL.format(provider=target.provider))
    return target


def require_extra(extra: str, package: str, vendor: str) -> None:
    """Check that the package of an extra is installed. An extra is a group of optional dependencies: it is named in
    `pip install "jupyter-eca[EXTRA]"`. `vendor` is the name for the error. Raises: ProviderError."""
    try:
        installed = find_spec(package) is not None
    except ModuleNotFoundError:  # the package above it is missing
        installed = False
    if not installed:
        raise ProviderError(_NO_EXTRA.format(vendor=vendor, extra=extra))


def check_own_address(settings: ProviderConfig, vendor: str) -> None:
    """Check that the credentials of the machine may be sent to the address of these settings. If a file of a project
    has set the address, they may not, because a project must not be able to get them. Raises: ProviderError."""
    if settings.foreign_address and not settings.read_key():
        raise ProviderError(_FOREIGN.format(vendor=vendor), kind=failures.classify_status(401)[0])


def explain_connection_error(
    cause: BaseException | None, target: RequestTarget, time_limits: TimeLimits
) -> ProviderError:
    """Return the error to show for an error of the connection."""
    import httpx2

    match cause:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return failures.explain_connect_timeout(target, time_limits.connect_seconds)
        case httpx2.TimeoutException():
            return failures.explain_stall(target, time_limits.idle_seconds)
        case httpx2.ConnectError() | httpx2.ProxyError():
            return failures.explain_unreachable(target, cause)
        case httpx2.HTTPError() | httpx2.StreamError():
            return failures.explain_disconnect(target)
        case _:
            return failures.explain_wrong_api(target)


# The cached clients, so that a turn with many requests makes one connection. The event loop is a part of the key,
# because a connection belongs to one loop. Each client is stored with the generator that closes it.
_ClientKey = tuple[asyncio.AbstractEventLoop, str, str, str, TimeLimits]
_clients: dict[_ClientKey, tuple[ClosableClient, AsyncGenerator[None]]] = {}


async def get_client(
    plug: str, target: RequestTarget, time_limits: TimeLimits, make: Callable[[RequestTarget, TimeLimits], Client]
) -> Client:
    """Return the cached client, or make one. `plug` is the name of the provider plug, because each plug may make
    clients of another class. `make` runs in a thread, because the first import of an SDK takes seconds."""
    key = (asyncio.get_running_loop(), plug, target.url, target.key, time_limits)
    if key not in _clients:
        new_client = await asyncio.to_thread(make, target, time_limits)
        if key in _clients:
            await new_client.close()  # another request was quicker
        else:
            closer = _close_with_loop(key)
            _clients[key] = (new_client, closer)
            await anext(closer)
    return cast("Client", _clients[key][0])


async def _close_with_loop(key: _ClientKey) -> AsyncGenerator[None]:
    """Close a client when its event loop ends: a loop then closes all generators that were started in it."""
    try:
        yield
    finally:
        await _clients.pop(key)[0].close()
