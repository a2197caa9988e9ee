"""Two searches by subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.played_model import call, say
from tests.bench.context.projects import SALES, write_sales
from tests.bench.context.request_view import list_blocks
from tests.bench.context.task import Task
from tests.bench.context.tasks.t05_refactor import FILES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

SEARCH = "In the folder {} find every function that computes a sum or a revenue. Answer with file, name and purpose."


class Subagents(Task):
    title = "Two subagents"

    def prepare(self, folder: Path) -> None:
        write_sales(folder)
        for name, text in FILES.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)

    async def use(self, session: Session) -> None:
        await session.open(SALES)
        await session.page.ask("Have two agents find what computes sums, in shop/ and in tests/.")

    def name_chat(self, view: RequestView) -> str:
        first = list_blocks(view.body["messages"][0])[0]["text"]
        return next((first for name in ("shop", "tests") if first.startswith(SEARCH.format(name))), "chat")

    def play(self, view: RequestView) -> Story:
        if self.name_chat(view) == "chat":
            tasks = [SEARCH.format(name) for name in ("shop", "tests")]
            view = yield tuple(call("spawn_agent", agent="explorer", task=task) for task in tasks)
            assert len(view.results) == 2
            yield say("`calc` in shop/prices.py is the only one; the tests call it.")
            return
        folder = view.read(r"In the folder (\w+)")
        view = yield (call("grep", path=folder, pattern="sum\\(|calc\\("),)
        view.read(r"(calc)")
        yield say("shop/prices.py: calc, which sums the lines of a receipt.")

    async def check(self, session: Session) -> None:
        assert session.page.asked.errors == []


TASK = Subagents()
