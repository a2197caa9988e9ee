"""A process that is a fork is like one that Python has started, for whoever starts it and for the program in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import warm_starts
from tests.support.processes import have_ended
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forks on Linux alone")

DESCRIBE = """
import json, os, sys, warnings
print(json.dumps({
    "name": __name__,
    "arguments": sys.argv,
    "whole command": sys.orig_argv[1:],
    "path": sys.path,
    "warnings": [sys.warnoptions, [warning[0] for warning in warnings.filters][:1]],
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "parent": os.getppid(),
    "session": os.getsid(0) == os.getpid(),
    "files": sorted(os.listdir("/proc/self/fd")),
    "passed on": os.read(int(sys.argv[1]), 100).decode(),
    "encodings": [[file.encoding, file.errors, file.line_buffering] for file in (sys.stdin, sys.stdout, sys.stderr)],
    "read": sys.stdin.read(),
}))
print("to stderr", file=sys.stderr)
"""


def find_usual_start() -> Any:
    start = getattr(subprocess, "_fork_exec")  # noqa: B009  # private
    return start.start if isinstance(start, warm_starts.WarmStarts) else start


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Iterator[warm_starts.WarmStarts]:
    """Forks for these tests alone, whatever the others have."""
    starts = warm_starts.WarmStarts(find_usual_start())
    starts.wait_for("tour_server.py")
    monkeypatch.setattr(subprocess, "_fork_exec", starts)
    yield starts
    starts.close()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """One with a name of those that are started warm."""
    return tmp_path / "tour_server.py"


def describe(script: Path, passed_on: int) -> dict[str, object]:
    folder = script.parent / "folder"
    folder.mkdir(exist_ok=True)
    paths = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(folder)])
    done = subprocess.run(
        [sys.executable, str(script), str(passed_on), "b c", "\udcff"],
        input="to stdin",
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "NAME": "välue", "PYTHONWARNINGS": "error", "PYTHONPATH": paths},
        pass_fds=[passed_on],
        start_new_session=True,
        check=True,
    )
    assert done.stderr == "to stderr\n"
    return json.loads(done.stdout)


def test_a_fork_has_what_a_process_of_its_own_has(starts: warm_starts.WarmStarts, script: Path) -> None:
    script.write_text(DESCRIBE)
    file, ours = os.pipe()
    found: list[dict[str, object]] = []
    for starts.is_on in (False, True):
        os.write(ours, b"passed on")
        found.append(describe(script, file))
    os.close(file)
    os.close(ours)
    cold, warm = found
    assert starts.count == 1
    assert warm == cold
    assert cold["parent"] == os.getpid()


@pytest.mark.parametrize(
    ("code", "status"),
    [("", 0), ("raise SystemExit(3)", 3), ("import atexit, os; atexit.register(os._exit, 4)", 4), ("1 / 0", 1)],
)
def test_it_ends_with_its_status(starts: warm_starts.WarmStarts, script: Path, code: str, status: int) -> None:
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert ("ZeroDivisionError" in done.stderr) == (status == 1)
    assert starts.count == 1


def test_a_signal_reaches_it_and_is_its_end(starts: warm_starts.WarmStarts, script: Path) -> None:
    script.write_text("import signal\nprint('up', flush=True)\nsignal.pause()")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.terminate()
        assert process.wait() == -signal.SIGTERM
    assert starts.count == 1


def test_an_interrupt_is_an_exception_in_it(starts: warm_starts.WarmStarts, script: Path) -> None:
    # Whoever runs the tests in the background may have them ignore interrupts, and a process inherits that.
    heed = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    script.write_text(f"import signal\n{heed}\nprint('up', flush=True)\nsignal.pause()")
    command = [sys.executable, str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=PATIENCE)[1]
    assert starts.count == 1


def test_a_module_is_found_in_its_folder_and_on_its_path(starts: warm_starts.WarmStarts, tmp_path: Path) -> None:
    starts.wait_for("jupyter_eca")
    done = subprocess.run(
        [sys.executable, "-m", "jupyter_eca", "--version"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.startswith("eca ")
    assert starts.count == 1


OUTER = """
import os, signal, subprocess, sys, threading
inner = [sys.executable, "inner.py", str(os.getpid())]
print("fractions" in sys.modules, subprocess.run(inner, capture_output=True, text=True, check=True).stdout)
with subprocess.Popen([*inner, "pause"], stdout=subprocess.PIPE, start_new_session=True) as process:
    process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)
    print(process.wait())
"""
INNER = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("fractions" in sys.modules, os.getppid() == int(sys.argv[1]), flush=True)
if "pause" in sys.argv:
    signal.pause()
"""


def test_what_a_fork_starts_is_a_fork_and_its_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER)
    starts = warm_starts.WarmStarts(find_usual_start(), {"outer.py": ("fractions",)}, {"outer.py": ("inner.py",)})
    starts.wait_for("outer.py")
    monkeypatch.setattr(subprocess, "_fork_exec", starts)
    command = [sys.executable, "outer.py"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, check=True)
    assert done.stdout.splitlines() == ["True True True", "", str(-signal.SIGINT)]
    starts.close()


def test_what_is_not_simple_starts_as_usual(starts: warm_starts.WarmStarts, script: Path) -> None:
    script.write_text("import sys; print(sys.flags.utf8_mode, sys.flags.dev_mode)")
    python, utf8 = sys.executable, {**os.environ, "PYTHONUTF8": "1"}
    for command, variables, said in (
        ([python, "-X", "dev", str(script)], None, "0 True"),
        ([python, str(script)], utf8, "1 False"),
        ([python, "-c", "print('code')"], None, "code"),
        (["true"], None, ""),
    ):
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == said
    with pytest.raises(FileNotFoundError):
        subprocess.run([python, str(script)], cwd=script.parent / "nowhere", check=True)
    assert starts.count == 0


def test_while_the_imports_go_on_processes_start_as_usual(starts: warm_starts.WarmStarts, script: Path) -> None:
    slow = script.with_name("sdk_server.py")
    slow.write_text("")
    subprocess.run([sys.executable, str(slow)], check=True)
    assert starts.count == 0
    starts.wait_for("sdk_server.py")
    subprocess.run([sys.executable, str(slow)], check=True)
    assert starts.count == 1


def test_the_process_that_forks_ends_with_the_tests(starts: warm_starts.WarmStarts) -> None:
    (pid,) = starts.pids
    starts.close()
    assert have_ended(pid)
