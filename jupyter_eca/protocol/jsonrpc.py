"""Owns the JSON-RPC 2.0 codec: messages to and from JSON, and the `Content-Length` frames in which ECA sends them.

It must not do I/O or know any method. `methods` is its neighbour: it has the methods and their models.

ECA is the protocol that our clients speak. The codec follows its base section, which is that of the Language Server
Protocol: an ASCII header with `\\r\\n` lines, then a body of exactly Content-Length bytes of UTF-8. It accepts what
today's clients need: white space after the JSON (Emacs counts a newline in the length), header lines in any order and
with `\\n` alone, and header names in upper or lower case.

A `FrameError` that is fatal means that the start of the next message is not known. Then the connection must be closed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import IntEnum
from math import isfinite
from typing import Any, cast

from jupyter_eca.errors import FrameError

# A body is kept in memory as a whole. The limit is larger than any notebook that a client sends, and small enough that
# a hostile client cannot use up the memory.
MAX_BODY_BYTES = 64 * 1024 * 1024
# A header usually has two short lines. A peer that sends more than this before a blank line uses another protocol.
MAX_HEADER_BYTES = 8 * 1024
# The specification wants `\r\n`. Clients that are written by hand send `\n`: if that were not accepted, the server
# would wait forever for the end of their header.
_HEADER_END = re.compile(rb"\r?\n\r?\n")

Id = str | int | float
"""The id of a request. The answer repeats it unchanged. JSON-RPC advises against fractions, and allows them."""


class ErrorCode(IntEnum):
    """Error codes: those of JSON-RPC 2.0, section 5.1, and our own from its range for servers."""

    PARSE = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL = -32603
    # Ours. NOT_INITIALIZED: the client must send `initialize` first. BUSY: the request can succeed later. REFUSED: the
    # request is understood and cannot be fulfilled; the message says why.
    NOT_INITIALIZED = -32002
    BUSY = -32001
    REFUSED = -32000
    # From the Language Server Protocol, which also defines `$/cancelRequest`.
    CANCELLED = -32800


CANCEL = "$/cancelRequest"
"""The method of ECA by which either side cancels its own request."""


@dataclass(frozen=True, slots=True)
class Cancellation:
    """How either side cancels its own request. The other side still answers the request."""

    method: str
    """The notification that cancels."""
    field: str
    """Its parameter that has the id of the request."""


LSP_CANCELLATION = Cancellation(CANCEL, "id")
"""The cancellation of the Language Server Protocol, which ECA uses too."""


@dataclass(frozen=True, slots=True)
class Request:
    """A call that needs an answer."""

    id: Id | None
    """None only in a protocol that treats `"id": null` as an id, see `from_json`."""
    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Notification:
    """A call that has no answer."""

    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to a request that succeeded."""

    id: Id | None
    result: Any


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The answer to a request that failed."""

    id: Id | None
    """None when the peer does not know which request failed, for example because it could not read it."""
    code: int
    message: str
    data: Any = None
    """Details that a program can read."""


Message = Request | Notification | Result | ErrorResponse


def to_json(message: Message) -> dict[str, Any]:
    """Return a message as data for JSON."""
    match message:
        case Request(id, method, params):
            return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        case Notification(method, params):
            return {"jsonrpc": "2.0", "method": method, "params": params}
        case Result(id, result):
            return {"jsonrpc": "2.0", "id": id, "result": result}
        case ErrorResponse(id, code, text, data):
            error = {"code": code, "message": text}
            return {"jsonrpc": "2.0", "id": id, "error": error if data is None else {**error, "data": data}}


def from_json(data: Any, *, null_id: bool = False) -> Message:
    """Parse a message. A call with `"id": null` is a notification or, with `null_id`, a request whose answer repeats
    the null. JSON-RPC allows both.

    Raises: FrameError, not fatal, when the data is not a JSON-RPC message.
    """
    match data:
        case {"method": str(method), "id": None} if null_id:
            return Request(None, method, data.get("params"))
        case {"method": str(method), "id": str() | int() | float() as id} if _is_finite(id):
            return Request(id, method, data.get("params"))
        case {"method": str(method)} if data.get("id") is None:
            return Notification(method, data.get("params"))
        case {"error": {**error}, "id": str() | int() | float() | None as id}:
            return _parse_failure(id, cast("dict[str, Any]", error))
        case {"id": None, "result": result} if null_id:
            return Result(None, result)
        case {"id": str() | int() | float() as id, "result": result}:
            return Result(id, result)
        case _:
            raise FrameError("not a JSON-RPC 2.0 message", ErrorCode.INVALID_REQUEST, fatal=False)


def _is_finite(id: Id) -> bool:
    """Return whether an id can be written as JSON. Infinity cannot."""
    return not isinstance(id, float) or isfinite(id)


def _parse_failure(id: Id | None, error: dict[str, Any]) -> ErrorResponse:
    """Parse an error. A code or a text of the wrong type is replaced."""
    code, text = error.get("code"), error.get("message")
    return ErrorResponse(
        id,
        code if isinstance(code, int) else ErrorCode.INTERNAL,
        text if isinstance(text, str) else "",
        error.get("data"),
    )


def decode(text: str | bytes, *, null_id: bool = False) -> Message:
    """Parse a message from JSON text. See `from_json` for `null_id`.

    Raises: FrameError, not fatal, when the text is not JSON, is nested too deeply for Python, or is not a JSON-RPC
    message.
    """
    try:
        data = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"not JSON: {error}", ErrorCode.PARSE, fatal=False) from error
    return from_json(data, null_id=null_id)


def parse_json(text: str | bytes) -> Any:
    """Parse JSON. Python's own parser also reads NaN and Infinity, which are no JSON.

    Raises: ValueError, RecursionError.
    """
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> Any:
    """Raise ValueError for NaN, Infinity and -Infinity."""
    raise ValueError(f"{name} is not a number in JSON")


def encode(message: Message) -> str:
    """Return a message as JSON text."""
    return _encode_body(message).decode()


def encode_frame(message: Message) -> bytes:
    """Return a message as a frame, with header and body in one piece.

    A reader without a buffer (nvim) needs both at once, and Content-Length as the last line of the header.
    """
    body = _encode_body(message)
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def _encode_body(message: Message) -> bytes:
    """Return the JSON as UTF-8. Half of a surrogate pair becomes an escape such as `\\ud83d`, which Python and JSON
    write in the same way."""
    text = json.dumps(to_json(message), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


class FrameReader:
    """Reads messages from a stream of bytes that arrives in pieces of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        """The bytes that are not read yet."""
        self._header: dict[str, str] | None = None
        """The header of the frame whose body is not complete yet."""

    def feed(self, data: bytes) -> list[Message | FrameError]:
        """Add bytes and return the messages that are now complete. An unreadable message is replaced by its error."""
        self._buffer += data
        messages: list[Message | FrameError] = []
        try:
            while (frame := self._take_frame()) is not None:
                header, body = frame
                try:
                    _check_charset(header)
                    messages.append(decode(body))
                except FrameError as error:
                    messages.append(error)
        except FrameError as error:
            messages.append(error)
            self._buffer.clear()
            self._header = None
        return messages

    def _take_frame(self) -> tuple[dict[str, str], bytes] | None:
        """Return the header and the body of the next frame, or None when it is not complete yet."""
        if self._header is None and not self._read_header():
            return None
        length = _read_length(self._header or {})
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        header, self._header = self._header or {}, None
        del self._buffer[:length]
        return header, body

    def _read_header(self) -> bool:
        """Take the header from the buffer. Returns False when it is not complete yet."""
        end = _HEADER_END.search(self._buffer)
        if end is None or end.start() > MAX_HEADER_BYTES:
            if end is not None or len(self._buffer) > MAX_HEADER_BYTES:
                raise FrameError("the header does not end: is this the ECA protocol?")
            return False
        try:
            text = self._buffer[: end.start()].decode("ascii").strip()
        except UnicodeDecodeError as error:
            raise FrameError("the header is not ASCII") from error
        del self._buffer[: end.end()]
        # An empty header counts as one empty line, which is refused.
        self._header = dict(_parse_field(line) for line in text.splitlines() or [""])
        _read_length(self._header)  # refuse a wrong length before the body comes
        return True


