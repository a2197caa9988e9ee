"""The chats that kernels of a notebook asked in: the only ones that its kernels may see. They outlive the server, so a
notebook that is opened another day goes on with its own.
"""

from __future__ import annotations

from collections import UserDict
from functools import partial
from typing import TYPE_CHECKING

from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_eca.apps.server.app import Rooms
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.base import ChatId


class Owned(UserDict[str, "ChatId"]):
    """By the host's id, as a session writes them; `keep` is called with each that comes."""

    def __init__(self, chats: Iterable[str] = (), keep: Callable[[str], None] = lambda _: None) -> None:
        super().__init__()
        self.data.update({chat: chat for chat in chats})
        self._keep = keep

    def __setitem__(self, chat: str, wire_id: ChatId) -> None:
        new = chat not in self.data
        super().__setitem__(chat, wire_id)
        if new:
            self._keep(chat)


class Books:
    """Knows notebooks by where they are: one that was moved begins anew."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        self._owned: dict[str, Owned] = {}

    async def owned(self, notebook: str, kernel: str) -> Owned:
        """Those of a kernel that belongs to no notebook end with it."""
        if not notebook:
            return self._owned.setdefault(kernel, Owned())
        if notebook not in self._owned:
            try:
                host = await self._rooms.host()
            except ConfigError:
                # What is asked next tells it. The session after that finds what is kept.
                return Owned()
            chats = await host.store.do(lambda tables: tables.asked_in(notebook))
            self._owned.setdefault(notebook, Owned(chats, partial(self._keep, host, notebook)))
        return self._owned[notebook]

    def _keep(self, host: Host, notebook: str, chat: str) -> None:
        self._rooms.child(host.store.do(lambda tables: tables.ask_in(notebook, chat)))
