"""Clause by clause: what the two older revisions of ECA and today's clients want, and the tests that prove it.

`fixtures/conformance.json` holds the `clauses`; the shape of each message of the older revisions (`seeds`); and the
fields of each of today's methods and contents, so that none comes or goes without a clause.
"""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import pytest

from jupyter_eca.protocol.content import Content
from jupyter_eca.protocol.methods import METHODS
from tests.support.dialect_fixtures import load_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.protocol.base import Model

ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
TABLE: dict[str, Any] = json.loads((FIXTURES / "conformance.json").read_text())
CLAUSES: dict[str, dict[str, Any]] = {clause["id"]: clause for clause in TABLE["clauses"]}
CONTENTS = {kind.model_fields["type"].default: kind for kind in get_args(get_args(Content)[0])}
SAID = {name: message for seed in TABLE["seeds"] for name, message in load_messages(seed).items()}

Shape = dict[str, Any]


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the tests that a file has or imports; none when there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text("utf-8")) if file.is_file() else ast.Module([], [])
    found = (
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.alias)
    )
    return frozenset(name for name in found if name.startswith("test_"))


def missing(tests: list[str]) -> list[str]:
    return [test for test in tests if test.partition("::")[2] not in names_in(test.partition("::")[0])]


# The table -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", CLAUSES)
def test_a_clause_is_proven_by_tests_that_exist(id: str) -> None:
    assert CLAUSES[id]["says"]
    assert CLAUSES[id]["tests"]
    assert missing(CLAUSES[id]["tests"]) == []


def test_a_test_that_is_not_there_is_missed() -> None:
    here = "tests/requirements/test_eca.py"
    assert missing([f"{here}::test_nothing", "tests/nowhere.py::test_x"]) == [
        f"{here}::test_nothing",
        "tests/nowhere.py::test_x",
    ]
    assert missing([f"{here}::test_a_test_that_is_not_there_is_missed"]) == []


def test_no_clause_is_told_twice() -> None:
    assert len(CLAUSES) == len(TABLE["clauses"])


def test_every_test_of_a_clause_is_named_by_one() -> None:
    named = {test for clause in TABLE["clauses"] for test in clause["tests"]}
    files = [file.relative_to(ROOT).as_posix() for file in sorted((ROOT / "tests/requirements/eca").glob("test_*.py"))]
    there = {f"{file}::{name}" for file in files for name in names_in(file)}
    assert there
    assert there - named == set()


# Today's fields ------------------------------------------------------------------------------------------------------


def fields(model: type[Model] | None) -> list[str] | None:
    return None if model is None else sorted(field.alias or name for name, field in model.model_fields.items())


def test_every_field_of_every_method_is_covered_by_a_clause() -> None:
    ours = {name: {"params": fields(row.params), "result": fields(row.result)} for name, row in METHODS.items()}
    assert {name: {"result": None, **row} for name, row in TABLE["methods"].items()} == ours
    assert {name for name in METHODS if not {f"current {name}", f"own {name}"} & CLAUSES.keys()} == set()


def test_every_field_of_every_content_is_covered_by_a_clause() -> None:
    assert TABLE["contents"] == {kind: fields(model) for kind, model in CONTENTS.items()}
    assert {kind for kind in CONTENTS if f"current content {kind}" not in CLAUSES} == set()


@pytest.mark.parametrize("seed", TABLE["seeds"])
def test_every_shape_of_a_seed_has_a_clause_and_a_fixture(seed: str) -> None:
    shapes = set(TABLE["seeds"][seed])
    assert {shape for shape in shapes if f"{seed} {shape}" not in CLAUSES} == set()
    shown = {shape for name, said in SAID.items() if name.startswith(seed) for shape, _ in shapes_in(said)}
    assert shapes - shown - {"editor/getDiagnostics params"} == set()


# The seeds' shapes ---------------------------------------------------------------------------------------------------

# Where one shape stands in another, and how it is called by the values there.
_INSIDE = {
    "content": "content {type}", "details": "details {type}", "contexts": "context {type}", "commands": "command",
    "tools": "tool", "diagnostics": "diagnostic", "workspaceFolders": "folder", "capabilities": "capabilities",
    "linesRange": "lines range",
}  # fmt: skip


def shapes_in(said: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each shape in a message, with the data that should have it."""
    part = "params" if "params" in said else "result"
    data = said[part]
    name = f"server {data['type']}" if said["method"] == "tool/serverUpdated" else f"{said['method']} {part}"
    yield name, data or {}
    yield from _nested(data)


def _nested(data: Any) -> Iterator[tuple[str, Any]]:
    for name, value in cast("Shape", data).items() if isinstance(data, dict) else ():
        for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if name in _INSIDE and isinstance(item, dict):
                yield _INSIDE[name].format_map(cast("Shape", {"type": "", **item})), item
            yield from _nested(item)


def faults(shape: Shape, data: Any) -> list[str]:
    wrong = [name for name in shape["required"] if not all(present(data, name))]
    for name, values in shape["values"].items():
        wrong += [f"{name}: {value}" for value in at(data, name) if value is not None and value not in values]
    return wrong


def present(data: Any, name: str) -> Iterator[bool]:
    """Whether the last part of a dotted name is in each place that has the parts before it."""
    outer, _, last = name.rpartition(".")
    for place in at(data, outer) if outer else [data]:
        yield last in place


def at(data: Any, name: str) -> Iterator[Any]:
    """The values under a dotted name, those of all members of a list."""
    first, _, rest = name.partition(".")
    if isinstance(data, dict) and first in data:
        value: Any = cast("Shape", data)[first]
        for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
            yield from at(item, rest) if rest else [item]


@pytest.mark.parametrize("name", SAID)
def test_a_message_has_the_shape_that_its_seed_gives_it(name: str) -> None:
    shapes = TABLE["seeds"][name.partition("/")[0]]
    found = {shape: faults(shapes[shape], data) for shape, data in shapes_in(SAID[name]) if shape in shapes}
    assert {shape: wrong for shape, wrong in found.items() if wrong} == {}
