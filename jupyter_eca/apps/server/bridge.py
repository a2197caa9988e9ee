"""Owns the bridge between an editor and the assistant in a running Jupyter server. The editor starts it as a program.
Messages of the editor arrive on stdin, one in each line, and are sent to a WebSocket of the server. Messages of the
server are written to stdout.

It must not know what the messages mean: a front in the server does (`fronts/`). `websockets.py` is the other end.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit, urlunsplit

from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.errors import ConfigError, FrameError
from jupyter_eca.protocol.jsonrpc import ErrorResponse, decode, encode
from jupyter_eca.transport.stdio import open_stdio

if TYPE_CHECKING:
    from tornado.websocket import WebSocketClientConnection

    from jupyter_eca.transport.stdio import StdioLink

# The largest message that is accepted from the server, in bytes. A tool call may contain images.
_LARGEST_MESSAGE = 128 * 1024 * 1024

# Written to stderr when the server has ended the connection.
_LOST = "The Jupyter server has closed the connection. Start the agent again when the server runs."


async def bridge_stdio(url: str, front: str) -> int:
    """Connect stdin and stdout to a front of the server at this address, until one side ends the connection. Return the
    exit status: 0 if it was the editor, 1 if it was the server.

    Raises: ConfigError when there is no connection.
    """
    socket = await _connect(url, front)
    link = open_stdio(lines=True)
    sending = asyncio.create_task(_send_all(link, socket))
    receiving = asyncio.create_task(_receive_all(socket, link))
    done, waiting = await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
    socket.close()
    for task in waiting:
        task.cancel()
    await asyncio.wait((sending, receiving))
    if sending in done and sending.exception() is None:
        return 0
    sys.stderr.write(f"{_LOST}\n")
    return 1


async def _connect(url: str, front: str) -> WebSocketClientConnection:
    """Open the WebSocket of a front. Raises: ConfigError that says what to do."""
    split = urlsplit(url)
    if split.scheme not in {"http", "https"} or not split.netloc:
        raise ConfigError(f"{url!r} is no address of a Jupyter server, such as http://localhost:8888.")
    base = urlunsplit((split.scheme, split.netloc, split.path.rstrip("/").removesuffix("/lab") + "/", "", ""))
    token = os.environ.get("JUPYTER_TOKEN") or parse_qs(split.query).get("token", [""])[0]
    token = token or await asyncio.to_thread(_find_token, base)
    headers = {"Authorization": f"token {token}"} if token else {}
    request = HTTPRequest(f"ws{base.removeprefix('http')}eca/{front}", headers=headers)
    try:
        return await websocket_connect(request, max_message_size=_LARGEST_MESSAGE)
    except HTTPClientError as error:
        if error.code in {401, 403}:
            raise ConfigError(f"The Jupyter server at {base} does not accept the token. Set JUPYTER_TOKEN.") from error
        if error.code == 404:
            raise ConfigError(f"The Jupyter server at {base} has no assistant: install jupyter-eca there.") from error
        raise ConfigError(f"The Jupyter server at {base} cannot be used: {error.message}.") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"There is no Jupyter server at {base}: {error}.") from error


def _find_token(base: str) -> str:
    """Return the token of the server that this user runs at this address, "" if no such server is found. The address
    may have any name of this machine, such as `localhost` or `127.0.0.1`. No token is returned for another machine."""
    from jupyter_server.serverapp import list_running_servers

    wanted = _normalize(base)
    for server in list_running_servers():
        if _normalize(str(server["url"])) == wanted:
            return str(server.get("token") or "")
    return ""


def _normalize(url: str) -> tuple[str, int | None, str]:
    """Return the host, the port and the path of a URL in a form that can be compared."""
    split = urlsplit(url)
    return ("localhost" if is_on_this_machine(url) else split.hostname or "", split.port, split.path.rstrip("/"))


async def _send_all(link: StdioLink, socket: WebSocketClientConnection) -> None:
    """Pass the editor's messages to the server, until the editor leaves. A line that is no message gets an error."""
    async for message in link:
        if isinstance(message, FrameError):
            await link.send(ErrorResponse(None, message.code, str(message)))
        else:
            await socket.write_message(encode(message))


async def _receive_all(socket: WebSocketClientConnection, link: StdioLink) -> None:
    """Pass the server's messages to the editor, until the server closes the connection."""
    try:
        while (text := await socket.read_message()) is not None:
            await link.send(decode(text))
    except WebSocketClosedError:
        return
