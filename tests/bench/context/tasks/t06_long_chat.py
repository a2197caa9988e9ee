"""A chat of 60 turns with a window of 32,000 tokens: what was said long ago is asked for again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.notebook_calls import Rewrite, change_cells
from tests.bench.context.played_model import call, say
from tests.bench.context.projects import SALES, write_sales
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

TURNS = 60

WISH = "Important for all that follows: amounts are in EUR, and the report leaves out shop S09."

# What the user asks in the turns that are not small talk about the active cell.
QUESTIONS = {
    1: WISH,
    2: "What is in this notebook?",
    9: "How many receipts does @var:df have?",
    17: "Which columns does @var:df have, and are there nulls?",
    24: "Cell 27 is new to me. Which cells have run in this kernel, and which have not?",
    31: "Round `growth` in cell 29 to two digits, and run it.",
    38: "What did cell 21 print?",
    52: "Which shop is left out of the report, and in which currency are amounts?",
    58: "How high was the revenue in May?",
}

# An answer of usual length.
ANSWER = "That is what the cell does: it groups the rows, sums the revenue of each group, and rounds the sums. " * 12

SUMMARY = f"""## Goal
Understand and finish sales.ipynb.
## Limits
{WISH}
## Decisions
none
## Notebook
30 cells; [c03] loads df (2000 rows, no nulls), [c12] sums the revenue by month (May 89,446.11), [c28] shows growth.
## Next
Answer the next question."""


class LongChat(Task):
    title = "60 turns, window of 32k"
    window = 32_000

    def prepare(self, folder: Path) -> None:
        write_sales(folder)

    async def use(self, session: Session) -> None:
        await session.open(SALES)
        await session.page.run(SALES)
        cells = [cell.id for cell in (await session.page.read(SALES)).cells]
        for turn in range(1, TURNS + 1):
            session.page.activate(SALES, cells[turn // 3 % len(cells)])
            await session.page.ask(QUESTIONS.get(turn, f"What does this cell do, in turn {turn}?"))

    def play(self, view: RequestView) -> Story:
        turn = 0
        while True:
            if "about to exceed your context window" in view.news:
                view = yield say(SUMMARY)
                continue
            turn += 1
            facts = _FACTS.get(turn, "")
            if not view.knows(facts):
                view = yield _FIND.get(turn, (call("notebook_read"),))
            if turn == 31:
                cell = view.find_cell("growth.round(3)")
                if cell is None:
                    view = yield (call("notebook_read", cells="29"),)
                    cell = view.cell("growth.round(3)")
                view = yield change_cells(view, Rewrite(cell.id, "growth.round(2)"), run=[cell.id])
            assert view.knows(facts), (turn, facts)
            view = yield say(f"Turn {turn}. {ANSWER}")

    async def check(self, session: Session) -> None:
        cell = (await session.page.read(SALES)).find_cell("c28")
        assert cell is not None
        assert cell.source == "growth.round(2)"


# What the answer of a turn rests on, and the calls that find it out.
_FACTS = {
    2: r"## Growth",
    9: r"df: pandas\.DataFrame 2000",
    17: r"df: pandas\.DataFrame[^\0]*product",
    24: r"cells? [\d, -]+ have run|ran in an earlier kernel|cells 1-",
    38: r"North +0\.08|cell 21[^\0]*region",
    52: r"S09",
    58: r"2025-05 +89446\.11|May 89,446\.11",
}
_FIND = {
    9: (call("variables", names=["df"]),),
    17: (call("variables", names=["df"]),),
    38: (call("notebook_read", cells="21"),),
    58: (call("notebook_read", cells="13"),),
}

TASK = LongChat()
