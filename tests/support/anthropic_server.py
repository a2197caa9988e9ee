"""A server of the Anthropic Messages API on this machine, whose answers a `scripted` script gives. For tests.

    with LoopbackAnthropic(Script.model_validate({...})) as server: server.url

or, from another process, `python -m tests.support.anthropic_server SCRIPT.json`, which prints the url and serves until
it is stopped. It runs in a thread and an event loop of its own, sends every event at once, and writes down what it was
asked. A
script's `error` is an HTTP status if it comes first in a reply, else an `error` event. `faults` are taken one a
request, before the script is asked; None is no fault. `{clock}` in a text becomes the time at which that piece was
sent (`time.monotonic`, which all processes of a machine share).
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
import threading
import time
import zlib
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from jupyter_eca.engine.model.delta import ReasoningDelta, TextDelta, ToolCallDelta
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, Part, TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import scripted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from jupyter_eca.plugins.providers.scripted import ReplyPart, Script

Json = dict[str, Any]

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """`status` answers with that and `said`: the message of an API error, or with `plain` the whole body. `events` are
    sent instead of the script's. `cut` closes the connection after so many bytes of the body, with `reset` as one that
    breaks; `stall` falls silent. `zipped` compresses it, though nobody asked for that."""

    status: int = 200
    said: str = ""
    plain: bool = False
    headers: dict[str, str] = field(default_factory=dict[str, str])
    events: tuple[Json, ...] | None = None
    cut: int | None = None
    stall: int | None = None
    reset: bool = False
    zipped: bool = False


NO_FAULT = Fault()


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request. `connection` numbers the connections; `left` is set when the client hung up before the end."""

    path: str
    headers: dict[str, str]
    body: Json
    connection: int
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def key(self) -> str:
        return self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")


# After as many steps of the loop, each connection that was accepted is known. One that is not known would stay open,
# and would warn in whichever test runs when it is collected.
_STEPS_OF_A_CONNECTION = 10


class LoopbackAnthropic:
    def __init__(
        self, script: Script, faults: Iterable[Fault | None] = (), tags: Iterable[str] = (), key: str = ""
    ) -> None:
        """`tags` are the models of the Ollama that this server claims to be. With `key` it lists its models, to whoever
        has it."""
        self.requests: list[Recorded] = []
        self.asked = threading.Event()
        self.url = ""
        self.script = script
        self.spent: Counter[int] = Counter()
        self.faults = deque(faults)
        self._tags = tuple(tags)
        self._key = key
        self._connections = 0
        self._talks: dict[asyncio.StreamWriter, asyncio.Task[Any] | None] = {}
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="loopback", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(5), "the loopback server does not start"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Close all connections and accept no more. A test may do this before its block ends."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(5)

    def serve_forever(self) -> None:
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._started.set()
        await self._stop.wait()
        server.close()
        for _ in range(_STEPS_OF_A_CONNECTION):
            await asyncio.sleep(0)
        for writer in self._talks:
            writer.transport.abort()
        await asyncio.gather(*filter(None, self._talks.values()))  # each ends by itself when its connection is gone

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        self._talks[writer] = asyncio.current_task()
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while asked := await self._request(reader, self._connections):
                    await _Answer(asked, reader, writer).send(*self.answered(asked))
        finally:
            writer.close()
            del self._talks[writer]

    async def _request(self, reader: asyncio.StreamReader, connection: int) -> Recorded:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        # A client that takes this server for its proxy sends the whole URL.
        path = first.split()[1].removeprefix(f"http://{headers.get('host', '')}")
        asked = Recorded(path, headers, json.loads(content or b"{}"), connection)
        self.requests.append(asked)
        self.asked.set()
        return asked

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if asked.path == "/api/tags" and self._tags:
            models = json.dumps({"models": [{"name": name} for name in self._tags]})
            return Fault(said=models, plain=True), ()
        if asked.path.partition("?")[0] == "/v1/models" and self._key:
            if asked.key != self._key:
                return Fault(401, f"invalid key {asked.key}"), ()
            return Fault(said='{"data": []}', plain=True), ()
        if asked.path != "/v1/messages":
            return Fault(404, "404 page not found", plain=True), ()
        fault = (self.faults.popleft() if self.faults else None) or NO_FAULT
        if fault.status != 200:
            return fault, ()
        if fault.events is not None:
            return fault, [(0.0, sse(event)) for event in fault.events]
        try:
            reply = self.script.answer(neutral(asked.body), self.spent)
        except ProviderError as error:
            return Fault(400, str(error)), ()
        if reply and reply[0].error is not None:
            return Fault(reply[0].status or 500, reply[0].error), ()
        return fault, events(asked.body, reply)


