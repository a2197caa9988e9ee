"""A test for a function of a module, with its edge cases."""

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

TESTS = """import pytest

from shop.prices import calc_with_discount


@pytest.mark.parametrize(("discount", "total"), [(0, 98.0), (0.25, 73.5), (1, 0.0)])
def test_the_discount_is_taken_off_the_sum(discount, total):
    assert calc_with_discount([("lamp", 2)], discount) == total


def test_an_unknown_article_is_an_error():
    with pytest.raises(KeyError):
        calc_with_discount([("sofa", 1)], 0)
"""


class WriteTests(Task):
    title = "A test for a function"

    def prepare(self, folder: Path) -> None:
        for name, text in FILES.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)

    async def use(self, session: Session) -> None:
        await session.page.ask("Write tests for `calc_with_discount` in shop/prices.py, and run them.")

    def play(self, view: RequestView) -> Story:
        reads = [] if view.knows_file("shop/prices.py") else [call("read_file", path="shop/prices.py")]
        view = yield (*reads, call("directory_tree", path="tests"))
        view.read(r"(def calc_with_discount)")
        view = yield (
            call("write_file", path="tests/test_prices.py", content=TESTS),
            call("shell_command", command="python -m pytest -q tests/test_prices.py"),
        )
        view.read(r"(4 passed)")
        yield say("tests/test_prices.py has four tests, which pass.")

    async def check(self, session: Session) -> None:
        assert (session.folder / "tests" / "test_prices.py").read_text() == TESTS


TASK = WriteTests()
