"""Event streams on the wire: what others make of them, and many, slow, dead and killed ones beside each other."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import httpx2
import httpx_sse
import psutil
import pytest
import pytest_asyncio

from tests.fronts.rest.served import PATIENCE, ROOT, RULES, Running, Served, running, said, talking
from tests.mcp_client.house import raw, tour_server
from tests.support.samples import sample

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# What reads the stream beside Python.
PARSER = ROOT / "labextension" / "node_modules" / "eventsource-parser"
CHUNKS = 250
WORDS = "".join(f"w{n:03} " for n in range(CHUNKS))
MANY: list[dict[str, Any]] = [{"message": "many", "reply": [{"text": WORDS, "chunk": 5, "delay": 0.002}]}]
# Megabytes that an answer may leave behind: its chat stays loaded.
ROOM = 0.2
ROUNDS = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rest")


@pytest.fixture(scope="module")
def process(folder: Path) -> Iterator[Running]:
    servers = {"tour": tour_server(str(folder / "pid")), "other": raw("good")}
    with running(folder, "--approve", "allow", rules=[*MANY, *RULES], mcpServers=servers) as at:
        yield at


@pytest_asyncio.fixture
async def at(process: Running) -> AsyncGenerator[Served]:
    async with talking(process) as served:
        yield served


@asynccontextmanager
async def connection(process: Running, message: str, chat: str) -> AsyncGenerator[asyncio.StreamReader]:
    """A bare one, which has asked; it is cut at the end."""
    parts = urlsplit(process.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**16)
    body = json.dumps({"message": message, "chat_id": chat}).encode()
    head = f"POST /chat/stream HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in process.headers.items())
    writer.write(f"{head}Accept-Encoding: gzip, br\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    try:
        yield reader
    finally:
        writer.transport.abort()


async def ended(at: Served, chat: str) -> None:
    """Returns when nothing is answered in a chat any more."""
    async with asyncio.timeout(PATIENCE):
        while [one["status"] for one in await at.get("/chats") if one["id"] == chat] != ["idle"]:
            pass


@pytest.mark.skipif(not PARSER.exists(), reason="`npm --prefix labextension ci` was not run")
@pytest.mark.parametrize("message", sample(["add", "twice", "break", "long", "hello", "/help"], every=3))
async def test_two_independent_parsers_understand_a_stream_alike(at: Served, message: str) -> None:
    await at.post("/connect/tour")
    asked = await at.client.post("/chat/stream", json={"message": message}, headers={"Accept": "text/event-stream"})
    command = ["node", str(ROOT / "tests/fronts/eca/parse_events.mjs"), str(ROOT / "labextension")]
    done = await asyncio.to_thread(subprocess.run, command, input=asked.content, capture_output=True, check=True)
    answer = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=asked.content)
    python = [(sse.id, sse.data) for sse in httpx_sse.EventSource(answer).iter_sse()]
    assert [(event["id"], event["data"]) for event in json.loads(done.stdout)] == python
    assert len(python) > 1 or message == "break"
    assert python[-1][1] == "[DONE]" if message != "break" else python[-1][1].startswith("[ERROR] ")


async def test_an_event_is_one_chunk_of_the_body_and_never_compressed(process: Running, at: Served) -> None:
    await at.post("/connect/tour")
    async with connection(process, "twice", "chunks") as reader, asyncio.timeout(PATIENCE):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert "content-encoding" not in head
        chunks: list[bytes] = []
        while size := int(await reader.readline(), 16):
            chunks.append((await reader.readexactly(size + 2))[:-2])
    assert len(chunks) >= 6
    assert all(chunk.startswith(b"data: ") and chunk.index(b"\n\n") == len(chunk) - 2 for chunk in chunks)


async def test_a_client_that_is_cut_off_stops_its_answer_alone(process: Running, at: Served) -> None:
    async with connection(process, "slow", "cut") as reader, asyncio.timeout(PATIENCE):
        await reader.readuntil(b"word")
        other = asyncio.create_task(at.events("many", "beside"))
    await ended(at, "cut")
    assert said(await other) == WORDS
    assert said(await at.events("hello", "cut")) == "Hello, hello"


async def test_a_client_that_does_not_read_holds_nobody_up(process: Running, at: Served) -> None:
    async with connection(process, "slow", "deaf") as reader:
        async with asyncio.timeout(PATIENCE):
            await reader.readuntil(b"word")
        assert said(await at.events("many", "hearing")) == WORDS


async def test_a_killed_tool_server_fails_its_call_alone_and_comes_back(at: Served, folder: Path) -> None:
    await at.post("/connect/tour")
    call = asyncio.create_task(at.events("wait", "killed"))
    async with asyncio.timeout(PATIENCE):
        while not [one for one in await at.get("/chats") if one["id"] == "killed" and one["status"] == "running"]:
            pass
    other = asyncio.create_task(at.events("many", "unharmed"))
    psutil.Process(int((folder / "pid").read_text())).kill()
    events = await call
    assert "failed" in said(events)
    assert said(await other) == WORDS
    assert (await at.post("/connect/tour"))["success"]
    assert said(await at.events("add", "killed")) == "It said: 5"


@pytest.mark.parametrize("streams", sample([20, 50, 200], every=3))
async def test_many_streams_at_once_keep_every_event_in_order_and_the_memory_flat(
    process: Running, at: Served, streams: int
) -> None:
    """Everything is said twice or more: what a round leaves is what a server of this size needs, and its allocator may
    need another round; what leaked would be left by each."""
    memory = psutil.Process(at.pid).memory_info
    sizes: list[int] = []
    began = time.monotonic()
    answers: list[list[tuple[str, str]]] = []
    limits = httpx2.Limits(max_connections=streams)
    for rounds in range(ROUNDS):
        # New connections: the server closes one that was idle for a few seconds, perhaps just as it is used again.
        async with httpx2.AsyncClient(
            base_url=process.url, headers=process.headers, timeout=120, trust_env=False, limits=limits
        ) as client:
            answers = await asyncio.gather(*(_streamed(client, f"{rounds}-{n}") for n in range(streams)))
        sizes.append(memory().rss >> 20)
        for events in answers:
            assert "".join(json.loads(data)["content"] for _, data in events[:-1]) == WORDS
            assert events[-1][1] == "[DONE]"
            ids = [int(id) for id, _ in events]
            assert ids == sorted(set(ids))
        if rounds and sizes[-1] - sizes[-2] < ROOM * streams:
            break
    else:
        pytest.fail(f"each of {ROUNDS} rounds leaves more: {sizes} MB")
    seconds, events = time.monotonic() - began, sum(map(len, answers))
    print(f"{len(sizes)} rounds in {seconds:.1f} s, the last {streams} answers as {events} events; MB: {sizes}")


async def _streamed(client: httpx2.AsyncClient, chat: str) -> list[tuple[str, str]]:
    body, headers = {"message": "many", "chat_id": chat}, {"Accept": "text/event-stream"}
    answer = await client.post("/chat/stream", json=body, headers=headers)
    received = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=answer.content)
    return [(sse.id, sse.data) for sse in httpx_sse.EventSource(received).iter_sse()]
