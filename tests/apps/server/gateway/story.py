"""What the tests of remote kernels do: load the assistant in a notebook, ask for a variable, find a kernel."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.apps.server.cards import Cards
from tests.apps.server.cells import PATIENCE, Watcher

if TYPE_CHECKING:
    from jupyter_eca.workspace.ports import Kernel, Workspace
    from tests.apps.server.gateway.page import Notebooks, RemotePage


async def find_workspace(notebooks: Notebooks) -> Workspace:
    return (await Watcher.of(notebooks.serverapp)).host.workspace


async def find_kernel(notebooks: Notebooks, path: str) -> Kernel:
    kernels = (await find_workspace(notebooks)).kernels
    assert kernels is not None
    return await kernels.find(path)


async def begin(at: RemotePage) -> Cards:
    """Load the assistant as a user of JupyterLab does, and return what draws the cards of its cells."""
    await at.page("%load_ext jupyter_eca")
    status = await at.page("%eca status")
    assert "runs in the Jupyter server" in status.markdown
    return Cards.at(at)


async def ask_for_variable(at: RemotePage, cards: Cards) -> None:
    """Ask for code that sets a variable, and approve it by a click."""
    asking = asyncio.create_task(at.page("%%eca -> result\nmake a variable"))
    await cards.approve()
    ran = await asyncio.wait_for(asking, PATIENCE)
    assert (ran.status, "I make it." in ran.markdown) == ("ok", True)
    assert (await at.run("print(answer, len(result.tool_calls))")).stdout == "42 1\n"
