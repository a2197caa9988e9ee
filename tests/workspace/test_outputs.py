"""Output messages as text for a model."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.workspace.kernels.output_text import Outputs, plain


def told(*messages: tuple[str, dict[str, Any]]) -> str:
    outputs = Outputs()
    for kind, content in messages:
        outputs.add(kind, content)
    return outputs.text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[38;5;9mred\x1b[39m \x1b[?25l", "red "),
        ("\x1b]8;;http://a.example\x1b\\link\x1b]8;;\x07", "link"),
        ("a\r\nb\r\n", "a\nb\n"),
        (" 10%\r 50%\r100%\ndone", "100%\ndone"),
        ("50%\r", "50%"),
    ],
)
def test_text_is_what_a_terminal_would_show_without_colours(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_outputs_stand_in_the_order_they_came() -> None:
    assert (
        told(
            ("stream", {"name": "stdout", "text": "one\n"}),
            ("display_data", {"data": {"text/plain": "two"}}),
            ("stream", {"name": "stderr", "text": "three\n"}),
            ("execute_result", {"data": {"text/plain": "4"}}),
        )
        == "one\ntwo\nthree\n4"
    )


def test_an_error_is_its_traceback() -> None:
    lines = ["\x1b[31mTraceback\x1b[0m", "ValueError: no"]
    assert told(("stream", {"text": "before\n"}), ("error", {"traceback": lines})) == (
        "before\nTraceback\nValueError: no"
    )


def test_what_only_a_reader_sees_is_named() -> None:
    picture = {"text/plain": "<Figure>", "image/png": "iVBO", "text/html": "<b>"}
    widget: dict[str, object] = {"application/vnd.jupyter.widget-view+json": {}}
    assert told(("display_data", {"data": picture}), ("display_data", {"data": widget})) == (
        "<Figure>\n[shown to the user: image/png]\n[shown to the user: application/vnd.jupyter.widget-view+json]"
    )


def test_messages_that_show_nothing_say_nothing() -> None:
    assert told(("status", {"execution_state": "busy"}), ("clear_output", {"wait": True})) == ""
