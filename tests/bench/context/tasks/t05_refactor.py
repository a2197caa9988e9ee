"""A function is renamed in three files and their tests, which then run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench.context.played_model import call, say
from tests.bench.context.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session

FILES = {
    # Only pytest itself: what else is installed beside it prints warnings.
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p no:cacheprovider -p no:asyncio'\n",
    "shop/__init__.py": '"""The till of a shop."""\n',
    "shop/prices.py": '''"""Prices of articles."""

PRICES = {"lamp": 49.0, "chair": 89.5, "table": 249.0}


def calc(lines):
    """Return the sum of the lines of a receipt."""
    return sum(PRICES[name] * count for name, count in lines)


def calc_with_discount(lines, discount):
    """Return the sum after a discount between 0 and 1."""
    return round(calc(lines) * (1 - discount), 2)
''',
    "shop/cart.py": '''"""The cart of a customer."""

from shop import prices


class Cart:
    """Collects articles until they are paid."""

    def __init__(self):
        self.lines = []

    def add(self, name, count=1):
        self.lines.append((name, count))

    def total(self):
        """What is to be paid now."""
        return prices.calc(self.lines)

    def is_free(self):
        return prices.calc(self.lines) == 0
''',
    "shop/report.py": '''"""The report at the end of a day."""

from shop.prices import calc


def make_report(carts):
    """Return a line for each cart, and the sum of all."""
    lines = [f"{number}: {calc(cart.lines):.2f}" for number, cart in enumerate(carts, 1)]
    return "\\n".join([*lines, f"all: {sum(calc(cart.lines) for cart in carts):.2f}"])
''',
    "tests/test_shop.py": """from shop.cart import Cart
from shop.prices import calc
from shop.report import make_report


def test_a_cart_is_the_sum_of_its_lines():
    cart = Cart()
    cart.add("lamp", 2)
    assert cart.total() == calc([("lamp", 2)]) == 98.0


def test_a_report_has_a_line_for_each_cart():
    cart = Cart()
    cart.add("chair")
    assert make_report([cart]) == "1: 89.50\\nall: 89.50"
""",
}

# The name alone: `calc_with_discount` stays.
OLD, NEW = "calc(", "compute_total("


class Refactor(Task):
    title = "Refactor 3 files, pytest"

    def prepare(self, folder: Path) -> None:
        for name, text in FILES.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)

    async def use(self, session: Session) -> None:
        await session.page.ask(
            "Rename `calc` to `compute_total` in shop/prices.py, shop/cart.py, shop/report.py and tests/test_shop.py, "
            "and run the tests."
        )

    def play(self, view: RequestView) -> Story:
        names = [name for name in FILES if f"`{name}`" in view.news or name in view.news]
        if unread := [name for name in names if not view.knows_file(name)]:
            view = yield tuple(call("read_file", path=name) for name in unread)
        edits = [
            call("edit_file", path=name, original_content=OLD, new_content=NEW, all_occurrences=True) for name in names
        ]
        edits += [
            call("edit_file", path=name, original_content="import calc\n", new_content="import compute_total\n")
            for name in names
            if "import calc" in FILES[name]
        ]
        edits = [edit for edit in edits if edit.arguments["original_content"] in FILES[edit.arguments["path"]]]
        view = yield (*edits, call("shell_command", command="python -m pytest -q"))
        view.read(r"(2 passed)")
        yield say("`calc` is `compute_total` now, in the three files and in the tests, which pass.")

    async def check(self, session: Session) -> None:
        texts = [(session.folder / name).read_text() for name in FILES]
        assert sum(text.count(NEW) for text in texts) == 7
        assert not any("import calc" in text or " calc(" in text for text in texts)


TASK = Refactor()
