"""Which word Tab is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.apps.kernel.completion import Word, find_word


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("%eca /", Word("/", "", 6)),
        ("%eca /co", Word("/", "co", 6)),
        ("  %eca /co", Word("/", "co", 8)),
        ("%eca -n -b plan /co", Word("/", "co", 17)),
        ("x = 1\n%eca /co", Word("/", "co", 12)),
        ("%%eca\n/co", Word("/", "co", 7)),
        ("%%eca /docs:as", Word("/", "docs:as", 7)),
        ("%eca read @", Word("@", "", 11)),
        ("%eca read @a/b.c", Word("@", "a/b.c", 11)),
        ("%eca read #a", Word("@", "a", 11)),
        ('%eca read @"two wo', Word("@", "two wo", 12, quoted=True)),
        ("%%eca\nfirst\nread (@a", Word("@", "a", 19)),
    ],
)
def test_a_command_or_what_is_pointed_at(code: str, expected: Word) -> None:
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
    assert find_word("%eca /co and more", 8) == Word("/", "co", 6)


@given(st.text(alphabet="%eca /@#\"' -nmb\n(", max_size=40), st.integers(0, 40))
def test_a_word_ends_at_the_cursor_whatever_is_typed(code: str, cursor: int) -> None:
    cursor = min(cursor, len(code))
    word = find_word(code, cursor)
    assert word is None or code[word.start : cursor] == word.text
