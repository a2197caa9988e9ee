"""A story run from its first cell to its last by the programs that run notebooks, with nobody there to ask."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, document, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Four programs and four kernels; `test_nbclient.py` is of every run.
pytestmark = pytest.mark.nightly

REPLY = {"tool": "run_code", "arguments": {"code": "loaded = 42\nprint('rows', loaded)"}}
RULES: list[dict[str, Any]] = [
    {"message": "^load", "reply": [REPLY]},
    {"message": "^which", "reply": [{"tool": "ask_user", "arguments": {"question": "Which?"}}]},
    {"result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "^break", "reply": [{"text": "So far so good."}, {"error": "The model is overloaded.", "status": 529}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]
CELLS = (LOAD, "%eca hello", "%eca load -> answer", "%eca which", "%eca panel", "print('loaded' in globals())")


def papermill(source: Path, target: Path) -> list[str]:
    return ["papermill", "--no-progress-bar", "--cwd", str(source.parent), str(source), str(target)]


def nbconvert(source: Path, target: Path) -> list[str]:
    return ["nbconvert", "--to=notebook", "--execute", f"--output={target.name}", str(source)]


@pytest.mark.parametrize("program", [papermill, nbconvert])
def test_answers_are_in_the_output_what_nobody_approved_did_not_run_and_only_a_failure_is_one(
    program: Callable[[Path, Path], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surround(monkeypatch, tmp_path, settings(tmp_path, RULES))
    done, said = run(program, tmp_path, *CELLS)
    assert done.returncode == 0, done.stderr
    assert said[1] == "I heard: hello"
    assert "not run: it needs approval, and nobody is there to give it" in said[2]
    assert "I read: This call needs approval and nobody is there to give it" in said[2]
    assert "I read: There is no tool 'ask_user'" in said[3]
    assert "obody watches now" in said[4]
    assert said[5] == "False\n"
    done, said = run(program, tmp_path, LOAD, "%eca break", "print('never')")
    assert done.returncode != 0
    assert "No answer: The model is overloaded." in done.stderr


def run(
    program: Callable[[Path, Path], list[str]], folder: Path, *cells: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """What it said of itself, and the text of each cell's outputs, if it wrote any."""
    source, target = folder / "in.ipynb", folder / "out.ipynb"
    source.write_text(json.dumps(document(*cells)))
    target.unlink(missing_ok=True)
    command = [sys.executable, "-m", *program(source, target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 2, check=False)
    book: Any = json.loads(target.read_text()) if target.exists() else {"cells": []}
    return done, ["".join(map(_text, cell.get("outputs", ()))) for cell in book["cells"]]


def _text(output: dict[str, Any]) -> str:
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", ""))
