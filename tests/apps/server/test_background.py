"""Cells that take long, in a real kernel of a Jupyter server: how they go, and that they can be left to themselves."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.chat import ChatToolCallBackgroundParams
from jupyter_eca.transport.eca_client import EcaClient
from jupyter_eca.transport.memory import make_link_pair
from tests.apps.server.cells import PATIENCE, Watcher
from tests.apps.server.test_notebook_kernels import opened
from tests.support.notebook_page import called, result, script

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.transport.eca_client import Progress

# Runs until somebody writes into the pipe; what it says before is drawn over like a progress bar.
SLOW = """\
import sys
for percent in (10, 20, 42):
    sys.stdout.write(f"\\rtraining {{percent}}%")
sys.stdout.flush()
open({!r}).read()"""


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"byDefault": "allow"}


@asynccontextmanager
async def joined(serverapp: Any) -> AsyncGenerator[EcaClient]:
    """A client of the server's own session, as a page has one."""
    (app,) = serverapp.extension_manager.extension_apps["jupyter_eca"]
    ours, theirs = make_link_pair()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(app.eca_server.serve(theirs))
        client = EcaClient(ours, "test")
        tasks.create_task(client.run())
        await client.initialize(unattended=False)
        yield client
        await client.close()


async def ask(client: EcaClient, folder: Path, tool: str, **arguments: Any) -> str:
    """The result of one call."""
    script(folder, [{"tool": tool, "arguments": arguments}])
    received = [one async for one in client.ask("chat", "go")]
    return result(called(received)[0])


async def test_a_run_is_followed_sent_away_in_the_way_of_others_and_ended(
    jp_serverapp: Any, jp_root_dir: Path, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    watcher = await Watcher.of(jp_serverapp)
    sent: list[asyncio.Task[Done]] = []

    async with (
        asyncio.timeout(PATIENCE),
        opened(jp_serverapp, jp_root_dir, "a.ipynb", "print('data')", SLOW.format(str(pipe))),
        joined(jp_serverapp) as client,
    ):

        def progressed(report: Progress) -> None:
            if report.text.endswith("\ntraining 42%") and not sent:
                assert report.text.startswith("cell 2 (2 of 2), ")
                assert (report.progress, report.total, report.background) == (1, 2, True)
                params = ChatToolCallBackgroundParams(chat_id="chat", id=report.id)
                sent.append(asyncio.ensure_future(client.request("chat/toolCallBackground", params, Done)))

        script(tmp_path, [{"tool": "notebook_run_cells", "arguments": {"cells": [1, 2], "path": "a.ipynb"}}])
        received = [one async for one in client.ask("chat", "go", on_progress=progressed)]
        await sent[0]
        assert result(called(received)[0]).startswith("Cells 1, 2 of a.ipynb: Started as job-")
        (job,) = watcher.host.jobs.list()
        busy = f"The kernel is busy with cells 1, 2 of a.ipynb, in the background as {job.id}"
        assert (await ask(client, tmp_path, "run_code", code="1 + 1")).startswith(busy)
        assert (await ask(client, tmp_path, "variables", names=[])).startswith(busy)
        assert "training 42%" in await ask(client, tmp_path, "bg_job", action="read_output", job_id=job.id)
        assert (await ask(client, tmp_path, "bg_job", action="kill", job_id=job.id)) == f"{job.id} was killed."
        assert await ask(client, tmp_path, "run_code", code="1 + 1") == "In the kernel of a.ipynb:\n2"
    outputs = json.loads((jp_root_dir / "a.ipynb").read_text())["cells"][1]["outputs"]
    assert outputs[0]["text"] == ["training 42%"]
    assert outputs[1]["ename"] == "KeyboardInterrupt"


async def test_code_in_the_background_lets_the_turn_go_on_and_tells_its_last_error(
    jp_serverapp: Any, jp_root_dir: Path, tmp_path: Path
) -> None:
    watcher = await Watcher.of(jp_serverapp)
    async with (
        asyncio.timeout(PATIENCE),
        opened(jp_serverapp, jp_root_dir, "a.ipynb", "1"),
        joined(jp_serverapp) as client,
    ):
        told = await ask(client, tmp_path, "run_code", code="1 / 0", background=True)
        assert told.startswith("In the kernel of a.ipynb:\nStarted as job-")
        while not any(job.status == "failed" for job in watcher.host.jobs.list()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        texts = [getattr(event.content, "text", "") for event in await watcher.host.chats.read_events("chat")]
        assert "Background job failed after 0s: 1 / 0 (ZeroDivisionError: division by zero)" in texts
