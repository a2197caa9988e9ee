"""The names of servers' tools: what vendors allow, and never the same for two tools."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.mcp_client.tool_names import MAX_LENGTH, make_tool_name

WORDS = st.text(alphabet="ab_-. é", min_size=1, max_size=5) | st.text(min_size=60, max_size=70)
PAIRS = st.tuples(WORDS, WORDS)


def test_a_plain_name_says_server_and_tool() -> None:
    assert make_tool_name("git-hub", "list_issues") == "git-hub__list_issues"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b__c"), ("a__b", "c")),
        (("a_", "b"), ("a", "_b")),
        (("a.b", "c"), ("a_b", "c")),
        (("a", "x" * 70 + "1"), ("a", "x" * 70 + "2")),
    ],
)
def test_names_that_would_collide_do_not(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert make_tool_name(*one) != make_tool_name(*other)


@given(PAIRS, PAIRS)
def test_any_two_tools_have_two_names_that_vendors_allow(one: tuple[str, str], other: tuple[str, str]) -> None:
    names = [make_tool_name(*one), make_tool_name(*other)]
    assert (names[0] == names[1]) == (one == other)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) and len(name) <= MAX_LENGTH for name in names)
