"""Damages inputs: `python -m tests.fuzz NAME SEED` reads one, `python -m tests.fuzz NAME FIRST COUNT` many, and
`python -m tests.fuzz all FIRST COUNT` as many for each parser. It prints what fails, with the command that replays it.

`guided` chooses the inputs by the branches that they reach.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import time
import traceback
from contextlib import suppress

from tests.fuzz.mutation import Mutation
from tests.fuzz.targets import FOLDER, TARGETS

# Seconds of CPU that one input may take. The slowest one takes a tenth of it on a busy machine.
MAX_SECONDS = 10.0


async def find_failures(name: str, first: int, count: int) -> dict[int, str]:
    """Read so many damaged inputs. Return what is wrong, by seed."""
    target, failures = TARGETS[name], dict[int, str]()
    for seed in range(first, first + count):
        data, since = Mutation(seed).damage(target.samples), time.process_time()
        try:
            await target.parse(data)
        except Exception:  # noqa: BLE001  # whatever breaks is what is looked for
            failures[seed] = traceback.format_exc()
        if (seconds := time.process_time() - since) > MAX_SECONDS:
            failures[seed] = f"It takes {seconds:.1f} s for {len(data):,} bytes."
    return failures


def explain(name: str, failures: dict[int, str]) -> str:
    return "\n".join(f"{error}\npython -m tests.fuzz '{name}' {seed}" for seed, error in failures.items())


def main(arguments: list[str]) -> int:
    logging.disable()
    name, *numbers = arguments
    first, count = int(numbers[0]), int((numbers[1:] or ["1"])[0])
    failed = 0
    for each in TARGETS if name == "all" else (name,):
        if problem := TARGETS[each].problem:
            print(f"{each}: not read, because {problem}")
            continue
        since = time.process_time()
        failures = asyncio.run(find_failures(each, first, count))
        failed += len(failures)
        print(explain(each, failures), end="\n" * bool(failures))
        print(
            f"{each}: {count} inputs, {len(failures)} failures, {time.process_time() - since:.1f} s of CPU", flush=True
        )
    return bool(failed)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    finally:
        with suppress(OSError):
            shutil.rmtree(FOLDER)
