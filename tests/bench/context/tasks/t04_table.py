"""What is in a table of 200,000 rows and 40 columns, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.played_model import call, say
from tests.bench.context.projects import write_notebook
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

TABLE = "wide.ipynb"

MAKE = """import numpy as np
import pandas as pd

chance, rows = np.random.default_rng(3), 200_000
df = pd.DataFrame({f"sensor_{n:02}": chance.normal(n, 2, rows).round(2) for n in range(34)})
df.loc[chance.random(rows) < 0.13, "sensor_07"] = np.nan
df.loc[chance.random(rows) < 0.02, "sensor_11"] = -9999
df["status"] = chance.choice(["OK", "ok", "FAIL"], rows, p=[0.84, 0.11, 0.05])
df["site"] = "Ulm"
df["note"] = None
df["serial"] = [f"SN{n:07}" for n in range(rows)]
df["day"] = pd.Timestamp("2025-01-01") + pd.to_timedelta(chance.integers(0, 365, rows), unit="D")
df["line"] = chance.integers(1, 5, rows)"""

# What a user must be told: a column with many nulls, a code for "missing", two spellings, a constant, an empty one.
FACTS = (
    r"sensor_07[^\n]*1[23](\.\d+)?%|sensor_07 +0?\.?1[23]",
    r"sensor_11[^\n]*-9999",
    r"\bok\b[^\n]*1[01]%|ok +0\.11",
    r"site[^\n]*Ulm",
    r"note[^\n]*(empty|100%|all null|no values)|note +1\.0",
)

PROFILE = """print(df.shape)
print(pd.DataFrame({"nulls": df.isna().mean().round(3), "unique": df.nunique(), "type": df.dtypes}).to_string())
print(df.describe().T[["min", "mean", "max"]].to_string())
print(df["status"].value_counts(normalize=True), df["site"].value_counts())"""


class WideTable(Task):
    title = "What is in a table (200k x 40)"

    def prepare(self, folder: Path) -> None:
        write_notebook(folder / TABLE, [MAKE, "df.shape"])

    async def use(self, session: Session) -> None:
        await session.open(TABLE)
        await session.page.run(TABLE)
        session.page.activate(TABLE, "c01")
        await session.page.ask("What is in @var:df, and what is wrong with it?")

    def play(self, view: RequestView) -> Story:
        if not all(map(view.knows, FACTS)):
            view = yield (call("run_code", code=PROFILE),)
        view.read(r"(sensor_11[^\n]*-9999)")
        yield say(
            "34 sensors, a status, a site and a serial number. sensor_07 has 13 % nulls, sensor_11 has -9999 for "
            "missing values, status is spelt OK and ok, site is always Ulm, note is empty."
        )

    async def check(self, session: Session) -> None:
        assert (await session.evaluate(TABLE, "print(df.shape)")).strip() == "(200000, 40)"


TASK = WideTable()
