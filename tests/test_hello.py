"""What one question costs. Each file that is entered is work that is done for every question."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.rooms import ROOT

if TYPE_CHECKING:
    from pathlib import Path


# By whether the model is told where the question was asked: this reads the notebook and what the kernel has run.
MOST_FILES = {False: 60, True: 71}


@pytest.mark.parametrize("tells_place", [False, True])
def test_hello_enters_few_files_before_the_first_letter_of_the_answer(tmp_path: Path, tells_place: bool) -> None:
    """A file is entered when a function that is defined in it runs, in whatever thread."""
    home = tmp_path / "home"
    settings = {"defaultModel": "scripted/test", "notebook": {"place": tells_place}}
    (home / "eca").mkdir(parents=True)
    (home / "eca/config.json").write_text(json.dumps(settings))
    folder = tmp_path / "project"
    folder.mkdir()
    places = {"HOME": home, "XDG_CONFIG_HOME": home, "JUPYTER_DATA_DIR": home, "IPYTHONDIR": home, "PYTHONPATH": ROOT}
    environment = {**os.environ, **{name: str(path) for name, path in places.items()}}
    command = [sys.executable, "-m", "tests.support.entered_files"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    entered: list[str] = json.loads(done.stdout.splitlines()[-1])
    assert "apps/kernel/magic.py" in entered
    assert "host/turn/turns.py" in entered
    assert len(entered) <= MOST_FILES[tells_place], "\n".join(entered)
