"""A report on the quality of data, at the end of the notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Insert, change_cells
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import write_notebook
from tests.bench.context.task import Task
from tests.bench.context.tasks.t04_table import FACTS, MAKE, PROFILE, TABLE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

REPORT = """report = pd.DataFrame({"nulls": df.isna().mean(), "different": df.nunique(), "type": df.dtypes.astype(str)})
report["code for missing"] = [(df[name] == -9999).mean() if df[name].dtype == float else 0 for name in df]
report.loc[(report["nulls"] > 0) | (report["different"] < 2) | (report["code for missing"] > 0)].round(3)"""

TEXT = "## Quality of the data\nColumns with missing values, with codes for missing values, and without information."


class QualityReport(Task):
    title = "Data-quality report"

    def prepare(self, folder: Path) -> None:
        write_notebook(folder / TABLE, [MAKE, "df.shape"])

    async def use(self, session: Session) -> None:
        await session.open(TABLE)
        await session.page.run(TABLE)
        session.page.activate(TABLE, "c01")
        await session.page.ask("Add a report on the quality of `df` at the end of this notebook.")

    def play(self, view: RequestView) -> Story:
        loads = [call("skill", name="clean-data")] if view.knows_skill("clean-data") else []
        if not all(map(view.knows, FACTS)):
            view = yield (call("variables", names=["df"]), call("notebook_read"), *loads)
        if not all(map(view.knows, FACTS)):
            view = yield (call("run_code", code=PROFILE),)
        size = int(view.read(r"(\d+) cells"))
        cells = [Insert(TEXT, cell_type="markdown"), Insert(REPORT)]
        view = yield change_cells(view, *cells, run=[size + 2])
        view.read(r"(sensor_11[^\n]*0\.02)")
        yield say("The report is at the end: sensor_07, sensor_11, site and note need a decision.")

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(TABLE)).cells[-1]
        assert cell.source == REPORT
        assert cell.outputs


TASK = QualityReport()
