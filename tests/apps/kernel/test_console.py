"""`jupyter console`, typed into: `%eca` in a Python kernel, and prompts in the kernel `eca`."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_eca
from tests.apps.kernel.environments import environment
from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import Generator

pexpect: Any = pytest.importorskip("pexpect", reason="IPython brings it, but not on Windows")

pytestmark = pytest.mark.nightly

SPEC = Path(jupyter_eca.__file__).parent / "apps" / "kernel" / "spec"
CODE = {"tool": "run_code", "arguments": {"code": "loaded = 42\nprint('rows', loaded)"}}
RULES: list[dict[str, Any]] = [
    {"message": "^load", "reply": [{"text": "Let me."}, CODE]},
    {"message": "^load", "result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "^slow", "reply": [{"text": "and so on " * 1000, "chunk": 5, "delay": 0.05}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]


class Console:
    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def type(self, line: str) -> None:
        self.see(r"In \[\d+\]: ")
        self._shell.sendline(line)

    def reply(self, words: str) -> None:
        self.see("Run it\\?.*: ")
        self._shell.sendline(words)

    def see(self, pattern: str) -> None:
        self._shell.expect(pattern)

    def interrupt(self) -> None:
        self._shell.sendintr()


@contextmanager
def console(python: Path, kernel: str, folder: Path, patch: pytest.MonkeyPatch) -> Generator[Console]:
    surround(patch, folder, settings(folder, RULES))
    # The kernelspec comes with the package, and this environment has only what the package needs.
    shutil.copytree(SPEC, folder / "JUPYTER_DATA_DIR" / "kernels" / "eca")
    patch.setenv("PATH", f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    patch.setenv("TERM", "dumb")
    command = ["-m", "jupyter_console", "--simple-prompt", f"--kernel={kernel}"]
    shell = pexpect.spawn(str(python), command, cwd=str(folder), encoding="utf-8", timeout=PATIENCE)
    try:
        yield Console(shell)
    finally:
        shell.sendeof()
        shell.close(force=True)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("console") / "env", "jupyter-console")


@pytest.mark.parametrize(("kernel", "asks"), [("python3", "%eca "), ("eca", "")])
def test_a_console_answers_asks_by_typing_and_stops(
    python: Path, kernel: str, asks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with console(python, kernel, tmp_path, monkeypatch) as here:
        if asks:
            here.type(LOAD)
        here.type(f"{asks}hello")
        here.see("I heard: hello")
        here.type(f"{asks}load it")
        here.reply("y")
        here.see("I read: rows 42")
        here.type(f"{asks}slow")
        here.see("so on")
        here.interrupt()
        here.see("Stopped.")
        here.type(f"{asks}are you there")
        here.see("I heard: are you there")
        here.type("%eca cells code")
        here.type("loaded + 1")
        here.see("43")
