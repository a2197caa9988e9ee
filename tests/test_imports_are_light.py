"""What everybody pays for, asked or not, imports nothing heavy. How long it takes then is `tests.bench`'s business."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.timeouts import PATIENCE


@pytest.mark.parametrize("module", ["jupyter_eca.apps.kernel.magic", "jupyter_eca.apps.server.extension"])
def test_loading_us_imports_nothing_heavy_that_jupyter_has_not(module: str) -> None:
    code = f"""
import sys, IPython, ipykernel.ipkernel, jupyter_server.serverapp, jupyter_server.extension.application
before = set(sys.modules)
import {module}
heavy = {{"pydantic", "sqlite3", "anthropic", "ipywidgets", "mcp", "mcp_types"}} & (set(sys.modules) - before)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True)


# How many of our modules a connected panel loads. Each takes 35 KiB on average.
MOST_MODULES = 500


def test_a_panel_connects_without_what_only_some_questions_and_outside_agents_need(tmp_path: Path) -> None:
    code = f"""
import asyncio, sys
from pathlib import Path
from jupyter_eca.config import read_config
from jupyter_eca.fronts.client_access import FULL_ACCESS
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.jsonrpc import Notification, Request
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files, Workspace

class Door:
    sees_all_chats = sends_user_names = may_trust_folders = True
    client_chooses_folders = False
    access, kernel_id, browser = FULL_ACCESS, None, None
    def __init__(self, host):
        self.host = host
    async def get_host(self, params):
        return self.host

async def main():
    files = Files((Path({str(tmp_path)!r}),))
    host = Host(read_config(files.roots), Workspace(files, None, NotebookFiles(files)), files.roots[0] / "chats.db")
    running = asyncio.create_task(host.run())
    page, link = make_link_pair()
    serving = asyncio.create_task(EcaSession(link, Door(host)).run())
    capabilities = {{"codeAssistant": {{"chat": True, "envelope": True, "trust": True, "review": True}}}}
    await page.send(Request(1, "initialize", {{"capabilities": capabilities}}))
    async for message in page:
        if getattr(message, "id", None) == 1:
            await page.send(Notification("initialized", {{}}))
            await page.send(Request(2, "chat/list", {{}}))
            await page.send(Request(3, "chat/selection", {{"chatId": "new"}}))
        if getattr(message, "method", "") == "$/progress" and message.params["type"] == "finish":
            break
    loaded = {{name for name in sys.modules if name.startswith("jupyter_eca.")}}
    await page.close()
    host.close()
    await asyncio.gather(running, serving)
    return loaded

loaded = asyncio.run(main())
late = {{"psutil", "mcp", "mcp_types", "anthropic", "openai", "genai_prices"}} & set(sys.modules)
ours = {{"acp_client.session", "engine.approval.line_targets", "host.doctor"}}
late |= {{f"jupyter_eca.{{name}}" for name in ours}} & loaded
assert not late, late
assert len(loaded) <= {MOST_MODULES}, len(loaded)
"""
    folders = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "JUPYTER_DATA_DIR")}
    root = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], cwd=root, env={**os.environ, **folders}, check=True, timeout=PATIENCE)
