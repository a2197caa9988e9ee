"""What counts as activity of the server, so that nobody ends it while the assistant works."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.apps.server import activity
from jupyter_eca.apps.server.activity import NAME, is_working
from jupyter_eca.protocol.content import ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision, EcaClient
from tests.apps.server.cells import PATIENCE
from tests.apps.server.test_background import joined
from tests.support.notebook_page import script

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "_CHECK_SECONDS", 0.01)


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"shell_command": {}}}


async def next_activity(serverapp: Any) -> datetime:
    """The last activity of the server, as soon as the assistant has said that it is later than what it said before."""
    times: dict[str, datetime] = serverapp.web_app.settings["last_activity_times"]
    before = times.get(NAME)
    while times.get(NAME) == before:  # noqa: ASYNC110  # Jupyter's table tells nobody of a change
        await asyncio.sleep(0.01)
    last: datetime = serverapp.web_app.last_activity()
    assert last >= times[NAME]
    return last


async def test_a_turn_and_a_job_are_activity_and_a_question_to_the_user_is_none(
    jp_serverapp: Any, tmp_path: Path
) -> None:
    (app,) = jp_serverapp.extension_manager.extension_apps["jupyter_eca"]
    host = await app.eca_server.get_host()
    assert not is_working(host)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def ask(client: EcaClient, call: dict[str, Any], *, decide: bool = False) -> None:
        script(tmp_path, [call])
        async for one in client.ask("chat", "go"):
            if decide and isinstance(one.content, ToolCallRunContent):
                assert not is_working(host)
                await client.decide("chat", one.content.id, CallDecision(approved=False))

    wait: dict[str, Any] = {"tool": "shell_command", "arguments": {"command": f"cat {pipe}"}}
    async with asyncio.timeout(PATIENCE), joined(jp_serverapp) as client:
        running = asyncio.create_task(ask(client, wait))
        await next_activity(jp_serverapp)
        assert await next_activity(jp_serverapp) < await next_activity(jp_serverapp)
        await asyncio.to_thread(pipe.write_text, "go on")
        await running
        assert not is_working(host)

        await ask(client, {"tool": "write_file", "arguments": {"path": "a.txt", "content": ""}}, decide=True)

        wait["arguments"]["background"] = True
        await ask(client, wait)
        await next_activity(jp_serverapp)
        (job,) = host.jobs.list()
        await asyncio.to_thread(pipe.write_text, "end")
        await host.jobs.wait(job.id)
        assert not is_working(host)
