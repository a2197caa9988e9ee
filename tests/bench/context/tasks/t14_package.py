"""The functions of a notebook become a module with tests, which the notebook then imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Rewrite, change_cells
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import SALES, write_sales
from tests.bench.context.task import Task
from tests.bench.context.tasks.t05_refactor import FILES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

MODULE = '''"""Sums of the revenue of a table of sales."""


def top(frame, column, count=3):
    """The values of a column with the most revenue."""
    return frame.groupby(column)["revenue"].sum().nlargest(count).round(2)


def share(frame, column):
    """The share of each value of a column in the revenue."""
    return (frame.groupby(column)["revenue"].sum() / frame["revenue"].sum()).round(3)
'''

TESTS = """import pandas as pd

from sales.sums import share, top

FRAME = pd.DataFrame({"region": ["a", "a", "b"], "revenue": [1.0, 2.0, 1.0]})


def test_top_has_the_largest_first():
    assert top(FRAME, "region").to_dict() == {"a": 3.0, "b": 1.0}


def test_shares_add_up_to_one():
    assert share(FRAME, "region").to_dict() == {"a": 0.75, "b": 0.25}
"""


class MakePackage(Task):
    title = "Notebook to package"

    def prepare(self, folder: Path) -> None:
        write_sales(folder)
        (folder / "pyproject.toml").write_text(FILES["pyproject.toml"])

    async def use(self, session: Session) -> None:
        await session.open(SALES)
        await session.page.run(SALES)
        session.page.activate(SALES, "c22")
        await session.page.ask("Make a package `sales` of the functions of this notebook, with tests, and use it here.")

    def play(self, view: RequestView) -> Story:
        loads = [call("skill", name="notebook-to-module")] if view.knows_skill("notebook-to-module") else []
        view = yield (call("notebook_read"), *loads)
        top, share = view.cell("def top("), view.cell("def share(")
        files = [
            call("write_file", path="sales/__init__.py", content='"""Sales of the shops."""\n'),
            call("write_file", path="sales/sums.py", content=MODULE),
            call("write_file", path="tests/test_sums.py", content=TESTS),
            call("shell_command", command="python -m pytest -q"),
        ]
        edits = [
            Rewrite(top.id, "from sales.sums import top"),
            Rewrite(share.id, "from sales.sums import share"),
        ]
        uses = [view.cell("top(df,").id, view.cell("shares = share(").id]
        view = yield (*files, *change_cells(view, *edits, run=[top.id, share.id], run_too=uses))
        view.read(r"(2 passed)")
        view.read(r"(West +0\.377)")
        yield say("The package `sales` has both functions; its two tests pass, and the notebook uses it.")

    async def check(self, session: Session) -> None:
        assert (await session.evaluate(SALES, "print(top.__module__)")).strip() == "sales.sums"


TASK = MakePackage()
