"""Shell commands and background jobs, as a client sees them."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.base import Empty
from jupyter_eca.protocol.content import TaskDetails, ToolCalledContent, ToolCallRunContent
from jupyter_eca.protocol.job import JobParams, JobsKillResult, JobsListResult, JobsReadOutputResult, JobStatus
from jupyter_eca.protocol.jsonrpc import Message, Notification
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import PATIENCE, answer, desk, said
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "shell_command", "arguments": {"command": command, **more}}


RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "{result}"}]},
    {"message": "serve", "reply": [shell("echo up; echo >told; sleep 1000", background=True)]},
    {"message": "look", "reply": [shell("echo one && pwd")]},
    {"message": "again", "reply": [shell("pwd; echo two")]},
    {"message": "more", "reply": [shell("pwd; rm -f x")]},
    {"message": "plan", "reply": [{"tool": "task", "arguments": {"op": "plan", "tasks": ["look"]}}]},
    {"message": "add", "reply": [{"tool": "task", "arguments": {"op": "add", "tasks": ["change"]}}]},
    {"message": "hang", "reply": [shell("echo begun; echo >told; sleep 1000")]},
]


def yes(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def always(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True, session=True)


async def listed(client: EcaClient) -> JobsListResult:
    return await client.request("jobs/list", Empty(), JobsListResult)


async def test_a_job_is_seen_read_and_killed_by_a_client(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        received = await answer(client, "serve", yes)
        assert "Started as job-" in said(received)
        (job,) = (await listed(client)).jobs
        assert (job.status, job.chat_id, job.chat_label) == (JobStatus.RUNNING, "chat", "serve")
        (call,) = [one.content.id for one in received if isinstance(one.content, ToolCalledContent)]
        assert (job.summary, job.tool_call_id) == ("echo up; echo >told; sleep 1000", call)
        await asyncio.wait_for(asyncio.to_thread((tmp_path / "told").read_text), PATIENCE)  # the output is written
        killed = await client.request("jobs/kill", JobParams(job_id=job.id), JobsKillResult)
        assert killed.killed
        output = await client.request("jobs/readOutput", JobParams(job_id=job.id), JobsReadOutputResult)
        assert [line.text for line in output.lines] == ["up"]
        assert output.status is JobStatus.KILLED


async def test_start_and_end_of_a_job_are_told_with_the_title_of_its_chat(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as watching:

        def told(status: JobStatus) -> Callable[[Message], bool]:
            def wanted(message: Message) -> bool:
                if not (isinstance(message, Notification) and message.method == "jobs/updated"):
                    return False
                (job,) = JobsListResult.model_validate(message.params).jobs
                return (job.status, job.chat_id, job.chat_label) == (status, "chat", "serve")

            return wanted

        client = await table.client()
        await answer(client, "serve", yes)
        await watching.until(told(JobStatus.RUNNING))
        (job,) = (await listed(client)).jobs
        await client.request("jobs/kill", JobParams(job_id=job.id), JobsKillResult)
        await watching.until(told(JobStatus.KILLED))


async def test_a_job_of_a_chat_that_a_client_does_not_see_is_unknown_to_it(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client, stranger = await table.client(), await table.client(sees_all_chats=False)
        await answer(client, "serve", yes)
        (job,) = (await listed(client)).jobs
        assert (await listed(stranger)).jobs == ()
        assert not (await stranger.request("jobs/kill", JobParams(job_id=job.id), JobsKillResult)).killed
        output = await stranger.request("jobs/readOutput", JobParams(job_id=job.id), JobsReadOutputResult)
        assert output == JobsReadOutputResult()
        assert (await listed(client)).jobs[0].status is JobStatus.RUNNING


async def test_only_lines_of_remembered_commands_run_unasked(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        asked: list[str] = []

        def choose(call: ToolCallRunContent) -> CallDecision:
            asked.append(call.arguments["command"])
            return always(call)

        assert said(await answer(client, "look", choose)) == f"one\n{tmp_path}"
        assert said(await answer(client, "again", choose)) == f"{tmp_path}\ntwo"
        await answer(client, "more", choose)
        assert asked == ["echo one && pwd", "pwd; rm -f x"]


async def test_a_stopped_command_keeps_what_it_printed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        answering = asyncio.ensure_future(answer(client, "hang", yes))
        await asyncio.wait_for(asyncio.to_thread((tmp_path / "told").read_text), PATIENCE)
        await client.stop("chat")
        (called,) = [r.content for r in await answering if isinstance(r.content, ToolCalledContent)]
        assert called.error
        assert called.outputs[0].text.endswith("begun\n[ended by the user]")


async def test_the_plan_of_a_chat_survives_a_restart(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        await answer(await table.client(), "plan", yes)
    async with desk(tmp_path, RULES) as table:
        received = await answer(await table.client(), "add", yes)
        (called,) = [r.content for r in received if isinstance(r.content, ToolCalledContent)]
        assert isinstance(called.details, TaskDetails)
        assert [task.subject for task in called.details.tasks] == ["look", "change"]
