"""Owns the interfaces of a front plug. A front serves the chats of a host to other programs in one more protocol.

A module below `jupyter_eca/fronts/`, or one behind an entry point of the group `jupyter_eca.fronts`, exports a plug as
`FRONT`; its name is the name of the module or the entry point. `mount.py` opens the plugs of a Jupyter server,
`apps/process.py` runs one as a program. ECA has no plug: an ECA client names the folders of its host when it
initializes, so each application that runs sessions of ECA gives them a door of its own (`eca/door.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from starlette.types import ASGIApp

    from jupyter_eca.host.host import Host
    from jupyter_eca.transport.link import Link

T = TypeVar("T")

MAY_NOT_APPROVE: Final = (
    "This connection may ask, but not approve: it came with a token that programs in kernels can find. Approve in "
    "JupyterLab, or have the server started with `EcaApp.approve_with_token = True`."
)
"""What a client reads that may not approve."""


@runtime_checkable
class Front(Protocol):
    """A plug whose clients come over HTTP, to `<base_url>eca/NAME/`.

    It is behind Jupyter's own door: whoever reaches it may run code. A client may approve tool calls and answer
    questions only if `approves` in the scope of its request is not False (see `eca/door.py`).
    """

    def application(self, host: Host) -> ASGIApp | AbstractAsyncContextManager[ASGIApp]:
        """Return the application, or a context that gives it and lasts until the server ends.

        Called once for a server, at the first request. The application finds its address in `root_path`, and gets no
        `lifespan`.
        """
        ...


@runtime_checkable
class LinkFront(Protocol[T]):
    """A plug whose clients hold a connection each: a WebSocket at `<base_url>eca/NAME`."""

    def open(self, host: Host, shells: Shells | None) -> AbstractAsyncContextManager[T]:
        """Return a context that gives what all clients share. It lasts until the server ends.

        `shells` starts terminals, where the server has them.
        """
        ...

    async def serve(self, link: Link, shared: Callable[[], Awaitable[T]], *, approves: bool) -> None:
        """Serve one client until it leaves.

        `approves` says whether the client may approve tool calls and answer questions (see `eca/door.py`). `shared`
        gives what `open` gave. Raises: ConfigError if there is no host; the client should be told so.
        """
        ...


@runtime_checkable
class ProgramFront(Protocol):
    """A plug that is also a command of its name: `jupyter-eca NAME`."""

    async def run(
        self, options: argparse.Namespace, folder: Path, start_host: Callable[[], AbstractAsyncContextManager[Host]]
    ) -> None:
        """Serve until the client leaves, or a signal comes.

        `start_host` gives a host over the folder. Raises: ConfigError.
        """
        ...


class Shell(Protocol):
    """A process with a terminal."""

    def write(self, data: str) -> None: ...

    def resize(self, cols: int, rows: int) -> None: ...

    async def end(self) -> None: ...


class Shells(Protocol):
    """Starts processes with a terminal."""

    def open(
        self,
        folder: Path,
        cols: int,
        rows: int,
        on_output: Callable[[str], None],
        on_exit: Callable[[int | None], None],
    ) -> Shell:
        """Start a shell. `on_exit` is called with its exit code, or with None if it is not known.

        Raises: LocalError when it cannot be started.
        """
        ...
