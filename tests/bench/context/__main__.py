"""Runs the tasks, and compares their figures with the committed table, and with what they must reach. See the
package."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from tests.bench.context import figures, goals, task
from tests.bench.context.sizes import measure_sizes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.context")
    parser.add_argument("names", nargs="*", help="the tasks to run; all of them without a name")
    parser.add_argument("--renew", action="store_true", help="write the table anew")
    parser.add_argument("--requests", type=Path, help="a folder for the bodies of all requests")
    options = parser.parse_args()
    known = task.find_tasks()
    chosen = {name: known[name] for name in options.names or known}
    before, now, breaks = figures.read(), dict[str, figures.Figures](), 0
    for name, one in chosen.items():
        done = asyncio.run(task.run(one))
        now[name] = done.figures
        breaks += len(done.breaks)
        for error in done.errors:
            print(f"{name} was refused a call: {error}", file=sys.stderr)
        if options.requests is not None:
            write_requests(options.requests / name, done)
    print(figures.draw(now, {name: one.title for name, one in known.items()}, before))
    sizes = asyncio.run(measure_sizes())
    reached = [*goals.compare_sizes(sizes), goals.compare_breaks(breaks), *goals.compare_figures(now)]
    print("", goals.draw(reached), sep="\n")
    is_over = any(one.is_over for one in reached)
    if options.renew:
        figures.write({name: now.get(name) or before[name] for name in known if name in now or name in before})
        return 1 if is_over else 0
    worse = [f"{name}: {', '.join(found)}" for name in now if (found := find_worse(name, now, before))]
    print("", *worse, sep="\n")
    return 1 if worse or is_over else 0


def find_worse(name: str, now: dict[str, figures.Figures], before: dict[str, figures.Figures]) -> list[str]:
    return list(now[name].find_worse(before[name])) if name in before else []


def write_requests(folder: Path, run: task.Run) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, body in enumerate(run.bodies, 1):
        (folder / f"{number:03}.json").write_text(json.dumps(body, indent=1, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
