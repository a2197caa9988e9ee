"""An answer of many chunks, from the model's server to the page, beside the bare SDK reading the same stream."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any

from anthropic import AsyncAnthropic

from jupyter_eca.engine import inputs
from jupyter_eca.engine.model.delta import TextDelta
from jupyter_eca.engine.step import ChatState, step
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol.jsonrpc import Notification, Request
from jupyter_eca.transport.memory import make_link_pair
from tests.bench import sdk
from tests.bench.figure import Figure, list_of, ratios
from tests.bench.page import Heard, Page, page
from tests.bench.processes import configuration, configure, jupyter_server, loopback
from tests.support.host_and_client import Door, desk

if TYPE_CHECKING:
    from tests.bench.processes import JupyterServer

ROUNDS = 7
CHUNKS = 2000
SIZES = (500, 2000, 8000)
# As long as the vendor's pieces usually are.
CHUNK = "some words, "
# A piece every few milliseconds, as models speak: each is stored and sent by itself, so this costs most.
PACED = 500
PACE = 0.004


async def figures() -> list[Figure]:
    rules: list[dict[str, Any]] = [
        {"message": f"^{size}$", "reply": [{"text": CHUNK * size, "chunk": len(CHUNK)}]} for size in SIZES
    ]
    rules.append({"message": "paced", "reply": [{"text": CHUNK * PACED, "chunk": len(CHUNK), "delay": PACE}]})
    with TemporaryDirectory() as name:
        folder = Path(name)
        with loopback(folder, rules) as url:
            configure(folder, url)
            with jupyter_server(folder) as server:
                async with page(server.port) as client, AsyncAnthropic(api_key="loopback", base_url=url) as bare:
                    await _warmed(client, bare)
                    times = await _times(folder, url, server, client, bare)
                    paced = await _paced(server, client, bare)
                    return [*times, *await _sizes(client), *paced, _engine()]


async def _warmed(client: Page, bare: AsyncAnthropic) -> None:
    await client.ask("500")
    await sdk.ask(bare, "500")


async def _times(folder: Path, url: str, server: JupyterServer, client: Page, bare: AsyncAnthropic) -> list[Figure]:
    theirs: list[sdk.Streamed] = []
    ours: list[Heard] = []
    server_cpu: list[float] = []
    inside: list[float] = []
    inside_cpu: list[float] = []
    for _ in range(ROUNDS):
        theirs.append(await sdk.ask(bare, str(CHUNKS)))
        before = server.cpu
        ours.append(await client.ask(str(CHUNKS)))
        server_cpu.append(server.cpu - before)
        took, computed = await _in_process(folder, url)
        inside.append(took)
        inside_cpu.append(computed)
    bare_times, bare_cpu = [heard.seconds for heard in theirs], [heard.cpu for heard in theirs]
    socket_times = [heard.seconds for heard in ours]
    beside = f"bare SDK {list_of(bare_times, 'ms', 1000)}"
    beside_cpu = f"bare SDK {list_of(bare_cpu, 'ms', 1000)}"
    return [
        Figure(
            f"{CHUNKS} chunks to a WebSocket, time", ratios(socket_times, bare_times), "x", 1.5,
            f"{list_of(socket_times, 'ms', 1000)}, {beside}",
        ),
        Figure(
            "the same, CPU of the server", ratios(server_cpu, bare_cpu), "x", None,
            f"{list_of(server_cpu, 'ms', 1000)}, {beside_cpu}",
        ),
        Figure(
            "in process, over a memory link, time", ratios(inside, bare_times), "x", None,
            f"{list_of(inside, 'ms', 1000)}, {beside}",
        ),
        Figure(
            "the same, CPU", ratios(inside_cpu, bare_cpu), "x", None,
            f"{list_of(inside_cpu, 'ms', 1000)}, {beside_cpu}",
        ),
        Figure("messages of that answer", [heard.messages for heard in ours], "frames", None, f"{CHUNKS} chunks"),
    ]  # fmt: skip


async def _in_process(folder: Path, url: str) -> tuple[float, float]:
    """Seconds and CPU seconds from provider to link, with no WebSocket and no server around."""
    async with desk(folder, [], **configuration(url)) as table:
        ours, theirs = make_link_pair()
        table.tasks.create_task(EcaSession(theirs, Door(table.host)).run())
        await ours.send(Request(0, "initialize", {}))
        warm = False
        began = computed = 0.0
        async for message in ours:
            if not warm:
                warm = True
                began, computed = monotonic(), process_time()
                await ours.send(Request(1, "chat/prompt", {"chatId": f"{began}", "message": str(CHUNKS)}))
            if isinstance(message, Notification) and message.params.get("content", {}).get("state") == "finished":
                break
        took = monotonic() - began, process_time() - computed
        await ours.close()
        return took


async def _sizes(client: Page) -> list[Figure]:
    """Bytes a character of text: the same for every length if the wire is linear in the text."""
    found: list[Figure] = []
    for size in SIZES:
        heard = [await client.ask(str(size)) for _ in range(3)]
        took = list_of([h.seconds for h in heard], "ms", 1000)
        beside = f"{heard[-1].messages} frames, {heard[-1].size} bytes, {took}"
        length = len(CHUNK) * size
        found.append(
            Figure(f"bytes on the wire, {size} chunks", [h.size / length for h in heard], "a character", None, beside)
        )
    return found


async def _paced(server: JupyterServer, client: Page, bare: AsyncAnthropic) -> list[Figure]:
    theirs: list[float] = []
    ours: list[float] = []
    sizes: list[float] = []
    frames = 0
    for _ in range(3):
        theirs.append((await sdk.ask(bare, "paced")).cpu)
        before = server.cpu
        heard = await client.ask("paced")
        ours.append(server.cpu - before)
        sizes.append(heard.size / (PACED * len(CHUNK)))
        frames = heard.messages
    beside = f"{list_of(ours, 'ms', 1000)}, bare SDK {list_of(theirs, 'ms', 1000)}"
    return [
        Figure(f"{PACED} chunks at {PACE * 1000:g} ms, CPU of the server", ratios(ours, theirs), "x", None, beside),
        Figure("bytes on the wire of that", sizes, "a character", None, f"{frames} frames"),
    ]


def _engine() -> Figure:
    times: list[float] = []
    for _ in range(ROUNDS):
        state, _, _ = step(ChatState("chat"), inputs.Prompted(1, "turn", "question", "content", inputs.Setup("m")))
        deltas = [TextDelta(CHUNK)] * CHUNKS
        began = monotonic()
        for delta in deltas:
            state, _, _ = step(state, inputs.Streamed(2, 1, delta))
        times.append((monotonic() - began) * 1000)
    return Figure(f"`step` alone, {CHUNKS} deltas", times, "ms", None, "no provider, no store, no link")
