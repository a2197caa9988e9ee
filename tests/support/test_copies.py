"""A copy of a process of Python is as one that was started, and ends as one would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.copies import Copy, Original, can_be_copied, running_original
from tests.support.processes import have_ended
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def original() -> Iterator[Original]:
    with running_original("decimal") as original:
        yield original


def start(original: Original, folder: Path, source: str, *arguments: str, **environment: str) -> Copy:
    """The source as a module of the folder; what it prints is in a file beside it."""
    (folder / "program.py").write_text(textwrap.dedent(source))
    with (folder / "printed").open("wb") as output:
        fds = (output.fileno(), output.fileno())
        return original.start("program", arguments, {**os.environ, **environment}, folder, fds, own_session=True)


def test_it_has_a_folder_arguments_an_environment_and_an_output_of_its_own(original: Original, tmp_path: Path) -> None:
    source = """
        import os, sys
        print(__name__, os.path.basename(sys.argv[0]), sys.argv[1:], os.environ["TOLD"], os.getcwd(), sys.path[0])
        print("decimal" in sys.modules, any(name.startswith("tests") for name in sys.modules), repr(sys.stdin.read()))
    """
    assert start(original, tmp_path, source, "one", "two", TOLD="it").wait(PATIENCE) == 0
    assert (tmp_path / "printed").read_text().splitlines() == [
        f"__main__ program.py ['one', 'two'] it {tmp_path} {tmp_path}",
        "True False ''",
    ]


def test_it_ends_as_a_process_does(original: Original, tmp_path: Path) -> None:
    source = "import atexit, sys; atexit.register(print, 'the end'); sys.exit(3)"
    assert start(original, tmp_path, source).wait(PATIENCE) == 3
    assert (tmp_path / "printed").read_text() == "the end\n"
    assert start(original, tmp_path, "1 / 0").wait(PATIENCE) == 1
    assert "ZeroDivisionError" in (tmp_path / "printed").read_text()


def test_its_session_is_interrupted_and_it_is_killed(original: Original, tmp_path: Path) -> None:
    source = """
        import os, time
        try:
            os.close(os.open("begun", os.O_CREAT))
            time.sleep(3600)
        except KeyboardInterrupt:
            os.close(os.open("interrupted", os.O_CREAT))
            time.sleep(3600)
    """
    copy = start(original, tmp_path, source)
    for name, number in (("begun", signal.SIGINT), ("interrupted", signal.SIGKILL)):
        while not (tmp_path / name).exists():
            assert copy.poll() is None
        os.killpg(copy.pid, number)
    assert copy.wait(PATIENCE) == -signal.SIGKILL
    assert copy.poll() == -signal.SIGKILL


def test_it_is_waited_for_no_longer_than_one_wants_to(original: Original, tmp_path: Path) -> None:
    copy = start(original, tmp_path, "import time; time.sleep(3600)")
    with pytest.raises(subprocess.TimeoutExpired):
        copy.wait(0)
    copy.terminate()
    assert copy.wait(PATIENCE) == -signal.SIGTERM


def test_it_ends_with_whoever_has_started_it(original: Original, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import time; time.sleep(3600)")
    asks = """if True:
        import os, sys
        from tests.support.copies import Original
        print(Original(sys.argv[1]).start("program", [], os.environ, sys.argv[2]).pid)
    """
    command = [sys.executable, "-c", asks, original.address, str(tmp_path)]
    asked = subprocess.run(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, check=True)
    assert have_ended(int(asked.stdout))


def test_another_python_and_other_variables_of_pythons_own_are_not_copied() -> None:
    assert can_be_copied(sys.executable, {**os.environ, "HOME": "elsewhere"})
    assert not can_be_copied("/another/python", os.environ)
    assert not can_be_copied(sys.executable, {**os.environ, "PYTHONPATH": "elsewhere"})
