"""Owns the interfaces of a front plug. A front serves the chats of a host to other programs in one more protocol. The
host is the object that runs all chats. A plug is an object that is found by its name, so nothing needs to register it.

A plug is exported as `FRONT`, either by a module in `jupyter_eca/fronts/` or by a module that an entry point of the
group `jupyter_eca.fronts` names. The name of the front is that of the module or the entry point. This module must not
know any front: `mount.py` opens the plugs of a Jupyter server, and `apps/process.py` runs one as a program.

The front for ECA is no plug, because its client may choose the host: it may name the folders of the host when it
initializes. A plug in a Jupyter server gets the one host of the server, and a plug that runs as a program starts the
one host of this program. Instead, each application that serves ECA implements a `Door`, which says which host a session
uses, and what the session may see and do (`eca/door.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from starlette.types import ASGIApp

    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.transport.link import Link

T = TypeVar("T")
"""The type of the object that all clients of a `LinkFront` share. Each front chooses its own type."""


@runtime_checkable
class Front(Protocol):
    """A plug whose clients send HTTP requests to `<base_url>eca/NAME/`.

    Jupyter has authenticated each request before the front gets it, and its authorizer has allowed the user to read the
    chats. What else the client may do is in the ASGI scope: `client_access.read_access(scope)`. The front must refuse
    a client that approves a tool call or answers a question without the right to do so.

    A client that may only read can send requests with GET and HEAD, and no others. If clients of the front read by
    other methods too, the plug has the optional attribute `checks_access = True`. Then it gets all requests, and must
    itself refuse those of such a client that do more than read.
    """

    def application(self, host: Host) -> ASGIApp | AbstractAsyncContextManager[ASGIApp]:
        """Return the ASGI application, or a context manager that yields it. The context ends with the server.

        This is called once for each server, at the first request. The scope of a request has the address of the
        application in `root_path`. The application gets no `lifespan` events.
        """
        ...


@runtime_checkable
class LinkFront(Protocol[T]):
    """A plug whose clients each have a connection: a WebSocket to `<base_url>eca/NAME`."""

    def open(self, host: Host, shells: Shells | None) -> AbstractAsyncContextManager[T]:
        """Return a context manager that yields the object which all clients share. The context ends with the server.

        `shells` starts shells in terminals, for a front whose clients share terminals, such as AHP. It is None if the
        server has no terminals.
        """
        ...

    async def serve(self, link: Link, shared: Callable[[], Awaitable[T]], *, access: ClientAccess) -> None:
        """Serve one client until it leaves.

        `shared` returns the object that `open` yielded. It raises ConfigError if there is no host; then the front
        should send the error to the client. `access` says what the client may do. The front must refuse
        everything else, with the reason that `access` has.
        """
        ...


@runtime_checkable
class ProgramFront(Protocol):
    """A plug that can also run as a program, by the command `jupyter-eca NAME`."""

    async def run(self, options: argparse.Namespace, folder: Path, start_host: StartHost) -> None:
        """Serve until the client leaves or the process gets a signal. `options` are those of the command line. `folder`
        is the working directory of the process. `start_host` starts the host when it is needed.

        Raises: ConfigError.
        """
        ...


class StartHost(Protocol):
    """Starts the host of a program."""

    def __call__(self, folder: Path | None = None, /) -> AbstractAsyncContextManager[Host]:
        """Return a context manager that yields a host with this folder as its workspace; None for the folder of the
        process. Raises: ConfigError when the context is entered."""
        ...


class Shell(Protocol):
    """A shell that runs in a terminal."""

    def write(self, data: str) -> None:
        """Send input to the shell, as if a user had typed it."""
        ...

    def resize(self, cols: int, rows: int) -> None:
        """Change the size of the terminal, in characters."""
        ...

    async def end(self) -> None:
        """End the shell and its terminal."""
        ...


class Shells(Protocol):
    """Starts shells in terminals. A server that has terminals implements it (`apps/server/terminals.py`)."""

    def open(
        self,
        folder: Path,
        cols: int,
        rows: int,
        on_output: Callable[[str], None],
        on_exit: Callable[[int | None], None],
    ) -> Shell:
        """Start a shell. `on_output` is called with each piece of its output. `on_exit` is called with its exit code,
        or with None if the code is not known.

        Raises: LocalError when the shell cannot be started.
        """
        ...
