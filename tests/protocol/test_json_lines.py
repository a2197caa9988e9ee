"""Messages as lines: in pieces of any size, with lines that are too long or no messages."""

from __future__ import annotations

import pytest

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.acp.json_lines import LineReader, encode_line
from jupyter_eca.protocol.jsonrpc import ErrorCode, Message, Notification, Request, Result

MESSAGES: list[Message] = [
    Request(0, "a", {"text": "one\ntwo ü"}),
    Request(None, "b", None),
    Notification("c", {"x": 1}),
    Result("id", None),
    Result(None, {"x": 1}),
]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_messages_are_read_from_pieces_of_any_size(size: int) -> None:
    reader, data = LineReader(), b"\n".join([b"", *(encode_line(message) for message in MESSAGES)])
    pieces = (data[start : start + size] for start in range(0, len(data), size))
    assert [message for piece in pieces for message in reader.feed(piece)] == MESSAGES


def test_a_message_is_one_line_that_ends_with_a_line_break() -> None:
    assert encode_line(MESSAGES[0]).count(b"\n") == 1


def test_a_line_that_is_too_long_is_dropped_and_the_next_one_is_read() -> None:
    reader = LineReader(max_bytes=100)
    data = b"x" * 5000 + b"\n" + encode_line(MESSAGES[2])
    found = [message for start in range(0, len(data), 64) for message in reader.feed(data[start : start + 64])]
    dropped, message = found
    assert isinstance(dropped, FrameError)
    assert (dropped.code, dropped.fatal) == (ErrorCode.INVALID_REQUEST, False)
    assert "5000 bytes" in str(dropped)
    assert message == MESSAGES[2]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"junk", ErrorCode.PARSE),
        (b"\xff\xfe", ErrorCode.PARSE),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "a", "params": {"x": NaN}}', ErrorCode.PARSE),
        (b"[" * 100_000, ErrorCode.PARSE),
        (b"[]", ErrorCode.INVALID_REQUEST),
        (b'{"method": 1}', ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_line_that_is_no_message_is_an_error_and_the_next_one_is_read(line: bytes, code: ErrorCode) -> None:
    failure, message = LineReader().feed(line + b"\n" + encode_line(MESSAGES[2]))
    assert isinstance(failure, FrameError)
    assert (failure.code, failure.fatal) == (code, False)
    assert message == MESSAGES[2]
