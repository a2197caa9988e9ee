"""A test that fails: the fault is in a module that the test does not name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.played_model import call, say
from tests.bench.context.task import Task
from tests.bench.context.tasks.t05_refactor import FILES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

RUN = "python -m pytest -q"

RIGHT, WRONG = "for name, count in lines)", "for name, count in lines[1:])"


class FailingTest(Task):
    title = "A failing pytest"
    expected_errors = ("shell_command: (.|\n)*2 failed",)

    def prepare(self, folder: Path) -> None:
        for name, text in FILES.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text.replace(RIGHT, WRONG))

    async def use(self, session: Session) -> None:
        await session.page.ask("The tests fail. Find out why, and fix it.")

    def play(self, view: RequestView) -> Story:
        view = yield (call("shell_command", command=RUN),)
        view.read(r"(2 failed)")
        view = yield (call("read_file", path="shop/prices.py"),)
        assert view.knows(r"lines\[1:\]")
        view = yield (
            call("edit_file", path="shop/prices.py", original_content=WRONG, new_content=RIGHT),
            call("shell_command", command=RUN),
        )
        view.read(r"(2 passed)")
        yield say("`calc` left out the first line of a receipt. The tests pass now.")

    async def check(self, session: Session) -> None:
        assert (session.folder / "shop" / "prices.py").read_text() == FILES["shop/prices.py"]


TASK = FailingTest()
