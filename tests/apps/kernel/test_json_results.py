"""A result that comes as text and as JSON is shown once. The panel's tests run the same cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_eca.apps.kernel.answer.json_results import repeats_text
from tests.apps.kernel.test_transcript import called, run, transcript

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "json_results.json").read_text("utf-8")
)["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_text_that_repeats_its_json_is_recognised(case: dict[str, Any]) -> None:
    assert repeats_text(case["json"], case["text"]) is case["repeats"]


def test_a_result_that_comes_as_text_and_as_json_appears_once_in_a_cell() -> None:
    details = {"type": "jsonOutputs", "jsons": ['{"city": "Basel"}']}
    markdown = transcript(run(), {**called('{"city":"Basel"}'), "details": details}, outcome="completed").as_markdown()
    assert markdown.count("Basel") == 1
