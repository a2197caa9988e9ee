"""Clause by clause: what the Agent Host Protocol 0.1.0 wants, and the tests that prove it, or why none does.

The clauses are those of the Commands page (`seed`) and of the specification's sections 1 to 15 and 18.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_eca.fronts.ahp.commands import COMMANDS
from tests.requirements.test_eca import FIXTURES, ROOT, missing, names_in

CLAUSES: list[dict[str, Any]] = json.loads((FIXTURES / "conformance_ahp.json").read_text())["clauses"]
ELSEWHERE = frozenset(
    {"subscribe", "resolveSessionConfig", "sessionConfigCompletions", "authenticate"}
    | {"createTerminal", "disposeTerminal"}
)


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause["id"])
def test_a_clause_is_proven_by_tests_that_exist_or_is_said_to_be_open(clause: dict[str, Any]) -> None:
    assert clause["says"]
    assert bool(clause.get("tests")) != bool(clause.get("open"))
    assert missing(clause.get("tests", [])) == []


def test_no_clause_is_told_twice() -> None:
    assert len({clause["id"] for clause in CLAUSES}) == len(CLAUSES)


def test_every_section_and_every_command_has_clauses() -> None:
    ids = {clause["id"] for clause in CLAUSES}
    assert {id.partition(" ")[0].partition(".")[0] for id in ids} == {"seed", "18", *map(str, range(1, 16))}
    assert {name for name in COMMANDS.keys() - ELSEWHERE if f"seed {name}" not in ids} == set()


def test_every_test_of_the_front_is_named_by_a_clause() -> None:
    named = {test for clause in CLAUSES for test in clause.get("tests", ())}
    files = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests/fronts/ahp").glob("test_*.py"))]
    there = {f"{file}::{name}" for file in files for name in names_in(file)}
    assert there
    assert there - named == set()
