"""The shipped notebooks, as far as nbval cannot judge them: it compares outputs, and a model's differ."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kernel.book import opened, surround

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"

# In the kernel, before anything of ours is loaded: every way out of this machine is shut.
NO_NETWORK = """
import socket
def _refused(self, address):
    if isinstance(address, tuple) and not str(address[0]).startswith("127."):
        raise AssertionError(f"a connection to {address}")
    return _connect(self, address)
_connect, socket.socket.connect = socket.socket.connect, _refused
"""


def sources(name: str) -> Iterator[str]:
    notebook = json.loads((NOTEBOOKS / name).read_text())
    return ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


@pytest.mark.weights
@pytest.mark.asyncio
async def test_the_offline_notebook_is_answered_by_the_embedded_model_with_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    surround(monkeypatch, tmp_path, {"defaultModel": "nowhere/x"})
    async with opened(tmp_path) as book:
        await book.run(NO_NETWORK)
        await book.run("%unload_ext jupyter_eca")
        for source in sources("02_offline_model.ipynb"):
            assert (await book.run(source)).failure == ""
        assert "`local/smollm2-135m`" in (await book.run("%eca status")).displays[0]["text/plain"]
        told = await book.run("print(len(answer.text) > 20, answer.outcome, answer.usage.session_tokens > 20)")
        assert told.printed == "True completed True\n"


@pytest.mark.parametrize("file", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda file: file.name)
def test_a_notebook_holds_no_path_of_the_machine_it_was_run_on(file: Path) -> None:
    text = file.read_text()
    assert not re.findall(r"/(?:home|root|tmp|work|Users)/|[A-Z]:\\\\", text)
