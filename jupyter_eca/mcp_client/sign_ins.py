"""The sign-ins of this process by server name, and what is stored of them by address. It decides nothing about a
server's status; `oauth` is one of them, `sign_in_store` stores them.

Imports no SDK before somebody signs in, or is.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING

from jupyter_eca.errors import McpRefusal
from jupyter_eca.mcp_client.sign_in import Visit
from jupyter_eca.mcp_client.sign_in_store import SignInStore, StoredSignIn

if TYPE_CHECKING:
    from pydantic import SecretStr

    from jupyter_eca.config import McpServerConfig, credentials
    from jupyter_eca.mcp_client.oauth import ServerSignIn
    from jupyter_eca.mcp_client.sign_in import Browser, Say


class SignIns:
    def __init__(self, store: credentials.KeyStore) -> None:
        self._keeping = SignInStore(store)
        self._logins: dict[str, ServerSignIn] = {}
        self._asking = asyncio.Lock()

    async def load(self) -> None:
        """Load what is stored. Call it before asking whether anything is stored."""
        await self._keeping.load()

    async def ask(self, name: str, settings: McpServerConfig, browser: Browser, say: Say) -> None:
        """Let the next start ask the user to sign in. An attempt in progress ends. Raises: McpRefusal."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.mcp_client.oauth")
        from jupyter_eca.mcp_client.oauth import ServerSignIn

        async with self._asking:
            wants = before.wants if (before := self._logins.get(name)) and before.url == settings.url else None
            self.drop(name, "another sign-in was begun")
            await self._keeping.load()
            kept = self._keeping.get(settings.url or "")
            try:
                landing = await browser.land(settings.oauth_port, tuple(kept.clients))
            except OSError as error:
                why = f"The port for the sign-in is not available: {error.strerror}."
                raise McpRefusal("requires-auth", why) from error
            self._logins[name] = ServerSignIn(settings, self._keeping, kept, Visit(name, landing, say), wants=wants)

    def login(self, name: str, settings: McpServerConfig) -> ServerSignIn | None:
        """Return the sign-in that a session begins with."""
        login = self._logins.get(name)
        if login is not None and login.url == settings.url and (login.visit or login.grant):
            return login
        self.drop(name, "the server was changed")
        kept = self._keeping.get(settings.url or "")
        if kept.grant is None:
            return None
        from jupyter_eca.mcp_client.oauth import ServerSignIn, find_usable_grant

        if find_usable_grant(kept, settings) is None:
            return None
        login = self._logins[name] = ServerSignIn(settings, self._keeping, kept, None)
        return login

    async def again(self, name: str, settings: McpServerConfig) -> bool:
        """Whether another attempt is worth it after a refusal: another process signed in or renewed the tokens, or
        nobody has tried to renew them yet. (The SDK renews by the clock alone.)"""
        login = self._logins.get(name)
        if login is None or login.grant is None or login.url != settings.url:
            return False
        await self._keeping.load()
        from jupyter_eca.mcp_client.oauth import ServerSignIn, find_usable_grant

        kept = self._keeping.get(login.url)
        grant = find_usable_grant(kept, settings)
        newer = grant is not None and grant != login.grant
        if not newer and (login.stale or not login.renewable):
            return False
        if self._logins.get(name) is login:
            kept = kept if newer else StoredSignIn(grant=login.grant)
            self._logins[name] = ServerSignIn(settings, self._keeping, kept, None, stale=not newer, wants=login.wants)
        return True

    def has(self, name: str, settings: McpServerConfig) -> bool:
        if settings.url is None:
            return False
        login = self._logins.get(name)
        live = login is not None and login.url == settings.url and login.grant is not None
        return live or self._keeping.get(settings.url).grant is not None

    def secrets(self, name: str) -> tuple[SecretStr, ...]:
        """Return the secrets that must appear nowhere."""
        login = self._logins.get(name)
        return login.secrets() if login else ()

    def drop(self, name: str, why: str) -> None:
        """Forget the sign-in of this process; what is stored stays."""
        if login := self._logins.pop(name, None):
            login.drop(why)

    async def forget(self, name: str, settings: McpServerConfig) -> None:
        """Sign out and remove what is stored. Raises: McpRefusal when it cannot be removed."""
        self.drop(name, "its user signed out")
        if settings.url:
            try:
                await self._keeping.forget(settings.url)
            except OSError as error:
                raise McpRefusal("not-written", f"The sign-in cannot be forgotten: {error.strerror}.") from error

    def close(self) -> None:
        for name in tuple(self._logins):
            self.drop(name, "the program that you signed in from has ended")
