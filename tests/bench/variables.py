"""What a kernel of a thousand variables is asked for, from the request until all of them are told, in Python and in R;
and a Python kernel of 5,000 names and 20 GB of frames.

Beside it stands the same kernel's answer to a request that does nothing: of that no program is the cause.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import start_new_async_kernel

from jupyter_eca.workspace.kernels.client import ClientKernel
from tests.bench.figure import Figure, list_of, number
from tests.bench.processes import MIB

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROUNDS: Final = 31
NAMES: Final = 1000
# Of these, as many are told as `NAMES`: more are no overview.
HUGE_NAMES: Final = 5_000

_PYTHON: Final = """
import numpy, pandas
for n in range(200):
    globals().update({f"num{n}": n, f"txt{n}": "text" * n, f"lst{n}": [n, {"a": n}], f"arr{n}": numpy.arange(100.0)})
for n in range(100):
    globals().update({f"tab{n}": pandas.DataFrame({"a": range(50), "b": ["x"] * 50}), f"fun{n}": lambda x, y=2: x + y})
del n
"""
# Pages that nobody has written take no memory, so these 20 GB fit. A copy of any column would need real memory.
_HUGE: Final = """
import numpy, pandas
for n in range(4000):
    globals().update({f"num{n}": n})
for n in range(980):
    globals().update({f"txt{n}": "text" * n})
for n in range(20):
    globals().update({f"huge{n}": pandas.DataFrame(numpy.zeros((12_500_000, 10)), copy=False)})
del n
"""
_MEMORY: Final = "import psutil as _p; print(_p.Process().memory_info().rss)"
_R: Final = """
for (n in 1:200) {
  assign(paste0("num", n), n); assign(paste0("txt", n), strrep("text", n)); assign(paste0("vec", n), rnorm(100))
  assign(paste0("lst", n), list(a = n, b = list("x")))
}
for (n in 1:100) {
  assign(paste0("tab", n), data.frame(a = 1:50, b = letters[1:25])); assign(paste0("fun", n), function(x, y = 2) x + y)
}
rm(n)
"""
_KERNELS: Final = {"python": ("python3", _PYTHON, "pass"), "r": ("ir", _R, "invisible(1)")}


async def figures() -> list[Figure]:
    there = KernelSpecManager().find_kernel_specs()
    small = [await _figure(language, *how) for language, how in _KERNELS.items() if how[0] in there]
    return [*small, *await _huge()]


async def _huge() -> list[Figure]:
    started: tuple[Any, Any] = await start_new_async_kernel(kernel_name="python3")
    manager, client = started
    kernel = ClientKernel(manager, client)
    try:
        await kernel.execute(_HUGE)
        fresh = int((await kernel.execute(_MEMORY)).text)
        _, *profiles = await _times(lambda: kernel.variables(("huge1",), "python"))
        before = int((await kernel.execute(_MEMORY)).text)
        times = await _times(lambda: kernel.variables((), "python"))
        after = int((await kernel.execute(_MEMORY)).text)
        told = len((await kernel.variables((), "python")).variables)
    finally:
        kernel.close()
        await manager.shutdown_kernel(now=True)
    if told != NAMES:
        raise RuntimeError(f"{told} variables were told")
    first = f"{ROUNDS} requests; the first profile imports {number((before - fresh) / MIB)} MiB"
    return [
        Figure(f"`variables` of {HUGE_NAMES:,} names with 20 GB of frames", times, "ms", 60, ""),
        Figure("the profile of one frame of 1 GB", profiles, "ms", None, ""),
        Figure("memory that this adds to the kernel", [(after - before) / MIB], "MiB", 1, first),
    ]


async def _figure(language: str, name: str, setting_up: str, nothing: str) -> Figure:
    started: tuple[Any, Any] = await start_new_async_kernel(kernel_name=name)
    manager, client = started
    kernel = ClientKernel(manager, client)
    try:
        await kernel.execute(setting_up)
        idle = await _times(lambda: kernel.execute(nothing))
        first, *times = await _times(lambda: kernel.variables((), language))
        told = len((await kernel.variables((), language)).variables)
    finally:
        kernel.close()
        await manager.shutdown_kernel(now=True)
    if told != NAMES:
        raise RuntimeError(f"{told} variables were told")
    beside = f"first {first:.3g} ms; a request that does nothing {list_of(idle, 'ms')}"
    return Figure(f"`variables` of {NAMES:,} names, {language} kernel", times, "ms", 50, beside)


async def _times(work: Callable[[], Awaitable[object]]) -> list[float]:
    found: list[float] = []
    for _ in range(ROUNDS):
        began = perf_counter()
        await work()
        found.append((perf_counter() - began) * 1000)
    return found
