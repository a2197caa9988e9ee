"""`jupyter-eca rest` as a real process over loopback, with a scripted model and real tool servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from jupyter_eca.config.trust import trusted_folders
from tests.mcp_client.house import raw, tour_server
from tests.support.host_and_client import settings
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping

ROOT = Path(__file__).parents[3]
# A process may end its tool servers for seconds on a busy machine.
START = 60.0
RULES: list[dict[str, Any]] = [
    {"result": "(?s:.*)", "tool": "tour__add", "message": "twice",
     "reply": [{"reasoning": "Two."}, {"text": "Both are done: {result}"}]},
    {"result": "^5", "message": "both", "reply": [{"tool": "other__work", "arguments": {}}]},
    {"result": "", "reply": [{"text": "It said: {result}", "chunk": 4}]},
    {"message": "both", "reply": [{"tool": "tour__add", "arguments": {"a": 2, "b": 3}}]},
    {"message": "add", "reply": [{"reasoning": "Numbers."}, {"text": "Let me add them. "},
                                 {"tool": "tour__add", "arguments": {"a": 2, "b": 3}}]},
    {"message": "twice", "reply": [{"text": "Let me see."}, {"tool": "tour__add", "arguments": {"a": 1, "b": 1}},
                                   {"tool": "tour__add", "arguments": {"a": 2, "b": 2}}, {"text": "I wait."}]},
    {"message": "wait", "reply": [{"tool": "tour__wait", "arguments": {"seconds": 60}}]},
    {"message": "work", "reply": [{"tool": "other__work", "arguments": {}}]},
    {"message": "break", "reply": [{"text": "Half an "}, {"error": "The endpoint\nbroke off. Ask again."}]},
    {"message": "slow", "reply": [{"text": "word " * 4000, "chunk": 5, "delay": 0.005}]},
    {"message": "long", "reply": [{"text": "täglich \u2028 frisch " * 500}]},
    {"message": "", "reply": [{"text": "Hello, {message}", "chunk": 3}]},
]  # fmt: skip


@dataclass
class Served:
    client: httpx2.AsyncClient
    pid: int = 0

    async def get(self, path: str, **more: Any) -> Any:
        return await self._json("GET", path, **more)

    async def post(self, path: str, **more: Any) -> Any:
        return await self._json("POST", path, **more)

    async def _json(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.client.request(method, path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def lines(self, message: str, chat: str | None = None) -> list[str]:
        """The data of each event of one answer, as a client reads them that knows the contract alone."""
        body = {"message": message, "chat_id": chat}
        answer = await self.client.post("/chat/stream", json=body)
        assert answer.status_code == 200, answer.text
        return [line.removeprefix("data: ") for line in answer.text.split("\n") if line.startswith("data: ")]

    async def events(self, message: str, chat: str | None = None) -> list[dict[str, Any]]:
        *events, done = await self.lines(message, chat)
        assert done == "[DONE]"
        return [json.loads(event) for event in events]


def said(events: list[dict[str, Any]]) -> str:
    return "".join(event["content"] for event in events if event["type"] == "text")


@dataclass
class Running:
    """`policy` is what the program says at its start about tool calls, `token` the token that it says, `errors` is its
    stderr."""

    url: str
    process: subprocess.Popen[str]
    policy: str
    token: str
    errors: Path

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


@contextmanager
def running(
    folder: Path,
    *arguments: str,
    rules: list[dict[str, Any]] | None = None,
    variables: Mapping[str, str] | None = None,
    **config: Any,
) -> Generator[Running]:
    """Two tool servers: `tour`, which is like the SDK's, and `other`."""
    servers = {"tour": tour_server(), "other": raw("good")}
    whole = {"mcpServers": servers, **config}
    (folder / ".eca").mkdir()
    (folder / ".eca" / "config.json").write_text(json.dumps(settings(folder, rules or RULES, **whole)))
    command = [sys.executable, "-m", "jupyter_eca", "rest", "--port", "0", *arguments]
    env = {**environment(folder), **(variables or {})}
    errors = folder / "stderr.txt"
    with (
        errors.open("w") as stderr,
        subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "http://" in line, "it did not start"
            url = next(word for word in line.split() if word.startswith("http://"))
            policy, access = process.stdout.readline(), process.stdout.readline()
            yield Running(url, process, policy, access.partition("Token: ")[2].strip(), errors)
        finally:
            process.terminate()
            try:
                assert process.wait(START) == 0
            finally:
                process.kill()  # the end of the block waits for it, without a limit


@asynccontextmanager
async def talking(at: Running) -> AsyncGenerator[Served]:
    async with httpx2.AsyncClient(base_url=at.url, headers=at.headers, timeout=PATIENCE * 2, trust_env=False) as client:
        served = Served(client, at.process.pid)
        await served.post("/disconnect")
        yield served


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"ANTHROPIC_API_KEY", "PYTHONPATH"}}
    home = {"XDG_CONFIG_HOME": str(folder / "config"), "JUPYTER_DATA_DIR": str(folder / "data")}
    home[trusted_folders.VARIABLE] = str(folder)
    return {**kept, **home, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
