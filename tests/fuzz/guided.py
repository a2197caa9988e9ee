"""Lets the fuzzer atheris choose inputs by the branches that they reach: `python -m tests.fuzz.guided NAME RUNS`.

It needs `pip install atheris`, and ends with the input that breaks a parser or takes too long.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

atheris: Any = importlib.import_module("atheris")

with atheris.instrument_imports(include=["jupyter_eca"]):
    from tests.fuzz.__main__ import MAX_SECONDS
    from tests.fuzz.targets import TARGETS


def run(name: str, runs: int) -> None:
    """Read so many inputs. It ends the process."""
    logging.disable()
    target, loop = TARGETS[name], asyncio.new_event_loop()
    corpus = Path(tempfile.mkdtemp(prefix="corpus-"))
    for number, sample in enumerate(target.samples):
        (corpus / str(number)).write_bytes(sample)

    def parse(data: bytes) -> None:
        loop.run_until_complete(target.parse(data))

    atheris.Setup([sys.argv[0], f"-runs={runs}", f"-timeout={MAX_SECONDS:.0f}", str(corpus)], parse)
    atheris.Fuzz()


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
