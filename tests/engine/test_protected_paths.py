"""The fast look at a name misses no protected path."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from jupyter_eca.engine.approval.protected_paths import FILES, FOLDERS, is_protected, may_be_protected

NAMES = st.sampled_from(sorted(FILES | FOLDERS | {"eca", "fish", "git", "opencode"}))
# What some file systems ignore, and other cases.
ENDS = st.text(". :x\u200b", max_size=3)


@st.composite
def spelled(draw: st.DrawFn) -> str:
    letters = [draw(st.sampled_from([letter, letter.upper()])) for letter in draw(NAMES)]
    return draw(st.sampled_from(["", "\u200b"])) + "".join(letters) + draw(ENDS)


@given(spelled())
def test_the_fast_look_at_a_name_misses_no_protected_path(name: str) -> None:
    assume(is_protected(name) or is_protected(f".config/{name}"))
    assert may_be_protected(name)
