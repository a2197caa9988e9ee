"""Which word Tab is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.apps.kernel.completion import TypedWord, find_word


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("%eca /", TypedWord("/", "", 6)),
        ("%eca /co", TypedWord("/", "co", 6)),
        ("  %eca /co", TypedWord("/", "co", 8)),
        ("%eca -n -b plan /co", TypedWord("/", "co", 17)),
        ("x = 1\n%eca /co", TypedWord("/", "co", 12)),
        ("%%eca\n/co", TypedWord("/", "co", 7)),
        ("%%eca /docs:as", TypedWord("/", "docs:as", 7)),
        ("%eca read @", TypedWord("@", "", 11)),
        ("%eca read @a/b.c", TypedWord("@", "a/b.c", 11)),
        ("%eca read #a", TypedWord("@", "a", 11)),
        ('%eca read @"two wo', TypedWord("@", "two wo", 12, quoted=True)),
        ("%%eca\nfirst\nread (@a", TypedWord("@", "a", 19)),
    ],
)
def test_a_command_or_what_is_pointed_at(code: str, expected: TypedWord) -> None:
    assert find_word(code, len(code)) == expected


@pytest.mark.parametrize(
    "code",
    [
        "x = a @b",
        "@decorator",
        "%ecab /co",
        "%%ecab\n/co",
        "%%bash\n/us",
        "%eca st",
        "%eca what is /co",
        "%eca a@b",
        "%%eca\nfirst\n/co",
        "%eca? /co",
        "%%eca\nmail me@home",
        "/co",
    ],
)
def test_other_words_are_somebody_elses(code: str) -> None:
    assert find_word(code, len(code)) is None


def test_what_stands_behind_the_cursor_does_not_matter() -> None:
    assert find_word("%eca /co and more", 8) == TypedWord("/", "co", 6)


@given(st.text(alphabet="%eca /@#\"' -nmb\n(", max_size=40), st.integers(0, 40))
def test_a_word_ends_at_the_cursor_whatever_is_typed(code: str, cursor: int) -> None:
    cursor = min(cursor, len(code))
    word = find_word(code, cursor)
    assert word is None or code[word.start : cursor] == word.text
