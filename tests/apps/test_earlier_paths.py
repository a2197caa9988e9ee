"""Import paths of 0.1.0 that were documented, or are named by files that an installation left, still work."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager

import jupyter_eca
from jupyter_eca import plugins
from tests.support.docs_pages import ROOT
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Generator

MOVED = {
    "jupyter_eca.tools.base": ("ToolContext", "tool", "ToolResult", "Need", "Tool"),
    "jupyter_eca.contexts.base": ("Material", "Surroundings", "Context"),
    "jupyter_eca.providers.base": ("Provider",),
    "jupyter_eca.engine.delta": ("TextDelta", "UsageDelta", "ReasoningDelta", "ToolCallDelta"),
}


@pytest.fixture(autouse=True)
def _imported_anew() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]  # by autouse
    """The warning is given when a module is imported, which happens once in a process."""
    yield
    for name in (*MOVED, "jupyter_eca.cli"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("module", MOVED)
def test_an_earlier_module_warns_and_has_the_names_of_the_facade(module: str) -> None:
    with pytest.warns(DeprecationWarning, match=r"import from jupyter_eca\.plugins"):
        earlier = importlib.import_module(module)
    assert [getattr(earlier, name) for name in MOVED[module]] == [getattr(plugins, name) for name in MOVED[module]]


def test_an_earlier_command_line_is_the_one_of_today() -> None:
    from jupyter_eca.apps.cli import main

    with pytest.warns(DeprecationWarning, match=r"import from jupyter_eca\.apps\.cli"):
        assert importlib.import_module("jupyter_eca.cli").main is main


def test_the_base_of_fronts_is_where_it_was_and_does_not_warn() -> None:
    assert importlib.import_module("jupyter_eca.fronts.base").Front


def test_nothing_of_ours_imports_an_earlier_path() -> None:
    code = "import sys, jupyter_eca.apps.process, jupyter_eca.apps.server.eca_server; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {*MOVED, "jupyter_eca.cli", "jupyter_eca.kernel"} & set(done.stdout.split())


@pytest.mark.asyncio
async def test_a_kernelspec_that_names_the_earlier_module_starts_the_kernel_of_prompts() -> None:
    argv = [sys.executable, "-P", "-m", "jupyter_eca.kernel", "-f", "{connection_file}"]
    manager: Any = AsyncKernelManager()  # untyped
    manager._kernel_spec = KernelSpec(argv=argv, language="python", display_name="ECA")  # no folder has it
    async with asyncio.timeout(PATIENCE * 3):
        await manager.start_kernel(env={"PYTHONPATH": str(ROOT)})
        client = manager.client()
        client.start_channels()
        try:
            await client.wait_for_ready()
            info = await client.kernel_info(reply=True)
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(now=True)
    assert info["content"]["implementation"] == "jupyter_eca"
    assert info["content"]["implementation_version"] == jupyter_eca.__version__
