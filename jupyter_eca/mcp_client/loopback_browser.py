"""A sign-in where the user sits at this machine: we open their browser, and it comes back to a port of ours (RFC
8252). It knows no OAuth: `oauth` does.

For a process of its own; whoever sits elsewhere is told the address, but comes back only if the port is forwarded.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from jupyter_eca.mcp_client.sign_in import FIELDS, Arrivals, Landing, SignInPage

if TYPE_CHECKING:
    from collections.abc import Sequence

_HOST: Final = "127.0.0.1"
_PATH: Final = "/callback"
# Seconds for the one line that we read: browsers open connections that they then do not use.
_LINE: Final = 10.0


class Loopback:
    """The user's browser on this machine: a `sign_in.Browser`."""

    async def land(self, port: int | None, used: Sequence[str]) -> Landing:
        bound = _bind(port, used)
        arrivals = Arrivals()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _answer(arrivals, reader, writer)

        listener = await asyncio.start_server(answer, sock=bound)
        address = f"http://{_HOST}:{bound.getsockname()[1]}{_PATH}"
        return Landing(address, arrivals, _open, listener.close, own=True)


def _bind(port: int | None, used: Sequence[str]) -> socket.socket:
    if port:
        return socket.create_server((_HOST, port))
    for known in (urlsplit(address).port for address in used if address.startswith(f"http://{_HOST}:")):
        try:
            return socket.create_server((_HOST, known or 0))
        except OSError:
            continue
    return socket.create_server((_HOST, 0))


def _open(url: str) -> None:
    """Open a browser and return at once; where there is none, do nothing. It is opened by a process of its own, because
    a browser in a terminal would take our standard streams and some do not return before they are closed. The process
    is isolated: a `webbrowser.py` of the workspace must not run."""
    command = [sys.executable, "-I", "-m", "webbrowser", url]
    threading.Thread(target=_call, args=(command,), name="mcp browser", daemon=True).start()


def _call(command: list[str]) -> None:
    nothing = subprocess.DEVNULL
    try:
        # No shell, and the address was seen to be http or https.
        subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, check=False, start_new_session=True)  # noqa: S603
    except OSError:
        """The user was told the address."""


async def _answer(arrivals: Arrivals, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request of a browser. Only one that comes back from an authorization server counts."""
    try:
        async with asyncio.timeout(_LINE):
            method, target, *_ = (await reader.readline()).decode("latin-1").split(" ")
        split = urlsplit(target)
        page = SignInPage(404, "Not found", "There is nothing here.")
        if (method, split.path) == ("GET", _PATH):
            query = parse_qs(split.query)
            page = await arrivals.arrive({name: query[name][0] for name in FIELDS if name in query})
        body = page.html.encode()
        head = (
            f"HTTP/1.1 {page.status} {page.title}",
            "Content-Type: text/html; charset=utf-8",
            f"Content-Length: {len(body)}",
            "Content-Security-Policy: default-src 'none'",
            "Cache-Control: no-store",
            "Referrer-Policy: no-referrer",
            "Connection: close",
        )
        writer.write("\r\n".join((*head, "", "")).encode() + body)
        await writer.drain()
    except (ConnectionError, TimeoutError, ValueError):
        """A browser that left, or no browser at all."""
    finally:
        writer.close()
