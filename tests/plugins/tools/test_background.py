"""Cells and code that a call waits for, or that go on in the background: how it goes, and how everybody hears of the
end. The notebooks are open in a page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.base import Done, Empty
from jupyter_eca.protocol.chat import ChatToolCallBackgroundParams
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.job import JobParams, JobsKillResult, JobsListResult, JobsReadOutputResult, JobStatus
from tests.support.host_and_client import PATIENCE, desk, said
from tests.support.notebook_page import PATH, Nobody, Page, Room, called, code, result, room, script

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.protocol.job import Job
    from jupyter_eca.transport.eca_client import Progress

pytestmark = pytest.mark.asyncio

ALLOW: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}
CELLS = (code("a", "x"), code("b", "y"), code("c", "z"))
RUN: dict[str, Any] = {"tool": "notebook_run_cells", "arguments": {"cells": [1, 2, 3], "background": True}}


def holding(*cells: Any) -> Page:
    return Page({PATH: list(cells or CELLS)}, hold=asyncio.Event())


async def listed(there: Room) -> list[Job]:
    return list((await there.client.request("jobs/list", Empty(), JobsListResult)).jobs)


async def ended(there: Room, words: str) -> str:
    """The line that says that a job has ended."""
    async with asyncio.timeout(PATIENCE):
        while True:
            # Each look waits for a commit.
            events = await there.table.host.chats.read_events("chat")
            for event in events:
                if isinstance(event.content, TextContent) and event.role is Role.SYSTEM and words in event.content.text:
                    return event.content.text


def told(request: ModelRequest) -> str:
    """All texts of the user's in what the model would be sent."""
    parts = [part for message in request.messages if message.role == "user" for part in message.parts]
    return "\n".join(getattr(part, "text", "") for part in parts)


async def test_a_run_tells_which_cell_and_what_it_puts_out_as_a_terminal_shows_it(tmp_path: Path) -> None:
    page = holding()
    heard: list[Progress] = []
    async with room(tmp_path, page=page, **ALLOW) as there:
        script(tmp_path, [{"tool": "notebook_run_cells", "arguments": {"cells": [3, 1]}}])

        def progressed(report: Progress) -> None:
            heard.append(report)
            if "20%" in report.text and page.hold is not None:
                page.hold.set()

        async with asyncio.timeout(PATIENCE):
            async for _ in there.client.ask("chat", "go", on_progress=progressed):
                pass
        assert any(one.text == "cell 3 (1 of 2), 0s\nbegun\n 20%" for one in heard)
        assert (heard[-1].progress, heard[-1].total, heard[-1].background) == (0, 2, True)


async def test_a_run_in_the_background_is_a_job_and_everybody_hears_of_its_end(tmp_path: Path) -> None:
    page = holding()
    async with room(tmp_path, page=page) as there:
        received = await there.ask([RUN])
        assert result(called(received)[0]).startswith(f"Cells 1-3 of {PATH}: Started as job-")
        assert said(received) == "Done."
        (job,) = await listed(there)
        assert (job.label, job.type, job.status) == (f"cells 1-3 of {PATH}", "cells", JobStatus.RUNNING)
        assert page.hold is not None
        page.hold.set()
        assert await ended(there, "Background job") == f"Background job is done after 0s: cells 1-3 of {PATH}"
        (job,) = await listed(there)
        assert job.status is JobStatus.COMPLETED
        output = await there.client.request("jobs/readOutput", JobParams(job_id=job.id), JobsReadOutputResult)
        assert [line.text for line in output.lines] == ["ran x", "ran y", "ran z"]


async def test_the_model_reads_of_the_end_with_the_next_prompt_and_is_not_asked_before(tmp_path: Path) -> None:
    page = holding(code("a", "fail"))
    async with room(tmp_path, page=page) as there:
        await there.ask([{**RUN, "arguments": {"cells": [1], "background": True}}])
        before = len(await there.table.host.chats.read_events("chat"))
        assert page.hold is not None
        page.hold.set()
        assert (await ended(there, "Background job")).endswith("(E: no)")
        assert len(await there.table.host.chats.read_events("chat")) == before + 1
        assert "next\n\n[Background job job-" in told(await there.table.host.turns.draft("chat", "next")), (
            "as it will be"
        )
        await there.ask([])
        history = told(await there.table.host.turns.draft("chat"))
        assert history.count("[Background job job-") == 1
        assert f" failed after 0s: cell 1 of {PATH} (E: no). bg_job reads its output.]" in history
        await there.ask([])
        assert told(await there.table.host.turns.draft("chat")).count("[Background job job-") == 1


