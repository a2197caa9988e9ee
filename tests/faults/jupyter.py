"""A machine whose server is a Jupyter server with a notebook and its kernel, and what can happen to it: kill -9 of the
server, or of the kernel, at a moment that the seed chooses.

`python -m tests.faults jupyter SEED` replays one, see `__main__.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx2
import psutil
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from jupyter_eca.protocol.jsonrpc import decode, encode
from tests.faults.faults import at_message, drain, restart
from tests.faults.machine import PATIENCE, RULES, Client, Died, Machine

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from websockets.asyncio.client import ClientConnection

    from jupyter_eca.protocol.jsonrpc import Message

    JupyterFault = Callable[["JupyterMachine", Client, random.Random, str], Awaitable[Client]]

BOOK = "book.ipynb"
TOKEN = "secret"  # noqa: S105  # of a test

JUPYTER_RULES: list[dict[str, Any]] = [
    RULES[0],
    {"message": r"code (?P<id>[\w-]+)", "reply": [
        {"text": "I run it. ", "chunk": 4, "delay": 0.002},
        {"tool": "run_code", "arguments": {
            "path": BOOK, "code": "with open('marks', 'a') as marks: print('$id', file=marks)\nprint('$id ran')"}}]},
    {"message": r"insert (?P<id>[\w-]+)", "reply": [
        {"text": "I add a cell. ", "chunk": 4, "delay": 0.002},
        {"tool": "notebook_insert_cell", "arguments": {"path": BOOK, "source": "# $id"}}]},
    *RULES[1:],
]  # fmt: skip
"""The code of `code` marks that it has run, as the commands of `mark` do."""

# What is asked, and how often. `hang` is stopped while its command runs.
PROMPTS = ("talk", "mark", "asks", "hang", *(2 * ("code", "insert")))

# A story of one turn has about so many messages.
MESSAGES = 60


class PageClient(Client):
    """A page at the WebSocket of a Jupyter server. Its process is that of the server."""

    def __init__(self, process: asyncio.subprocess.Process, socket: ClientConnection) -> None:
        super().__init__(process)
        self._socket = socket

    async def send(self, message: Message) -> None:
        with suppress(ConnectionClosed):
            await self._socket.send(encode(message))

    async def _read(self) -> list[Message]:
        try:
            return [decode(await self._socket.recv())]
        except ConnectionClosed as error:
            raise Died from error

    async def end(self) -> None:
        """Close the page, and end the server as a terminal or a hub does."""
        await self._socket.close()
        with suppress(ProcessLookupError):
            self.process.terminate()
        await asyncio.wait_for(self.process.wait(), PATIENCE)


class JupyterMachine(Machine):
    """A machine with a Jupyter server and a notebook."""

    def __init__(
        self, folder: Path, host: str = "127.0.0.1", prefix: tuple[str, ...] = (), options: tuple[str, ...] = ()
    ) -> None:
        """`host` is the address at which the server listens. `prefix` is a command that runs the command after it.
        `options` are more options of Jupyter."""
        super().__init__(folder, server=False, rules=JUPYTER_RULES)
        self.port = 0
        """The port of the server that was started last."""
        self._host, self._prefix, self._options = host, prefix, options
        self.settings["toolCall"]["approval"]["allow"]["run_code"] = {}
        cell: dict[str, Any] = {"id": "first", "cell_type": "code", "source": "one = 1", "metadata": {}, "outputs": []}
        book: dict[str, Any] = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [{**cell, "execution_count": None}],
        }
        self.book = self.workspace / BOOK
        self.book.write_text(json.dumps(book))

    async def start(self, more: dict[str, str] | None = None) -> Client:
        """Start a Jupyter server, and a kernel for the notebook. See `Machine.start`."""
        self.write_settings()
        runtime = self.folder / "runtime"
        folders = {"JUPYTER_RUNTIME_DIR": str(runtime), "JUPYTER_CONFIG_DIR": str(self.folder / "etc")}
        options = ["--no-browser", "--allow-root", "--ServerApp.port=0", f"--ServerApp.root_dir={self.workspace}"]
        options += [f"--ServerApp.ip={self._host}", *self._options]
        options += [f"--IdentityProvider.token={TOKEN}", "--EcaApp.approve_with_token=True"]
        with (self.folder / "stderr").open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *self._prefix, sys.executable, "-m", "jupyter_server", *options,
                "--ServerApp.jpserver_extensions={'jupyter_eca': True}",
                stdin=asyncio.subprocess.DEVNULL, stdout=errors, stderr=errors,
                cwd=self.workspace, env=self.find_places() | folders | (more or {}),
            )  # fmt: skip
        self.port = await _wait_for_port(runtime / f"jpserver-{process.pid}.json", process)
        page = await self.open_page(process)
        made = {"path": BOOK, "name": BOOK, "type": "notebook", "kernel": {"name": "python3"}}
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            answer = await http.post(
                f"http://{self._host}:{self.port}/api/sessions", json=made, headers={"Authorization": f"token {TOKEN}"}
            )
            assert answer.status_code == 201, answer.text
        return page

    async def open_page(self, process: asyncio.subprocess.Process) -> Client:
        """Open a page of a server that runs."""
        # It answers pings, and sends none: only the server's are tested.
        address = f"ws://{self._host}:{self.port}/eca/ws?token={TOKEN}"
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    socket = await connect(address, max_size=None, open_timeout=PATIENCE, ping_interval=None)
                    break
                except ConnectionRefusedError:  # it notes its port a moment before it listens
                    await asyncio.sleep(0.02)
        self.clients.append(PageClient(process, socket))
        return self.clients[-1]

    def find_kernel(self, client: Client) -> int:
        """The process of the kernel; 0 while there is none."""
        for pid in self.find_children(client):
            with suppress(psutil.Error):
                if any("ipykernel" in word for word in psutil.Process(pid).cmdline()):
                    return pid
        return 0

    def check_marks(self, client: Client, chat: str) -> None:
        super().check_marks(client, chat)
        marks = self.marks.read_text().split() if self.marks.exists() else []
        for end, *_ in client.ended_calls(chat).values():
            if end["type"] == "toolCalled" and end["name"] == "run_code" and not end["error"]:
                id = end["arguments"]["code"].partition("print('")[2].partition("'")[0]
                assert id in marks, "code that is said to have run has not"

    def check_book(self, client: Client, chat: str) -> None:
        """The notebook is whole. No cell was inserted twice, and each that is said to be there is there."""
        sources = ["".join(cell["source"]) for cell in json.loads(self.book.read_text())["cells"]]
        assert "one = 1" in sources
        assert len(sources) == len(set(sources)), "a cell was inserted twice"
        for end, *_ in client.ended_calls(chat).values():
            if end["type"] == "toolCalled" and end["name"] == "notebook_insert_cell" and not end["error"]:
                assert end["arguments"]["source"] in sources, "a cell is not in the notebook"

    def check_nothing_left(self) -> None:
        super().check_nothing_left()
        left = [path.name for path in self.workspace.iterdir() if path.name.startswith(f".{BOOK}")]
        assert left == [], "a half-written notebook is left"


async def _wait_for_port(note: Path, process: asyncio.subprocess.Process) -> int:
    """Jupyter notes its port in a file when it listens."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(OSError, ValueError):
                return json.loads(note.read_text())["port"]  # noqa: ASYNC240  # nothing else runs
            assert process.returncode is None, "the Jupyter server has ended"
            await asyncio.sleep(0.02)  # no event tells what happens in another process


