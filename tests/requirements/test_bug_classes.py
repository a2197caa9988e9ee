"""What has gone wrong in servers like this one must not go wrong here: each class of bugs, and the tests that prove it.

`fixtures/bug_classes.json` has them by their numbers in ECA's own history of fixes, and as `open` those that were never
mended there. A class without tests says why it cannot occur.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.requirements.test_eca import missing, names_in

ROOT = Path(__file__).parent.parent.parent
ROWS: list[dict[str, Any]] = json.loads((ROOT / "tests/fixtures/bug_classes.json").read_text())["classes"]
CLASSES = {row["class"]: row for row in ROWS}
NUMBERS = [str(number) for number in range(1, 46)] + [f"open {number}" for number in range(1, 8)]


def test_every_class_is_told_once_and_in_order() -> None:
    assert [row["class"] for row in ROWS] == NUMBERS


@pytest.mark.parametrize("number", CLASSES)
def test_a_class_is_ruled_out_by_tests_that_exist_or_cannot_occur(number: str) -> None:
    row = CLASSES[number]
    assert row["must_not"]
    assert row.get("tests") or row.get("why")
    assert missing(row.get("tests", [])) == []


def test_every_test_of_a_fault_belongs_to_a_class() -> None:
    named = {test for row in ROWS for test in row.get("tests", [])}
    files = sorted((ROOT / "tests/host/faults").glob("test_*.py"))
    there = {
        f"{path}::{name}" for file in files for path in [file.relative_to(ROOT).as_posix()] for name in names_in(path)
    }
    assert there
    assert there - named == set()
