"""*Fix* below a KeyError. The fault is in a function of another cell, in a notebook of 30 cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Edit, change_cells
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import SALES, write_sales
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session


class FixKeyError(Task):
    title = "Fix a KeyError (30 cells)"

    def prepare(self, folder: Path) -> None:
        write_sales(folder, broken=True)

    async def use(self, session: Session) -> None:
        await session.open(SALES)
        await session.page.run(SALES)
        session.page.activate(SALES, "c25")
        await session.page.ask("Fix what is wrong in cell 26.")

    def play(self, view: RequestView) -> Story:
        if view.find_cell("def share(") is None or not view.knows("total = frame"):
            view = yield (call("notebook_read"),)
        share, failed = view.cell("def share("), int(view.read(r"wrong in cell (\d+)"))
        edit = Edit(share.id, 'total = frame["Revenue"]', 'total = frame["revenue"]')
        view = yield change_cells(view, edit, run=[share.id], run_too=[failed])
        view.read(r"(North +0\.\d+)")
        yield say('`share` looked for the column "Revenue"; it is "revenue". Cell 26 runs now.')

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(SALES)).find_cell("c25")
        assert cell is not None
        assert cell.outputs[-1]["output_type"] == "execute_result", cell.outputs


TASK = FixKeyError()
