"""A notebook whose kernel was restarted, with a cell that was edited: what is stale is run again, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.played_model import call, say
from tests.bench.context.projects import SALES, write_sales
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session


class StaleNotebook(Task):
    title = "Re-run a stale notebook in order"

    def prepare(self, folder: Path) -> None:
        write_sales(folder)

    async def use(self, session: Session) -> None:
        page = session.page
        await session.open(SALES)
        await page.run(SALES)
        await session.restart_kernel(SALES)
        await page.run(SALES, "c01", "c03")
        await page.type(SALES, "c09", 'df["revenue"] = df["price"] * df["units"]')
        page.activate(SALES, "c25")
        await page.ask("Bring this notebook up to date: run what has not run since the restart, in order.")

    def play(self, view: RequestView) -> Story:
        if not view.knows(r"cells? [\d, -]+ have run"):
            view = yield (call("notebook_read"),)
        ran = read_numbers(view.read(r"cells? ([\d, -]+) have run"))
        size = int(view.read(r"(\d+) cells"))
        # Cells of text may be among them: running these does nothing.
        view = yield (call("notebook_run_cells", cells=[n for n in range(1, size + 1) if n not in ran]),)
        view.read(r"(West +0\.\d+)")
        yield say("All cells have run in this kernel now, with the new revenue.")

    async def check(self, session: Session) -> None:
        assert (await session.evaluate(SALES, "print(len(shares), len(growth))")).strip() == "4 12"


def read_numbers(ranges: str) -> set[int]:
    """Return the numbers in a text such as "2, 4-5"."""
    pairs = [part.strip().split("-") for part in ranges.split(",")]
    return {number for pair in pairs for number in range(int(pair[0]), int(pair[-1]) + 1)}


TASK = StaleNotebook()
