"""What is wrong with a notebook of 50 cells, and with one of 2,000, of all sources together: ruff and ty as programs, a
kernel at hand."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from jupyter_eca.protocol.notebook import CellState, CellType, NotebookCell, NotebookDocument
from jupyter_eca.workspace.diagnostics import collect, linter_process, notebook_state, ruff, tracebacks, ty
from jupyter_eca.workspace.diagnostics.kernel_facts import KernelFacts
from jupyter_eca.workspace.ports import Files
from tests.bench.figure import Figure, list_of

if TYPE_CHECKING:
    from collections.abc import Awaitable

CELLS, ROUNDS = 50, 15
LARGE_CELLS, LARGE_ROUNDS = 2_000, 3


async def figures() -> list[Figure]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        files, document = Files((folder,)), _document(CELLS)
        await _gather(document, files)  # the first time files are read from the disk
        whole: list[float] = []
        own: list[float] = []
        by_ruff: list[float] = []
        by_ty: list[float] = []
        for _ in range(ROUNDS):
            whole.append(await _timed(_gather(document, files)))
            began = perf_counter()
            code = notebook_state.analyze_cells(document)
            notebook_state.find_problems(document, code, frozenset({"df", "gone"}))
            tracebacks.find_errors(document, lambda _file: None)
            own.append((perf_counter() - began) * 1000)
            by_ruff.append(await _timed(ruff.check_notebook("nb.ipynb", code, folder / "nb.ipynb")))
            by_ty.append(await _timed(ty.check_notebook("nb.ipynb", code, folder / "nb.ipynb", folder, sys.executable)))
        large_document = _document(LARGE_CELLS)
        large = [await _timed(_gather(large_document, files)) for _ in range(LARGE_ROUNDS)]
        linter = linter_process.find("ruff") or "ruff"
        started = [await _timed(linter_process.run([linter, "--version"], folder)) for _ in range(ROUNDS)]
    beside = f"ours alone {list_of(own, 'ms')}, ruff {list_of(by_ruff, 'ms')}, ty {list_of(by_ty, 'ms')}"
    return [
        Figure(f"diagnostics of {CELLS} cells", whole, "ms", 100, beside),
        Figure(f"diagnostics of {LARGE_CELLS:,} cells", large, "ms", None, f"{LARGE_CELLS // CELLS} times as many"),
        Figure("one program started and ended", started, "ms", None, "`ruff --version`"),
    ]


async def _gather(document: NotebookDocument, files: Files) -> None:
    async def known() -> KernelFacts:
        return KernelFacts(frozenset({"df", "gone"}), sys.executable)

    report = await collect.check_notebook(document, files, known())
    if not report.diagnostics or report.notes:
        raise RuntimeError(f"it was not looked at: {report.notes}")


async def _timed(work: Awaitable[object]) -> float:
    began = perf_counter()
    await work
    return (perf_counter() - began) * 1000


def _document(size: int) -> NotebookDocument:
    """Each cell uses those above, some were run again, a few fail; one has an output of a megabyte."""
    cells = [_cell(n) for n in range(size)]
    return NotebookDocument(path="nb.ipynb", cells=tuple(cells), language="python")


def _cell(n: int) -> NotebookCell:
    source = (
        f"%matplotlib inline\nimport json, re\n\ndef f{n}(x: int, y: str = 'a') -> str:\n"
        f"    return y * x + json.dumps(v{max(n - 1, 0)})\n\nv{n} = [f{n}(i) for i in range({n})]\nprint(v{n}, gone)\n"
    )
    traceback = [f"Cell In[{n + 1}], line 8\n----> 8 print(v{n}, gone)", "NameError: name 'gone' is not defined"]
    error = {"output_type": "error", "ename": "NameError", "evalue": "gone", "traceback": traceback}
    text = {"output_type": "stream", "name": "stdout", "text": "x" * 20_000}
    outputs = (text, error) if n % 10 == 0 else (text,)
    state = CellState.EDITED if n % 7 == 0 else CellState.RAN
    count = n + 1 if n % 5 else 100 + n
    return NotebookCell(
        id=f"c{n}", cell_type=CellType.CODE, source=source, execution_count=count, outputs=outputs, state=state
    )
