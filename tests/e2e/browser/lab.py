"""A real JupyterLab in a process of its own. Knows no browser and no test."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import sample
from socket import AF_INET, SOCK_STREAM, socket
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence
    from pathlib import Path

# Lab alone needs 3 to 10 s; the machine that runs the tests may be doing other things.
START_SECONDS = 90
STOP_SECONDS = 15


@dataclass(frozen=True)
class LabSettings:
    """What a test module may choose: variables of the server and its kernels, the user's ECA configuration, options of
    the command line, Jupyter Notebook (`notebook`) in place of Lab, the Python whose environment has it, the theme, and
    extensions and plugins of Lab to be without."""

    env: Mapping[str, str] = field(default_factory=dict[str, str])
    eca: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: tuple[str, ...] = ()
    app: str = "jupyterlab"
    python: str = sys.executable
    theme: str = "JupyterLab Light"
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lab:
    """`url` ends with a slash; `root` is the folder it shows; `log` is what the server printed."""

    settings: LabSettings
    url: str
    token: str
    root: Path
    log: Path
    # Ends the server with its kernels, and starts it anew at the same address.
    restart: Callable[[], None]

    def address(self, path: str) -> str:
        """Where a browser finds a file of `root`, or only Lab, in a workspace without the tabs of an earlier test.
        Jupyter Notebook shows a notebook in a page of its own."""
        if self.settings.app == "notebook":
            return f"{self.url}{f'notebooks/{path}' if path else 'tree'}?token={self.token}"
        place = f"lab/tree/{path}" if path else "lab"
        return f"{self.url}{place}?reset&token={self.token}"

    def write_notebook(
        self, name: str, sources: Sequence[str], kernel: str = "python3", markdown: Collection[int] = ()
    ) -> Path:
        """Of code, but for the cells of these numbers."""
        cells = [
            _markdown(f"c{n}", source) if n in markdown else _code(f"c{n}", source) for n, source in enumerate(sources)
        ]
        kernelspec = {"name": kernel, "display_name": kernel, "language": "python"}
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": cells})
        )
        return file


def _code(id: str, source: str) -> dict[str, Any]:
    return {"id": id, "cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}


def _markdown(id: str, source: str) -> dict[str, Any]:
    return {"id": id, "cell_type": "markdown", "source": source, "metadata": {}}


def find_port() -> int:
    """Return a free port that no program is given by chance: the system gives higher ones to who asks for any."""
    for port in sample(range(20_000, 32_000), k=100):
        with socket(AF_INET, SOCK_STREAM) as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("No port is free.")


@contextmanager
def running_lab(settings: LabSettings, folder: Path, port: int = 0) -> Generator[Lab]:
    """Of the environment of this Python, with nothing of the user's, at this port or at a free one. Raises:
    RuntimeError when it does not start."""
    token = secrets.token_hex(16)
    root, log = folder / "root", folder / "lab.log"
    root.mkdir()
    _write(folder / "home" / ".config" / "eca" / "config.json", {"notebook": {"place": False}} | dict(settings.eca))
    # The question whether one wants news would cover the notifications.
    chosen = folder / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    _write(chosen / "notification.jupyterlab-settings", {"fetchNews": "false", "checkForUpdates": False})
    _write(chosen / "themes.jupyterlab-settings", {"theme": settings.theme})
    page_config = {"disabledExtensions": dict.fromkeys(settings.without, True)}
    _write(folder / "config" / "labconfig" / "page_config.json", page_config)
    processes: list[subprocess.Popen[bytes]] = []

    def start(port: int) -> str:
        with log.open("ab") as output:
            process = subprocess.Popen(  # with our own options
                [settings.python, "-m", settings.app, *_options(root, token, port), *settings.options],
                env={**_environment(folder), **settings.env},
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        processes.append(process)
        return _wait_for(process, folder / "runtime", token, log)

    def restart() -> None:
        _end(processes.pop())
        start(urlsplit(url).port or 0)

    try:
        url = start(port)
        yield Lab(settings, url, token, root, log, restart)
    finally:
        for process in processes:
            _end(process)


def _write(file: Path, data: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data))


def _options(root: Path, token: str, port: int) -> list[str]:
    return [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={root}",
        f"--IdentityProvider.token={token}",
        # Gives the page `window.jupyterapp`, through which the tests run commands and look at cells.
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]


def _environment(folder: Path) -> dict[str, str]:
    """This process' own without what could make a test depend on who runs it, or spend money."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUPYTER", "JPY_", "XDG_", "ECA_")) and not name.endswith(("_API_KEY", "_AUTH_TOKEN"))
    }
    home = folder / "home"
    return kept | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "IPYTHONDIR": str(home / ".ipython"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }


def _wait_for(process: subprocess.Popen[bytes], runtime: Path, token: str, log: Path) -> str:
    deadline = monotonic() + START_SECONDS
    while monotonic() < deadline:
        if (url := _url(runtime)) and _answers(f"{url}api/status?token={token}"):
            return url
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            break
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text(errors='replace')}")


def _url(runtime: Path) -> str | None:
    """A Jupyter server notes its address in its runtime folder once it listens; the file may be half written."""
    with suppress(ValueError, KeyError):
        for file in runtime.glob("jpserver-*.json"):
            return str(json.loads(file.read_text())["url"])
    return None


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310  # our own server's address
            return response.status == 200
    except (urllib.error.URLError, TimeoutError):
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asked first: a server that is asked takes its kernels along."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_SECONDS)
