"""A new cell with a plot, which is run and looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Insert, change_cells, look
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import SALES, write_sales
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Reply, Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

QUESTION = "Add a cell at the end that plots the revenue by month, and run it."
# How a request says what the module of the project can draw.
OFFER = r"charts\.py:[^\n]*\bline\(values, title"
LINE = 'charts.line(monthly, title="Revenue by month in 2025")'


def learn_to_plot(view: RequestView) -> Reply:
    """Return the calls that tell the model how plots are made here; none if it was told. What is plotted is in the
    active cell. The model loads a skill if its description says so."""
    return (
        *([] if view.knows(OFFER) else [call("grep", pattern="^def |chart|plot")]),
        *([call("skill", name="readable-plot")] if view.knows_skill("readable-plot", "when a figure is made") else []),
    )


class Plot(Task):
    title = "Plot by month, run"

    def prepare(self, folder: Path) -> None:
        write_sales(folder)

    async def use(self, session: Session) -> None:
        await session.open(SALES)
        await session.page.run(SALES)
        session.page.activate(SALES, "c12")
        await session.page.ask(QUESTION)

    def play(self, view: RequestView) -> Story:
        if calls := learn_to_plot(view):
            view = yield calls
        assert view.knows(OFFER)
        size = int(view.read(r"(\d+) cells"))
        view = yield change_cells(view, Insert(LINE), run=[size + 1])
        if calls := look(view, size + 1):
            view = yield calls
        assert view.pictures
        yield say("May has the most revenue, 89,446; the cell is at the end.")

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(SALES)).cells[-1]
        assert cell.source == LINE
        assert "image/png" in cell.outputs[0]["data"]


TASK = Plot()
