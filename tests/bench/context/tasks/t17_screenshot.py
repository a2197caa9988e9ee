"""A plot like the one in a picture that the user pastes."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING

from PIL import Image

from tests.bench.context.notebook_calls import Insert, change_cells, look
from tests.bench.context.played_model import say
from tests.bench.context.projects import SALES
from tests.bench.context.tasks.t02_plot import Plot, learn_to_plot

if TYPE_CHECKING:
    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

BARS = 'charts.bar(monthly, title="Revenue by month", labels=True)'


def take_screenshot() -> str:
    """Return a picture, in base64. What it shows only matters to a model that sees."""
    data = io.BytesIO()
    Image.new("RGB", (640, 400), "white").save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


class PlotFromScreenshot(Plot):
    title = "Plot from a screenshot"

    async def use(self, session: Session) -> None:
        await session.open(SALES)
        await session.page.run(SALES)
        session.page.activate(SALES, "c12")
        picture = {"type": "image", "mediaType": "image/png", "base64": take_screenshot()}
        await session.page.ask("Plot `monthly` at the end of the notebook, to look like this picture.", picture)

    def play(self, view: RequestView) -> Story:
        assert view.pictures
        if calls := learn_to_plot(view):
            view = yield calls
        view.read(r"charts\.py:[^\n]*\b(bar\(values, title=[\"']{2}, labels)")
        size = int(view.read(r"(\d+) cells"))
        view = yield change_cells(view, Insert(BARS), run=[size + 1])
        if calls := look(view, size + 1):
            view = yield calls
        assert view.pictures
        yield say("It has bars with labels now, as in your picture.")

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(SALES)).cells[-1]
        assert cell.source == BARS
        assert "image/png" in cell.outputs[0]["data"]


TASK = PlotFromScreenshot()
