"""The plot of the task before is changed, in the same chat. Only what comes after it is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Insert, Rewrite, change_cells, look
from tests.bench.context.played_model import say
from tests.bench.context.projects import SALES
from tests.bench.context.tasks.t02_plot import LINE, OFFER, QUESTION, Plot, learn_to_plot

if TYPE_CHECKING:
    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

BARS = 'charts.bar(monthly, title="Revenue by month in 2025", labels=True)'


class Bars(Plot):
    title = "The same as bars with labels"

    async def use(self, session: Session) -> None:
        await super().use(session)
        session.begin_count()
        await session.page.ask("Make bars of it, with a label on each.")

    def play(self, view: RequestView) -> Story:
        if calls := learn_to_plot(view):
            view = yield calls
        assert view.knows(OFFER)
        size = int(view.read(r"(\d+) cells"))
        view = yield change_cells(view, Insert(LINE), run=[size + 1])
        if calls := look(view, size + 1):
            view = yield calls
        view = yield say(f"{QUESTION} That is done.")
        plot = view.read(rf"cell {size + 1} \[([\w-]+)\]")
        view.read(r"charts\.py:[^\n]*\b(bar\(values, title=[\"']{2}, labels)")
        view = yield change_cells(view, Rewrite(plot, BARS), run=[plot])
        if calls := look(view, size + 1):
            view = yield calls
        assert view.pictures
        yield say("These are bars now, each with its revenue.")

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(SALES)).cells[-1]
        assert cell.source == BARS
        assert "image/png" in cell.outputs[0]["data"]


TASK = Bars()
