"""Implements the interface `sign_in.Browser` for a user of this machine. We open their browser. After the sign-in, the
browser sends a request to a TCP port that we listen on (RFC 8252).

It is used where there is no Jupyter server. A user of another machine gets the address of the sign-in too, but their
browser reaches our port only if the port is forwarded. The module must not know OAuth: `oauth.py` does.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from jupyter_eca.mcp_client.sign_in import LANDING_PARAMETERS, Landing, SignInPage, WaitingSignIns

if TYPE_CHECKING:
    from collections.abc import Sequence

# The address that the browser comes back to, without its port.
_HOST: Final = "127.0.0.1"
_PATH: Final = "/callback"
# Seconds to wait for the first line of a request. Browsers open connections that they never use.
_LINE_SECONDS: Final = 10.0


class Loopback:
    """The user's browser on this machine."""

    async def prepare_landing(self, port: int | None, used: Sequence[str]) -> Landing:
        """Listen on a port of this machine, and return the landing there: the address to which the browser comes back.
        `port` is the configured port; without it, a port of one of the addresses `used`, which were used before, is
        tried first."""
        bound = _bind(port, used)
        waiting_sign_ins = WaitingSignIns()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """Answer the request of one connection."""
            await _answer(waiting_sign_ins, reader, writer)

        listener = await asyncio.start_server(answer, sock=bound)
        address = f"http://{_HOST}:{bound.getsockname()[1]}{_PATH}"
        return Landing(address, waiting_sign_ins, _open, listener.close, needs_no_cookie=True)


def _bind(port: int | None, used: Sequence[str]) -> socket.socket:
    """Return a socket that listens: on the configured port, else on a port of an address that was used before, else on
    any free port.

    Raises: OSError when the configured port is not free.
    """
    if port:
        return socket.create_server((_HOST, port))
    for known in (urlsplit(address).port for address in used if address.startswith(f"http://{_HOST}:")):
        try:
            return socket.create_server((_HOST, known or 0))
        except OSError:
            continue
    return socket.create_server((_HOST, 0))


def _open(url: str) -> None:
    """Open a browser, and return at once. Do nothing where there is no browser.

    Another process opens it, for two reasons: a browser in a terminal would use our standard streams, and some browsers
    return only when they are closed. The process is isolated (`-I`), so that a `webbrowser.py` of the workspace is not
    run.
    """
    command = [sys.executable, "-I", "-m", "webbrowser", url]
    threading.Thread(target=_run, args=(command,), name="mcp browser", daemon=True).start()


def _run(command: list[str]) -> None:
    """Run a command to its end, without output."""
    nothing = subprocess.DEVNULL
    try:
        # There is no shell, and the scheme of the address was checked to be http or https.
        subprocess.run(command, stdin=nothing, stdout=nothing, stderr=nothing, check=False, start_new_session=True)  # noqa: S603
    except OSError:
        """Nothing is lost: the user has the address too."""


async def _answer(waiting_sign_ins: WaitingSignIns, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request of a browser, in plain HTTP. Only a request that brings the answer of an authorization server
    has an effect."""
    try:
        async with asyncio.timeout(_LINE_SECONDS):
            method, target, *_ = (await reader.readline()).decode("latin-1").split(" ")
        split = urlsplit(target)
        page = SignInPage(404, "Not found", "There is nothing here.")
        if (method, split.path) == ("GET", _PATH):
            query = parse_qs(split.query)
            page = await waiting_sign_ins.arrive({name: query[name][0] for name in LANDING_PARAMETERS if name in query})
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
        """The browser closed the connection, or the client is not a browser."""
    finally:
        writer.close()
