"""Replays faults: `python -m tests.faults SEED` runs one on a machine of its own, and says what is wrong after it;
`python -m tests.faults FIRST COUNT` runs many, and prints the commands of those that fail, and a table.
`python -m tests.faults jupyter SEED` and `... jupyter FIRST COUNT` do the same with a Jupyter server."""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.faults.faults import BLOCK, FAULTS, asks_by_network, choose
from tests.faults.jupyter import JUPYTER_FAULTS, JupyterMachine, choose_jupyter
from tests.faults.machine import Client, Machine

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


def make_machine(seed: int, folder: Path) -> Machine:
    """Make the machine of a seed. In every second block it has an MCP server, and in every fourth that server ignores
    the end of its stdin. In every fifth, the model is asked over the network."""
    block = seed // BLOCK
    return Machine(folder, server=block % 2 == 1, stays=block % 4 == 1, by_network=asks_by_network(block))


@dataclass(frozen=True)
class Series:
    """Faults of one kind of machines, by seed."""

    command: str
    """Replays a seed of it."""
    make_machine: Callable[[int, Path], Machine]
    choose: Callable[[int], str]
    """Returns the name of the fault of a seed."""
    faults: Mapping[str, Callable[[Any, Client, random.Random, str], Awaitable[Client]]]


PROCESS: Final = Series("python -m tests.faults", make_machine, choose, FAULTS)
JUPYTER: Final = Series(
    "python -m tests.faults jupyter", lambda _, folder: JupyterMachine(folder), choose_jupyter, JUPYTER_FAULTS
)


async def finish(machine: Machine, client: Client) -> None:
    """End the last process of a machine, and check what is left."""
    await client.end()
    machine.check_database()
    machine.check_nothing_left()
    machine.check_requests()
    await machine.close()


async def run(series: Series, machine: Machine, client: Client, seed: int) -> Client:
    return await series.faults[series.choose(seed)](machine, client, random.Random(seed), f"s{seed}")


async def run_block(series: Series, seeds: range, folder: Path) -> dict[int, str]:
    """Run faults one after the other, and return what failed by seed. As long as none fails, they share one machine:
    the server that comes after a fault is there for the next one, as the start of a process takes longest."""
    failures: dict[int, str] = {}
    machine: Machine | None = None
    client: Client | None = None
    for seed in seeds:
        try:
            if machine is None or client is None:
                machine = series.make_machine(seed, folder / str(seed))
                client = await machine.connect()
            client = await run(series, machine, client, seed)
            if seed == seeds[-1] or seed // BLOCK != (seed + 1) // BLOCK:
                await finish(machine, client)
                machine = client = None
        except Exception:  # noqa: BLE001  # whatever breaks is what is looked for
            failures[seed] = traceback.format_exc()
            if machine is not None:
                await machine.close()
            machine = client = None
    return failures


def replay(series: Series, seed: int, folder: Path) -> str:
    """Run one fault alone. Return what is wrong after it; "" for nothing."""

    async def run_alone() -> None:
        machine = series.make_machine(seed, folder)
        try:
            await finish(machine, await run(series, machine, await machine.connect(), seed))
        finally:
            await machine.close()

    try:
        asyncio.run(run_alone())
    except Exception:  # noqa: BLE001  # as above
        return traceback.format_exc()
    return ""


def explain(series: Series, seed: int, error: str) -> str:
    return f"{error}\n{series.choose(seed)}. To replay it: {series.command} {seed}"


def main(series: Series, numbers: list[int]) -> int:
    first, count = numbers[0], (numbers[1:] or [1])[0]
    since, survived = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        if count == 1:
            failures = {first: error} if (error := replay(series, first, Path(folder) / "alone")) else {}
        else:
            failures = asyncio.run(run_block(series, range(first, first + count), Path(folder)))
    for seed in range(first, first + count):
        survived[series.choose(seed)] += seed not in failures
    for seed, error in failures.items():
        print(explain(series, seed, error))
    total = Counter(series.choose(seed) for seed in range(first, first + count))
    for name, number in sorted(total.items()):
        print(f"{name}: {survived[name]} of {number}")
    print(f"{count} runs, {len(failures)} failed, {time.monotonic() - since:.0f} s")
    return bool(failures)


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = JUPYTER if words[:1] == ["jupyter"] else PROCESS
    sys.exit(main(chosen, [int(word) for word in words if word.isdecimal()]))
