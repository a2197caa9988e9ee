"""Two tables are joined, whose keys do not fit at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Insert, change_cells
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import write_notebook
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

JOIN = "join.ipynb"

CELLS = [
    "# Orders and customers",
    "import pandas as pd",
    'orders = pd.DataFrame({"customer_id": [f"C{n % 40:04}" for n in range(500)]})\n'
    'orders["amount"] = [n % 17 + 1.0 for n in range(500)]',
    'customers = pd.DataFrame({"id": [*range(38), 5]})\n'
    'customers["city"] = ["Ulm" if n % 3 else "Bonn" for n in range(39)]',
]

MERGE = """merged = orders.assign(id=orders["customer_id"].str[1:].astype(int)).merge(
    customers.drop_duplicates("id"), on="id", how="left", validate="many_to_one", indicator=True
)
merged["_merge"].value_counts()"""


class JoinFrames(Task):
    title = "Join two frames"

    def prepare(self, folder: Path) -> None:
        write_notebook(folder / JOIN, CELLS)

    async def use(self, session: Session) -> None:
        await session.open(JOIN)
        await session.page.run(JOIN)
        session.page.activate(JOIN, "c03")
        await session.page.ask("Join orders with customers in a new cell at the end. No order may be lost or doubled.")

    def play(self, view: RequestView) -> Story:
        # How the keys are written, and whether they are unique.
        if not (view.knows(r"customer_id[^\n]*C00") and view.knows(r"\bid\b[^\n]*int64")):
            view = yield (call("variables", names=["orders", "customers"]),)
        size = int(view.read(r"(\d+) cells"))
        view = yield change_cells(view, Insert(MERGE), run=[size + 1])
        view.read(r"(left_only +2\d)")
        yield say("All 500 orders are there; those of C0038 and C0039 have no customer.")

    async def check(self, session: Session) -> None:
        assert (await session.evaluate(JOIN, "print(len(merged))")).strip() == "500"


TASK = JoinFrames()
