"""Clients that stop reading their WebSocket while answers are streamed, and connections that nobody has closed."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from jupyter_eca.apps.server import websockets
from jupyter_eca.transport import send_limit
from tests.apps.server.cells import PATIENCE, Watcher
from tests.apps.server.test_websocket import START, reply, until_finished
from tests.support.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from websockets.asyncio.client import ClientConnection

    Fetch = Callable[..., Awaitable[Any]]

SIZE: Final = 10_000
# Thoughts and texts in turn, so that no two are joined: a megabyte in all.
PIECES: Final = [piece for _ in range(50) for piece in ({"reasoning": "t" * SIZE}, {"text": "w" * SIZE})]
WRITE: Final = {"tool": "write_file", "arguments": {"path": "new.txt", "content": "one"}}
RULES: Final = [
    {"result": "", "reply": [{"text": "I see."}]},
    {"message": "much", "reply": PIECES},
    {"message": "write", "reply": [WRITE]},
    {"message": "", "reply": [{"text": "Hello."}]},
]
# More than one answer, so that a client that reads never has so much to wait for.
LIMIT: Final = 2 * 2**20
# More than the system keeps for a client that does not read, and the limit.
MAX_TURNS: Final = 20


@pytest.fixture
def approve_with_token() -> bool:
    return True


@pytest.fixture(autouse=True)
def script(eca_config: None, tmp_path: Path) -> None:  # noqa: ARG001  # it writes another script
    (tmp_path / "script.json").write_text(json.dumps({"rules": RULES}))


class Warnings(logging.Handler):
    def __init__(self, log: logging.Logger) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []
        log.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def make_greeting(door: str, folder: Path) -> list[dict[str, Any]]:
    """What a client says so that it is shown the chat `c`."""
    at: dict[str, Any] = {"cwd": str(folder), "mcpServers": []}
    ahp = {"protocolVersions": ["0.1.0"], "clientId": "silent", "initialSubscriptions": ["eca:/c"]}
    requests: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "ws": [("initialize", {"capabilities": {"codeAssistant": {"chat": True}}}), ("chat/list", {})],
        "ahp": [("initialize", ahp)],
        "acp": [
            ("initialize", {"protocolVersion": 1, "clientCapabilities": {}}),
            ("session/load", {"sessionId": "c", **at}),
        ],
    }
    return [
        {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        for id, (method, params) in enumerate(requests[door])
    ]


async def open_client(port: int, base_url: str, door: str, token: str) -> ClientConnection:
    """A client that reads no more than it is asked to: the system keeps little for it, and the library one message."""
    way = socket.socket()
    way.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    way.connect(("127.0.0.1", port))
    return await connect(
        f"ws://127.0.0.1:{port}{base_url}eca/{door}", sock=way, max_queue=1, max_size=None, ping_interval=None,
        additional_headers={"Authorization": f"token {token}"},
    )  # fmt: skip


async def until_answered(client: ClientConnection, id: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while json.loads(await client.recv()).get("id") != id:
            pass


async def ask(reader: Any, message: str) -> None:
    """Ask in the chat `c`, and read the whole answer."""
    prompt = {"jsonrpc": "2.0", "id": 2, "method": "chat/prompt", "params": {"message": message, "chatId": "c"}}
    await reader.write_message(json.dumps(prompt))
    await until_finished(reader)


@pytest.mark.parametrize("door", ["ws", "ahp", "acp"])
async def test_a_client_that_stops_reading_is_disconnected_and_told_why_and_the_others_go_on(
    door: str,
    jp_ws_fetch: Fetch,
    jp_serverapp: Any,
    jp_http_port: int,
    jp_base_url: str,
    jp_root_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(send_limit, "MAX_CHARACTERS", LIMIT)
    warnings = Warnings(jp_serverapp.log)
    reader = await jp_ws_fetch("eca", "ws")
    await reply(reader, START)
    await ask(reader, "hi")
    silent = await open_client(jp_http_port, jp_base_url, door, jp_serverapp.identity_provider.token)
    greeting = make_greeting(door, jp_root_dir)
    for message in greeting:
        await silent.send(json.dumps(message))
        await until_answered(silent, message["id"])
    turns = 0
    while not warnings.texts and turns < MAX_TURNS:
        await ask(reader, "much")
        turns += 1
    assert [text.partition(": ")[2] for text in warnings.texts] == [send_limit.NOT_READING]
    with suppress(ConnectionClosedError):
        async for _ in silent:
            pass
    # The reason comes after all that was sent before: a client that does not read it within seconds gets none.
    assert (silent.close_code, silent.close_reason) in {(1013, send_limit.NOT_READING), (1006, "")}
    await ask(reader, "hi")
    reader.close()
    again = await jp_ws_fetch("eca", "ws")
    await reply(again, START)
    await again.write_message(json.dumps({"jsonrpc": "2.0", "id": 3, "method": "chat/open", "params": {"chatId": "c"}}))
    texts: list[str] = []
    while (heard := json.loads(await asyncio.wait_for(again.read_message(), PATIENCE))).get("id") != 3:
        if heard.get("params", {}).get("role") == "assistant":
            texts.append(heard["params"]["content"].get("text", ""))
    assert "".join(texts).count("w") == turns * 50 * SIZE
    again.close()


@pytest.mark.usefixtures("jp_fetch")  # the server answers only where a test can fetch
async def test_a_client_whose_connection_is_half_open_is_found_to_be_gone(
    jp_serverapp: Any, jp_http_port: int, jp_base_url: str, jp_root_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing arrives from it any more, and the connection is not closed. So a call does not wait for its approval."""
    watcher = await Watcher.of(jp_serverapp)
    watcher.host.unattended_calls.grace = 0.0
    monkeypatch.setattr(websockets, "PING_SECONDS", 1.0)
    network = Partition(f"http://127.0.0.1:{jp_http_port}")
    await network.start()
    port = int(network.url.rpartition(":")[2])
    lost = await open_client(port, jp_base_url, "ws", jp_serverapp.identity_provider.token)
    for message in make_greeting("ws", jp_root_dir):
        await lost.send(json.dumps(message))
    prompt = {"jsonrpc": "2.0", "id": 9, "method": "chat/prompt", "params": {"message": "write", "chatId": "c"}}
    await lost.send(json.dumps(prompt))
    await watcher.until("toolCallRun")
    network.cut()
    await watcher.until("toolCallRejected")
    assert not (jp_root_dir / "new.txt").exists()
    lost.transport.abort()
    await network.close()
