"""Owns the open fronts of one server: a front is opened for its first client, and closed with the server.

It must not know any front, nor the server. `base.py` says what a front is, `apps/server/` routes clients here.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.errors import LocalError
from jupyter_eca.fronts.base import Front, LinkFront
from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from starlette.types import ASGIApp

    from jupyter_eca.fronts.base import Shells
    from jupyter_eca.host.host import Host
    from jupyter_eca.transport.link import Link


class UnknownFront(LocalError):
    """There is no front of that name."""


class FrontMount:
    """The fronts of one server, by name."""

    def __init__(self, host: Callable[[], Awaitable[Host]], shells: Callable[[], Shells | None]) -> None:
        """`host` raises ConfigError if there is none; the next client tries again."""
        self._host = host
        self._shells = shells
        self._fronts: dict[str, object] | None = None
        self._opening: dict[str, asyncio.Task[Any]] = {}
        self._open: set[asyncio.Task[None]] = set()

    async def application(self, name: str) -> ASGIApp:
        """Return the application of a front. Raises: UnknownFront, ConfigError."""
        front = await self._find(name)
        if not isinstance(front, Front):
            raise UnknownFront(f"There is no front {name!r}.")
        return await self._open_once(name, front.application)

    async def serve(self, name: str, link: Link, *, approves: bool) -> None:
        """Serve one client of a front until it leaves. `approves`: see `LinkFront`. Raises: UnknownFront."""
        front = await self._find(name)
        if not isinstance(front, LinkFront):
            raise UnknownFront(f"There is no front {name!r}.")
        plug = cast("LinkFront[Any]", front)
        await plug.serve(
            link, lambda: self._open_once(name, lambda host: plug.open(host, self._shells())), approves=approves
        )

    async def close(self) -> None:
        """Close all fronts. Their clients must have been cancelled before."""
        tasks = (*self._opening.values(), *self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find(self, name: str) -> object:
        if self._fronts is None:
            # A plug may import a lot, so it is not loaded on the server's loop.
            self._fronts = await asyncio.to_thread(loader.find, "fronts", "FRONT")
        return self._fronts.get(name)

    async def _open_once(self, name: str, open: Callable[[Host], object]) -> Any:
        """Return what the front gave when it was opened, once for all its clients."""
        if name not in self._opening:
            self._opening[name] = asyncio.create_task(self._start(name, open))
        # If a client leaves meanwhile, the others keep the front.
        return await asyncio.shield(self._opening[name])

    async def _start(self, name: str, open: Callable[[Host], object]) -> Any:
        try:
            opened = open(await self._host())
            if not isinstance(opened, AbstractAsyncContextManager):
                return opened
            given = asyncio.get_running_loop().create_future()
            task = self._run(self._keep_open(cast("AbstractAsyncContextManager[Any]", opened), given))
            await asyncio.wait((task, given), return_when=asyncio.FIRST_COMPLETED)
            return given.result() if given.done() else task.result()
        except BaseException:
            del self._opening[name]
            raise

    def _run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task

    async def _keep_open(self, front: AbstractAsyncContextManager[Any], result: asyncio.Future[Any]) -> None:
        """Hold a front open until this is cancelled. One task enters and leaves the context, because task groups
        require it."""
        async with front as opened:
            result.set_result(opened)
            await asyncio.Event().wait()
