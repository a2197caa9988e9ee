"""Owns the open fronts of one Jupyter server. A front serves clients in one protocol, such as MCP. It is opened when
its first client comes, and closed when the server ends.

It must not know any front, or the server. `base.py` describes a front, and `apps/server/` passes its clients on to this
module.
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
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.transport.link import Link


class UnknownFront(LocalError):
    """There is no front of that name."""


class FrontMount:
    """The fronts of one server, by name."""

    def __init__(self, host: Callable[[], Awaitable[Host]], shells: Callable[[], Shells | None]) -> None:
        """Make a mount without open fronts. `host` is a function that returns the host of the server. If it raises
        ConfigError, the front is not opened, and the next client tries again. `shells` is a function that returns the
        object that starts terminals; None if the server has no terminals."""
        self._host = host
        self._shells = shells
        # All plugs by name; None until they are searched for.
        self._fronts: dict[str, object] | None = None
        # The tasks that open fronts, by the name of the front. Their results are the open fronts.
        self._opening: dict[str, asyncio.Task[Any]] = {}
        # The tasks that hold the contexts of open fronts.
        self._open_tasks: set[asyncio.Task[None]] = set()

    async def application(self, name: str) -> ASGIApp:
        """Return the application of a front. Raises: UnknownFront, ConfigError."""
        front = await self._find(name)
        if not isinstance(front, Front):
            raise UnknownFront(f"There is no front {name!r}.")
        return await self._open_once(name, front.application)

    async def checks_access(self, name: str) -> bool:
        """Return whether a front itself refuses what a client may not do. See `Front`."""
        return getattr(await self._find(name), "checks_access", False) is True

    async def serve(self, name: str, link: Link, *, access: ClientAccess) -> None:
        """Serve one client of a front until it leaves. See `LinkFront` for `access`. Raises: UnknownFront."""
        front = await self._find(name)
        if not isinstance(front, LinkFront):
            raise UnknownFront(f"There is no front {name!r}.")
        plug = cast("LinkFront[Any]", front)
        await plug.serve(
            link, lambda: self._open_once(name, lambda host: plug.open(host, self._shells())), access=access
        )

    async def close(self) -> None:
        """Close all fronts. Their clients must have been cancelled before."""
        tasks = (*self._opening.values(), *self._open_tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find(self, name: str) -> object:
        """Return the plug of a front; None if there is none with this name."""
        if self._fronts is None:
            # A plug may import a lot, so the plugs are loaded in a thread and not on the server's loop.
            self._fronts = await asyncio.to_thread(loader.find, "fronts", "FRONT")
        return self._fronts.get(name)

    async def _open_once(self, name: str, open: Callable[[Host], object]) -> Any:
        """Return the open front, which all its clients share. If it is not open yet, call `open` with the host."""
        if name not in self._opening:
            self._opening[name] = asyncio.create_task(self._open_front(name, open))
        # If this client leaves meanwhile, only its own waiting is cancelled: other clients may wait for the same task.
        return await asyncio.shield(self._opening[name])

    async def _open_front(self, name: str, open: Callable[[Host], object]) -> Any:
        """Open a front, and return what `open` returned or, if that is a context manager, what it yields."""
        try:
            opened = open(await self._host())
            if not isinstance(opened, AbstractAsyncContextManager):
                return opened
            result_future = asyncio.get_running_loop().create_future()
            task = self._start_task(self._keep_open(cast("AbstractAsyncContextManager[Any]", opened), result_future))
            await asyncio.wait((task, result_future), return_when=asyncio.FIRST_COMPLETED)
            # If the task ended first, the context could not be entered: then `task.result` raises the error.
            return result_future.result() if result_future.done() else task.result()
        except BaseException:
            del self._opening[name]
            raise

    def _start_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task that is cancelled by `close`."""
        task = asyncio.create_task(work)
        self._open_tasks.add(task)
        task.add_done_callback(self._open_tasks.discard)
        return task

    async def _keep_open(self, front: AbstractAsyncContextManager[Any], result: asyncio.Future[Any]) -> None:
        """Enter the context of a front, set the result, and leave the context when this task is cancelled. One task
        does both, because a task group must be entered and left in the same task."""
        async with front as opened:
            result.set_result(opened)
            await asyncio.Event().wait()
