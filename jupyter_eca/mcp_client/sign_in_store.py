"""Stored sign-ins, by the server's address. They lie where the keys of providers lie: in a keyring, or in the memory
of this process. It signs in nobody: `oauth` does.
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

# Addresses at which we are registered, per server: a few ports, a few Jupyter servers.
_CLIENTS: Final = 8


class TokenGrant(BaseModel):
    """Tokens, the client that they were given to, and what is needed to renew them. `expires` is in seconds since
    1970."""

    model_config = ConfigDict(frozen=True)

    client: dict[str, Any]
    tokens: dict[str, Any]
    expires: float | None = None
    metadata: dict[str, Any] | None = None
    resource: dict[str, Any] | None = None


class StoredSignIn(BaseModel):
    """What is stored for one server. `clients` are our registrations, by the address that browsers come back to."""

    model_config = ConfigDict(frozen=True)

    grant: TokenGrant | None = None
    clients: dict[str, dict[str, Any]] = {}


class SignInStore:
    def __init__(self, store: KeyStore) -> None:
        self._store = store
        self._writing = asyncio.Lock()

    async def load(self) -> None:
        await asyncio.to_thread(self._store.load)

    def get(self, url: str) -> StoredSignIn:
        """Return what is stored, as of the last `load` or change. It does not block."""
        found = self._store.get(_key(url))
        try:
            return StoredSignIn.model_validate_json(found.key) if found is not None else StoredSignIn()
        except ValidationError:
            return StoredSignIn()

    async def grant(self, url: str, grant: TokenGrant) -> bool:
        """Store a grant; return whether it survives a restart."""
        return await self._change(url, lambda kept: kept.model_copy(update={"grant": grant}))

    async def register(self, url: str, address: str, client: dict[str, Any] | None) -> None:
        """Store a registration; None removes it, when the server no longer knows us."""

        def change(kept: StoredSignIn) -> StoredSignIn:
            others = {where: other for where, other in kept.clients.items() if where != address}
            newest = {address: client, **others} if client is not None else others
            return kept.model_copy(update={"clients": dict(list(newest.items())[:_CLIENTS])})

        await self._change(url, change)

    async def forget(self, url: str) -> None:
        """Remove what is stored for a server. Raises: OSError."""
        async with self._writing:
            await asyncio.to_thread(self._store.forget, _key(url))

    async def _change(self, url: str, change: Callable[[StoredSignIn], StoredSignIn]) -> bool:
        def write() -> bool:
            self._store.load()
            return self._store.store(_key(url), StoredKey(change(self.get(url)).model_dump_json()))

        async with self._writing:
            try:
                return await asyncio.to_thread(write)
            except OSError as error:
                _log.warning("the sign-in to %s is not kept for the next start: %s", _key(url), error.strerror)
                return False


def _key(url: str) -> str:
    """Return the address without the parts that may change while the server stays the same, and without a password."""
    split = urlsplit(url)
    host = f"[{split.hostname}]" if ":" in (split.hostname or "") else split.hostname
    port = f":{split.port}" if split.port else ""
    return f"mcp:{split.scheme}://{host}{port}{split.path.rstrip('/')}"