async def tell(client: Client, chat: str, dice: random.Random) -> None:
    """Ask from one to three things."""
    for number in range(dice.randint(1, 3)):
        kind = dice.choice(PROMPTS)
        await client.ask(chat, f"{kind} {chat}-{number}", stops=kind == "hang")


async def kill_jupyter(machine: JupyterMachine, client: Client, dice: random.Random, chat: str) -> Client:
    """The Jupyter server is killed at a random message."""
    running = True
    with suppress(Died):
        at_message(client, dice.randint(1, MESSAGES), client.process.kill)
        await tell(client, chat, dice)
        running = False
        client.process.kill()
    await drain(client)
    after = await restart(machine, client, machine.list_temporary())
    await machine.check_kept(client, after, chat)
    machine.check_marks(after, chat)
    machine.check_book(after, chat)
    if not running:
        assert after.count_crashes(chat) == 0, "a turn that had ended is said to have been interrupted"
    return after


async def kill_kernel(machine: JupyterMachine, client: Client, dice: random.Random, chat: str) -> Client:
    """The kernel is killed at a random message. The turn ends, and code runs in the next kernel."""
    pid = machine.find_kernel(client)
    assert pid, "the kernel runs"
    killed = False

    def kill() -> None:
        nonlocal killed
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        killed = True

    at_message(client, dice.randint(1, MESSAGES // 2), kill)
    await client.ask(chat, f"code {chat}-code")
    await tell(client, chat, dice)
    if not killed:
        kill()
    client.on_message = lambda _: None
    async with asyncio.timeout(PATIENCE):
        while machine.find_kernel(client) in {0, pid}:  # noqa: ASYNC110  # no event tells what happens in another process
            await asyncio.sleep(0.05)
    await client.ask(chat, f"code {chat}-again")
    failed = [end for ends in client.ended_calls(chat).values() for end in ends if end.get("error")]
    assert all(end["outputs"][0]["text"] for end in failed), "a failed call says why"
    assert f"{chat}-again" in machine.marks.read_text().split(), "code does not run again"
    await machine.check_kept(client, client, chat)
    machine.check_marks(client, chat)
    machine.check_book(client, chat)
    return client


JUPYTER_FAULTS: dict[str, JupyterFault] = {"kill Jupyter": kill_jupyter, "kill kernel": kill_kernel}


def choose_jupyter(seed: int) -> str:
    """The fault of a seed: a kernel is killed in every second."""
    return "kill kernel" if seed % 2 else "kill Jupyter"
