"""A real kernel gateway or Enterprise Gateway on loopback, and a line to it that can be slow, silent or cut."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jupyter_eca
from tests.support.editor_process import environment
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

TOKEN = "secret-of-the-gateway"  # noqa: S105

# A kernel whose Python has jupyter_eca, and one whose Python has not. Jupyter takes a kernel with the usual name from
# the environment of the gateway.
EQUIPPED, PLAIN = "equipped", "plain"
HIDING = (
    "import sys; sys.modules['jupyter_eca'] = None; from ipykernel import kernelapp; kernelapp.launch_new_instance()"
)


KERNEL_GATEWAY = ("jupyter-kernel-gateway>=3,<4", "ipykernel>=7.4")
# It brings an old Jupyter Server, so it needs an environment of its own.
ENTERPRISE_GATEWAY = ("jupyter-enterprise-gateway>=3.3,<4",)


def build_environment(folder: Path, packages: Sequence[str] = KERNEL_GATEWAY) -> str:
    """Return the Python of a new environment in `folder` that has a gateway, and not the assistant."""
    uv, python = str(Path(sys.executable).with_name("uv")), str(folder / "bin" / "python")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(folder)], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", python, *packages], check=True)
    return python


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def write_kernels(data: Path, plain: list[str]) -> None:
    """A gateway passes no variables of its own to its kernels."""
    checkout = {"PYTHONPATH": str(Path(jupyter_eca.__file__).parents[1])}
    specs: dict[str, tuple[list[str], dict[str, str]]] = {
        EQUIPPED: ([sys.executable, "-m", "ipykernel_launcher"], checkout),
        PLAIN: (plain, {}),
    }
    for name, (command, variables) in specs.items():
        folder = data / "kernels" / name
        folder.mkdir(parents=True)
        argv = [*command, "-f", "{connection_file}"]
        spec = {"argv": argv, "display_name": name, "language": "python", "env": variables}
        (folder / "kernel.json").write_text(json.dumps(spec))


@contextmanager
def start_gateway(
    folder: Path,
    plain: list[str] | None = None,
    python: str = sys.executable,
    port: int = 0,
    token: str = TOKEN,
    *,
    lists: bool = False,
) -> Generator[tuple[int, subprocess.Popen[bytes]]]:
    """Yields the port of a kernel gateway, and its process, once it answers. `lists`: it lists its kernels to all who
    ask, which it does not by itself, and which JupyterLab needs."""
    write_kernels(folder / "data", plain or [sys.executable, "-c", HIDING])
    port = port or find_free_port()
    settings = {"ip": "127.0.0.1", "port": port, "port_retries": 0, "auth_token": token}
    options = [f"--KernelGatewayApp.{name}={value}" for name, value in settings.items()]
    options.append(f"--JupyterWebsocketPersonality.list_kernels={lists}")
    with _run([python, "-m", "kernel_gateway", *options], folder, port, token) as process:
        yield port, process


@contextmanager
def start_enterprise_gateway(folder: Path, python: str) -> Generator[int]:
    """Yields the port of an Enterprise Gateway with kernels on this machine, once it answers. The environment of this
    Python has it."""
    write_kernels(folder / "data", [sys.executable, "-c", HIDING])
    port = find_free_port()
    settings = {"ip": "127.0.0.1", "port": port, "port_retries": 0, "auth_token": TOKEN}
    options = [f"--EnterpriseGatewayApp.{name}={value}" for name, value in settings.items()]
    # It starts no kernel as root, unless another user is forbidden in its place.
    variables = {"EG_PROHIBITED_UIDS": "1000000", "EG_PROHIBITED_GIDS": "1000000"}
    with _run([python, "-m", "enterprise_gateway", *options], folder, port, TOKEN, variables):
        yield port


@contextmanager
def _run(
    command: list[str], folder: Path, port: int, token: str, variables: Mapping[str, str] | None = None
) -> Generator[subprocess.Popen[bytes]]:
    places = {"JUPYTER_DATA_DIR": str(folder / "data"), "JUPYTER_RUNTIME_DIR": str(folder / "run")}
    with (folder / "gateway.log").open("wb") as log:
        everything = {**environment(folder), **places, **(variables or {})}
        process = subprocess.Popen(command, env=everything, cwd=folder, stderr=log)
    try:
        _wait_until_it_answers(port, token, process)
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Let a gateway end its kernels and itself, as far as it can."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(10)
    process.kill()
    process.wait()


def _wait_until_it_answers(port: int, token: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api", headers={"Authorization": f"token {token}"})
    while True:
        try:
            urllib.request.urlopen(request, timeout=PATIENCE).close()  # noqa: S310
            return
        except OSError:
            assert process.poll() is None, "the gateway has ended"
            assert time.monotonic() < deadline, "the gateway does not answer"
            time.sleep(0.02)


class Line:
    """A line to a gateway. It counts what is sent to the gateway, and may delay, hold back or cut everything."""

    def __init__(self, port: int) -> None:
        self.sent = 0
        """Connections that were opened, and messages sent over them; pings do not count."""
        self.delay = 0.0
        """The seconds that everything takes in each direction."""
        self.port = 0
        self._target = port
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Close all connections, and refuse others, until it is started again."""
        assert self._server is not None
        self._server.close()
        for writer in [*self._writers]:
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hold(self) -> None:
        """Pass nothing on any more."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.sent += 1
        self._writers.add(writer)
        try:
            there, away = await asyncio.open_connection("127.0.0.1", self._target)
            self._writers.add(away)
            await asyncio.gather(self._pass(reader, away, counts=True), self._pass(there, writer, counts=False))
        except OSError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counts: bool) -> None:
        try:
            while data := await reader.read(1 << 20):
                self.sent += counts and data[0] not in {0x89, 0x8A}
                await asyncio.sleep(self.delay)
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)