async def test_a_running_call_is_sent_to_the_background(tmp_path: Path) -> None:
    page = holding()
    async with room(tmp_path, page=page, **ALLOW) as there:
        script(tmp_path, [{"tool": "notebook_run_cells", "arguments": {"cells": [1]}}])
        sent: list[asyncio.Task[Done]] = []

        def progressed(report: Progress) -> None:
            if report.background and not sent:
                params = ChatToolCallBackgroundParams(chat_id="chat", id=report.id)
                sent.append(asyncio.ensure_future(there.client.request("chat/toolCallBackground", params, Done)))

        async with asyncio.timeout(PATIENCE):
            received = [one async for one in there.client.ask("chat", "go", on_progress=progressed)]
        await sent[0]
        assert result(called(received)[0]).startswith(f"Cell 1 of {PATH}: Started as job-")
        assert not page.interrupted.is_set()
        (job,) = await listed(there)
        assert job.status is JobStatus.RUNNING


async def test_a_call_that_cannot_go_to_the_background_says_so(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([])
        params = ChatToolCallBackgroundParams(chat_id="chat", id="none")
        with pytest.raises(RemoteError, match="has ended, or cannot"):
            await there.client.request("chat/toolCallBackground", params, Done)


async def test_a_kernel_that_is_held_by_a_job_is_not_waited_for(tmp_path: Path) -> None:
    async with room(tmp_path, page=holding()) as there:
        await there.ask([RUN])
        done = await there.call("notebook_run_cells", cells=[1])
        assert done.error
        assert result(done).startswith(f"The kernel is busy with cells 1-3 of {PATH}, in the background as job-")
        assert not (await there.call("notebook_read")).error


async def test_with_a_kernel_that_is_held_by_a_job_a_change_with_a_run_changes_nothing(tmp_path: Path) -> None:
    async with room(tmp_path, page=holding()) as there:
        await there.ask([RUN])
        done = await there.call("notebook_change", changes=[{"do": "insert", "source": "new"}], run=True)
        assert done.error
        assert result(done).startswith(f"The kernel is busy with cells 1-3 of {PATH}, in the background as job-")
        assert there.page.edits == 0
        assert not (await there.call("notebook_change", changes=[{"do": "insert", "source": "new"}])).error


async def test_a_job_that_is_killed_interrupts_its_cells_and_is_told_as_killed(tmp_path: Path) -> None:
    page = holding()
    async with room(tmp_path, page=page) as there:
        await there.ask([RUN])
        async with asyncio.timeout(PATIENCE):
            await page.running.wait()
        (job,) = await listed(there)
        killed = await there.client.request("jobs/kill", JobParams(job_id=job.id), JobsKillResult)
        assert killed.killed
        async with asyncio.timeout(PATIENCE):
            await page.interrupted.wait()
        assert (await listed(there))[0].status is JobStatus.KILLED
        assert "was ended after" in await ended(there, "Background job")
        assert not (await there.call("notebook_read")).error


async def test_a_turn_that_is_stopped_leaves_the_job_alone(tmp_path: Path) -> None:
    page = holding()
    async with room(tmp_path, page=page) as there:
        await there.ask([RUN])
        await there.client.stop("chat")
        assert (await listed(there))[0].status is JobStatus.RUNNING
        assert not page.interrupted.is_set()


async def test_the_end_of_a_shell_job_is_told_in_the_same_way(tmp_path: Path) -> None:
    async with room(tmp_path) as there:
        command = "echo 'no such data' >&2; exit 3"
        await there.ask([{"tool": "shell_command", "arguments": {"command": command, "background": True}}])
        line = await ended(there, "Background job")
        assert line.endswith("(exit code 3. no such data)")


async def test_jobs_that_end_with_the_server_are_told_after_it_was_started_anew(tmp_path: Path) -> None:
    page = holding()
    async with room(tmp_path, page=page) as there:
        await there.ask([RUN])
    async with desk(tmp_path, [], Nobody()) as table:
        events = await table.host.chats.read_events("chat")
        texts = [e.content.text for e in events if isinstance(e.content, TextContent) and e.role is Role.SYSTEM]
        assert texts[-1].endswith("(the server it ran in was ended)")
        script(tmp_path, [])
        again = Room(table, page, await table.client())
        await again.ask([])
        assert "was ended after" in told(await table.host.turns.draft("chat"))
