"""What must hold where people work beyond one machine, for example on a JupyterHub. `fixtures/hub_checks.json` names
the tests of each check, what measures it (`make bench`), and what no test shows yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.requirements.test_eca import missing

TESTS = Path(__file__).parent.parent
CHECKS: list[dict[str, Any]] = json.loads((TESTS / "fixtures" / "hub_checks.json").read_text())["checks"]


def test_all_checks_are_listed() -> None:
    assert [check["number"] for check in CHECKS] == [*range(1, 23)]


@pytest.mark.parametrize("check", CHECKS, ids=[str(check["number"]) for check in CHECKS])
def test_a_check_names_tests_and_benches_that_exist_or_says_what_is_missing(check: dict[str, Any]) -> None:
    assert check["says"]
    assert check["tests"] or check["benches"] or check["missing"]
    assert missing(check["tests"]) == []
    assert [name for name in check["benches"] if not (TESTS / "bench" / f"{name}.py").is_file()] == []
