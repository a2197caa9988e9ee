"""A live OpenCode server whose model is a loopback endpoint that speaks OpenAI's Chat Completions."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from tests.fronts.mcp.programs import START

if TYPE_CHECKING:
    from collections.abc import Generator

MODULES = Path(__file__).parents[2] / "npm" / "opencode" / "node_modules"
PROGRAM = MODULES / "opencode-linux-x64" / "bin" / "opencode"
PASSWORD = "a-password-of-the-test"  # noqa: S105
SAID = "The mock says hi."
UNRELATED = '{"somebody": "else"}'


# What the model is asked with such a word in it, it does with such a tool, before it answers.
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "LOOK": ("glob", {"pattern": "*.py"}),
    "SHELL": ("bash", {"command": "echo made > made.txt", "description": "Makes a file"}),
}


def choose_call(body: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The tool call that a request is answered with; None for a text."""
    *_, last = body["messages"]
    if not body.get("tools") or last["role"] != "user":
        return None
    return next((call for word, call in CALLS.items() if word in json.dumps(last)), None)


class Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        said: dict[str, Any] = {"role": "assistant", "content": SAID}
        if call := choose_call(body):
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            said = {
                "role": "assistant",
                "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}],
            }
        for delta, reason in ((said, None), ({}, "tool_calls" if call else "stop")):
            choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": reason}
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@contextmanager
def model() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        serving.join(START)
        server.server_close()


def project(folder: Path, url: str) -> Path:
    """With two models, two files that are not OpenCode's, an MCP server that is not there, and a shell that asks."""
    made = folder / "project"
    made.mkdir()
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Mock",
        "models": {"m": {"name": "M"}, "n": {"name": "N"}},
    }
    provider["options"] = {"baseURL": url, "apiKey": "a-secret-key"}
    config: dict[str, Any] = {"provider": {"mock": provider}, "model": "mock/m", "share": "disabled"}
    config["mcp"] = {"none": {"type": "local", "command": ["true"], "enabled": False}}
    config["permission"] = {"bash": "ask"}
    (made / "opencode.json").write_text(json.dumps(config | {"autoupdate": False}))
    (made / "config.json").write_text(UNRELATED)
    (made / "a.py").write_text("def needle(): pass\n")
    return made


@contextmanager
def opencode(folder: Path) -> Generator[dict[str, str]]:
    """What the environment of an MCP server over it says."""
    with model() as url:
        where = project(folder, url)
        environment = {"HOME": str(folder), "PATH": os.environ["PATH"], "OPENCODE_SERVER_PASSWORD": PASSWORD}
        environment["OPENCODE_DISABLE_MODELS_FETCH"] = "1"
        command = [PROGRAM, "serve", "--port", "0", "--hostname", "127.0.0.1"]
        with subprocess.Popen(
            command, cwd=where, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                assert process.stdout is not None
                address = next(line for line in process.stdout if "listening on" in line).split()[-1]
                _wait_for(address)
                yield {
                    "OPENCODE_SERVER_URL": address,
                    "OPENCODE_SERVER_PASSWORD": PASSWORD,
                    "OPENCODE_DEFAULT_PROJECT": str(where),
                    "OPENCODE_DEFAULT_MODEL": "mock/m",
                }
            finally:
                process.kill()


def _wait_for(address: str) -> None:
    """It says that it listens before it answers, and has no event for that."""
    until = time.monotonic() + START
    while time.monotonic() < until:
        try:
            httpx2.get(f"{address}/global/health", auth=("opencode", PASSWORD), timeout=START, trust_env=False)
        except httpx2.HTTPError:
            time.sleep(0.1)
        else:
            return
