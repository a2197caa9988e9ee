"""A server of the SDK over HTTP on loopback, and the faults of the way to it."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import uvicorn

from tests.mcp_client.door import Gate
from tests.mcp_client.sdk_server import make

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@dataclass
class Web:
    """`status`: what everything is answered with instead; `sessions`: ids that nobody knows any more; `drops`: answers
    break off before they have begun; `endless`: they stream words that mean nothing, and never end."""

    url: str
    status: int = 0
    forget: bool = False
    drops: bool = False
    endless: bool = False
    seen: list[str] = field(default_factory=list[str])
    sessions: set[str] = field(default_factory=set[str])
    gate: Gate = field(default_factory=lambda: Gate(None))


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@asynccontextmanager
async def web(*, sse: bool = False, legacy: bool = False, gated: bool = False, port: int = 0) -> AsyncGenerator[Web]:
    """`legacy`: it knows nothing of the newer era, so that there are sessions."""
    listening = socket.create_server(("127.0.0.1", port))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/{'sse' if sse else 'mcp'}"
    site = Web(url)
    app: Any = make().sse_app() if sse else make().streamable_http_app()
    site.gate = Gate(app)
    app = site.gate if gated else app

    async def faulty(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            site.seen.append(f"{scope['method']} {scope['path']} {headers.get('authorization', '-')}")
            known = headers.get("mcp-session-id", "")
            if site.forget and known:
                site.sessions.add(known)
                site.forget = False
            status = site.status or (404 if known in site.sessions else 0)
            if legacy and not status and headers.get("mcp-protocol-version", "").startswith("2026"):
                status = 400
            if status:
                await send({"type": "http.response.start", "status": status, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return None
            if scope["method"] == "POST" and (site.drops or site.endless):
                return await _hang(site, send)
        return await app(scope, receive, send)

    server = uvicorn.Server(uvicorn.Config(faulty, log_level="critical", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield site
    finally:
        server.should_exit = True
        await serving
        listening.close()


async def _hang(site: Web, send: Any) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while site.endless:
        await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})
        await asyncio.sleep(0.05)  # a stream that is slow, as one that has nothing to say is
    await send({"type": "http.response.body", "body": b""})
