"""Finds the packages that are installed for the interpreters of kernels. For this, it runs another process of the
interpreter.

It must not run code in a kernel. `environment.py` writes the result into the system prompt.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Final, cast

from jupyter_eca.workspace.environment import build_helper_environment

# Seconds that an interpreter has to answer. It usually needs 0.1. The prompt of the user waits for the answer.
PACKAGES_SECONDS: Final = 3.0

# Seconds for which an answer is used again. The system prompt is often built while the user types, and many chats may
# begin at once. The disadvantage: if a package is installed in this time, a chat that begins in this time does not list
# it.
FRESH_SECONDS: Final = 60.0

# Packages for data analysis whose interfaces differ between versions, so that a model should know the version.
PACKAGES: Final = (
    *("numpy", "scipy", "pandas", "polars", "pyarrow", "dask", "xarray", "duckdb", "sqlalchemy", "pyspark"),
    *("geopandas", "networkx", "sympy", "statsmodels", "scikit-learn", "xgboost", "lightgbm", "pymc"),
    *("torch", "tensorflow", "jax", "keras", "transformers", "nltk", "spacy"),
    *("matplotlib", "seaborn", "plotly", "altair", "bokeh", "ipywidgets", "pillow", "opencv-python"),
)

# This code lists all distributions once. A call of `version()` for each package would search all folders again for each
# missing package. It first takes the current folder off the path: a module there could have the name of one of Python,
# and would be run although the user has approved nothing. An older Python has no option `-P` for this.
_LIST_VERSIONS: Final = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import importlib.metadata, json
wanted = set(sys.argv[1:])
found = {}
for distribution in importlib.metadata.distributions():
    name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
    if name in wanted:
        found.setdefault(name, distribution.version)
print(json.dumps([".".join(map(str, sys.version_info[:3])), found]))
"""

InterpreterFacts = tuple[str, dict[str, str]]
"""The version of Python, and the versions of the installed packages by name."""


class Interpreters:
    """Finds and keeps the facts about the interpreters of kernels, by the path of the interpreter."""

    def __init__(self) -> None:
        # The facts, and when they were found (monotonic clock).
        self._known: dict[str, tuple[float, InterpreterFacts]] = {}
        # A lock for each interpreter, which is held while the interpreter is asked. So several callers start only one
        # process.
        self._asking: dict[str, asyncio.Lock] = {}

    async def ask_facts(self, interpreter: str) -> InterpreterFacts:
        """Return the facts about an interpreter; empty when it does not answer."""
        async with self._asking.setdefault(interpreter, asyncio.Lock()):
            found_at, facts = self._known.get(interpreter, (-FRESH_SECONDS, ("", {})))
            if time.monotonic() - found_at >= FRESH_SECONDS:
                facts = await _ask_interpreter(interpreter)
                self._known[interpreter] = time.monotonic(), facts
            return facts


async def _ask_interpreter(interpreter: str) -> InterpreterFacts:
    """Run the interpreter, and return its facts; empty when it does not answer."""
    try:
        process = await asyncio.create_subprocess_exec(
            interpreter, "-c", _LIST_VERSIONS, *PACKAGES, env=build_helper_environment(),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return "", {}
    try:
        async with asyncio.timeout(PACKAGES_SECONDS):
            output, _ = await process.communicate()
        version, found = cast("list[Any]", json.loads(output))
    except (TimeoutError, ValueError):
        return "", {}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return str(version), {str(name): str(value) for name, value in found.items()}
