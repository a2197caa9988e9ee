"""Every known defect has tests, which failed before it was fixed. `fixtures/defects.json` lists both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.requirements.test_eca import missing

FIXTURES = Path(__file__).parent.parent / "fixtures"
DEFECTS: list[dict[str, Any]] = json.loads((FIXTURES / "defects.json").read_text())["defects"]


def test_no_defect_is_listed_twice() -> None:
    numbers = [defect["number"] for defect in DEFECTS]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("defect", DEFECTS, ids=[defect["number"] for defect in DEFECTS])
def test_a_defect_names_tests_that_exist(defect: dict[str, Any]) -> None:
    assert defect["must_not"]
    assert defect["tests"]
    assert missing(defect["tests"]) == []
