"""The sentence of a message that a search shows."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.text.excerpts import MAX_EXCERPT_CHARS, find_excerpt, split_query

ANSWER = """# The merge

First the keys are sorted. Then the *Outer* merge keeps rows of both tables! Nothing is lost.

- Größe is a column
"""


@pytest.mark.parametrize(
    ("query", "excerpt"),
    [
        ("outer", "Then the Outer merge keeps rows of both tables!"),
        ("MERGE rows", "Then the Outer merge keeps rows of both tables!"),
        ("erg", "The merge"),
        ("grösse", "Größe is a column"),
        ("nothing columns", None),
        ("100%", None),
    ],
)
def test_the_sentence_with_the_most_of_the_words_is_shown(query: str, excerpt: str | None) -> None:
    assert find_excerpt(ANSWER, split_query(query)) == excerpt


def test_a_long_sentence_is_cut_around_the_first_word() -> None:
    excerpt = find_excerpt("word " * 200 + "needle " + "word " * 200, ["needle"])
    assert excerpt is not None
    assert "needle" in excerpt
    assert excerpt.startswith("…")
    assert excerpt.endswith("…")
    assert len(excerpt) <= MAX_EXCERPT_CHARS + 2


def test_a_chinese_sentence_ends_without_a_space() -> None:
    assert find_excerpt("先排序。再合并数据。完成。", ["合并"]) == "再合并数据。"


@pytest.mark.parametrize(
    ("text", "query", "excerpt"),
    [
        (
            "The **second merge** drops `rows` of [the table](https://a.b/t).",
            "merge",
            "The second merge drops rows of the table.",
        ),
        ("See [the table](https://a.b/t).", "a.b", "See [the table](https://a.b/t)."),
        ("Call `__init__` with a_b_c and 2*3*4.", "call", "Call __init__ with a_b_c and 2*3*4."),
    ],
)
def test_the_excerpt_has_no_marks_of_markdown(text: str, query: str, excerpt: str) -> None:
    assert find_excerpt(text, split_query(query)) == excerpt
