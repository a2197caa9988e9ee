"""Who may log in where: the logins of this process, by the server's name. Nothing is kept on disk."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING

from jupyter_eca.errors import McpRefusal

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

    from jupyter_eca.config import McpServerConfig
    from jupyter_eca.workspace.mcp.oauth import Login


class Credentials:
    def __init__(self, authorize: Callable[[str, str], None] | None) -> None:
        self._authorize = authorize
        self._logins: dict[str, Login] = {}

    async def ask(self, name: str, settings: McpServerConfig) -> None:
        """The next start may ask its user to log in. Raises: McpRefusal."""
        authorize = self._authorize
        if authorize is None:
            raise McpRefusal("requires-auth", "There is nobody here who could log in.")
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.workspace.mcp.oauth")
        from jupyter_eca.workspace.mcp.oauth import Login

        self.forget(name)
        try:
            self._logins[name] = Login(settings, lambda url: authorize(name, url))
        except OSError as error:
            raise McpRefusal("requires-auth", f"The port for the login cannot be had: {error.strerror}.") from error

    def auth(self, name: str) -> httpx2.Auth | None:
        return self._logins[name].provider if name in self._logins else None

    def asking(self, name: str) -> bool:
        return name in self._logins and not self.has(name)

    def has(self, name: str) -> bool:
        return name in self._logins and self._logins[name].tokens is not None

    def forget(self, name: str) -> None:
        if login := self._logins.pop(name, None):
            login.close()
