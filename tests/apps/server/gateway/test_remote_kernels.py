"""Notebooks whose kernels are behind a gateway: cells that ask, and the tools of the panel."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import RunStatus
from jupyter_eca.workspace.diagnostics.kernel_facts import ask_kernel
from tests.apps.server.cells import PATIENCE, Watcher
from tests.apps.server.gateway.gateways import PLAIN
from tests.apps.server.gateway.story import ask_for_variable, begin, find_kernel, find_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.apps.server.gateway.page import Notebooks


async def test_a_cell_is_answered_by_the_server_and_a_click_lets_code_run_in_the_remote_kernel(
    notebooks: Notebooks,
) -> None:
    async with notebooks.show("a.ipynb") as at:
        await ask_for_variable(at, await begin(at))


@pytest.mark.nightly
async def test_after_a_restart_the_cells_find_the_server_again(notebooks: Notebooks) -> None:
    async with notebooks.show("a.ipynb") as at:
        await ask_for_variable(at, await begin(at))
        await at.kernels.restart_kernel(at.id)
        at.client.stop_channels()
        await at.reopen()
        assert "NameError" in (await at.run("answer")).error
        at.pages.clear()
        await ask_for_variable(at, await begin(at))


@pytest.mark.nightly
@pytest.mark.parametrize(("prompt", "sign"), [("slow", "text"), ("wait", "toolCallRun")])
async def test_interrupt_stops_a_turn_that_a_cell_waits_for(notebooks: Notebooks, prompt: str, sign: str) -> None:
    async with notebooks.show("a.ipynb") as at:
        watcher = await Watcher.of(notebooks.serverapp)
        await begin(at)
        running = asyncio.ensure_future(at.page(f"%eca {prompt}"))
        await watcher.until(sign)
        await at.kernels.interrupt_kernel(at.id)
        ran = await asyncio.wait_for(running, PATIENCE)
        assert (ran.status, ran.error) == ("error", "Stopped.")
        assert (await watcher.ended()).outcome == "stopped"


async def test_all_tools_work_in_a_remote_kernel_without_the_package(notebooks: Notebooks, jp_root_dir: Path) -> None:
    cell: dict[str, Any] = {"id": "one", "cell_type": "code", "source": "y = x + 1\ny", "execution_count": None}
    cell |= {"metadata": {}, "outputs": []}
    book: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (jp_root_dir / "a.ipynb").write_text(json.dumps(book))
    async with notebooks.show("a.ipynb", PLAIN) as at:
        assert "ModuleNotFoundError" in (await at.run("import jupyter_eca")).error
        kernel, workspace = await find_kernel(notebooks, "a.ipynb"), await find_workspace(notebooks)
        ran = await kernel.execute("chat", "x = 41\nprint('hi')")
        assert (ran.status, ran.text) == (RunStatus.OK, "hi")
        assert workspace.notebooks is not None
        done = await workspace.notebooks.run("chat", "a.ipynb", ("one",))
        assert done.status is RunStatus.OK
        assert json.loads((jp_root_dir / "a.ipynb").read_text())["cells"][0]["outputs"][0]["data"] == {
            "text/plain": ["42"]
        }
        variables = await kernel.variables("chat", ("y",))
        assert [(variable.name, variable.preview) for variable in variables.variables] == [("y", "42")]
        assert "x" in (await at.run("print(sorted(dir()))")).stdout
        document = await workspace.notebooks.read("a.ipynb")
        facts = await ask_kernel("chat", document, workspace.kernels)
        assert (document.kernel_id, facts.names) == (at.id, frozenset({"x", "y"}))
        assert "print" in (await kernel.inspect("print")).text
        assert (await kernel.state()).language == "python"
        waiting = asyncio.ensure_future(kernel.execute("chat", "print('begun')\nimport time; time.sleep(60)"))
        while (await at.client.get_iopub_msg(timeout=PATIENCE))["content"].get("text") != "begun\n":
            pass
        await kernel.interrupt()
        assert (await asyncio.wait_for(waiting, PATIENCE)).status is RunStatus.ERROR


@pytest.mark.nightly
async def test_a_tool_restarts_a_remote_kernel(notebooks: Notebooks) -> None:
    async with notebooks.show("a.ipynb", PLAIN):
        kernel = await find_kernel(notebooks, "a.ipynb")
        await kernel.execute("chat", "x = 1")
        await kernel.restart()
        assert (await kernel.execute("chat", "x")).text.endswith("NameError: name 'x' is not defined")


@pytest.mark.nightly
async def test_code_that_kills_a_remote_kernel_fails_in_a_sentence_and_the_next_code_runs(notebooks: Notebooks) -> None:
    async with notebooks.show("a.ipynb", PLAIN):
        kernel = await find_kernel(notebooks, "a.ipynb")
        with pytest.raises(ToolError) as error:
            await kernel.execute("chat", "import os; os._exit(1)")
        assert "died" in str(error.value)
        assert (await asyncio.wait_for(kernel.execute("chat", "print(1)"), PATIENCE)).text == "1"
