"""Runs the MCP front (Model Context Protocol) as a program: over stdin and stdout, or over HTTP on this machine. The
environment variable `MCP_TRANSPORT` decides which.

It must not know the backend. `stdio.py` and `http.py` are the transports.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from jupyter_eca._version import __version__
from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.http.gate import Gate, normalize_origins
from jupyter_eca.fronts.http.server import listen
from jupyter_eca.fronts.http.server import serve as serve_http
from jupyter_eca.fronts.mcp.http import open_application
from jupyter_eca.fronts.mcp.server import McpFront
from jupyter_eca.fronts.mcp.stdio import open_streams

if TYPE_CHECKING:
    from starlette.requests import Request

    from jupyter_eca.fronts.mcp.offers_base import Backend


async def serve(backend: Backend) -> None:
    """Serve a backend, which is the program that does the work. Raises: ConfigError for an environment variable with an
    impossible value."""
    match os.environ.get("MCP_TRANSPORT", "stdio").lower():
        case "stdio":
            await _serve_stdio(backend)
        case "http":
            await _serve_http(backend)
        case other:
            raise ConfigError(f"MCP_TRANSPORT is {other!r}; it is stdio or http.")


async def _serve_stdio(backend: Backend) -> None:
    """Serve until stdin ends or the process gets a signal. Clients send a signal soon after they have closed stdin."""
    front = McpFront(backend)

    async def run() -> None:
        """Serve the messages of stdin until it ends."""
        async with front.running(), open_streams() as (reader, writer):
            await front.server.run(reader, writer, front.server.create_initialization_options())

    serving = asyncio.ensure_future(run())
    with suppress(NotImplementedError):  # Windows has no signal handlers on the loop
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


async def _serve_http(backend: Backend) -> None:
    """Serve over HTTP on this machine, until the process gets a signal. The token is written to stderr."""
    port = os.environ.get("MCP_HTTP_PORT", "3000")
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise ConfigError(f"MCP_HTTP_PORT is {port!r}; it is a number below 65536.")
    token = os.environ.get("MCP_HTTP_TOKEN") or secrets.token_urlsafe(32)
    gate = Gate("127.0.0.1", normalize_origins(os.environ.get("MCP_CORS_ORIGINS", "").replace(",", " ").split()), token)

    def print_address(address: str) -> None:
        """Tell the user, on stderr, where the server is and with which token clients reach it."""
        token_text = "of MCP_HTTP_TOKEN" if os.environ.get("MCP_HTTP_TOKEN") else token
        sys.stderr.write(f"The MCP server is at {address}/mcp; clients send `Authorization: Bearer TOKEN`.\n")
        sys.stderr.write(f"Token: {token_text}\n")
        sys.stderr.flush()

    async def answer_health(_: Request) -> JSONResponse:
        """Answer a program that asks whether the server runs."""
        return JSONResponse({"status": "ok", "name": backend.about.name, "version": __version__})

    with await listen(gate, int(port)) as listening:
        async with open_application(backend) as mcp:
            app = Starlette(routes=[Route("/health", answer_health), Route("/mcp", mcp)])
            await serve_http(app, gate, listening, print_address)
