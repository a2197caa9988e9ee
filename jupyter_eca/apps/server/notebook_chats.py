"""Owns which chats the kernels of a notebook prompted in. Its kernels may see these chats and no others.

The list is stored, so that a notebook that is opened another day continues its own chats. It must not know the sessions
of kernels: `kernel_comms.py` gives each of them the `KernelChats` of its notebook.
"""

from __future__ import annotations

from collections import UserDict
from functools import partial
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable

    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.base import ChatId


class KernelChats(UserDict[str, "ChatId"]):
    """The chats that one kernel may see: the host's id, and the id that its sessions write."""

    def __init__(self, chats: Iterable[str] = (), store: Callable[[str], None] = lambda _: None) -> None:
        """`store` is called with the id of each chat that is added later."""
        super().__init__()
        self.data.update({chat: chat for chat in chats})
        self._store = store

    def __setitem__(self, chat: str, wire_id: ChatId) -> None:
        is_new = chat not in self.data
        super().__setitem__(chat, wire_id)
        if is_new:
            self._store(chat)


class NotebookChats:
    """The chats of all notebooks. A notebook is identified by its path: after a move it starts without chats."""

    def __init__(
        self, host: Callable[[], Awaitable[Host]], start: Callable[[Coroutine[Any, Any, None]], object]
    ) -> None:
        """`host` gives the server's host, or raises ConfigError. `start` runs work until the server ends."""
        self._host = host
        self._start = start
        self._chats: dict[str, KernelChats] = {}

    async def of_kernel(self, notebook: str, kernel: str) -> KernelChats:
        """Return the chats of a kernel's notebook. Without a notebook (""), the chats are forgotten with the kernel."""
        if not notebook:
            return self._chats.setdefault(kernel, KernelChats())
        if notebook not in self._chats:
            try:
                host = await self._host()
            except ConfigError:
                # The kernel's first request is answered with this error. The next session finds the stored chats.
                return KernelChats()
            chats = await host.store.do(lambda tables: tables.list_asked_in(notebook))
            self._chats.setdefault(notebook, KernelChats(chats, partial(self._store, host, notebook)))
        return self._chats[notebook]

    def _store(self, host: Host, notebook: str, chat: str) -> None:
        self._start(host.store.do(lambda tables: tables.add_asked_in(notebook, chat)))
