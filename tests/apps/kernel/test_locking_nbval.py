"""A notebook with locked answers under nbval, in processes from which nothing leads out of this machine."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, document, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# Imported by every Python that starts with this folder on its path: pytest, nbval, and the kernels they start.
REFUSING = """
import socket

def refused(name):
    allowed = getattr(socket.socket, name)
    def connect(self, address):
        if isinstance(address, tuple) and not str(address[0]).startswith("127."):
            with open(LOG, "a") as log:
                print(address, file=log)
            raise OSError(f"no way to {address}")
        return allowed(self, address)
    setattr(socket.socket, name, connect)

refused("connect")
refused("connect_ex")
"""

CODE = "lucky = 6 * 7\nprint('lucky', lucky)"
RULES: list[dict[str, Any]] = [
    {"message": "^add", "reply": [{"reasoning": "Hm."}, {"tool": "run_code", "arguments": {"code": CODE}}]},
    {"message": "^add", "result": "", "reply": [{"text": "It is **42**."}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]
ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"allow": {"run_code": {}}}}}
CELLS = (
    LOAD,
    "%eca lock on",
    "%%eca -> answer\nadd it up",
    "print(lucky, answer.text)",
    "%eca and now?",
    "%eca -n by itself",
)
PROOF = """import socket
try:
    socket.create_connection(("192.0.2.1", 80))
except OSError as error:
    print(error)"""


async def recorded(folder: Path, path: Path, *sources: str) -> None:
    client: Any = NotebookClient(document(*sources), timeout=PATIENCE, resources={"metadata": {"path": str(folder)}})
    done = nbformat.writes(await client.async_execute())  # pyright: ignore[reportUnknownMemberType]  # untyped library
    await asyncio.to_thread(path.write_text, done)


@pytest.mark.nightly
async def test_nbval_finds_what_was_recorded_with_no_model_no_key_and_no_network_and_misses_what_was_changed(
    tmp_path: Path,
) -> None:
    author, reader, guard = tmp_path / "author", tmp_path / "reader", tmp_path / "guard"
    for place in (author, reader, guard):
        place.mkdir()
    story = tmp_path / "story.ipynb"
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, author, settings(author, RULES, **ALLOWED))
        async with asyncio.timeout(PATIENCE):
            await recorded(tmp_path, story, *CELLS)
    book = json.loads(story.read_text())
    proof = {**book["cells"][-1], "id": "proof", "source": PROOF}
    proof["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "no way to ('192.0.2.1', 80)\n"}]
    book["cells"].append(proof)
    book["cells"][5]["source"] = "%eca -n by itself, please"
    story.write_text(json.dumps(book))
    log = tmp_path / "log"
    (guard / "sitecustomize.py").write_text(f"LOG = {str(log)!r}{REFUSING}")

    with pytest.MonkeyPatch.context() as patch:
        surround(patch, reader, {})
        patch.setenv("PYTHONPATH", f"{guard}{os.pathsep}{os.environ['PYTHONPATH']}")
        options = (
            "-q",
            "-o",
            "addopts=",
            "-p",
            "nbval",
            "--nbval",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(tmp_path),
        )
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "pytest", *options, "story.ipynb"],
            cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE * 2,
        )  # fmt: skip
    # One question is not the recorded one any more; everything else is found as it was.
    assert done.stdout.count("FAILED") == done.stdout.count("FAILED story.ipynb::Cell 5") == 1, done.stdout
    assert "and no model is asked in a run that nobody watches" in done.stdout
    assert "6 passed" in done.stdout
    assert log.read_text() == "('192.0.2.1', 80)\n"  # what the proof tried, and nothing else
