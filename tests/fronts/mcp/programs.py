"""`jupyter-eca mcp` as a real process: on its streams, or over HTTP on this machine."""

from __future__ import annotations

import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.support import editor_process

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping

    from mcp.client.session import ElicitationFnT

    from tests.fronts.mcp.room import User

ROOT = Path(__file__).parents[3]
START = 60.0


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**editor_process.environment(folder), "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **more}


def on_stdio(
    folder: Path,
    *arguments: str,
    user: User | ElicitationFnT | None = None,
    more: Mapping[str, str] | None = None,
    mode: str = "auto",
) -> Client:
    command = ["-m", "jupyter_eca", "mcp", *arguments]
    params = StdioServerParameters(
        command=sys.executable, args=command, env=environment(folder, **(more or {})), cwd=str(folder)
    )
    return Client(params, elicitation_callback=user, mode=mode)


@dataclass(frozen=True)
class Served:
    url: str
    token: str
    process: subprocess.Popen[str]

    @asynccontextmanager
    async def client(self, mode: str = "auto") -> AsyncGenerator[Client]:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=START, trust_env=False) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client


@contextmanager
def on_http(folder: Path, *arguments: str, **more: str) -> Generator[Served]:
    command = [sys.executable, "-m", "jupyter_eca", "mcp", *arguments]
    where = environment(folder, MCP_TRANSPORT="http", MCP_HTTP_PORT="0", **more)
    with subprocess.Popen(command, cwd=folder, env=where, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            first, second = process.stderr.readline(), process.stderr.readline()
            url = next(word for word in first.split() if word.startswith("http://"))
            yield Served(url.rstrip(";"), second.split()[-1], process)
        finally:
            process.terminate()
            assert process.wait(START) == 0
