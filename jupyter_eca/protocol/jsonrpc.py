"""JSON-RPC 2.0 without I/O: messages as they are read from JSON, and ECA's `Content-Length` frames.

The codec follows the protocol's base section: ASCII header, `\\r\\n` lines, a body of exactly Content-Length bytes of
UTF-8. Tolerances are those today's clients need: white space after the JSON (Emacs counts a newline in), any header
order, header names in any case. Knows no method.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, cast

from jupyter_eca.errors import FrameError

# A body is held whole in memory: larger than any notebook a client sends, small enough to survive a hostile one.
MAX_BODY_BYTES = 64 * 1024 * 1024
# Two short lines are usual; a peer that sends more than this before a blank line is not speaking our protocol.
MAX_HEADER_BYTES = 8 * 1024

Id = str | int
"""Ids are echoed unchanged."""


class Code(IntEnum):
    """JSON-RPC 2.0 section 5.1, and the codes of ours from its server range."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    NOT_INITIALIZED = -32002
    BUSY = -32001
    REFUSED = -32000
    # From the Language Server Protocol, whose `$/cancelRequest` this answers.
    CANCELLED = -32800


CANCEL = "$/cancelRequest"
"""Either side may take back a request of its own that is not answered yet; the answer comes nevertheless."""


@dataclass(frozen=True, slots=True)
class Request:
    id: Id
    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Notification:
    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Result:
    id: Id
    result: Any


@dataclass(frozen=True, slots=True)
class Failure:
    """`id` is None when the peer could not tell which request it failed on; `data` is for programs."""

    id: Id | None
    code: int
    message: str
    data: Any = None


Message = Request | Notification | Result | Failure


def to_json(message: Message) -> dict[str, Any]:
    match message:
        case Request(id, method, params):
            return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        case Notification(method, params):
            return {"jsonrpc": "2.0", "method": method, "params": params}
        case Result(id, result):
            return {"jsonrpc": "2.0", "id": id, "result": result}
        case Failure(id, code, text, data):
            error = {"code": code, "message": text}
            return {"jsonrpc": "2.0", "id": id, "error": error if data is None else {**error, "data": data}}


def from_json(data: Any) -> Message:
    """Raises: FrameError, not fatal, when the JSON is no JSON-RPC message."""
    match data:
        case {"method": str(method), "id": str() | int() as id}:
            return Request(id, method, data.get("params"))
        case {"method": str(method)} if data.get("id") is None:
            return Notification(method, data.get("params"))
        case {"error": {**error}, "id": str() | int() | None as id}:
            return _failure(id, cast("dict[str, Any]", error))
        case {"id": str() | int() as id, "result": result}:
            return Result(id, result)
        case _:
            raise FrameError("not a JSON-RPC 2.0 message", Code.INVALID_REQUEST, fatal=False)


def _failure(id: Id | None, error: dict[str, Any]) -> Failure:
    code, text = error.get("code"), error.get("message")
    return Failure(
        id, code if isinstance(code, int) else Code.INTERNAL, text if isinstance(text, str) else "", error.get("data")
    )


def decode(text: str | bytes) -> Message:
    """One message from JSON text.

    Raises: FrameError, not fatal, when it is no JSON (RecursionError is hostile nesting) or no message.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {error}", Code.PARSE, fatal=False) from error
    return from_json(data)


def encode(message: Message) -> str:
    return _body(message).decode()


def frame(message: Message) -> bytes:
    """Header and body in one piece, Content-Length last: a reader without a buffer (nvim) needs both."""
    body = _body(message)
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def _body(message: Message) -> bytes:
    """Half of a surrogate pair is no UTF-8: in JSON it is an escape, which Python and JSON happen to spell alike."""
    text = json.dumps(to_json(message), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


class FrameReader:
    """Give it bytes in any pieces; it gives messages, or the error that stands in a message's place."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._header: dict[str, str] | None = None

    def feed(self, data: bytes) -> list[Message | FrameError]:
        self._buffer += data
        found: list[Message | FrameError] = []
        try:
            while (piece := self._next()) is not None:
                header, body = piece
                try:
                    _check_charset(header)
                    found.append(decode(body))
                except FrameError as error:
                    found.append(error)
        except FrameError as error:
            found.append(error)
            self._buffer.clear()
            self._header = None
        return found

    def _next(self) -> tuple[dict[str, str], bytes] | None:
        if self._header is None and not self._read_header():
            return None
        length = _length(self._header or {})
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        header, self._header = self._header or {}, None
        del self._buffer[:length]
        return header, body

    def _read_header(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0 or end > MAX_HEADER_BYTES:
            if end > 0 or len(self._buffer) > MAX_HEADER_BYTES:
                raise FrameError("no end of header in sight: is this the ECA protocol?")
            return False
        try:
            text = self._buffer[:end].decode("ascii").strip()
        except UnicodeDecodeError as error:
            raise FrameError("the header is not ASCII") from error
        del self._buffer[: end + 4]
        self._header = dict(_field(line) for line in text.split("\r\n"))
        _length(self._header)
        return True


def _field(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise FrameError(f"not a header line: {line[:80]!r}")
    return name.strip().lower(), value.strip()


def _length(header: dict[str, str]) -> int:
    value = header.get("content-length", "")
    if not (value.isascii() and value.isdigit()):
        raise FrameError("a header without a Content-Length in bytes")
    if len(value) > len(str(MAX_BODY_BYTES)) or int(value) > MAX_BODY_BYTES:
        raise FrameError(f"a body of more than {MAX_BODY_BYTES} bytes")
    return int(value)


def _check_charset(header: dict[str, str]) -> None:
    """Protocol, "Content Part": any encoding but utf-8 is answered with an error. `utf8` is the old LSP spelling."""
    for part in header.get("content-type", "").split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name.lower() == "charset" and value.strip("\"' ").lower() not in {"utf-8", "utf8"}:
            raise FrameError(f"charset {value} is not supported, only utf-8", Code.INVALID_REQUEST, fatal=False)
