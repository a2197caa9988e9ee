"""Output messages as text for a model."""

from __future__ import annotations

import base64
from array import array
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


def test_the_last_pictures_are_kept_and_named_in_the_text() -> None:
    outputs = OutputText(pictures=True)
    for _ in range(6):
        outputs.add("display_data", {"data": {"text/plain": "<Figure>", "image/png": "iVBO"}})
    outputs.add("stream", {"text": "done"})
    left_out = "<Figure>\n[image/png: left out, because more pictures follow]\n"
    named = "".join(f"<Figure>\n[picture {number}]\n" for number in (3, 4, 5, 6))
    assert outputs.text == f"{left_out}{left_out}{named}done"
    assert [picture.name for picture in outputs.pictures] == [f"picture {number}" for number in (3, 4, 5, 6)]


STYLER = "<pandas.io.formats.style.Styler at 0x7ff0a1b2c3d4>"
HTML = "<IPython.core.display.HTML object>"
TABLE = """<style>#T { color: red }</style><table id="T"><thead><tr><th>&nbsp;</th><th>a</th><th>b</th></tr></thead>
<tbody><tr><th>0</th><td>1.50</td><td>x &amp; y</td></tr></tbody></table>"""
ROWS = "| a | b\n0 | 1.50 | x & y"


@pytest.mark.parametrize("data", [{}, {"text/plain": STYLER}, {"text/plain": HTML}])
def test_a_table_that_is_only_html_is_a_table_in_text(data: dict[str, Any]) -> None:
    assert render(("display_data", {"data": data | {"text/html": TABLE}})) == ROWS


def test_the_text_of_an_output_comes_before_its_html() -> None:
    assert render(("display_data", {"data": {"text/html": TABLE, "text/plain": "   a  b"}})) == "   a  b"


def test_an_svg_is_described_by_its_texts() -> None:
    svg = "<svg><title>Sales</title><style>a{}</style><text x='1'>Jan</text><text>Feb</text></svg>"
    told = render(("display_data", {"data": {"image/svg+xml": svg, "text/plain": "<IPython.core.display.SVG object>"}}))
    assert "[an SVG figure with the texts: Sales / Jan / Feb]" in told


def test_a_plotly_figure_is_described_by_its_data() -> None:
    packed = {"dtype": "f8", "bdata": base64.b64encode(array("d", [2.5, 1, 4])).decode()}
    figure = {
        "data": [
            {"type": "bar", "name": "sales", "x": ["Jan", "Feb", "Mar"], "y": packed},
            {"type": "scatter", "x": [1, 2], "y": {"dtype": "f8", "bdata": "?"}},
        ],
        "layout": {"title": {"text": "By month"}, "yaxis": {"title": {"text": "EUR"}}},
    }
    assert render(("display_data", {"data": {"application/vnd.plotly.v1+json": figure}})) == (
        "[a plotly figure, title: By month, y: EUR\n"
        "  bar 'sales': x 3 values, 'Jan' to 'Mar'; y 3 values, 1 to 4\n"
        "  scatter: x 2 values, 1 to 2]\n"
        "[shown to the user: application/vnd.plotly.v1+json]"
    )


def test_messages_without_output_add_no_text() -> None:
    assert render(("status", {"execution_state": "busy"}), ("clear_output", {"wait": True})) == ""
