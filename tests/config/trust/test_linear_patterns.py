"""Which patterns of a stranger's rules cannot hold up the server."""

from __future__ import annotations

import re

import pytest

from jupyter_eca.config.trust.linear_patterns import takes_linear_time

QUICK = (
    *("", "badly", ".*evil.*", "git push.*--force.*", r".*\.env", r"[^/]*\.ipynb", "(?i).*drop table.*", r"a\*b"),
    *("(?:ls|cat|head|tail|wc|grep|find|stat)( .*)?", "a{1,5}b", ".{0,3}x{2,}", "[]a]*", ".*(?:x|y).*", "notes/.+"),
)
SLOW = (
    *("(.+)+x", "(a*)*", "(?:a|a)*b", "(a?){30}", "((((a{1,9}){1,9}){1,9}){1,9})", 10 * "(a|a)", 8 * "a?" + 8 * "a"),
    *(".*a[a-z]*", ".*rm.*-rf.*", "x*y*", ".*.*.*x", "[a]]*b*", "(?:a*|b*)", r"(a)\1", "(?=.*x).*", "(?x)(.+) +y"),
    *("(?P<a>x)", "(", "a)", "(?#)", 4 * "a{0,50}"),
)


@pytest.mark.parametrize("pattern", QUICK)
def test_a_pattern_as_people_write_it_takes_linear_time(pattern: str) -> None:
    re.compile(pattern)
    assert takes_linear_time(pattern)


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_may_try_many_ways_counts_as_slow(pattern: str) -> None:
    assert not takes_linear_time(pattern)
