"""Owns the sign-ins of this process to all MCP servers, by the name of the server.

It must not decide the status of a server: `server.py` does. `oauth.py` has the sign-in to one server, and
`sign_in_store.py` stores sign-ins by address. The SDK (the package `mcp`) is imported only when a user signs in, or
when a stored sign-in is used.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING

from jupyter_eca.errors import McpRefusal
from jupyter_eca.mcp_client.sign_in import SignInAttempt
from jupyter_eca.mcp_client.sign_in_store import SignInStore, StoredSignIn

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SecretStr

    from jupyter_eca.config import McpServerConfig, credentials
    from jupyter_eca.mcp_client.oauth import ServerSignIn
    from jupyter_eca.mcp_client.sign_in import Browser, Say


class SignIns:
    """The sign-ins of this process. `store` is where keys are stored. `find_url_refusal` returns why the
    administrator's policy does not allow an address."""

    def __init__(self, store: credentials.KeyStore, find_url_refusal: Callable[[str], str]) -> None:
        self._store = SignInStore(store)
        self._find_url_refusal = find_url_refusal
        self._sign_ins: dict[str, ServerSignIn] = {}
        self._lock = asyncio.Lock()  # held while a sign-in with a browser is prepared

    async def load(self) -> None:
        """Load the stored sign-ins. Call it before the other methods."""
        await self._store.load()

    async def prepare(self, name: str, settings: McpServerConfig, browser: Browser, say: Say) -> None:
        """Prepare a sign-in with a browser, which the next start of the server uses. An attempt in progress is given
        up. `say` shows messages to the user.

        Raises: McpRefusal when the browser cannot come back, because the port for it is not free.
        """
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.mcp_client.oauth")
        from jupyter_eca.mcp_client.oauth import ServerSignIn

        async with self._lock:
            wanted_scope = (
                before.wanted_scope if (before := self._sign_ins.get(name)) and before.url == settings.url else None
            )
            self.drop(name, "another sign-in was begun")
            await self._store.load()
            stored = self._store.get(settings.url or "")
            try:
                landing = await browser.prepare_landing(settings.oauth_port, tuple(stored.clients))
            except OSError as error:
                why = f"The port for the sign-in is not available: {error.strerror}."
                raise McpRefusal("requires-auth", why) from error
            self._sign_ins[name] = ServerSignIn(
                settings,
                self._store,
                stored,
                SignInAttempt(name, landing, say),
                wanted_scope=wanted_scope,
                find_url_refusal=self._find_url_refusal,
            )

    def prepare_session(self, name: str, settings: McpServerConfig) -> ServerSignIn | None:
        """Prepare the sign-in for a new session, and return it; None when no user is about to sign in, and no tokens
        are stored that can be used with these settings. A sign-in to another address, or one without tokens, is given
        up."""
        sign_in = self._sign_ins.get(name)
        if sign_in is not None and sign_in.url == settings.url and (sign_in.attempt or sign_in.grant):
            return sign_in
        self.drop(name, "the server was changed")
        stored = self._store.get(settings.url or "")
        if stored.grant is None:
            return None
        from jupyter_eca.mcp_client.oauth import ServerSignIn, find_usable_grant

        if find_usable_grant(stored, settings) is None:
            return None
        sign_in = self._sign_ins[name] = ServerSignIn(settings, self._store, stored, None)
        return sign_in

    async def prepare_retry(self, name: str, settings: McpServerConfig) -> bool:
        """After the server refused our tokens, prepare the sign-in for another session, and return whether that may
        succeed. If another process has stored newer tokens, the session uses them. Otherwise it renews ours first,
        because the SDK renews tokens only when they expire. It cannot succeed if they cannot be renewed: there is no
        refresh token, or the last session failed to renew them."""
        sign_in = self._sign_ins.get(name)
        if sign_in is None or sign_in.grant is None or sign_in.url != settings.url:
            return False
        await self._store.load()
        from jupyter_eca.mcp_client.oauth import ServerSignIn, find_usable_grant

        stored = self._store.get(sign_in.url)
        grant = find_usable_grant(stored, settings)
        is_newer = grant is not None and grant != sign_in.grant
        if not is_newer and (sign_in.stale or not sign_in.can_renew):
            return False
        if self._sign_ins.get(name) is sign_in:
            stored = stored if is_newer else StoredSignIn(grant=sign_in.grant)
            self._sign_ins[name] = ServerSignIn(
                settings, self._store, stored, None, stale=not is_newer, wanted_scope=sign_in.wanted_scope
            )
        return True

    def has_sign_in(self, name: str, settings: McpServerConfig) -> bool:
        """Return whether there are tokens for a server, in this process or in the store."""
        if settings.url is None:
            return False
        sign_in = self._sign_ins.get(name)
        is_signed_in = sign_in is not None and sign_in.url == settings.url and sign_in.grant is not None
        return is_signed_in or self._store.get(settings.url).grant is not None

    def list_secrets(self, name: str) -> tuple[SecretStr, ...]:
        """Return the secrets of a sign-in, which must be redacted everywhere."""
        sign_in = self._sign_ins.get(name)
        return sign_in.list_secrets() if sign_in else ()

    def drop(self, name: str, why: str) -> None:
        """Give up the sign-in of this process, for the reason `why`, which the user's browser shows. The stored sign-in
        is kept."""
        if sign_in := self._sign_ins.pop(name, None):
            sign_in.drop(why)

    async def forget(self, name: str, settings: McpServerConfig) -> None:
        """Sign out, and remove the stored sign-in. Raises: McpRefusal when it cannot be removed."""
        self.drop(name, "its user signed out")
        if settings.url:
            try:
                await self._store.forget(settings.url)
            except OSError as error:
                raise McpRefusal("not-written", f"The sign-in cannot be forgotten: {error.strerror}.") from error

    def close(self) -> None:
        """Give up all sign-ins, because the program ends."""
        for name in tuple(self._sign_ins):
            self.drop(name, "the program that you signed in from has ended")
