"""Every known defect has tests, which failed before it was fixed. Two lists have both: `fixtures/defects.json`, and
`fixtures/model_view.json` for what a model is told and what it can do.

`fixtures/complaints.json` is a third list: what users of other assistants complain about in public, with the tests that
show that it does not happen here."""

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
COMPLAINTS = read_list("complaints")
DEFECTS = [*read_list("defects"), *MODEL_VIEW, *COMPLAINTS]


def test_no_defect_is_listed_twice() -> None:
    numbers = [defect["number"] for defect in DEFECTS]
    assert len(numbers) == len(set(numbers))


def test_no_defect_of_what_a_model_is_told_is_left_out() -> None:
    listed = {defect["number"].partition(" ")[0] for defect in MODEL_VIEW}
    assert listed == {"S1", "N5b", *(f"N{number}" for number in range(1, 15))}


def test_no_complaint_about_other_assistants_is_left_out() -> None:
    listed = {int(complaint["number"].removeprefix("complaint ")) for complaint in COMPLAINTS}
    assert listed == {9, 21, 22, 30, 31, 33, 36, 41, 43, 45}


@pytest.mark.parametrize("defect", DEFECTS, ids=[defect["number"] for defect in DEFECTS])
def test_a_defect_names_tests_that_exist(defect: dict[str, Any]) -> None:
    assert defect["must_not"]
    assert defect["tests"]
    assert missing(defect["tests"]) == []
