"""A user of a peer: a home of its own with the peer's configuration and a notebook, and the peer's server in it."""

from __future__ import annotations

import json
import os
import socket
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final

import psutil

from tests.bench.growth import make_notebook

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.bench.peers.environments import Environment
    from tests.bench.peers.peers import Peer

PATIENCE: Final = 120.0
TOKEN: Final = "loopback"  # noqa: S105  # of servers that only this machine reaches
MIB: Final = 2**20
CELLS: Final = 10
_MARIMO: Final = "import marimo\n\napp = marimo.App()\n\n\n@app.cell\ndef _():\n    return\n"


@dataclass(frozen=True)
class Home:
    peer: Peer
    environment: Environment
    folder: Path
    model_url: str

    @property
    def root(self) -> Path:
        return self.folder / "work"

    def env(self) -> dict[str, str]:
        """Return the variables of this process without those that would bring something of its user's."""
        ours = ("JUPYTER", "JPY_", "XDG_", "ECA_", "PYTHON", "VIRTUAL_ENV", "CONDA")
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(ours) and not name.endswith(("_API_KEY", "_AUTH_TOKEN"))
        }
        path = f"{self.environment.folder / 'bin'}:{kept['PATH']}"
        return kept | {"HOME": str(self.folder), "PATH": path} | self.peer.env(self.model_url)


@dataclass(frozen=True)
class Server:
    """`started` is the seconds from the start of the process to its first answer."""

    home: Home
    port: int
    mcp_port: int
    process: psutil.Popen
    started: float

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def memory(self) -> float:
        """Return the MiB of the process and of those that it has started."""
        return sum(one.memory_info().rss for one in [self.process, *self.process.children(recursive=True)]) / MIB


@contextmanager
def new_home(peer: Peer, environment: Environment, model_url: str) -> Generator[Home]:
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        home = Home(peer, environment, Path(name), model_url)
        home.root.mkdir()
        (home.root / "cells.ipynb").write_text(json.dumps(make_notebook(CELLS)))
        (home.root / "cells.py").write_text(_MARIMO)
        # The question whether one wants news would cover what is measured.
        apputils = ".jupyter/lab/user-settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
        quiet = {apputils: json.dumps({"fetchNews": "false", "checkForUpdates": False})}
        for path, text in (quiet | peer.files(model_url)).items():
            file = home.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        yield home


@contextmanager
def running(home: Home, options: tuple[str, ...] = ()) -> Generator[Server]:
    """Raises: RuntimeError with the server's log."""
    port, mcp_port = _free_port(), _free_port()
    named = {"port": str(port), "mcp_port": str(mcp_port), "root": str(home.root)}
    module, own, ready = _jupyter(home, port) if home.peer.lab else _marimo(home, port)
    chosen = [text.format(**named) for text in (*home.peer.options, *options)]
    log = home.folder / "server.log"
    began = monotonic()
    with log.open("ab") as output:
        process = psutil.Popen(
            [home.environment.python, "-m", *module, *own, *chosen],
            env=home.env(), cwd=home.root, stdout=output, stderr=output,
        )  # fmt: skip
    try:
        _wait_for(f"http://127.0.0.1:{port}/{ready}", process, log)
        yield Server(home, port, mcp_port, process, monotonic() - began)
    finally:
        for one in [*process.children(recursive=True), process]:
            one.kill()
        process.wait()


def _jupyter(home: Home, port: int) -> tuple[list[str], list[str], str]:
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--ServerApp.port={port}"]
    options += ["--ServerApp.port_retries=0", f"--ServerApp.root_dir={home.root}", f"--IdentityProvider.token={TOKEN}"]
    return ["jupyterlab"], [*options, "--LabApp.expose_app_in_browser=True"], "api"


def _marimo(home: Home, port: int) -> tuple[list[str], list[str], str]:
    options = ["edit", str(home.root / "cells.py"), "--headless", "--no-token", "--port", str(port)]
    return ["marimo"], [*options, "--skip-update-check"], "health"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _wait_for(url: str, process: psutil.Popen, log: Path) -> None:
    """Asked every 5 ms: from outside there is no event for it."""
    until = monotonic() + PATIENCE
    while monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE):  # noqa: S310  # our own server's address
                return
        except urllib.error.HTTPError:
            return
        except (urllib.error.URLError, ConnectionError):
            sleep(0.005)
    raise RuntimeError(f"the server did not start:\n{log.read_text(errors='replace')[-3000:]}")
