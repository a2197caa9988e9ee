"""The tail of the output of running code: what a terminal shows, and not more of it than is useful."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.workspace.kernels.tail import MAX_CHARS, Tail


def stream(text: str) -> dict[str, Any]:
    return {"header": {"msg_type": "stream"}, "content": {"name": "stdout", "text": text}}


def message(kind: str, **content: Any) -> dict[str, Any]:
    return {"header": {"msg_type": kind}, "content": content}


def tail(*messages: dict[str, Any]) -> str:
    result = Tail()
    for message in messages:
        result.add_message(message)
    return result.text


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["one\n", "two\n"], "one\ntwo"),
        (["fit\n", "\r 10%", "\r 20%"], "fit\n 20%"),
        (["10%\r", "20%\r", "30%"], "30%"),
        (["\x1b[31mred\x1b[0m\n"], "red"),
    ],
)
def test_lines_are_shown_as_a_terminal_leaves_them(texts: list[str], shown: str) -> None:
    assert tail(*map(stream, texts)) == shown


@pytest.mark.parametrize("draw", ["\r{}%", "{}%\r"])
def test_a_bar_that_is_drawn_for_hours_leaves_the_lines_above_it(draw: str) -> None:
    assert tail(stream("fitting\n"), *(stream(draw.format(n)) for n in range(50_000))) == "fitting\n49999%"


def test_the_last_of_a_hundred_thousand_lines_are_kept() -> None:
    result = Tail()
    for n in range(100_000):
        result.add_message(stream(f"line {n}\n"))
    assert result.text.endswith("line 99998\nline 99999")
    assert len(result.text) <= MAX_CHARS


def test_the_tail_has_errors_and_values_but_no_cleared_output() -> None:
    value = message("execute_result", data={"text/plain": "42"}, metadata={}, execution_count=1)
    failed = message("error", ename="E", evalue="no", traceback=["E: no"])
    assert tail(stream("gone"), message("clear_output", wait=False), value, failed) == "42\nE: no"
    assert tail(stream("gone"), message("clear_output", wait=True)) == "gone"
    assert tail(stream("gone"), message("clear_output", wait=True), stream("new")) == "new"
