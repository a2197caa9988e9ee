"""A Jupyter server, as a process, that is ended while its kernels are behind a gateway."""

from __future__ import annotations

import json
import signal
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.apps.server.gateway.gateways import PLAIN, TOKEN, end, start_gateway
from tests.apps.server.test_kill import connect, hear, send, server
from tests.support.processes import have_ended

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"run_code": {}}}


@pytest.fixture
def jp_server_config() -> dict[str, Any]:
    """The server in this process, which these tests do not use, has no gateway."""
    return {}


def start_kernel(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Start the kernel of a notebook without the package, as a page does."""
    about = json.loads((folder / "runtime" / f"jpserver-{process.pid}.json").read_text())
    session = {"path": "a.ipynb", "name": "a.ipynb", "type": "notebook", "kernel": {"name": PLAIN}}
    request = urllib.request.Request(  # noqa: S310  # an address of our own
        f"{about['url']}api/sessions", json.dumps(session).encode(), {"Authorization": "token secret"}
    )
    urllib.request.urlopen(request).close()  # noqa: S310


async def ask(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Ask in the panel for code, and return the answer. The code runs in the kernel behind the gateway."""
    socket, said = await connect(folder, process), ""
    start_kernel(folder, process)
    await send(socket, "initialize", {}, 1)
    await send(socket, "chat/prompt", {"message": "make a variable", "chatId": "c"}, 2)
    while True:
        params = (await hear(socket)).get("params", {})
        if params.get("role") == "assistant":
            said += params["content"].get("text", "")
        if params.get("role") == "system" and params["content"].get("state") == "finished":
            socket.close()
            return said


def end_server(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    assert have_ended(process.pid)


@contextmanager
def start_both(tmp_path: Path, root: Path) -> Generator[tuple[subprocess.Popen[bytes], subprocess.Popen[bytes], int]]:
    """A server, its gateway, and the port of the gateway."""
    with start_gateway(tmp_path / "gateway") as (port, gateway):
        address = {"JUPYTER_GATEWAY_URL": f"http://127.0.0.1:{port}", "JUPYTER_GATEWAY_AUTH_TOKEN": TOKEN}
        with server(tmp_path, root, **address) as process:
            yield process, gateway, port


@pytest.mark.nightly
async def test_the_server_ends_its_kernels_and_itself(jp_root_dir: Path, tmp_path: Path) -> None:
    with start_both(tmp_path, jp_root_dir) as (process, gateway, _):
        assert "I make it." in await ask(tmp_path, process)
        (kernel,) = psutil.Process(gateway.pid).children()
        end_server(process)
        assert have_ended(kernel.pid)


@pytest.mark.nightly
@pytest.mark.parametrize("state", ["down", "silent", "refusing"])
async def test_the_server_ends_when_its_gateway_cannot_be_used(jp_root_dir: Path, tmp_path: Path, state: str) -> None:
    with start_both(tmp_path, jp_root_dir) as (process, gateway, port):
        assert "I make it." in await ask(tmp_path, process)
        match state:
            case "silent":
                gateway.send_signal(signal.SIGSTOP)
                end_server(process)
                gateway.send_signal(signal.SIGCONT)
            case "down":
                end(gateway)
                end_server(process)
            case _:
                end(gateway)
                with start_gateway(tmp_path / "other", port=port, token="another"):  # noqa: S106
                    end_server(process)
