"""Owns the list of a notebook's chats: the chats in which its kernels asked something. A kernel may see the chats of
its notebook and no others.

The list is stored, so that a notebook can continue its chats on another day. This module must not know the sessions of
kernels: `kernel_comms.py` gives each session the `KernelChats` of its notebook.
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
    """The chats that a kernel may see. A key is the id of a chat in the host. Its value is the id that the kernel's
    sessions use for it on the wire."""

    def __init__(self, chats: Iterable[str] = (), store: Callable[[str], None] = lambda _: None) -> None:
        """`store` is called with the id of each chat that is added later."""
        super().__init__()
        self.data.update({chat: chat for chat in chats})
        self._store = store

    def __setitem__(self, chat: str, wire_id: ChatId) -> None:
        """Add a chat. Store it if it is new."""
        is_new = chat not in self.data
        super().__setitem__(chat, wire_id)
        if is_new:
            self._store(chat)


class NotebookChats:
    """The chats of all notebooks, by path. The stored ones follow a renamed notebook, see `renamed_notebooks`."""

    def __init__(
        self, get_host: Callable[[], Awaitable[Host]], start_child: Callable[[Coroutine[Any, Any, None]], object]
    ) -> None:
        """`get_host()` returns the server's host, or raises ConfigError. `start_child()` runs a coroutine as a task
        that is cancelled when the server ends."""
        self._get_host = get_host
        self._start_child = start_child
        # By the path of the notebook, or by the id of a kernel that has no notebook.
        self._chats: dict[str, KernelChats] = {}

    async def find_chats(self, notebook: str, kernel: str) -> KernelChats:
        """Return the chats of a kernel's notebook. `notebook` is its path, `kernel` the id of the kernel. If the path
        is empty, the kernel has no notebook, and its chats are not stored."""
        if not notebook:
            return self._chats.setdefault(kernel, KernelChats())
        if notebook not in self._chats:
            try:
                host = await self._get_host()
            except ConfigError:
                # The kernel gets this error as the answer to its first request. The next session tries again, and then
                # finds the stored chats.
                return KernelChats()
            await host.notebook_ids.follow_move(notebook)
            chats = await host.store.do(lambda tables: tables.list_linked_chats(notebook))
            self._chats.setdefault(notebook, KernelChats(chats, partial(self._store, host, notebook)))
        return self._chats[notebook]

    def _store(self, host: Host, notebook: str, chat: str) -> None:
        """Store, in a task, that a chat belongs to a notebook."""
        self._start_child(host.store.do(lambda tables: tables.link_notebook(notebook, chat)))
