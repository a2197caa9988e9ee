"""Output messages as text for a model."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.workspace.kernels.output_text import OutputText, as_plain_text


def render(*messages: tuple[str, dict[str, Any]]) -> str:
    outputs = OutputText()
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
    assert as_plain_text(text) == shown


def test_outputs_are_in_the_order_in_which_they_came() -> None:
    assert (
        render(
            ("stream", {"name": "stdout", "text": "one\n"}),
            ("display_data", {"data": {"text/plain": "two"}}),
            ("stream", {"name": "stderr", "text": "three\n"}),
            ("execute_result", {"data": {"text/plain": "4"}}),
        )
        == "one\ntwo\nthree\n4"
    )


def test_an_error_is_its_traceback() -> None:
    lines = ["\x1b[31mTraceback\x1b[0m", "ValueError: no"]
    assert render(("stream", {"text": "before\n"}), ("error", {"traceback": lines})) == (
        "before\nTraceback\nValueError: no"
    )


def test_outputs_that_only_the_user_sees_are_named() -> None:
    picture = {"text/plain": "<Figure>", "image/png": "iVBO", "text/html": "<b>"}
    widget: dict[str, object] = {"application/vnd.jupyter.widget-view+json": {}}
    assert render(("display_data", {"data": picture}), ("display_data", {"data": widget})) == (
        "<Figure>\n[shown to the user: image/png]\n[shown to the user: application/vnd.jupyter.widget-view+json]"
    )


def test_messages_without_output_add_no_text() -> None:
    assert render(("status", {"execution_state": "busy"}), ("clear_output", {"wait": True})) == ""
