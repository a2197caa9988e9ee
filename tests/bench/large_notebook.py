"""A notebook of 2,000 cells with 100 MB of outputs that no page has open: it is read, edited and undone in its file.

The CPU time counts, because most of it is spent in threads. Beside each is the time in which Python parses the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.bench.figure import Figure, list_of
from tests.bench.growth import make_notebook
from tests.support.host_and_client import answer, desk

ROUNDS = 3
CELLS = 2_000
OUTPUT_BYTES = 50_000
# For all of it, on a busy machine.
SECONDS = 300.0
MB = 1_000_000

_EDIT: dict[str, Any] = {"path": "large.ipynb", "cell": "c0", "source": "# {message}"}
_RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It is done."}]},
    {"message": "^read", "reply": [{"tool": "notebook_read", "arguments": {"path": "large.ipynb"}}]},
    {"message": "^edit", "reply": [{"tool": "notebook_edit_cell", "arguments": _EDIT}]},
]


async def figures() -> list[Figure]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "large.ipynb"
        file.write_text(json.dumps(make_notebook(CELLS, "x" * OUTPUT_BYTES)))
        parsed = [_time_parse(file) for _ in range(ROUNDS)]
        took: dict[str, list[float]] = {"read": [], "edit": [], "/undo": []}
        async with desk(folder, _RULES, NotebookFiles(Files((folder,))), seconds=SECONDS) as table:
            client = await table.client()
            await answer(client, "read", _approve, chat="warm")
            before = _count_stored(folder)
            for number in range(ROUNDS):
                for message in ("read", f"edit {number}", "/undo"):
                    began = process_time()
                    await answer(client, message, _approve)
                    took[message.split()[0]].append((process_time() - began) * 1000)
                    _check(file, message)
            stored = (_count_stored(folder) - before) / ROUNDS / MB
    size = f"{CELLS:,} cells, {CELLS * OUTPUT_BYTES // MB} MB of outputs, in no page"
    beside = f"CPU; Python parses the file in {list_of(parsed, 'ms')}"
    return [
        Figure(f"read for the model, {size}", took["read"], "ms", None, beside),
        Figure("the same: edited and stored", took["edit"], "ms", None, beside),
        Figure("the same: undone", took["/undo"], "ms", None, beside),
        Figure("the same: what the chat and its checkpoint store", [stored], "MB", 1, "of each read, edit and undo"),
    ]


def _approve(_: object) -> CallDecision:
    return CallDecision(approved=True)


def _time_parse(file: Path) -> float:
    began = process_time()
    json.loads(file.read_bytes())
    return (process_time() - began) * 1000


def _count_stored(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("chats.db*"))


def _check(file: Path, message: str) -> None:
    """Raises: RuntimeError if the file is not as the message leaves it."""
    source = "".join(json.loads(file.read_bytes())["cells"][0]["source"])
    if (f"# {message}" == source) != message.startswith("edit"):
        raise RuntimeError(f"after {message!r} the first cell is {source!r}")
