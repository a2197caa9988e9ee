"""What a message points at, and all that only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.text.mentions import LiveMention, find_mentions, parse_live, split_mention

NAME = st.text("abcdefgh_-0123456789", min_size=1, max_size=8)
PATH = st.lists(NAME, min_size=1, max_size=4).map("/".join)
WORDS = st.text("abc xyz\n,;()", max_size=20)


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("look at @src/a.py please", ["src/a.py"]),
        ("@a.py and #b.py, then @a.py again", ["a.py", "b.py"]),
        ("what is in @a.py?", ["a.py"]),
        ("(see @pages/[id].tsx)", ["pages/[id].tsx"]),
        ("lines @a.py:L10-20.", ["a.py:L10-20"]),
        ('the @"my notes.md":L3 say', ["my notes.md:L3"]),
        ("read @https://example.com/a?b=c#d!", ["https://example.com/a?b=c#d"]),
        ("in @/srv/me/a.py", ["/srv/me/a.py"]),
    ],
)
def test_a_mention_is_a_word_that_begins_with_its_sign(message: str, found: list[str]) -> None:
    assert find_mentions(message) == found


@pytest.mark.parametrize(
    "message",
    [
        "write to me@example.com",
        "# A heading\n\n## Another",
        "an @ alone, and a # alone",
        "/etc/passwd is an absolute path",
        "```python\n@property\ndef a(self): ...\n```",
        "use `@cache` here",
        "```\n@never_closed",
        "C# and F# and a@b",
        "@@ -1,2 +1,2 @@",
        "#!/bin/sh",
    ],
)
def test_what_only_looks_like_a_mention_is_none(message: str) -> None:
    assert find_mentions(message) == []


@given(st.text())
def test_no_message_breaks_it(message: str) -> None:
    for mention in find_mentions(message):
        path, start, end = split_mention(mention)
        assert path
        assert 0 <= start <= end


@given(WORDS, PATH, WORDS)
def test_a_path_is_found_wherever_it_stands_between_words(before: str, path: str, after: str) -> None:
    assert path in find_mentions(f"{before} @{path} {after}")


@given(st.text("abc .,:/\n-_"))
def test_a_message_without_a_sign_mentions_nothing(message: str) -> None:
    assert find_mentions(message) == []


@given(PATH, st.integers(1, 9999), st.integers(1, 9999))
def test_lines_are_read_in_either_order(path: str, one: int, other: int) -> None:
    assert split_mention(f"{path}:L{one}-L{other}") == (path, min(one, other), max(one, other))


def test_lines_that_there_cannot_be_are_part_of_the_name() -> None:
    assert split_mention("a.py:L0") == ("a.py:L0", 0, 0)


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("why does @cell:3 fail?", LiveMention("cell", "3")),
        ("(see @cell:a-b_9).", LiveMention("cell", "a-b_9")),
        ("@output:12's plot", LiveMention("output", "12")),
        ("explain @error!", LiveMention("error")),
        ("rewrite @selection, please", LiveMention("selection")),
        ("sum up @notebook.", LiveMention("notebook")),
        ('and @"notebook:my work.ipynb" too', LiveMention("notebook", "my work.ipynb")),
        ("plot @var:df['mass']", LiveMention("var", "df")),
        ("plot @var:größe.", LiveMention("var", "größe")),
        ("in R, @var:my.frame", LiveMention("var", "my.frame")),
        ("sum up @table:orders.", LiveMention("table", "orders")),
        ("sum up @table:con.orders's columns", LiveMention("table", "con.orders")),
        ('sum up @"table:order-items 2"!', LiveMention("table", "order-items 2")),
    ],
)
def test_words_that_name_something_of_a_notebook(message: str, meant: LiveMention) -> None:
    (mention,) = find_mentions(message, "@")
    assert parse_live(mention) == meant


@pytest.mark.parametrize(
    "word", ["cells", "cell:", "error.py", "errors", "selection/a.py", "var:", "var:3", "cell:3/4", "table:", "tables"]
)
def test_words_that_only_begin_so_name_nothing_of_a_notebook(word: str) -> None:
    assert parse_live(word) is None


def test_of_one_sign_only_those_with_it_are_found() -> None:
    assert find_mentions("@a #b @c", "@") == ["a", "c"]


@pytest.mark.parametrize(
    ("message", "mentions"),
    [
        ("`x`@a", ["a"]),
        ("@a`x`b", ["a"]),
        ("@fileX", ["fileX"]),
        ("@f(a)", ["f(a)"]),
        ("(@f)", ["f"]),
        ("@...", []),
    ],
)
def test_a_mention_ends_before_code_and_punctuation(message: str, mentions: list[str]) -> None:
    assert find_mentions(message) == mentions


@pytest.mark.parametrize(
    ("mention", "lines"),
    [("a:L5", ("a", 5, 5)), ("a:L5-L3", ("a", 3, 5)), ("a:L0", ("a:L0", 0, 0)), ("a", ("a", 0, 0))],
)
def test_a_mention_may_have_one_line_or_several(mention: str, lines: tuple[str, int, int]) -> None:
    assert split_mention(mention) == lines
