"""`python -m tests.bench [load] [answer] [first] [server] …`: measure and print the table; all of it without a name.

A bench is a module here with an `async def figures()`. Each runs in a process of its own, so that what one has
allocated does not count in the memory of the next. When one fails, the others are still measured, and the exit status
is 1.
"""

from __future__ import annotations

import sys
from time import monotonic
from traceback import print_exc
from typing import TYPE_CHECKING

from tests.bench.figure import table
from tests.bench.measure_apart import list_benches, measure_apart

if TYPE_CHECKING:
    from tests.bench.figure import Figure


def main(names: list[str]) -> int:
    """Measure and print. Return the exit status."""
    known = list_benches()
    if unknown := [name for name in names if name not in known]:
        print(f"There is no {', '.join(unknown)}; there are {', '.join(known)}.")
        return 1
    found: list[Figure] = []
    failed: list[str] = []
    whole = monotonic()
    for name in names or known:
        print(f"measuring {name} …", file=sys.stderr)
        began = monotonic()
        try:
            found += measure_apart(name)
        except Exception:  # noqa: BLE001  # whatever it is, the other benches are measured
            print_exc()
            failed.append(name)
        print(f"{name} took {monotonic() - began:.0f} s", file=sys.stderr)
    print(table(found))
    print(f"All of it took {monotonic() - whole:.0f} s.")
    if failed:
        print(f"These failed: {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
