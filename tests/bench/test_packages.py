"""Each package that an installation brings has a reason in the documentation."""

from __future__ import annotations

from tests.bench.packages import REASONS, list_dependencies


def test_each_dependency_has_a_reason_and_each_reason_a_dependency() -> None:
    assert list_dependencies() == sorted(REASONS)
