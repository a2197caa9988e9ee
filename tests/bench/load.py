"""`%load_ext jupyter_eca`: what every notebook that has it pays."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.figure import Figure
from tests.bench.processes import MIB, kernel

ROUNDS = 7

# Nothing that only measuring needs may be imported, or grow, between the two looks.
_MEASURED = f"""
import gc, json, psutil, time
me = psutil.Process()
me.memory_info(); gc.collect()
before, computed, began = me.memory_info().rss, time.thread_time(), time.perf_counter()
get_ipython().run_line_magic('load_ext', 'jupyter_eca')
took, computed = time.perf_counter() - began, time.thread_time() - computed
print(json.dumps([took * 1000, computed * 1000, (me.memory_info().rss - before) / {MIB}]))
"""


async def figures() -> list[Figure]:
    rounds: list[list[float]] = []
    for _ in range(ROUNDS + 1):
        with TemporaryDirectory() as folder:
            async with kernel(Path(folder)) as fresh:
                rounds.append(json.loads(await fresh.run(_MEASURED)))
    times, computed, sizes = zip(*rounds[1:], strict=True)  # the first compiled
    beside = f"{ROUNDS} fresh kernels"
    return [
        Figure("`%load_ext`, time", times, "ms", 50, beside),
        Figure("the same, CPU", computed, "ms", None, "what it takes on an idle machine"),
        Figure("`%load_ext`, RSS added", sizes, "MiB", 5, beside),
    ]
