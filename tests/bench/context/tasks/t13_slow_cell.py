"""A slow cell is made fast, and its result stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Rewrite, change_cells
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import write_notebook
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

SLOW = "slow.ipynb"

CELLS = [
    "# Distances",
    "import numpy as np\nimport pandas as pd",
    'chance = np.random.default_rng(5)\npoints = pd.DataFrame({"x": chance.random(3_000), "y": chance.random(3_000)})',
    "distances = []\n"
    "for _, point in points.iterrows():\n"
    '    distances.append((point["x"] ** 2 + point["y"] ** 2) ** 0.5)\n'
    'points["distance"] = distances\n'
    'round(points["distance"].sum(), 3)',
    'points["distance"].describe()',
]

FAST = 'points["distance"] = (points["x"] ** 2 + points["y"] ** 2) ** 0.5\nround(points["distance"].sum(), 3)'


class SpeedUp(Task):
    title = "Speed up a slow cell"

    def prepare(self, folder: Path) -> None:
        write_notebook(folder / SLOW, CELLS)

    async def use(self, session: Session) -> None:
        await session.open(SLOW)
        await session.page.run(SLOW)
        session.page.activate(SLOW, "c03")
        await session.page.ask("This cell is slow. Make it fast, with the same result.")

    def play(self, view: RequestView) -> Story:
        if view.find_cell("distances = []") is None or not view.knows(r"\b\d{4}\.\d{3}\b"):
            view = yield (call("notebook_read"),)
        before = view.read(r"\b(\d{4}\.\d{3})\b")
        slow = view.cell("distances = []")
        view = yield change_cells(view, Rewrite(slow.id, FAST), run=[slow.id])
        assert view.read(r"\b(\d{4}\.\d{3})\b") == before
        yield say("pandas does it at once for all rows; the sum is the same.")

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(SLOW)).find_cell("c03")
        assert cell is not None
        assert cell.source == FAST


TASK = SpeedUp()
