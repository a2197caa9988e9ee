"""`python -m tests.bench.peers [--rounds N] [--rows client page …] [--peers marimo …] [--cache FOLDER]`.

Measures, writes `figures.json`, and from it the tables and the picture of the documentation. Rows or peers that are not
measured keep the figures of the run before. The first run downloads about 2 GB of packages into the cache.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench import pages
from tests.bench.machine import describe_run
from tests.bench.peers import report
from tests.bench.peers.environments import Environments, cache_folder
from tests.bench.peers.model_server import running_model
from tests.bench.peers.peers import PEERS, Cannot
from tests.bench.peers.rows import ROWS, Tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.peers.peers import Peer
    from tests.bench.peers.report import Cell
    from tests.bench.peers.rows import Row, Values

ROUNDS = 5


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rows", nargs="*", choices=[row.name for row in ROWS], default=[row.name for row in ROWS])
    parser.add_argument("--peers", nargs="*", choices=[peer.name for peer in PEERS], default=[p.name for p in PEERS])
    parser.add_argument("--cache", type=Path, default=cache_folder())
    parser.add_argument("--report", action="store_true", help="measure nothing: write the documentation anew")
    return parser.parse_args(arguments)


async def measure(rows: Sequence[Row], peers: Sequence[Peer], rounds: int, environments: Environments) -> None:
    """Each row is kept when it is complete: what fails later does not lose it."""
    with running_model() as url:
        async with pages.chromium() as browser:
            tools = Tools(environments, browser, url)
            for row in rows:
                found: dict[str, list[Values]] = {peer.name: [] for peer in peers}
                reasons: dict[str, str] = {}
                for number in range(rounds):
                    # In turns, and each round begins with another.
                    for peer in [*peers[number % len(peers) :], *peers[: number % len(peers)]]:
                        if peer.name in reasons:
                            continue
                        print(f"{row.name}, round {number + 1}: {peer.name}", file=sys.stderr)
                        values = await _once(row, peer, tools)
                        if isinstance(values, Cannot):
                            reasons[peer.name] = values.reason
                        else:
                            found[peer.name].append(values)
                cells = {peer.name: _cell(found[peer.name], reasons.get(peer.name)) for peer in peers}
                report.save({row.name: cells})


async def _once(row: Row, peer: Peer, tools: Tools) -> Values | Cannot:
    try:
        return await row.measure(peer, tools)
    except Exception as error:  # noqa: BLE001  # whatever a peer does wrong: the others are measured, and it is shown
        text = str(error).strip() or type(error).__name__
        print(f"{row.name}: {peer.name} failed: {text[:2000]}", file=sys.stderr)
        return Cannot(f"failed: {text.splitlines()[-1][:120]}")


def _cell(values: list[Values], reason: str | None) -> Cell:
    if reason is not None:
        return {"cannot": reason}
    return {name: [one[name] for one in values] for name in values[0]}


def main(arguments: Sequence[str]) -> None:
    options = parse(arguments)
    if not options.report:
        rows = [row for row in ROWS if row.name in options.rows]
        peers = [peer for peer in PEERS if peer.name in options.peers]
        environments = Environments(options.cache)
        asyncio.run(measure(rows, peers, options.rounds, environments))
        versions = {peer.name: environments.talk(peer).versions() for peer in peers}
        report.save_run(versions, describe_run(f"{report.COMMAND} ROUNDS={options.rounds}"))
    report.write()


if __name__ == "__main__":
    main(sys.argv[1:])
