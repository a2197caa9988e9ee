"""Which kernel a notebook has in a Jupyter server, and what can be done to it."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jupyter_client.kernelspec import KernelSpecManager

from jupyter_eca.errors import ToolError
from jupyter_eca.host.turn.open_notebooks import find_kernels
from jupyter_eca.plugins.tools.diagnostics import editor_diagnostics
from jupyter_eca.plugins.tools.notebook import notebook_read
from jupyter_eca.protocol.notebook import RunStatus
from jupyter_eca.workspace.diagnostics.kernel_facts import KernelFacts, ask_kernel
from tests.apps.server.cells import PATIENCE, PageKernel, Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.workspace.ports import Workspace

# Found before a test has folders of its own.
R: str | None = KernelSpecManager().find_kernel_specs().get("ir")


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"run_code": {}}}


@asynccontextmanager
async def opened(
    serverapp: Any, folder: Path, path: str, *sources: str, kernel: str = "python3"
) -> AsyncGenerator[PageKernel]:
    """A notebook with a session, as a page that is now gone has left it."""
    cells: list[dict[str, Any]] = [
        {"id": f"cell-{n}", "cell_type": "code", "source": source, "metadata": {}, "outputs": [],
         "execution_count": None} for n, source in enumerate(sources)
    ]  # fmt: skip
    book: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    (folder / path).write_text(json.dumps(book))
    session = await serverapp.session_manager.create_session(path=path, name=path, type="notebook", kernel_name=kernel)
    found = PageKernel(serverapp, session["kernel"]["id"])
    await found.open()
    try:
        yield found
    finally:
        found.client.stop_channels()
        await serverapp.session_manager.delete_session(session["id"])


async def workspace_of(serverapp: Any) -> Workspace:
    return (await Watcher.of(serverapp)).host.workspace


async def test_a_notebook_that_no_page_has_open_runs_in_the_kernel_of_its_session(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    workspace = await workspace_of(jp_serverapp)
    assert workspace.notebooks is not None
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "x + 1", "x = 2") as at:
        await at.run("x = 1")
        async with asyncio.timeout(PATIENCE):
            done = await workspace.notebooks.run("chat", "a.ipynb", ("cell-0", "cell-1"))
        assert done.status is RunStatus.OK
        assert (await at.run("print(x)")).stdout == "2\n"
        # Jupyter hears that the kernel is idle a moment after the reply.
        async with asyncio.timeout(PATIENCE):
            while (read := await workspace.notebooks.read("a.ipynb")).kernel_status != "idle":  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert read.kernel_id == at.id
        written = json.loads((jp_root_dir / "a.ipynb").read_text())["cells"][0]
        assert written["outputs"][0]["data"]["text/plain"] == ["2"]
        assert written["execution_count"] == 2


async def test_a_run_of_a_notebook_without_a_kernel_starts_the_one_that_it_names_and_nothing_else_does(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    workspace = await workspace_of(jp_serverapp)
    assert workspace.notebooks is not None
    assert workspace.kernels is not None
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "x = 1", "x + 1"):
        pass
    with pytest.raises(ToolError, match=r"a\.ipynb has no running kernel\. Start it by running a cell"):
        await workspace.kernels.find("a.ipynb")
    assert await workspace.kernels.list() == ()
    async with asyncio.timeout(PATIENCE):
        done = await workspace.notebooks.run("chat", "a.ipynb", ("cell-0", "cell-1"))
    assert done.ran[1].outputs[0]["data"]["text/plain"] == "2"
    (kernel,) = await workspace.kernels.list()
    assert kernel.notebook == "a.ipynb"
    (session,) = await jp_serverapp.session_manager.list_sessions()
    await jp_serverapp.session_manager.delete_session(session["id"])


async def test_a_notebook_whose_kernel_cannot_be_started_says_so(jp_serverapp: Any, jp_root_dir: Path) -> None:
    workspace = await workspace_of(jp_serverapp)
    assert workspace.notebooks is not None
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "1"):
        pass
    book = json.loads((jp_root_dir / "a.ipynb").read_text())
    book["metadata"]["kernelspec"] = {"name": "none", "display_name": "None"}
    (jp_root_dir / "a.ipynb").write_text(json.dumps(book))
    with pytest.raises(ToolError, match=r"No kernel could be started for a\.ipynb"):
        await workspace.notebooks.run("chat", "a.ipynb", ("cell-0",))


async def test_each_notebook_has_its_own_kernel_and_without_a_path_only_a_single_kernel_is_meant(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    workspace = await workspace_of(jp_serverapp)
    kernels, default = workspace.kernels, workspace.kernel
    assert kernels is not None
    assert default is not None
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb") as one, asyncio.timeout(PATIENCE):
        await one.run("name = 'one'")
        only = await kernels.find(None)
        assert only.notebook == "a.ipynb"
        assert (await only.execute("chat", "name")).text == "'one'"
        async with opened(jp_serverapp, jp_root_dir, "b.ipynb") as two:
            await two.run("name = 'two'")
            said = [await (await kernels.find(path)).execute("chat", "name") for path in ("a.ipynb", "b.ipynb")]
            assert [result.text for result in said] == ["'one'", "'two'"]
            both = r"2 kernels are running, .*: a\.ipynb \(idle\), b\.ipynb \(idle\)\. Give the path"
            with pytest.raises(ToolError, match=both):
                await kernels.find(None)
            with pytest.raises(ToolError, match=both):
                await default.restart()
            assert [(await kernel.run("print(name)")).stdout for kernel in (one, two)] == ["one\n", "two\n"]


async def test_the_notebook_of_a_turn_is_that_of_the_cell_that_asks(jp_serverapp: Any, jp_root_dir: Path) -> None:
    watcher = await Watcher.of(jp_serverapp)
    async with (
        opened(jp_serverapp, jp_root_dir, "a.ipynb"),
        opened(jp_serverapp, jp_root_dir, "b.ipynb") as at,
        asyncio.timeout(PATIENCE),
    ):
        await at.run("%load_ext jupyter_eca")
        running = asyncio.ensure_future(at.run("%eca slow"))
        chat = (await watcher.until("text")).chat
        live = watcher.host.chats.get_live(chat)
        assert live is not None
        assert live.asked_notebook == "b.ipynb"
        assert watcher.host.tool_contexts.build(chat, live.kernel).notebook == "b.ipynb"
        watcher.host.turns.stop(chat)
        await running


@pytest.mark.skipif(R is None, reason="there is no R kernel (Debian: r-cran-irkernel)")
async def test_the_kernel_of_an_r_notebook_is_asked_in_r(jp_serverapp: Any, jp_root_dir: Path) -> None:
    kernels = (await workspace_of(jp_serverapp)).kernels
    assert kernels is not None
    assert R is not None
    jp_serverapp.kernel_spec_manager.kernel_dirs.append(str(Path(R).parent))
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", kernel="ir"):
        kernel = await kernels.find("a.ipynb")
        async with asyncio.timeout(PATIENCE):
            await kernel.execute("chat", "cities <- c('Bonn', 'Ulm')")
            (found,) = (await kernel.variables("chat", ())).variables
            assert (found.name, found.type, found.length) == ("cities", "character", 2)
            assert "Median Value" in (await kernel.inspect("median")).text


async def test_a_kernel_is_looked_at_interrupted_and_restarted(jp_serverapp: Any, jp_root_dir: Path) -> None:
    kernels = (await workspace_of(jp_serverapp)).kernels
    assert kernels is not None
    begun = jp_root_dir / "begun"
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb") as at:
        await at.run("def greet():\n    'Says hello.'")
        kernel = await kernels.find("a.ipynb")
        async with asyncio.timeout(PATIENCE):
            assert "Says hello." in (await kernel.inspect("greet")).text
            running = asyncio.ensure_future(at.run(f"open({str(begun)!r}, 'w')\nimport time\ntime.sleep(600)"))
            while not begun.exists():  # noqa: ASYNC110  # another process makes the file
                await asyncio.sleep(0.01)
            assert (await kernel.state()).status == "busy"
            await kernel.interrupt()
            assert "KeyboardInterrupt" in (await running).error
            await kernel.restart()
            assert (await kernel.execute("chat", "'greet' in globals()")).text == "False"
        assert (await kernel.state()).language == "python"


async def test_a_kernel_that_is_restarted_while_it_is_busy_runs_code_again(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    kernels = (await workspace_of(jp_serverapp)).kernels
    assert kernels is not None
    begun = jp_root_dir / "begun"
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb") as at, asyncio.timeout(PATIENCE):
        kernel = await kernels.find("a.ipynb")
        running = asyncio.ensure_future(at.run(f"open({str(begun)!r}, 'w')\nimport time\ntime.sleep(600)"))
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        await kernel.restart()
        running.cancel()
        assert (await kernel.execute("chat", "'time' in globals()")).text == "False"


async def test_a_kernel_that_is_restarted_in_a_run_ends_it(jp_serverapp: Any, jp_root_dir: Path) -> None:
    workspace = await workspace_of(jp_serverapp)
    assert workspace.notebooks is not None
    begun = jp_root_dir / "begun"
    source = f"print('before', flush=True)\nopen({str(begun)!r}, 'w')\nimport time; time.sleep(600)"
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", source) as at, asyncio.timeout(PATIENCE):
        running = asyncio.ensure_future(workspace.notebooks.run("chat", "a.ipynb", ("cell-0",)))
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        await jp_serverapp.kernel_manager.restart_kernel(at.id)
        with pytest.raises(ToolError, match="died"):
            await running
        assert (await workspace.notebooks.read("a.ipynb")).cells[0].outputs[0]["text"] == "before\n"


async def test_a_kernel_whose_cell_asks_runs_code_but_no_cells_and_is_not_ended(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    watcher = await Watcher.of(jp_serverapp)
    host = watcher.host
    assert host.workspace.notebooks is not None
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "1"), opened(jp_serverapp, jp_root_dir, "b.ipynb") as at:
        await at.run("%load_ext jupyter_eca\ndef greet():\n    'Says hello.'")
        running = asyncio.ensure_future(at.run("%eca slow"))
        chat = (await watcher.until("text")).chat
        (jp_root_dir / "b.ipynb").write_text((jp_root_dir / "a.ipynb").read_text())
        with pytest.raises(ToolError, match="busy with the cell that asks"):
            await host.workspace.notebooks.run(chat, "b.ipynb", ("cell-0",))
        live = host.chats.get_live(chat)
        assert live is not None
        kernels = find_kernels(host.services, live.kernel)
        assert kernels is not None
        async with asyncio.timeout(PATIENCE):
            same, other = await kernels.find("b.ipynb"), await kernels.find("a.ipynb")
            assert (same, await kernels.find(None)) == (live.kernel, live.kernel)
            assert (await other.execute(chat, "'greet' in globals()")).text == "False"
            assert "Says hello." in (await same.inspect("greet")).text
            assert not (await same.inspect("nobody")).found
            assert (await same.state()).status == "busy"
            for forbidden in (same.interrupt, same.restart):
                with pytest.raises(ToolError, match="busy with the cell that asks"):
                    await forbidden()
            host.turns.stop(chat)
            await running


async def test_what_is_wrong_is_told_with_the_names_of_the_kernel_and_without_while_it_is_busy(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    host = (await Watcher.of(jp_serverapp)).host
    begun = jp_root_dir / "begun"
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "print(gone)") as at, asyncio.timeout(PATIENCE):
        await at.run("gone = 1")
        context = host.tool_contexts.build("chat", None)
        assert context.kernels is not None
        assert (await (await context.kernels.find("a.ipynb")).state()).python == sys.executable
        told = (await editor_diagnostics.run(context, {"path": "a.ipynb"})).text
        assert "A restart would lose what no cell defines: gone" in told
        running = asyncio.ensure_future(at.run(f"open({str(begun)!r}, 'w')\nimport time\ntime.sleep(600)"))
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        told = (await editor_diagnostics.run(context, {"path": "a.ipynb"})).text
        assert "Undefined name `gone` [ruff F821]" in told
        await jp_serverapp.kernel_manager.interrupt_kernel(at.id)
        await running


async def test_the_python_of_a_cell_that_asks_is_the_one_whose_imports_are_looked_for(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    watcher = await Watcher.of(jp_serverapp)
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "print(gone)") as at, asyncio.timeout(PATIENCE):
        await at.run("%load_ext jupyter_eca\ngone = 1")
        running = asyncio.ensure_future(at.run("%eca slow"))
        chat = (await watcher.until("text")).chat
        live = watcher.host.chats.get_live(chat)
        assert live is not None
        context = watcher.host.tool_contexts.build(chat, live.kernel)
        assert context.notebooks is not None
        document = await context.notebooks.read("a.ipynb")
        assert await ask_kernel(chat, document, context.kernels, live.kernel) == KernelFacts(
            frozenset({"gone"}), sys.executable
        )
        watcher.host.turns.stop(chat)
        await running


async def test_cells_of_an_earlier_kernel_say_so_after_a_restart(jp_serverapp: Any, jp_root_dir: Path) -> None:
    host = (await Watcher.of(jp_serverapp)).host
    sources = ("df = 1", "df + 1", "later = 2")
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", *sources) as at, asyncio.timeout(PATIENCE * 2):
        context = host.tool_contexts.build("chat", None)
        assert context.notebooks is not None
        await context.notebooks.read("a.ipynb")
        await context.notebooks.run("chat", "a.ipynb", ("cell-0", "cell-1"))

        async def read() -> str:
            return (await notebook_read.run(context, {"path": "a.ipynb"})).text

        text = await read()
        assert re.match(r"a\.ipynb: 3 cells, kernel idle, started .* ago: cells 1-2 have run in it\n", text)
        assert "cell 1 [cell-0]: code, execution 1 ---" in text
        await (await context.kernels.find("a.ipynb")).restart() if context.kernels else None
        text = await read()
        assert re.match(r"a\.ipynb: 3 cells, kernel idle, started .* ago: no cell has run in it\n", text)
        assert "cell 1 [cell-0]: code, execution 1, ran in an earlier kernel ---" in text
        assert "cell 3 [cell-2]: code, not run ---" in text
        problems = (await editor_diagnostics.run(context, {"path": "a.ipynb"})).text
        assert "cells 1-2: warning: ran in an earlier kernel: its outputs are from then" in problems
        await context.notebooks.run("chat", "a.ipynb", ("cell-2",))  # it gets the count that cell 1 has had
        text = await read()
        assert "ago: cell 3 has run in it\n" in text
        assert "cell 1 [cell-0]: code, execution 1, ran in an earlier kernel ---" in text
        await at.reopen()


def fill_in_counts(path: Path) -> None:
    """Give the cells of a notebook the counts of runs in another kernel, as a notebook of yesterday has them."""
    book = json.loads(path.read_text())
    for number, cell in enumerate(book["cells"], 1):
        cell["execution_count"] = number
    path.write_text(json.dumps(book))


async def test_cells_of_a_notebook_that_was_opened_just_now_say_that_they_ran_earlier(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    host = (await Watcher.of(jp_serverapp)).host
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "df = 1", "df + 1") as at, asyncio.timeout(PATIENCE * 2):
        fill_in_counts(jp_root_dir / "a.ipynb")
        at.kernels.get_kernel(at.id).execution_state = "starting"  # as where Jupyter missed the first status
        context = host.tool_contexts.build("chat", None)
        text = (await notebook_read.run(context, {"path": "a.ipynb"})).text
        assert "ago: no cell has run in it\n" in text
        assert "cell 2 [cell-1]: code, execution 2, ran in an earlier kernel ---" in text
        problems = (await editor_diagnostics.run(context, {"path": "a.ipynb"})).text
        assert "cells 1-2: warning: ran in an earlier kernel" in problems


async def test_cells_beside_a_kernel_that_is_busy_since_its_start_say_that_they_may_be_of_an_earlier_one(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    host = (await Watcher.of(jp_serverapp)).host
    begun = jp_root_dir / "begun"
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "df = 1") as at, asyncio.timeout(PATIENCE * 2):
        fill_in_counts(jp_root_dir / "a.ipynb")
        running = asyncio.ensure_future(at.run(f"open({str(begun)!r}, 'w')\nimport time\ntime.sleep(600)"))
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        context = host.tool_contexts.build("chat", None)
        text = (await notebook_read.run(context, {"path": "a.ipynb"})).text
        assert "kernel busy: which cells have run in it is not known now\n" in text
        assert "cell 1 [cell-0]: code, execution 1, perhaps in an earlier kernel ---" in text
        problems = (await editor_diagnostics.run(context, {"path": "a.ipynb"})).text
        assert "may have run in an earlier kernel" in problems
        await jp_serverapp.kernel_manager.interrupt_kernel(at.id)
        await running


@pytest.mark.skipif(R is None, reason="there is no R kernel (Debian: r-cran-irkernel)")
async def test_cells_of_an_earlier_r_kernel_say_so_after_a_restart(jp_serverapp: Any, jp_root_dir: Path) -> None:
    assert R is not None
    jp_serverapp.kernel_spec_manager.kernel_dirs.append(str(Path(R).parent))
    host = (await Watcher.of(jp_serverapp)).host
    sources = ("df <- 1", "df + 1", "later <- 2")
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", *sources, kernel="ir"), asyncio.timeout(PATIENCE * 2):
        context = host.tool_contexts.build("chat", None)
        assert context.notebooks is not None
        await context.notebooks.read("a.ipynb")
        await context.notebooks.run("chat", "a.ipynb", ("cell-0", "cell-1"))
        text = (await notebook_read.run(context, {"path": "a.ipynb"})).text
        assert "with 2 runs so far\n" in text
        assert "cell 2 [cell-1]: code, execution 2 ---" in text
        await (await context.kernels.find("a.ipynb")).restart() if context.kernels else None
        text = (await notebook_read.run(context, {"path": "a.ipynb"})).text
        assert "cell 1 [cell-0]: code, execution 1, ran in an earlier kernel ---" in text
        assert "cell 2 [cell-1]: code, execution 2, ran in an earlier kernel ---" in text
        await context.notebooks.run("chat", "a.ipynb", ("cell-2",))  # it gets the count that cell 1 has had
        text = (await notebook_read.run(context, {"path": "a.ipynb"})).text
        assert "cell 1 [cell-0]: code, execution 1, perhaps in an earlier kernel ---" in text