def _parse_field(line: str) -> tuple[str, str]:
    """Return the name, in lower case, and the value of a header line. Raises: FrameError."""
    name, colon, value = line.partition(":")
    if not colon:
        raise FrameError(f"not a header line: {line[:80]!r}")
    return name.strip().lower(), value.strip()


def _read_length(header: dict[str, str]) -> int:
    """Return the length of the body in bytes, from its header. Raises: FrameError."""
    value = header.get("content-length", "")
    if not (value.isascii() and value.isdigit()):
        actual = f"it is {value[:80]!r}" if "content-length" in header else "there is none"
        raise FrameError(f"the header needs a Content-Length, a number of bytes: {actual}")
    if len(value) > len(str(MAX_BODY_BYTES)) or int(value) > MAX_BODY_BYTES:
        raise FrameError(f"the body has more than {MAX_BODY_BYTES} bytes")
    return int(value)


def _check_charset(header: dict[str, str]) -> None:
    """Raise FrameError for any encoding but utf-8. Old clients of the Language Server Protocol spell it `utf8`."""
    for part in header.get("content-type", "").split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name.lower() == "charset" and value.strip("\"' ").lower() not in {"utf-8", "utf8"}:
            raise FrameError(f"charset {value} is not supported, only utf-8", ErrorCode.INVALID_REQUEST, fatal=False)
