"""The ratios of earlier runs, in `baseline.json`, and whether those of now are worse: a test checks it every night.

Only ratios of CPU times of one run are compared: times depend on the machine, and ratios of times on the clock on what
else it does. Of a bench's rounds the least counts, and what seems worse is measured again, twice at most.
`python -m tests.bench.baseline` writes the file anew, after a change that is meant to make something slower.
"""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = Path(__file__).with_name("baseline.json")
BENCHES: Final = ("answer", "many_chats")
# How much worse a ratio may be.
TOLERANCE: Final = 1.2
TRIES: Final = 3

Ratios = dict[str, float]


def read() -> dict[str, Ratios]:
    return json.loads(FILE.read_text())


async def measure(bench: str) -> Ratios:
    """Return the least value of each figure of the bench that is a ratio of CPU times."""
    module: Any = import_module(f"tests.bench.{bench}")
    return {
        figure.name: min(figure.values)
        for figure in await module.figures()
        if figure.unit == "x" and "CPU" in figure.name
    }


def find_worse(known: Mapping[str, float], now: Mapping[str, float]) -> Ratios:
    """Return the ratios that are worse than they may be. One that is not measured any more is infinitely worse."""
    found = {name: now.get(name, float("inf")) for name in known}
    return {name: ratio for name, ratio in found.items() if ratio > known[name] * TOLERANCE}


async def check(bench: str) -> Ratios:
    """Measure until no ratio is worse, three times at most. Return those that stayed worse."""
    known = read()[bench]
    best: Ratios = {}
    worse: Ratios = {}
    for _ in range(TRIES):
        now = await measure(bench)
        best = {name: min(ratio, best.get(name, ratio)) for name, ratio in now.items()}
        worse = find_worse(known, best)
        if not worse:
            break
    return worse


async def _write() -> None:
    """The median of three runs: the best one would make an ordinary run look worse than it is."""
    found: dict[str, Ratios] = {}
    for bench in BENCHES:
        runs = [await measure(bench) for _ in range(TRIES)]
        found[bench] = {name: round(median(run[name] for run in runs), 3) for name in runs[0]}
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    asyncio.run(_write())
