"""Owns the user's trust in the settings of folders: the user gives it and takes it back here. A project folder can
bring settings that run programs. Such settings are held back until the user trusts the folder. A folder stays trusted
when the assistant changes its settings at the user's request.

It must not know how the user was asked: the fronts do. `config.trust` has the settings that wait for trust.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from jupyter_eca.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from pathlib import Path

    from jupyter_eca.config import Config
    from jupyter_eca.config.trust import TrustedFolders
    from jupyter_eca.host.services import Current

T = TypeVar("T")

_CHANGED: Final = "The settings of this folder have changed since they were shown. Look at them again."
_NOT_STORED: Final = "Your answer cannot be stored: {reason}."


class FolderTrust:
    """The trust in the folders of one host."""

    def __init__(
        self,
        current: Current,
        trusted_folders: TrustedFolders | None,
        read_config: Callable[[], Config] | None,
        reload: Callable[[], Awaitable[None]],
    ) -> None:
        """`current` has the configuration that is in effect, with the settings that are held back. `trusted_folders`
        stores which folders are trusted; None for a host in which no folder can be trusted. `read_config` reads the
        configuration and blocks; None for a host whose configuration is never read again. `reload` reads it and puts it
        into effect."""
        self._current = current
        self._trusted = trusted_folders
        self._read = read_config
        self._reload = reload

    @property
    def trusts_all(self) -> bool:
        """Whether the settings of all folders are used, because the editor cannot ask its user."""
        return self._trusted is not None and self._trusted.trusts_all

    async def trust(self, folder: str, digest: str) -> None:
        """Trust the settings of a folder that are held back, and put them into effect. `digest` is that of the settings
        that the user has seen.

        Raises: LocalError when other settings are held back now than those that were shown.
        """
        held = [settings for settings in self._current.config.held_back if settings.digest == digest]
        if self._trusted is None or not any(settings.folder == folder for settings in held):
            raise LocalError(_CHANGED)
        try:
            await asyncio.to_thread(self._trusted.add, folder, digest)
        except OSError as error:
            raise LocalError(_NOT_STORED.format(reason=error.strerror)) from error
        await self._reload()

    async def withdraw(self, folders: Iterable[Path]) -> tuple[Path, ...]:
        """Take back the trust in the settings of these folders. Return the folders that were trusted.

        Raises: LocalError when this cannot be stored.
        """
        if (trusted := self._trusted) is None:
            return ()
        try:
            # `remove` returns whether the folder was trusted.
            found = await asyncio.to_thread(lambda: tuple(filter(trusted.remove, folders)))
        except OSError as error:
            raise LocalError(_NOT_STORED.format(reason=error.strerror)) from error
        await self._reload()
        return found

    async def keep_trust_during(self, change: Callable[[], T]) -> T:
        """Run the function `change`, which changes configuration files at the user's request, in a thread, and return
        its result.

        The user knows this change. So if no settings of a folder were held back before the change, the folder is
        trusted with its changed settings too. A folder with settings that are held back stays untrusted.
        """
        return await asyncio.to_thread(self._keep_trust_during, change)

    def _keep_trust_during(self, change: Callable[[], T]) -> T:
        """Do the work of `keep_trust_during`. Blocks."""
        if self._read is None or self._trusted is None:
            return change()
        untrusted = {settings.folder for settings in self._read().held_back}
        result = change()
        for settings in self._read().held_back:
            if settings.folder not in untrusted:
                self._trusted.add(settings.folder, settings.digest)
        return result
