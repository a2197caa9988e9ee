"""Every known defect has tests, which failed before it was fixed. Two lists have both: `fixtures/defects.json`, and
`fixtures/model_view.json` for what a model is told and what it can do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.requirements.test_eca import missing

FIXTURES = Path(__file__).parent.parent / "fixtures"


def read_list(name: str) -> list[dict[str, Any]]:
    return json.loads((FIXTURES / f"{name}.json").read_text())["defects"]


MODEL_VIEW = read_list("model_view")
DEFECTS = [*read_list("defects"), *MODEL_VIEW]


def test_no_defect_is_listed_twice() -> None:
    numbers = [defect["number"] for defect in DEFECTS]
    assert len(numbers) == len(set(numbers))


def test_no_defect_of_what_a_model_is_told_is_left_out() -> None:
    listed = {defect["number"].partition(" ")[0] for defect in MODEL_VIEW}
    assert listed == {"S1", "N5b", *(f"N{number}" for number in range(1, 15))}


@pytest.mark.parametrize("defect", DEFECTS, ids=[defect["number"] for defect in DEFECTS])
def test_a_defect_names_tests_that_exist(defect: dict[str, Any]) -> None:
    assert defect["must_not"]
    assert defect["tests"]
    assert missing(defect["tests"]) == []
