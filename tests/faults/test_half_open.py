"""A network that is cut between a page and Jupyter: nothing arrives any more, and no end is told.

It is the network of a namespace, whose interface is taken down. `../apps/server/test_unread_clients.py` does it by a
proxy, in every run."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.faults import at_message
from tests.faults.jupyter import JupyterMachine
from tests.faults.machine import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Generator

pytestmark = [pytest.mark.asyncio, pytest.mark.nightly]

# The state of a TCP connection that is open, in /proc/PID/net/tcp.
ESTABLISHED = "01"


def run_ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)  # noqa: S607  # of the system


class Namespace:
    """A network namespace with one interface, whose other end is here."""

    def __init__(self) -> None:
        id = os.getpid() % 250
        self.name, self._outside = f"eca-{id}", f"eca-out-{id}"
        self.address, self._here = f"10.213.{id}.2", f"10.213.{id}.1"

    def open(self) -> None:
        run_ip("netns", "add", self.name)
        run_ip("link", "add", self._outside, "type", "veth", "peer", "name", "inside", "netns", self.name)
        run_ip("addr", "add", f"{self._here}/24", "dev", self._outside)
        run_ip("-n", self.name, "addr", "add", f"{self.address}/24", "dev", "inside")
        for words in ((self._outside,), ("lo",), ("inside",)):
            inside = () if words == (self._outside,) else ("-n", self.name)
            run_ip(*inside, "link", "set", *words, "up")

    def cut(self) -> None:
        run_ip("link", "set", self._outside, "down")

    def heal(self) -> None:
        run_ip("link", "set", self._outside, "up")

    def close(self) -> None:
        for words in (("link", "del", self._outside), ("netns", "del", self.name)):
            with suppress(subprocess.CalledProcessError):
                run_ip(*words)


@contextmanager
def namespace() -> Generator[Namespace]:
    if sys.platform != "linux" or shutil.which("ip") is None:
        pytest.skip("network namespaces need Linux and the command `ip`")
    made = Namespace()
    try:
        try:
            made.open()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this user may make no network namespace: {error.stderr.decode().strip()}")
        yield made
    finally:
        made.close()


def count_connections(pid: int, port: int) -> int:
    """How many connections to this port a process has in its namespace, that nobody has closed."""
    lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    fields = (line.split() for line in lines)
    return sum(local.endswith(f":{port:04X}") and state == ESTABLISHED for _, local, _, state, *_ in fields)


@pytest.mark.parametrize("moment", [3, 25])
async def test_a_page_behind_a_cut_network_is_found_to_be_gone_and_is_shown_everything_later(
    tmp_path: Path, moment: int
) -> None:
    with namespace() as network:
        # A ping each second, rather than each half minute.
        prefix, options = ("ip", "netns", "exec", network.name), ("--ServerApp.websocket_ping_interval=1",)
        machine = JupyterMachine(tmp_path, network.address, prefix, options)
        try:
            page = await machine.connect()
            process = page.process
            at_message(page, moment, network.cut)
            asking = asyncio.create_task(page.ask("c", "talk c-0"))
            async with asyncio.timeout(PATIENCE):
                while count_connections(process.pid, machine.port):  # noqa: ASYNC110  # no event tells what happens in another process
                    await asyncio.sleep(0.1)
            asking.cancel()
            network.heal()
            again = await machine.open_page(process)
            await machine.initialize(again)
            await machine.check_kept(page, again, "c")
            await again.end()
            machine.check_nothing_left()
        finally:
            await machine.close()
