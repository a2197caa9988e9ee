"""Problems that only a notebook can have, and tracebacks of old and new IPython. Results are compared as `cell:
code`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.notebook import CellState, CellType, NotebookCell, NotebookDocument
from jupyter_eca.workspace.diagnostics import notebook_state, tracebacks
from jupyter_eca.workspace.diagnostics.location import parse_cell_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.protocol.editor import EditorDiagnostic


def cell(id: str, source: str, count: int | None, *outputs: dict[str, Any], edited: bool = False) -> NotebookCell:
    state = CellState.EDITED if edited else CellState.NEVER_RUN if count is None else CellState.RAN
    return NotebookCell(
        id=id, cell_type=CellType.CODE, source=source, execution_count=count, outputs=outputs, state=state
    )


def failed(*traceback: str) -> dict[str, Any]:
    return {"output_type": "error", "ename": "E", "evalue": "no", "traceback": list(traceback)}


def short(found: Iterable[EditorDiagnostic]) -> list[str]:
    return [f"{parse_cell_id(one.uri)}: {one.code}" for one in found]


def find(*cells: NotebookCell, kernel: Iterable[str] | None = None, language: str = "python") -> list[EditorDiagnostic]:
    document = NotebookDocument(path="nb.ipynb", cells=cells, language=language)
    names = None if kernel is None else frozenset(kernel)
    return notebook_state.find_problems(document, notebook_state.analyze_cells(document), names)


@pytest.mark.parametrize(
    ("counts", "out_of_order"),
    [
        ((1, 2, 3, 4), ""),
        ((9, 2, 3, 4), "0"),
        ((1, 2, 3, 1), "3"),
        ((5, 6, 2, 7), "2"),
        ((1, None, 2, 9), ""),
        ((4, 3, 2, 1), "0 1 2"),
    ],
)
def test_as_few_cells_as_explain_the_order_are_reported(counts: tuple[int | None, ...], out_of_order: str) -> None:
    found = find(*(cell(str(at), "pass", count) for at, count in enumerate(counts)))
    assert [line[0] for line in short(found) if "out-of-order" in line] == out_of_order.split()


def test_a_name_is_looked_for_above_below_and_in_the_kernel() -> None:
    cells = [cell("a", "x = 1", 4), cell("b", "x + y", 2), cell("c", "y = z", 3)]
    found = find(*cells, kernel=["x", "y", "z", "w"])
    assert short(found) == [
        "a: out-of-order", "b: stale", "b: defined-below", "c: defined-nowhere", ": lost-by-restart",
    ]  # fmt: skip
    assert found[1].message.endswith("defined `x` again: its outputs may be old (execution 2, 4)")
    assert found[-1].message == "A restart would lose what no cell defines: w, z"


def test_without_a_kernel_a_cell_that_worked_shows_that_a_name_was_there() -> None:
    assert short(find(cell("a", "print(gone)", 1))) == ["a: defined-nowhere"]
    assert short(find(cell("a", "print(gone)", 1, failed("NameError")))) == []
    assert short(find(cell("a", "print(gone)", 1, edited=True))) == ["a: edited"]


def test_names_that_an_unreadable_cell_may_bind_are_not_reported() -> None:
    assert short(find(cell("a", "from m import *", 1), cell("b", "print(x)", 2), kernel=["x", "y"])) == [
        "b: defined-nowhere"  # the kernel has it: that much is known
    ]
    assert short(find(cell("a", "%run m.py", 1), cell("b", "print(x)\ny", 2), cell("c", "y = 1", 3))) == []


def test_a_column_counts_characters_and_not_bytes() -> None:
    (found,) = find(cell("a", "'äöü€' + gone", 1))
    assert found.range.start.character == 9


OF_TODAY = """\
Cell In[2], line 2
      1 import helper
----> 2 helper.call(g)

File /files/helper.py:2, in call(f)
      1 def call(f):
----> 2     return f(0)

Cell In[1], line 3, in g(x)
      2 def g(x):
----> 3     return 1/x"""
OF_8_0 = """\
Input In [2], in <cell line: 2>()
      1 import helper
----> 2 helper.call(g)

File /files/helper.py:2, in call(f)
      1 def call(f):
----> 2     return f(0)

Input In [1], in g(x)
      2 def g(x):
----> 3     return 1/x"""
OF_7 = """\
<ipython-input-2-0123abcd> in <module>
      1 import helper
----> 2 helper.call(g)

<ipython-input-1-0123abcd> in g(x)
      2 def g(x):
----> 3     return 1/x"""
PLAIN = """\
Traceback (most recent call last):

  Cell In[2], line 2
    helper.call(g)

  File /files/helper.py:2 in call
    return f(0)

  Cell In[1], line 3 in g
    return 1/x"""


@pytest.mark.parametrize(
    ("traceback", "places"),
    [
        (OF_TODAY, ["b:1", "helper:1", "a:2"]),
        (OF_8_0, ["b:1", "helper:1", "a:2"]),
        (OF_7, ["b:1", "a:2"]),
        (PLAIN, ["b:1", "helper:1", "a:2"]),
        ("\x1b[31mCell\x1b[0m \x1b[32mIn[2], line 1\x1b[0m", ["b:0"]),
        ("Cell In[7], line 1", ["b:0"]),
        ("Error in f(): no", ["b:0"]),
        ("Cell In[2], line 99", ["b:1"]),
        ("", ["b:0"]),
    ],
)
def test_an_error_is_reported_at_every_place_of_its_traceback(traceback: str, places: list[str]) -> None:
    cells = (
        cell("a", "\ndef g(x):\n    return 1/x", 1),
        cell("b", "import helper\nhelper.call(g)", 2, failed("-" * 75, *traceback.splitlines())),
    )
    document = NotebookDocument(path="nb.ipynb", cells=cells)
    found = tracebacks.find_errors(
        document, lambda file: "file:///helper#helper" if file == "/files/helper.py" else None
    )
    assert [f"{parse_cell_id(one.uri)}:{one.range.start.line}" for one in found] == places
    assert found[0].message == "E: no"


def test_an_endless_recursion_is_reported_at_a_few_places_and_says_that_the_cell_was_edited() -> None:
    frames = [f"Cell In[1], line {line}, in f()" for line in range(1, 3000)]
    cells = (cell("a", "\n" * 3000, 1, failed(*frames), edited=True),)
    found = tracebacks.find_errors(NotebookDocument(path="nb.ipynb", cells=cells), lambda _file: None)
    assert len(found) == tracebacks.MAX_PLACES
    assert (found[0].range.start.line, found[-1].range.start.line) == (0, 2998)
    assert found[0].message == "E: no (the cell was edited since)"
