"""What everybody pays for, asked or not, imports nothing heavy. How long it takes then is `tests.bench`'s business."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("module", ["jupyter_eca.apps.kernel.magic", "jupyter_eca.apps.server.extension"])
def test_loading_us_imports_nothing_heavy_that_jupyter_has_not(module: str) -> None:
    code = f"""
import sys, IPython, ipykernel.ipkernel, jupyter_server.serverapp, jupyter_server.extension.application
before = set(sys.modules)
import {module}
heavy = {{"pydantic", "sqlite3", "anthropic", "ipywidgets", "mcp", "mcp_types"}} & (set(sys.modules) - before)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True)


def test_a_panel_connects_without_what_only_tools_and_outside_agents_need() -> None:
    code = """
import sys, jupyter_eca.host.host, jupyter_eca.plugins.loader
from jupyter_eca.fronts.eca.session import load_handlers
load_handlers()
for kind, constant in (("tools", "TOOLS"), ("commands", "COMMANDS"), ("providers", "PROVIDER")):
    assert jupyter_eca.plugins.loader.find(kind, constant)
late = {"psutil", "mcp", "anthropic", "genai_prices"}
late |= {"jupyter_eca.acp_client.session", "jupyter_eca.engine.approval.line_targets", "jupyter_eca.host.doctor"}
assert not late & set(sys.modules), late & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True)
