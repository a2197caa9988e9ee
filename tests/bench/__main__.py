"""`python -m tests.bench [load] [answer] [first] [server] …`: measure and print the table; all of it without a name.

A bench is a module here with an `async def figures()`.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from pkgutil import iter_modules
from time import monotonic
from typing import TYPE_CHECKING, Any

from tests import bench
from tests.bench.figure import table

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.bench.figure import Figure


def benches() -> dict[str, Callable[[], Coroutine[Any, Any, list[Figure]]]]:
    names = [one.name for one in iter_modules(bench.__path__) if not one.name.startswith("_")]
    modules = {name: import_module(f"tests.bench.{name}") for name in names}
    return {name: module.figures for name, module in modules.items() if hasattr(module, "figures")}


def main(names: list[str]) -> None:
    known = benches()
    if unknown := [name for name in names if name not in known]:
        print(f"There is no {', '.join(unknown)}; there are {', '.join(known)}.")
        return
    found: list[Figure] = []
    for name in names or known:
        print(f"measuring {name} …", file=sys.stderr)
        began = monotonic()
        found += asyncio.run(known[name]())
        print(f"{name} took {monotonic() - began:.0f} s", file=sys.stderr)
    print(table(found))


if __name__ == "__main__":
    main(sys.argv[1:])
