"""Which packages the interpreters of kernels have. A process beside the kernel is asked: nothing runs in the kernel
for it. `environment` tells the model.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Final, cast

# Seconds that one has to answer (it takes 0.1), as a question waits for it.
PACKAGES_SECONDS: Final = 3.0

# Seconds that an answer holds: while somebody types the next question is drafted again and again, and many chats may
# begin at once. Who installs something and asks in another chat within them is told of it a chat later.
FRESH_SECONDS: Final = 60.0

# What somebody who analyses data calls by its name: their interfaces differ from version to version.
PACKAGES: Final = (
    *("numpy", "scipy", "pandas", "polars", "pyarrow", "dask", "xarray", "duckdb", "sqlalchemy", "pyspark"),
    *("geopandas", "networkx", "sympy", "statsmodels", "scikit-learn", "xgboost", "lightgbm", "pymc"),
    *("torch", "tensorflow", "jax", "keras", "transformers", "nltk", "spacy"),
    *("matplotlib", "seaborn", "plotly", "altair", "bokeh", "ipywidgets", "pillow", "opencv-python"),
)

# `version` of one that is not there looks into every folder; a list of all is made in one pass.
_LOOK: Final = """
import importlib.metadata, json, sys
wanted = set(sys.argv[1:])
found = {}
for one in importlib.metadata.distributions():
    name = (one.metadata["Name"] or "").lower().replace("_", "-")
    if name in wanted:
        found.setdefault(name, one.version)
print(json.dumps([".".join(map(str, sys.version_info[:3])), found]))
"""

InterpreterFacts = tuple[str, dict[str, str]]
"""The version of Python, and those of the packages that are there."""


class Interpreters:
    def __init__(self) -> None:
        self._known: dict[str, tuple[float, InterpreterFacts]] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def about(self, interpreter: str) -> InterpreterFacts:
        """Return the facts of an interpreter; empty when it does not answer."""
        async with self._asking.setdefault(interpreter, asyncio.Lock()):
            at, told = self._known.get(interpreter, (-FRESH_SECONDS, ("", {})))
            if time.monotonic() - at >= FRESH_SECONDS:
                told = await _ask_interpreter(interpreter)
                self._known[interpreter] = time.monotonic(), told
            return told


async def _ask_interpreter(interpreter: str) -> InterpreterFacts:
    try:
        process = await asyncio.create_subprocess_exec(
            interpreter, "-c", _LOOK, *PACKAGES,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return "", {}
    try:
        async with asyncio.timeout(PACKAGES_SECONDS):
            said, _ = await process.communicate()
        version, found = cast("list[Any]", json.loads(said))
    except (TimeoutError, ValueError):
        return "", {}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return str(version), {str(name): str(value) for name, value in found.items()}
