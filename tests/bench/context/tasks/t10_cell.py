"""`%%eca` in a cell: why the cell above failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Edit, change_cells
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import write_notebook
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

MAGIC = "magic.ipynb"
QUESTION = "why did the cell above fail? fix it"

CELLS = [
    "import pandas as pd",
    'orders = pd.DataFrame({"id": [1, 2, 3], "amount": ["12.5", "n/a", "7.0"]})',
    'orders["amount"] = orders["amount"].astype(float)\norders["amount"].sum()',
    f"%%eca\n{QUESTION}",
]

FIXED = 'orders["amount"] = pd.to_numeric(orders["amount"], errors="coerce")'


class AskInCell(Task):
    title = "%%eca: why did the cell above fail"

    def prepare(self, folder: Path) -> None:
        write_notebook(folder / MAGIC, CELLS, "e")

    async def use(self, session: Session) -> None:
        await session.open(MAGIC)
        await session.page.run(MAGIC, "e00", "e01", "e02")
        session.page.activate(MAGIC, "e03")
        await session.ask_from_cell(MAGIC, "e03", QUESTION)

    def play(self, view: RequestView) -> Story:
        if view.find_cell('orders["amount"] = orders') is None or not view.knows("could not convert string to float"):
            view = yield (call("notebook_read"),)
        failed = view.cell('orders["amount"] = orders')
        edit = Edit(failed.id, 'orders["amount"] = orders["amount"].astype(float)', FIXED)
        # The cells cannot run while one of them waits for the answer, but their code can.
        check = call("run_code", code=f'{FIXED}\norders["amount"].sum()')
        view = yield (*change_cells(view, edit), check)
        view.read(r"(19\.5)")
        yield say('"n/a" is no number. It is a missing value now, and the sum is 19.5.')

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(MAGIC)).find_cell("e02")
        assert cell is not None
        assert FIXED in cell.source


TASK = AskInCell()
