"""What rules are written in: Java's globs, Selmer's conditions."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.instructions import globs
from jupyter_eca.instructions.template import render

FACTS = {"yes": True, "no": False, "where": "/here"}


@pytest.mark.parametrize(
    ("pattern", "matches", "not_"),
    [
        ("src/*.clj", "src/foo.clj", "src/nested/foo.clj"),
        ("src/**/*.clj", "src/nested/foo.clj", "src/foo.clj"),
        ("src/**.clj", "src/nested/foo.clj", "test/foo.clj"),
        ("src/**.clj", "src/foo.clj", "src/foo.cljs"),
        ("{src/*.clj,src/**/*.clj}", "src/foo.clj", "src/foo"),
        ("src/**.{ts,tsx}", "src/a/b.tsx", "src/a/b.tsxx"),
        ("**.py", "a.py", "apy"),
        ("a?.py", "ab.py", "a/.py"),
        ("[!a-c]?[[^&~-].py", "dx^.py", "ax^.py"),
        (r"\*[|].py", "*|.py", "a|.py"),
        ("data,raw.csv", "data,raw.csv", "data"),
    ],
)
def test_patterns_match_what_java_matches(pattern: str, matches: str, not_: str) -> None:
    glob = globs.compile_glob(pattern)
    assert glob.fullmatch(matches)
    assert not glob.fullmatch(not_)


@pytest.mark.parametrize("pattern", ["{a", "{a,{b}}", "[", "a\\", "[z-a]"])
def test_what_is_no_pattern_is_told(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a pattern for paths"):
        globs.compile_glob(pattern)


@given(st.text(alphabet="ab*?[]{}!,\\^-&|~/.", max_size=12))
def test_any_text_is_a_pattern_or_is_refused(pattern: str) -> None:
    with suppress(ValueError):  # and nothing else: no warning either
        globs.compile_glob(pattern)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{% if yes %}a{% else %}b{% endif %}", "a"),
        ("{% if not yes %}a{% elif no %}b{% else %}c{% endif %}", "c"),
        ("{% if any no yes %}a{% endif %}{% if all no yes %}b{% endif %}", "a"),
        ("{% if yes %}{% if unknown %}a{% else %}b{% endif %}{% else %}{% if yes %}c{% endif %}{% endif %}", "b"),
        ("one\n  {% if yes %}\ntwo\n{% endif %}\nthree", "one\ntwo\nthree"),
        ("{{ where }} {{where}} {{ yes }} {{ other }} {% raw %}", "/here /here true {{ other }} {% raw %}"),
    ],
)
def test_conditions_and_variables_are_filled_in(text: str, shown: str) -> None:
    assert render(text, FACTS) == shown


@pytest.mark.parametrize(
    "text", ["{% if yes %}a", "{% endif %}", "{% if yes %}{% else %}{% else %}{% endif %}", "{% if a > b %}{% endif %}"]
)
def test_a_condition_that_is_not_understood_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="if"):
        render(text, FACTS)
