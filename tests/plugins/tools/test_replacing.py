"""Where a quotation is found in a text, and what stays as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.files.text_replace import replace

around = st.text(alphabet="ab \t\r\n\x0c\u2028é😀")


@given(around, around, st.text(alphabet="xy \n"))
def test_what_stands_around_the_replaced_part_keeps_every_byte(before: str, after: str, new: str) -> None:
    replaced = replace(f"{before}<quoted>{after}", "<quoted>", f"[{new}]", everywhere=False)
    assert replaced.text.startswith(f"{before}[")
    assert replaced.text.endswith(f"]{after}")
    assert replaced.text[len(before) : len(replaced.text) - len(after)].replace("\r\n", "\n") == f"[{new}]"


@given(st.lists(around, min_size=2, max_size=6))
def test_all_occurrences_leaves_everything_between_them(pieces: list[str]) -> None:
    replaced = replace("<quoted>".join(pieces), "<quoted>", "new", everywhere=True)
    assert replaced.text == "new".join(pieces)
    assert replaced.count == len(pieces) - 1


def test_a_quotation_with_plain_line_ends_fits_a_windows_file() -> None:
    assert replace("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n", everywhere=False).text == "x\r\ny\r\nz\r\nc\r\n"


def test_a_line_end_at_the_edge_of_a_quotation_is_replaced_whole() -> None:
    assert replace("a\r\nb\r\nc", "\nb\n", "-", everywhere=False).text == "a-c"


def test_mixed_line_ends_outside_of_the_replaced_part_stay_mixed() -> None:
    assert replace("1\r\n2\n3\r\n4\n5\n", "3", "three", everywhere=False).text == "1\r\n2\nthree\r\n4\n5\n"


def test_a_new_part_takes_no_windows_line_ends_into_a_unix_file() -> None:
    assert replace("a\nb\n", "a", "x\r\ny", everywhere=False).text == "x\ny\nb\n"


def test_white_space_at_line_ends_is_ignored_when_nothing_fits_exactly() -> None:
    replaced = replace("if a:   \n    b()\t\nc\n", "if a:\n    b()\n", "d()\n", everywhere=False)
    assert (replaced.text, replaced.exact) == ("d()\nc\n", False)


def test_new_lines_get_the_indentation_that_the_quotation_lost() -> None:
    text = "class A:\n    def f(self):\n        pass\n"
    replaced = replace(text, "def f(self):\n    pass", "def f(self):\n\n    g()", everywhere=False)
    assert replaced.text == "class A:\n    def f(self):\n\n        g()\n"


def test_new_lines_lose_the_indentation_that_the_quotation_has_too_much() -> None:
    assert replace("a\n  b\n", "    a\n      b\n", "    c\n      d\n", everywhere=False).text == "c\n  d\n"


def test_two_places_that_fit_but_for_white_space_are_refused() -> None:
    with pytest.raises(ToolError, match="2 places but for white space"):
        replace("  a\n\ta\n", " a \n", "b\n", everywhere=True)


def test_white_space_alone_fits_nothing_but_itself() -> None:
    with pytest.raises(ToolError, match="is not in the file"):
        replace("a\n\nb\n", "   \n", "c", everywhere=False)


def test_a_quotation_that_occurs_twice_is_refused_with_their_number() -> None:
    with pytest.raises(ToolError, match="3 places"):
        replace("a a a", "a", "b", everywhere=False)


def test_places_that_overlap_are_two_places() -> None:
    with pytest.raises(ToolError, match="2 places"):
        replace("aaa", "aa", "b", everywhere=False)
