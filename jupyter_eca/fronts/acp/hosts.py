"""Owns the hosts that the sessions of a client run in. A host is the object that runs all chats of a workspace.

If an editor starts us as a program, it names the working directory of each session. Then each working directory has a
host of its own. In a Jupyter server there is one host, and the working directory of a session must be inside of the
server's folder.

This module must not know the sessions: `sessions.py` does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from jupyter_eca.errors import RemoteError, ToolError
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from jupyter_eca.host.host import Host


class Hosts(Protocol):
    """Finds the host of a session."""

    async def open(self, folder: Path) -> Host:
        """Return the host for a working directory, which is a real path. Raises: ConfigError; RemoteError if sessions
        cannot work there."""
        ...

    async def list_all(self) -> list[Host]:
        """Return the hosts whose sessions are listed if a client names no working directory. Raises: ConfigError."""
        ...


class SharedHost:
    """The one host of a Jupyter server."""

    def __init__(self, find_host: Callable[[], Awaitable[Host]]) -> None:
        self._find_host = find_host

    async def open(self, folder: Path) -> Host:
        """Return the host, after a check that the folder is in its workspace. Raises: ConfigError; RemoteError for
        another folder."""
        host = await self._find_host()
        try:
            host.workspace.files.enter(folder)
        except ToolError as error:
            raise RemoteError(f"cwd cannot be used: {error}", ErrorCode.INVALID_PARAMS) from error
        return host

    async def list_all(self) -> list[Host]:
        """Return the one host. Raises: ConfigError."""
        return [await self._find_host()]


class FolderHosts:
    """A host for each working directory. Each runs until `close`."""

    def __init__(self, folder: Path, start: Callable[[Path], AbstractAsyncContextManager[Host]]) -> None:
        """`folder` is that of the process. `start` returns a context manager that runs a host for a folder."""
        self._folder = folder
        self._start = start
        # For each folder, the future of its host, and the task that runs it.
        self._opened: dict[Path, asyncio.Future[Host]] = {}
        self._tasks: set[asyncio.Task[None]] = set()  # the tasks that run the hosts

    async def open(self, folder: Path) -> Host:
        """Return the host of a folder, and start it first if there is none. Raises: ConfigError."""
        if folder not in self._opened:
            self._opened[folder] = asyncio.get_running_loop().create_future()
            task = asyncio.create_task(self._run(folder, self._opened[folder]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        # If one request is cancelled, others may wait for the same host.
        return await asyncio.shield(self._opened[folder])

    async def list_all(self) -> list[Host]:
        """Return the hosts that were started, and the one of the folder in which the process runs. Raises:
        ConfigError."""
        folder = self._folder.resolve()
        await self.open(folder)
        return [await self.open(folder) for folder in list(self._opened)]

    async def _run(self, folder: Path, opened: asyncio.Future[Host]) -> None:
        """Run the host of a folder, and set it as the result of `opened`. One task enters and leaves the context of the
        host, because a task group needs that. After an error the next session tries again."""
        try:
            async with self._start(folder) as host:
                opened.set_result(host)
                await asyncio.Event().wait()
        except Exception as error:  # the error belongs to the client that waits for the host
            if opened.done():
                raise
            del self._opened[folder]
            opened.set_exception(error)
            opened.exception()  # read the error once: asyncio logs a warning about an error that nobody has read

    async def close(self) -> None:
        """End all hosts: their turns, kernels and tool servers."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
