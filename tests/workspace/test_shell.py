"""The user's shell, cancelled at the worst moments."""

from __future__ import annotations

import asyncio
import gc
import os
from typing import TYPE_CHECKING

import psutil
import pytest

from jupyter_eca.workspace.environment import inherit_environment
from jupyter_eca.workspace.jobs import shell
from tests.support.processes import have_ended
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.asyncio
async def test_a_cancelled_start_leaves_no_process_behind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "block_until_written")
    starting = asyncio.ensure_future(
        shell.start("setsid sleep 1000 & echo $! >block_until_written; sleep 1000", tmp_path, inherit_environment())
    )
    for _ in range(2):  # two tasks begin; then the process is there, and nobody has heard of it yet
        await asyncio.sleep(0)
    child = int(block_until_written(tmp_path / "block_until_written"))
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(starting, PATIENCE)
    assert have_ended(child)


@pytest.mark.asyncio
async def test_a_start_cancelled_while_its_input_is_stored_leaves_no_file_open(tmp_path: Path) -> None:
    gc.collect()
    before = psutil.Process().num_fds()
    starting = asyncio.ensure_future(shell.start("cat", tmp_path, inherit_environment(), input_data=b"x" * 50_000_000))
    await asyncio.sleep(0)  # it begins
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(starting, PATIENCE)
    gc.collect()  # what is left open is an error here
    assert psutil.Process().num_fds() <= before


def block_until_written(fifo: Path) -> str:
    """Block the event loop, so that the start cannot end before the child runs."""
    with fifo.open() as pipe:
        return pipe.readline()
