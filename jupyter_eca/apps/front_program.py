"""Owns the commands that run a front as a program. A front is a protocol in which other programs are served, such as
MCP.

It must not import the host when it is imported itself: that takes a second, and clients of some fronts wait for the
first answer.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.fronts.base import ProgramFront
    from jupyter_eca.host.host import Host


async def run_front(name: str, folder: Path, config_file: Path | None, options: argparse.Namespace) -> int:
    """Run the front with this name as a program, until its client leaves or a signal comes. Return the exit status.
    `options` are those of the command line."""
    # Each module in `fronts/` that is a front exports the constant `FRONT`.
    front: ProgramFront = loader.find("fronts", "FRONT")[name]

    @asynccontextmanager
    async def start_host(workspace: Path | None = None, /) -> AsyncGenerator[Host]:
        """Run a host for a folder as long as the context lasts; without one, for the folder of the command."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.apps.process")
        from jupyter_eca.apps.process import run_host
        from jupyter_eca.config.trust import open_trusted_folders
        from jupyter_eca.workspace.paths import find_database

        root = workspace or folder
        trusted = open_trusted_folders(find_database(), [root] if options.trust_folder else ())
        async with run_host([root], config_file, trusted=trusted) as host:
            yield host

    await front.run(options, folder, start_host)
    return 0
