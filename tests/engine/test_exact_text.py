"""Nothing of what somebody approves is hidden. The page's tests run the same cases."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import text

from jupyter_eca.engine.text.exact_text import as_exact_json, as_exact_text, as_terminal_text, drop_control_characters

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "exact_texts.json").read_text("utf-8")
)["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_character_of_what_is_approved_is_shown(case: dict[str, Any]) -> None:
    assert as_exact_text(case["text"]) == case["shown"]


def test_every_character_that_is_not_drawn_is_named() -> None:
    kinds = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"}
    unseen = [c for c in map(chr, range(sys.maxunicode + 1)) if c not in " \t\n" and unicodedata.category(c) in kinds]
    assert [hex(ord(c)) for c in unseen if as_exact_text(c) == c] == []


@given(text())
def test_exact_json_is_read_as_the_same_value(value: str) -> None:
    assert json.loads(as_exact_json([value])) == [value]


def test_the_end_of_a_command_is_not_moved_out_of_sight_by_empty_lines() -> None:
    assert as_terminal_text("ls" + "\n" * 501 + "rm x") == "ls\n... 500 empty lines ...\nrm x"
    assert as_terminal_text("a\n\n\nb") == "a\n\n\nb"


def test_a_terminal_obeys_nothing_of_a_text() -> None:
    assert drop_control_characters("a\x1b[8mb\x9b2J\x07\u202ec\n\td") == "a[8mb2Jc\n\td"


def test_the_end_of_a_line_of_windows_is_the_end_of_a_line() -> None:
    assert as_exact_text("a\r\nb") == "a\nb"
    assert drop_control_characters("a\r\nb\rc") == "a\nb\nc"


def test_a_letter_that_deceives_nobody_is_shown_as_it_is() -> None:
    assert as_exact_json("ä") == '"ä"'
