"""The generated TypeScript: the committed file is up to date, and optional fields are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jupyter_eca.protocol.methods import METHODS
from jupyter_eca.protocol.typescript import generate, main

COMMITTED = Path(__file__).parents[2] / "labextension" / "src" / "wire" / "protocol.ts"


@pytest.fixture(scope="module")
def generated() -> str:
    return generate()


def test_the_committed_types_are_up_to_date() -> None:
    assert main(["--check", str(COMMITTED)]) == 0


def test_checking_reports_a_stale_file_and_does_not_change_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "protocol.ts"
    stale.write_text("export type Old = 'old';\n")
    assert main(["--check", str(stale)]) == 1
    assert stale.read_text() == "export type Old = 'old';\n"
    assert "is stale" in capsys.readouterr().err


def test_writing_makes_a_file_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "protocol.ts"
    assert main([str(file)]) == 0
    assert main(["--check", str(file)]) == 0


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_in_a_map(generated: str, name: str) -> None:
    assert f"\n  {name}: {{" in generated or f"\n  '{name}': {{" in generated


def test_what_the_server_always_sends_is_not_optional(generated: str) -> None:
    assert "readonly messages: boolean;" in generated


def test_what_a_client_may_leave_out_is_optional(generated: str) -> None:
    assert "readonly limit?: number;" in generated


def test_the_tag_of_a_union_is_never_optional(generated: str) -> None:
    assert not re.search(r"type\?: '\w+';", generated)


def test_the_docstring_of_a_field_is_its_comment(generated: str) -> None:
    [before, _] = generated.split("  readonly byDefault: 'allow' | 'ask' | 'deny';")
    assert before.rpartition("\n  /** ")[2].endswith(". */\n")
