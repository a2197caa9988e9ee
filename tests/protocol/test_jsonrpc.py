"""The codec: what one side frames the other reads, in whatever pieces it comes, and nothing that comes breaks it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import (
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
    ErrorCode,
    ErrorResponse,
    FrameReader,
    Message,
    Notification,
    Request,
    Result,
    decode,
    encode,
    encode_frame,
    from_json,
    to_json,
)

# The first half of a surrogate pair is among them; the second is not, since JSON makes one character of both.
texts = st.text(st.characters(exclude_categories=()).filter(lambda c: not "\udc00" <= c <= "\udfff"), max_size=20)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
ids = st.integers() | texts
codes = st.integers(-40000, 40000)
messages: st.SearchStrategy[Message] = (
    st.builds(Request, ids, texts, values)
    | st.builds(Notification, texts, values)
    | st.builds(Result, ids, values)
    | st.builds(ErrorResponse, ids | st.none(), codes, texts)
)
PING = Notification("ping", None)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def read(*data: bytes) -> list[Message | FrameError]:
    reader = FrameReader()
    return [found for piece in data for found in reader.feed(piece)]


def error(*data: bytes) -> FrameError:
    """The first thing that is read, which must be an error."""
    found = read(*data)[0]
    assert isinstance(found, FrameError)
    return found


def framed(body: bytes, header: bytes = b"") -> bytes:
    return header + b"Content-Length: %d\r\n\r\n" % len(body) + body


# Frames -------------------------------------------------------------------------------------------------------------


@given(st.lists(messages, max_size=4), st.lists(st.integers(0, 10_000), max_size=8))
def test_frames_are_read_as_they_were_written_however_they_are_cut(sent: list[Message], cuts: list[int]) -> None:
    assert read(*pieces(b"".join(map(encode_frame, sent)), cuts)) == sent


@given(messages)
def test_a_frame_is_read_from_single_bytes(message: Message) -> None:
    assert read(*(bytes([byte]) for byte in encode_frame(message))) == [message]


@given(messages)
@example(Result("\\\ud83d", ["\ud83d", "\ud83d\ud83d"]))
def test_what_is_read_is_framed_to_the_same_bytes(message: Message) -> None:
    (again,) = read(encode_frame(message))
    assert not isinstance(again, FrameError)
    assert encode_frame(again) == encode_frame(message)


@given(messages)
@example(Result("\ud83d", "\ud83d"))
def test_encoded_text_is_utf8_on_every_link(message: Message) -> None:
    assert decode(encode(message).encode()) == message


@given(messages)
def test_a_frame_is_one_piece_with_nothing_between_its_length_and_its_body(message: Message) -> None:
    header, _, body = encode_frame(message).partition(b"\r\n\r\n")
    assert header == b"Content-Length: %d" % len(body)


def test_a_newline_after_the_json_may_be_counted() -> None:
    assert read(framed(b'{"method":"ping"}\n'), encode_frame(PING)) == [PING, PING]


def test_header_names_come_in_any_case_and_order() -> None:
    header = b"content-TYPE: application/vscode-jsonrpc; charset=utf8\r\n"
    assert read(framed(b'{"method":"ping"}', header)) == [PING]


def test_another_charset_is_answered_with_an_error_and_the_next_frame_is_read() -> None:
    data = framed(b"{}", b"Content-Type: application/json; charset=latin-1\r\n") + encode_frame(PING)
    refused, after = read(data)
    assert isinstance(refused, FrameError)
    assert (refused.code, refused.fatal) == (ErrorCode.INVALID_REQUEST, False)
    assert "latin-1" in str(refused)
    assert after == PING


def test_a_body_that_is_no_json_loses_only_itself() -> None:
    broken, after = read(framed(b"{no") + encode_frame(PING))
    assert isinstance(broken, FrameError)
    assert (broken.code, broken.fatal, after) == (ErrorCode.PARSE, False, PING)


@pytest.mark.parametrize("value", [b"", b"ten", b"-1", b"+1", b"1.5", "\u00b2".encode(), b"0x10", b"9" * 5000])
def test_a_length_that_is_none_is_fatal(value: bytes) -> None:
    assert error(b"Content-Length: " + value + b"\r\n\r\n{}").fatal


def test_a_header_without_a_length_is_fatal() -> None:
    assert error(b"Content-Type: application/json\r\n\r\n{}").fatal


def test_a_length_beyond_the_limit_is_refused_before_its_body_comes() -> None:
    assert error(b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1)).fatal


def test_a_header_that_is_not_ascii_is_fatal() -> None:
    assert error("Content-Längth: 2\r\n\r\n{}".encode()).fatal


def test_a_header_without_an_end_is_given_up_at_the_limit() -> None:
    reader = FrameReader()
    assert reader.feed(b"x" * MAX_HEADER_BYTES) == []
    (given_up,) = reader.feed(b"x")
    assert isinstance(given_up, FrameError)
    assert given_up.fatal


@pytest.mark.parametrize("shape", ["[%s]", '{"method":"m","params":%s}', '{"id":1,"error":{"message":%s}}'])
def test_nesting_without_end_is_read_or_refused(shape: str) -> None:
    for depth in (*range(900, 1000), 5000, 100_000):  # Python's own limit is somewhere in the first ones
        body = shape % ("[" * depth + "]" * depth)
        (found,) = read(framed(body.encode()))
        assert not (isinstance(found, FrameError) and found.fatal)


def mixed() -> st.SearchStrategy[bytes]:
    """Bytes that look like frames for a while."""
    likely = [
        b"Content-Length: ",
        b"Content-Type: a; charset=",
        b"\r\n",
        b"\r\n\r\n",
        b"3",
        b"{}",
        b":",
        b"\xff",
        b"\0",
    ]
    return st.lists(st.sampled_from(likely) | st.binary(max_size=20), max_size=12).map(b"".join)


@given(st.lists(mixed() | st.binary(max_size=64), max_size=6))
def test_no_bytes_make_the_reader_raise_or_hang(data: list[bytes]) -> None:
    assert len(read(*data)) <= len(b"".join(data))


@given(mixed())
def test_after_a_fatal_error_the_reader_starts_afresh(data: bytes) -> None:
    reader = FrameReader()
    found = reader.feed(data)
    if found and isinstance(found[-1], FrameError) and found[-1].fatal:
        assert reader.feed(encode_frame(PING)) == [PING]


# Messages -----------------------------------------------------------------------------------------------------------


@given(messages)
def test_a_message_survives_json(message: Message) -> None:
    assert from_json(to_json(message)) == message


fields = st.fixed_dictionaries({}, optional=dict.fromkeys(["id", "method", "params", "result", "error"], values))


@given(values | fields)
def test_json_is_a_message_or_a_frame_error(data: Any) -> None:
    try:
        message: object = from_json(data)
    except FrameError as refused:
        message = refused
    assert isinstance(message, Request | Notification | Result | ErrorResponse | FrameError)
    assert not (isinstance(message, FrameError) and message.fatal)


@given(ids)
def test_an_id_is_echoed_unchanged(id: int | str) -> None:
    request = decode(json.dumps({"jsonrpc": "2.0", "id": id, "method": "m"}))
    assert isinstance(request, Request)
    echoed = decode(encode(Result(request.id, None)))
    assert isinstance(echoed, Result)
    assert echoed.id == id
    assert type(echoed.id) is type(id)


@pytest.mark.parametrize("params", [[], None, {}, {"a": 1}])
def test_parameters_are_passed_on_as_they_are(params: Any) -> None:
    assert from_json({"method": "initialized", "params": params}) == Notification("initialized", params)


@pytest.mark.parametrize("error", [{}, {"code": "E", "message": None}, {"message": [["deep"]]}])
def test_an_error_without_words_is_still_an_error(error: dict[str, Any]) -> None:
    assert from_json({"id": None, "error": error}) == ErrorResponse(None, ErrorCode.INTERNAL, "")


def test_a_result_beside_an_empty_error_is_a_result() -> None:
    assert from_json({"id": 1, "error": None, "result": 2}) == Result(1, 2)
