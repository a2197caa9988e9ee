"""Stores the sign-ins to MCP servers, by the address of the server. They are stored where the keys of providers are: in
the keyring of the system, or else in the memory of this process.

It must not sign in to servers: `oauth.py` does. `sign_ins.py` keeps the sign-ins that are used now.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from jupyter_eca.config.credentials import StoredKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.config.credentials import KeyStore

_log = logging.getLogger(__name__)

# The number of registrations that are kept for a server. There is one for each redirect URI: a few ports and a few
# Jupyter servers.
_MAX_CLIENTS: Final = 8


class TokenGrant(BaseModel):
    """Tokens, and everything that is needed to renew them. The dicts are models of the SDK as JSON."""

    model_config = ConfigDict(frozen=True)

    client: dict[str, Any]
    """The OAuth client that the tokens were issued to."""
    tokens: dict[str, Any]
    """The access token, and the refresh token if there is one."""
    expires: float | None = None
    """When the access token expires, in seconds since 1970."""
    metadata: dict[str, Any] | None = None
    """The metadata of the authorization server."""
    resource: dict[str, Any] | None = None
    """The metadata of the protected resource."""


class StoredSignIn(BaseModel):
    """What is stored for one server."""

    model_config = ConfigDict(frozen=True)

    grant: TokenGrant | None = None
    """The tokens; None when nobody is signed in."""
    clients: dict[str, dict[str, Any]] = {}
    """Our registrations as an OAuth client, by redirect URI."""


class SignInStore:
    """Stores sign-ins in a `KeyStore`."""

    def __init__(self, store: KeyStore) -> None:
        self._store = store
        # Held while something is read, changed and stored again, so that no change is lost.
        self._writing = asyncio.Lock()

    async def load(self) -> None:
        """Read everything that is stored."""
        await asyncio.to_thread(self._store.load)

    def get(self, url: str) -> StoredSignIn:
        """Return what is stored for a server, as of the last `load` or change. This does not block."""
        found = self._store.get(_make_key(url))
        try:
            return StoredSignIn.model_validate_json(found.key) if found is not None else StoredSignIn()
        except ValidationError:
            return StoredSignIn()

    async def store_grant(self, url: str, grant: TokenGrant) -> bool:
        """Store a grant. Return whether it survives a restart of our program."""
        return await self._change(url, lambda stored: stored.model_copy(update={"grant": grant}))

    async def store_registration(self, url: str, address: str, client: dict[str, Any] | None) -> None:
        """Store our registration for a redirect URI. None removes it, because the server no longer knows it."""

        def change(stored: StoredSignIn) -> StoredSignIn:
            """Put the registration before the others, and forget the oldest ones."""
            others = {uri: other for uri, other in stored.clients.items() if uri != address}
            newest = {address: client, **others} if client is not None else others
            return stored.model_copy(update={"clients": dict(list(newest.items())[:_MAX_CLIENTS])})

        await self._change(url, change)

    async def forget(self, url: str) -> None:
        """Remove everything that is stored for a server. Raises: OSError."""
        async with self._writing:
            await asyncio.to_thread(self._store.forget, _make_key(url))

    async def _change(self, url: str, change: Callable[[StoredSignIn], StoredSignIn]) -> bool:
        """Change what is stored for a server. Return whether the change survives a restart of our program."""

        def write() -> bool:
            """Read, change and store the sign-in. This blocks."""
            self._store.load()
            return self._store.store(_make_key(url), StoredKey(change(self.get(url)).model_dump_json()))

        async with self._writing:
            try:
                return await asyncio.to_thread(write)
            except OSError as error:
                _log.warning("the sign-in to %s is not kept for the next start: %s", _make_key(url), error.strerror)
                return False


def _make_key(url: str) -> str:
    """Return the key for a server: its address without a password, a query and a fragment."""
    split = urlsplit(url)
    host = f"[{split.hostname}]" if ":" in (split.hostname or "") else split.hostname
    port = f":{split.port}" if split.port else ""
    return f"mcp:{split.scheme}://{host}{port}{split.path.rstrip('/')}"
