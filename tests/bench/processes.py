"""The processes that are measured: a Jupyter server, a kernel, and the model's server, each with folders of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import psutil
from jupyter_client.manager import AsyncKernelManager

import jupyter_eca
from tests.support import editor_process

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

MODEL = "claude-sonnet-5-5"
PATIENCE = 90.0
MIB = 2**20


# A user's packages are compiled once, when they are installed: so are all that is measured, here, in its first round.
BYTECODE = Path(gettempdir()) / "jupyter-eca-bench"


def environment(folder: Path) -> dict[str, str]:
    """Nothing of the user's, and this very tree, whatever else is installed."""
    own = {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(BYTECODE),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        "JUPYTER_CONFIG_DIR": str(folder / "etc"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": str(Path(jupyter_eca.__file__).parents[1]),
    }
    return editor_process.environment(folder) | own


def configuration(url: str) -> dict[str, Any]:
    """Of a user whose model is the loopback server's. It is asked for no titles, which would be measured too."""
    provider: dict[str, Any] = {"url": url, "key": "sk-ant-loopback"}
    return {"providers": {"anthropic": provider}, "defaultModel": f"anthropic/{MODEL}", "chat": {"title": False}}


def configure(folder: Path, url: str) -> None:
    file = folder / "config" / "eca" / "config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(configuration(url)))


@contextmanager
def loopback(folder: Path, rules: list[dict[str, Any]], dialect: str = "") -> Generator[str]:
    """The url of a model's server in a process of its own, so that its work is not in what is measured. With a
    `dialect` it speaks that."""
    script = folder / "loopback.json"
    script.write_text(json.dumps({"rules": rules}))
    speaking = ["tests.plugins.providers.dialects.speaking", dialect] if dialect else ["tests.support.anthropic_server"]
    command = [sys.executable, "-m", *speaking, str(script)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, env=environment(folder), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@dataclass(frozen=True)
class JupyterServer:
    """`started` is the seconds from the start of the process to its first answer."""

    process: psutil.Process
    port: int
    started: float

    @property
    def rss(self) -> float:
        """In MiB."""
        return self.process.memory_info().rss / MIB

    @property
    def cpu(self) -> float:
        return cpu(self.process)


def cpu(process: psutil.Process) -> float:
    """Seconds this process has computed; its children are not counted."""
    times = process.cpu_times()
    return times.user + times.system


def cpu_by_thread(process: psutil.Process) -> dict[str, float]:
    """Return the seconds that each thread of this process has computed, to the nanosecond: `cpu` counts in hundredths
    of a second. A system that does not say this has one thread, the whole process."""
    try:
        threads = list(Path(f"/proc/{process.pid}/task").iterdir())
        return {thread.name: int((thread / "schedstat").read_text().split()[0]) / 1e9 for thread in threads}
    except OSError:  # no Linux, or a thread that ended now
        return {"": cpu(process)}


@contextmanager
def jupyter_server(folder: Path, *, extension: bool = True) -> Generator[JupyterServer]:
    """With all other extensions of this environment as they are."""
    port = _free_port()
    options = ["--no-browser", "--allow-root", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    options += [f"--ServerApp.root_dir={folder}", "--IdentityProvider.token=secret"]
    chosen = f"--ServerApp.jpserver_extensions={{'jupyter_eca': {extension}}}"
    began = monotonic()
    with (folder / "server.log").open("wb") as log:
        process = psutil.Popen(
            [sys.executable, "-m", "jupyter_server", *options, chosen], env=environment(folder), stderr=log
        )
    try:
        _wait_for(port, process, folder)
        yield JupyterServer(process, port, monotonic() - began)
    finally:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _wait_for(port: int, process: psutil.Popen, folder: Path) -> None:
    """Asked every 5 ms: from outside there is no event for it."""
    until = monotonic() + PATIENCE
    while monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=PATIENCE):
                return
        except urllib.error.URLError:
            sleep(0.005)
    raise RuntimeError(f"the Jupyter server did not start:\n{(folder / 'server.log').read_text(errors='replace')}")


class Kernel:
    """An ipykernel that no Jupyter server knows."""

    def __init__(self, client: Any, process: psutil.Process) -> None:
        self._client = client
        self.process = process

    async def run(self, code: str) -> str:
        """What the code printed. Raises: RuntimeError with its traceback."""
        printed: list[str] = []

        def take(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])

        reply = await self._client.execute_interactive(code, output_hook=take, timeout=PATIENCE, allow_stdin=False)
        if reply["content"]["status"] != "ok":
            raise RuntimeError("\n".join(reply["content"]["traceback"]))
        return "".join(printed)


@asynccontextmanager
async def kernel(folder: Path) -> AsyncGenerator[Kernel]:
    manager: Any = AsyncKernelManager()
    log = subprocess.DEVNULL
    await manager.start_kernel(env=environment(folder), cwd=str(folder), stdout=log, stderr=log)
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=PATIENCE)
        yield Kernel(client, psutil.Process(manager.provisioner.pid))
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
