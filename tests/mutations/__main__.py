"""Changes the engine in small ways, and sees whether a test fails: `python -m tests.mutations [MODULE ...]`.

A change that no test notices survives. It must be in the list `survivors.toml`, with the reason why no test should
notice it; otherwise this command fails. `MODULE` is a name in `jupyter_eca/engine` such as `turn_driver` or
`approval.*`; by default, the modules are changed whose survivors have all been looked at. It needs the group of
packages `mutations`: `make mutations` installs them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.mutations.mutants import Mutant, list_code_mutants, list_modules
from tests.mutations.rows import list_row_mutants
from tests.mutations.runner import MutationRunner, Result
from tests.mutations.survivors import read_survivors

TESTS = ["tests/engine", "tests/mutations/conversations.py"]
PLUGINS = ["-p", "pytest_asyncio.plugin", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider"]
# A test that counts steps traces each line, as the choice of the tests for a line does.
CHOICE = ["-m", "not nightly", "-k", "not twice_the_steps"]
OPTIONS = [*PLUGINS, *CHOICE, "-q", "-s", "--assert=plain", "--tb=native", "-W", "ignore"]


def make_table(results: dict[Mutant, Result]) -> str:
    """Return a row for each module: how many mutants, and what became of them."""
    rows = ["| module | mutants | killed | no end | survived |", "|---|---|---|---|---|"]
    modules = sorted({mutant.module for mutant in results})
    for module in [*modules, ""]:
        counts = Counter(result for mutant, result in results.items() if module in {mutant.module, ""})
        kinds = (Result.KILLED, Result.TIMEOUT, Result.SURVIVED)
        name = f"`{module}`" if module else "all"
        rows.append(f"| {name} | {counts.total():,} | " + " | ".join(f"{counts[kind]:,}" for kind in kinds) + " |")
    return "\n".join(rows)


def main(words: list[str]) -> int:
    """Return the exit status: 1 when a mutant survived that is not listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, help="a file for what became of each mutant")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="only these tests are run")
    parser.add_argument("--again", type=Path, help="a file of results: only what survived there is tried")
    options = parser.parse_args(words)
    listed = read_survivors()
    since = time.monotonic()
    found = [name for pattern in options.modules or listed.modules for name in list_modules() if fnmatch(name, pattern)]
    modules = list(dict.fromkeys(found))
    mutants = [mutant for module in modules for mutant in (*list_code_mutants(module), *list_row_mutants(module))]
    if options.again:
        survived = {key for key, result in json.loads(options.again.read_text("utf-8")) if result == "SURVIVED"}
        mutants = [mutant for mutant in mutants if mutant.key in survived]
    print(f"{len(mutants)} mutants of {len(modules)} modules", flush=True)
    runner = MutationRunner(mutants, options.jobs, options.results)
    # Other plugins only take time.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    pytest.main([*options.tests, *OPTIONS], plugins=[runner])
    results = runner.results
    runner.save()
    survivors = [mutant for mutant, result in results.items() if result is Result.SURVIVED]
    reasons = {mutant: listed.find_reason(mutant) for mutant in survivors}
    new = [mutant.key for mutant, reason in reasons.items() if reason is None]
    tried, survived = {mutant.key for mutant in results}, {mutant.key for mutant in survivors}
    noticed = [key for key in listed.reasons if key in tried - survived]
    is_whole = not options.again
    gone = [key for key in listed.reasons if key not in tried and key.partition(":")[0] in modules and is_whole]
    empty = listed.list_empty_kinds(survivors, results) if is_whole and not options.modules else []
    invalid = [mutant.key for mutant, result in results.items() if result is Result.INVALID]
    print(make_table(results))
    for reason, count in Counter(filter(None, reasons.values())).most_common():
        print(f"{count:>5} survived: {reason}")
    for title, keys in (
        ("Survived, and is not listed", new),
        ("Is listed, but a test notices it", noticed),
        ("Is listed, but is no mutant any more", gone),
        ("Is listed as a kind, but tests notice all of it", empty),
        ("Could not be tried", invalid),
    ):
        if keys:
            print(f"\n{title}:", *keys, sep="\n")
    took = time.monotonic() - since
    print(f"\n{len(survivors)} of {len(results)} survived, {len(new)} of them not listed; {took:.0f} s")
    return bool(new or noticed or gone or empty or invalid)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
