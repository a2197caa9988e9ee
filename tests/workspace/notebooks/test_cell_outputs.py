"""The outputs of a cell as they are stored: what a terminal would show in the end."""

from __future__ import annotations

import pytest

from jupyter_eca.workspace.notebooks.cell_outputs import CellOutputs

# An output of a megabyte would take hours if the time grew with the square of its length.
LONG = 1_000_000


def store(text: str) -> str:
    outputs = CellOutputs()
    outputs.add_message({"header": {"msg_type": "stream"}, "content": {"name": "stdout", "text": text}})
    (output,) = outputs.outputs
    return output["text"]


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("10%\r100%\n", "100%\n"),
        ("10%\r100%\r", "100%\r"),
        ("10%\r\r\n", "10%\r\n"),
        ("one\r\ntwo", "one\ntwo"),
        ("10%\b\b\b100%", "100%"),
        ("ab\b\b\bc\nd\b", "\bc\n"),
        ("\n\rb\b\n", "\n\n"),
    ],
)
def test_what_is_overwritten_is_not_stored(text: str, stored: str) -> None:
    assert store(text) == stored


@pytest.mark.parametrize("text", ["x" * LONG, "x" * LONG + "\b" * LONG, "x\r" * LONG, "x\b" * LONG])
def test_a_line_of_a_megabyte_holds_nothing_up(text: str) -> None:
    assert len(store(text)) <= LONG
