"""Owns `MutationRunner`, a plugin of pytest: it measures which tests run which lines, then tries mutants.

Each mutant is tried in a forked process, in which everything is imported and collected already. It runs only the tests
that run the changed lines, the quickest first, and ends at the first that fails.
"""

from __future__ import annotations

import inspect
import json
import os
import pickle
import resource
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest
from _pytest.runner import runtestprotocol
from coverage import Coverage
from hypothesis import HealthCheck, Phase, settings

from tests.mutations.mutants import ENGINE
from tests.mutations.rows import note_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.mutations.mutants import Mutant

# A failing example is not made smaller: that it fails is enough. The same examples each time, so that a mutant does not
# survive by luck.
settings.register_profile(
    "mutations",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=30,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
# A mutant may loop without an end, or eat all memory.
SECONDS: Final = 30
BYTES: Final = 4 << 30


class Result(IntEnum):
    """The exit status of a process that tried a mutant."""

    SURVIVED = 0
    KILLED = 1
    TIMEOUT = 2
    INVALID = 3
    """The change could not be put in place: a fault of these tests."""


@dataclass
class MutationRunner:
    """Runs as the loop of a session of pytest."""

    mutants: Sequence[Mutant]
    jobs: int = 1
    file: Path | None = None
    """Where the results are written."""
    results: dict[Mutant, Result] = field(default_factory=dict["Mutant", Result])
    _durations: dict[str, float] = field(default_factory=dict[str, float])
    _tests: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """The tests that run a line: by module and line."""
    _kills: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """How many mutants of a function or a module each test has killed. Those that killed most are tried first."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        settings.load_profile("mutations")
        self._measure_apart(session.items)
        items = {item.nodeid: item for item in session.items}
        waiting = list(reversed(self.mutants))
        running: dict[int, tuple[Mutant, int]] = {}
        tried, since = 0, time.monotonic()
        while waiting or running:
            if waiting and len(running) < self.jobs:
                mutant = waiting.pop()
                tests = self._choose_tests(mutant)
                if not tests:
                    self.results[mutant] = Result.SURVIVED
                    continue
                read, write = os.pipe()
                pid = os.fork()
                if not pid:
                    self._try(mutant, [items[test] for test in tests], write)
                os.close(write)
                running[pid] = mutant, read
                continue
            pid, status = os.wait()
            mutant, read = running.pop(pid)
            with os.fdopen(read) as file:
                killer = file.read()
            code = os.waitstatus_to_exitcode(status)
            self.results[mutant] = Result.TIMEOUT if code < 0 else Result(code)
            if killer:
                self._kills[mutant.place][killer] += 1
                self._kills[mutant.module][killer] += 1
            tried += 1
            if tried % 50 == 0:
                self.save()
                survived = sum(result is Result.SURVIVED for result in self.results.values())
                rate = tried / (time.monotonic() - since)
                print(
                    f"{len(self.results)} of {len(self.mutants)} tried, {survived} survived, {rate:.0f} a second",
                    flush=True,
                )
        return True

    def save(self) -> None:
        """Write what became of each mutant so far."""
        if self.file is not None:
            rows = [[mutant.key, result.name] for mutant, result in self.results.items()]
            self.file.write_text(json.dumps(rows, indent=0, ensure_ascii=False), "utf-8")

    def _measure_apart(self, items: Sequence[pytest.Item]) -> None:
        """Measure in a process of its own: what the tests leave in caches would hide mutants."""
        read, write = os.pipe()
        if not os.fork():
            try:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                self._measure(items)
                with os.fdopen(write, "wb") as file:
                    pickle.dump((self._durations, {name: dict(lines) for name, lines in self._tests.items()}), file)
            except BaseException:  # noqa: BLE001  # the process that waits says that there is nothing
                traceback.print_exc()
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            self._durations, tests = pickle.load(file)  # noqa: S301  # of our own process
        os.wait()
        for module, lines in tests.items():
            self._tests[module].update(lines)

    def _measure(self, items: Sequence[pytest.Item]) -> None:
        """Run all tests once, and note which lines of the engine each of them runs."""
        engine = [vars(module) for name, module in sys.modules.items() if name.startswith("jupyter_eca.engine")]
        caches = [value for names in engine for value in names.values() if hasattr(value, "cache_clear")]
        coverage = Coverage(data_file=None, include=[f"{ENGINE}/*"], config_file=False, messages=False)
        coverage.start()
        tables = note_rows()
        for item, following in pairwise([*items, None]):
            assert item is not None
            for cache in caches:
                cache.cache_clear()
            coverage.switch_context(item.nodeid)
            for rows in tables.values():
                rows.noted.clear()
            since = time.process_time()
            reports = runtestprotocol(item, log=False, nextitem=following)
            self._durations[item.nodeid] = time.process_time() - since
            for report in reports:
                assert not report.failed, f"{item.nodeid} fails without any change:\n{report.longreprtext}"
            for module, rows in tables.items():
                for number in rows.noted:
                    self._tests[f"rows of {module}"][number].add(item.nodeid)
        coverage.stop()
        data = coverage.get_data()
        root = f"{ENGINE.resolve()}{os.sep}"
        for file in data.measured_files():
            module = file.removeprefix(root).removesuffix(".py").replace(os.sep, ".")
            for line, tests in data.contexts_by_lineno(file).items():
                self._tests[module][line] = set(tests) - {""}

    def _choose_tests(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a changed line: those that have killed most of its neighbours
        first, then the quickest."""
        by_line = self._tests[mutant.ran_in]
        tests = set[str]().union(*(by_line[line] for line in mutant.lines))
        near, far = self._kills[mutant.place], self._kills[mutant.module]
        return sorted(tests, key=lambda test: (-near[test], -far[test], self._durations[test]))

    def _try(self, mutant: Mutant, items: Sequence[pytest.Item], write: int) -> None:
        """Put a mutant in place, run tests until one fails, and end this process."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        signal.alarm(SECONDS * 10)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        try:
            mutant.install()
        except BaseException:  # noqa: BLE001  # whatever it is: the mutant cannot be tried
            os._exit(Result.INVALID)
        for item, following in pairwise([*items, None]):
            assert item is not None
            if not _passes(item, following):
                os.write(write, item.nodeid.encode())
                os._exit(Result.KILLED)
        os._exit(Result.SURVIVED)


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Return whether a test passes. One without fixtures is a mere function: pytest would take longer than it."""
    try:
        if isinstance(item, pytest.Function) and not inspect.iscoroutinefunction(item.obj):
            arguments = item.callspec.params if hasattr(item, "callspec") else {}
            if set(item.fixturenames) <= {*arguments, "event_loop_policy"}:  # the policy is for coroutines
                item.obj(**arguments)
                return True
        return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
    except BaseException:  # noqa: BLE001  # whatever the test or pytest raises
        return False
