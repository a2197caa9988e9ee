"""A plan with a preview, and then "go"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import CHANGE, Edit, Insert, change_cells
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import SALES, write_sales
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Reply, Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

SHARES = 'share(df, "product")'


class PlanAndGo(Task):
    title = "Plan, go"
    expected_errors = ("notebook_change: not run",)  # plan mode shows the change

    def prepare(self, folder: Path) -> None:
        write_sales(folder)

    async def use(self, session: Session) -> None:
        await session.open(SALES)
        await session.page.run(SALES)
        session.page.activate(SALES, "c25")
        await session.page.ask(
            "Below the shares of the regions I want those of the products, and all shares with two digits only.",
            agent="plan",
        )
        await session.page.ask("go")

    def play(self, view: RequestView) -> Story:
        if view.find_cell("def share(") is None or not view.knows(r"round\(3\)"):
            view = yield (call("notebook_read"),)
        share, shares = view.cell("def share("), view.cell("shares = share(")
        insert, edit = Insert(SHARES, after=shares.id), Edit(share.id, ".round(3)", ".round(2)")
        view = yield (call(CHANGE, changes=[insert.as_step(), edit.as_step()]),)
        preview = view.search(r'preview "(?P<id>[\w-]+)"')
        view = yield say("1. A cell with the shares of the products. 2. `share` rounds to two digits.")
        run = [share.id, shares.number + 1]
        # Two steps are fewer than those for which the message asks for a list.
        wants_list = "list of `task`" in view.news and "three steps or more" not in view.news
        listed: Reply = (call("task", op="plan", tasks=["insert the cell", "round"]),) if wants_list else ()
        if preview is not None and "preview" in view.tools.get(CHANGE, {}).get("properties", {}):
            rerun = call("notebook_run_cells", cells=[shares.id])
            view = yield (*listed, call(CHANGE, preview=preview["id"], run=True), rerun)
        else:
            view = yield (*listed, *change_cells(view, insert, edit, run=run, run_too=[shares.id]))
        view.read(r"(table +0\.\d\d$)")
        if wants_list:
            view = yield (call("task", op="complete", ids=["1", "2"]),)
        yield say("Both are done: tables are 40 % of the revenue.")

    async def check(self, session: Session) -> None:
        cells = (await session.page.read(SALES)).cells
        assert cells[26].source == SHARES
        assert cells[26].outputs


TASK = PlanAndGo()
