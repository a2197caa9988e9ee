"""The benches, each of which is measured in a process of its own.

This is not in `__main__`, because a process that is spawned does not import the `__main__` of a package.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from tests import bench

if TYPE_CHECKING:
    from tests.bench.figure import Figure


def list_benches() -> list[str]:
    names = [one.name for one in iter_modules(bench.__path__) if not one.name.startswith("_")]
    return [name for name in names if hasattr(import_module(f"tests.bench.{name}"), "figures")]


def measure(name: str) -> list[Figure]:
    """Measure a bench in this process."""
    return asyncio.run(import_module(f"tests.bench.{name}").figures())


def measure_apart(name: str) -> list[Figure]:
    """Measure a bench in a new process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        return processes.submit(measure, name).result()
