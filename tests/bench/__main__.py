"""`python -m tests.bench [load] [answer] [first] [server] [stdio] [idle] [contexts] [ahp]`: print the table."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from tests.bench import ahp, answer, contexts, first, idle, load, server, stdio
from tests.bench.figure import table

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from tests.bench.figure import Figure

BENCHES: dict[str, Callable[[], Coroutine[Any, Any, list[Figure]]]] = {
    "load": load.figures,
    "answer": answer.figures,
    "first": first.figures,
    "server": server.figures,
    "stdio": stdio.figures,
    "idle": idle.figures,
    "contexts": contexts.figures,
    "ahp": ahp.figures,
}


def main(names: list[str]) -> None:
    if unknown := [name for name in names if name not in BENCHES]:
        print(f"There is no {', '.join(unknown)}; there are {', '.join(BENCHES)}.")
        return
    found: list[Figure] = []
    for name in names or BENCHES:
        print(f"measuring {name} …", file=sys.stderr)
        found += asyncio.run(BENCHES[name]())
    print(table(found))


if __name__ == "__main__":
    main(sys.argv[1:])
