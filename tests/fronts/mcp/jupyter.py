"""A real Jupyter server in a process of its own, with our extension, a scripted model and plugs of others."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.plugins.test_loader import install
from tests.support import editor_process
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import Generator

ROOT = Path(__file__).parents[3]
TOKEN = "secret-of-the-test"  # noqa: S105
START = 60.0

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello, {message}"}]}]


@dataclass(frozen=True)
class Jupyter:
    url: str
    pid: int

    @property
    def mcp(self) -> str:
        return f"{self.url}eca/mcp"


@contextmanager
def jupyter(
    folder: Path, *, rules: list[dict[str, Any]] | None = None, plugs: dict[str, str] | None = None, **config: Any
) -> Generator[Jupyter]:
    """`plugs` are entry points of the group for offers."""
    (folder / ".eca").mkdir()
    (folder / ".eca" / "config.json").write_text(json.dumps(settings(folder, rules or RULES, **config)))
    install(folder, "fronts.mcp.offers", **(plugs or {}))
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    options += [f"--ServerApp.root_dir={folder}", "--ServerApp.base_url=/lab/", f"--IdentityProvider.token={TOKEN}"]
    options += ["--ServerApp.jpserver_extensions={'jupyter_eca': True}", "--EcaApp.approve_with_token=True"]
    environment = editor_process.environment(folder) | {
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder))),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_CONFIG_DIR": str(folder / "etc"),
        "IPYTHONDIR": str(folder / "ipython"),
    }
    command = [sys.executable, "-m", "jupyter_server", *options]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr
        assert said is not None
        heard: list[str] = []
        try:
            while not any("is running at" in line for line in heard):
                heard.append(said.readline())
                assert heard[-1], "".join(heard)
            # What it says from now on must not fill the pipe.
            rest = threading.Thread(target=lambda: (folder / "server.log").write_text(said.read()))
            rest.start()
            yield Jupyter(f"http://127.0.0.1:{port}/lab/", process.pid)
        finally:
            process.terminate()
            process.wait(START)
