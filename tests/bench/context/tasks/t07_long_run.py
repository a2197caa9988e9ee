"""A cell that runs long: how far it is, its end, and another run that the user stops."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.bench.context.played_model import call, say
from tests.bench.context.projects import write_notebook
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

TRAIN = "train.ipynb"

# It prints half of its lines, and goes on when the file is there.
LOOP = """for step in range(60):
    if step == 31:
        while not Path("go").exists():
            time.sleep(0.05)
    print(f"step {step} loss {1 / (step + 1):.4f}", flush=True)"""


class LongRun(Task):
    title = "A long cell: how far, stop"
    expected_errors = ("The user stopped this call",)

    def prepare(self, folder: Path) -> None:
        write_notebook(folder / TRAIN, ["# Training", "import time\nfrom pathlib import Path", LOOP])

    async def use(self, session: Session) -> None:
        page = session.page
        await session.open(TRAIN)
        await page.run(TRAIN, "c01")
        page.activate(TRAIN, "c02")
        await page.send("Run the training in cell 3, and tell me the last loss.")
        waiting = asyncio.ensure_future(page.wait())
        await page.wait_for_progress("step 30")
        session.clock.advance(30)
        await page.steer("How far is it?")
        await waiting
        (session.folder / "go").touch()
        await page.wait_for_jobs()
        await page.ask("Is it done? What is the last loss?")
        (session.folder / "go").unlink()
        await page.send("Run it once more.")
        waiting = asyncio.ensure_future(page.wait())
        await page.wait_for_progress("step 30")
        await page.stop()
        await waiting
        await page.ask("How far did it get?")

    def play(self, view: RequestView) -> Story:
        view = yield (call("notebook_run_cells", cells=[3]),)
        view.read(r"(step 30 loss)")
        view = yield say("It is at step 31 of 60; the loss is 0.0323.")
        while not view.knows("step 59 loss"):
            view = yield (call("notebook_read", cells="3"),)
        view = yield say("Yes. The last loss is 0.0167.")
        view = yield (call("notebook_run_cells", cells=[3]),)
        if not any("step 30 loss" in text and "step 59" not in text for text in view.texts[:2]):
            view = yield (call("notebook_read", cells="3"),)
        yield say("It got to step 31 before you stopped it.")

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(TRAIN)).find_cell("c02")
        assert cell is not None
        assert "step 59" not in str(cell.outputs)


TASK = LongRun()
