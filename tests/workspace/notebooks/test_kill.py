"""A process that is killed while it writes a notebook leaves the old file or the new one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.samples import sample
from tests.workspace.notebooks.answers import write
from tests.workspace.notebooks.books import usual

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 30

KILLED = """
import asyncio, os, sys
from pathlib import Path
from jupyter_eca.protocol.notebook import EditCell
from jupyter_eca.workspace.ports import Files
from jupyter_eca.workspace.notebooks.file import NotebookFiles

where = sys.argv[1]

def last(name):
    real = getattr(os, name)
    def stop(*given, **more):
        if where == "before " + name:
            print("here", flush=True); sys.stdin.read()
        done = real(*given, **more)
        if where == "after " + name:
            print("here", flush=True); sys.stdin.read()
        return done
    setattr(os, name, stop)

async def main():
    notebooks = NotebookFiles(Files((Path.cwd(),)))
    await notebooks.read("a.ipynb")
    last("fsync"); last("replace")
    await notebooks.edit("chat", "a.ipynb", (EditCell(cell_id="new", was="1 + 1", source="2 + 2"),))

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("where", "source"),
    sample([("before replace", "1 + 1"), ("before fsync", "1 + 1"), ("after replace", "2 + 2")], every=2),
)
def test_a_process_killed_in_the_middle_of_a_write_leaves_before_or_after(
    tmp_path: Path, where: str, source: str
) -> None:
    write(tmp_path, "a.ipynb", usual())
    command = [sys.executable, "-c", KILLED, where]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    meant = usual()
    meant["cells"][2]["source"] = source
    write(tmp_path, "meant.ipynb", meant)
    assert (tmp_path / "a.ipynb").read_bytes() == (tmp_path / "meant.ipynb").read_bytes()
