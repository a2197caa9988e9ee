"""Clause by clause: what the Agent Client Protocol, version 1, wants of an agent, and the tests that prove it, or why
none does.

The name of a clause begins with the page of the protocol's documentation that has it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_eca.protocol.acp.requests import REQUESTS
from tests.requirements.test_eca import FIXTURES, ROOT, missing, names_in

CLAUSES: list[dict[str, Any]] = json.loads((FIXTURES / "conformance_acp.json").read_text())["clauses"]
PAGES = frozenset(
    {"initialization", "authentication", "session-setup", "session-list", "session-delete", "prompt-turn", "content"}
    | {"tool-calls", "agent-plan", "session-modes", "session-config-options", "slash-commands", "elicitation"}
    | {"file-system", "terminals", "extensibility", "transports", "cancellation", "schema", "error", "ours"}
)


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause["id"])
def test_a_clause_is_proven_by_tests_that_exist_or_is_said_to_be_open(clause: dict[str, Any]) -> None:
    assert clause["says"]
    assert bool(clause.get("tests")) != bool(clause.get("open"))
    assert missing(clause.get("tests", [])) == []


def test_no_clause_is_told_twice() -> None:
    assert len({clause["id"] for clause in CLAUSES}) == len(CLAUSES)


def test_every_page_and_every_request_has_clauses() -> None:
    assert {clause["id"].partition(" ")[0] for clause in CLAUSES} == PAGES
    named = " ".join(clause["id"] for clause in CLAUSES)
    assert {name for name in REQUESTS if name not in named} == set()


def test_every_test_of_the_front_is_named_by_a_clause() -> None:
    named = {test for clause in CLAUSES for test in clause.get("tests", ())}
    files = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests/fronts/acp").glob("test_*.py"))]
    there = {f"{file}::{name}" for file in files for name in names_in(file)}
    assert there
    assert there - named == set()