class _Answer:
    """One HTTP answer on its way out, chunk by chunk."""

    def __init__(self, asked: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked = asked
        self._reader = reader
        self._writer = writer

    async def send(self, fault: Fault, events: Iterable[tuple[float, bytes]]) -> None:
        if fault.plain or fault.status != 200:
            await self._say(fault)
            return
        zipped = ("Content-Encoding: gzip",) if fault.zipped else ()
        self._head(fault, "Content-Type: text/event-stream", "Transfer-Encoding: chunked", *zipped)
        try:
            await self._stream(fault, events)
        except (ConnectionResetError, BrokenPipeError):
            self.asked.left.set()
            raise

    async def _say(self, fault: Fault) -> None:
        kind = _KINDS.get(fault.status, "api_error")
        error = {"type": "error", "error": {"type": kind, "message": fault.said}, "request_id": "req_loopback"}
        content = (fault.said if fault.plain else json.dumps(error)).encode()
        form = "text/plain" if fault.plain else "application/json"
        self._head(fault, f"Content-Type: {form}", f"Content-Length: {len(content)}")
        self._writer.write(content)
        await self._writer.drain()

    def _head(self, fault: Fault, *lines: str) -> None:
        phrase = HTTPStatus(fault.status).phrase if fault.status in set(HTTPStatus) else "Overloaded"
        own = [f"{name}: {value}" for name, value in fault.headers.items()]
        self._writer.write("\r\n".join([f"HTTP/1.1 {fault.status} {phrase}", *lines, *own, "", ""]).encode())

    async def _stream(self, fault: Fault, events: Iterable[tuple[float, bytes]]) -> None:
        room = min((n for n in (fault.cut, fault.stall) if n is not None), default=None)
        packer = zlib.compressobj(wbits=31)
        for delay, plain in events:
            event = packer.compress(plain) + packer.flush(zlib.Z_SYNC_FLUSH) if fault.zipped else plain
            if delay:
                await self._pause(delay)
            self._chunk(event if room is None else event[:room])
            await self._writer.drain()
            room = None if room is None else max(0, room - len(event))
            if room == 0:
                break
        if fault.stall is not None:
            await self._pause(None)
        if fault.cut is not None:
            if fault.reset:
                here: socket.socket = self._writer.get_extra_info("socket")
                here.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionAbortedError
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def _chunk(self, data: bytes) -> None:
        if data:  # an empty chunk is the last
            self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))

    async def _pause(self, seconds: float | None) -> None:
        """Waits, but not for a client that has gone: nobody speaks while an answer comes, except to hang up."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if not await self._reader.read(1):
                    raise ConnectionResetError


def sse(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def events(body: Json, reply: Iterable[ReplyPart], counted: Json | None = None) -> Iterator[tuple[float, bytes]]:
    """A script's reply as the API streams it: each part a block. `counted` are the tokens of the request."""
    said, reason = 0, "end_turn"
    size = len(json.dumps(body["messages"])) // scripted.CHARS_PER_TOKEN
    usage = {"input_tokens": size, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    usage |= counted or {}
    message: Json = {"id": "msg_loopback", "type": "message", "role": "assistant", "model": body["model"]}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    yield 0, sse({"type": "message_start", "message": message})
    yield 0, sse({"type": "ping"})
    for index, part in enumerate(reply):
        if part.error is not None:
            kind = _KINDS.get(part.status or 0, "api_error")
            yield part.delay, sse({"type": "error", "error": {"type": kind, "message": part.error}})
            return
        yield 0, sse({"type": "content_block_start", "index": index, "content_block": _block(body, index, part)})
        for piece in _pieces(part, index):
            said += len(str(piece))
            yield part.delay, sse({"type": "content_block_delta", "index": index, "delta": piece})
        yield 0, sse({"type": "content_block_stop", "index": index})
        reason = "tool_use" if part.tool is not None else reason
    usage["output_tokens"] = said // scripted.CHARS_PER_TOKEN
    end = {"stop_reason": reason, "stop_sequence": None}
    yield 0, sse({"type": "message_delta", "delta": end, "usage": usage})
    yield 0, sse({"type": "message_stop"})


def _block(body: Json, index: int, part: ReplyPart) -> Json:
    if part.tool is not None:
        id = f"toolu_{len(body['messages'])}_{index}"
        return {"type": "tool_use", "id": id, "name": part.tool, "input": {}}
    if part.reasoning is not None:
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}


def _pieces(part: ReplyPart, index: int) -> Iterator[Json]:
    for delta in scripted.make_deltas(part, index):
        match delta:
            case TextDelta(text=text):
                yield {"type": "text_delta", "text": text.replace("{clock}", repr(time.monotonic()))}
            case ReasoningDelta(text=text):
                yield {"type": "thinking_delta", "thinking": text}
            case ToolCallDelta(arguments_text=text) if text:
                yield {"type": "input_json_delta", "partial_json": text}
            case _:
                pass
    if part.reasoning is not None:
        yield {"type": "signature_delta", "signature": f"signed-{index}"}


def neutral(body: Json) -> ModelRequest:
    messages = tuple(ChatMessage(m["role"], tuple(_parts(m["content"]))) for m in body["messages"])
    return ModelRequest(f"loopback/{body['model']}", json.dumps(body.get("system", "")), messages)


def _parts(content: str | list[Json]) -> Iterator[Part]:
    blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks:
        match block["type"]:
            case "text":
                yield TextPart(block["text"])
            case "tool_use":
                yield ToolUsePart(block["id"], block["name"], block["input"])
            case "tool_result":
                yield ToolResultPart(block["tool_use_id"], str(block.get("content", "")), block.get("is_error", False))
            case _:
                pass


if __name__ == "__main__":
    with LoopbackAnthropic(scripted.load(Path(sys.argv[1]))) as server:
        print(server.url, flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
