"""How far a tool call is, told while it runs: to whom, how often, and until when."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.send_queue import add_notice
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.protocol.chat import ChatToolCallProgressParams
from jupyter_eca.protocol.content import ToolCalledContent
from jupyter_eca.protocol.jsonrpc import Notification
from jupyter_eca.protocol.mcp import ServerStatus, ToolServerRemovedParams, ToolServerUpdatedParams
from jupyter_eca.workspace.tool_result import Report
from tests.support.host_and_client import PATIENCE, Desk, desk
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.fronts.eca.send_queue import Item
    from jupyter_eca.transport.eca_client import Progress

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "", "reply": [{"tool": "work", "arguments": {}}]},
]
ALLOW: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}
OWN: dict[str, Any] = {"chat": True, "envelope": True}
CURRENT: dict[str, Any] = {"chat": True, "chatCapabilities": {"askQuestion": True}}


class Work:
    """A tool that does what a test wants in the middle of a call."""

    def __init__(self, table: Desk) -> None:
        self.report: Callable[[Report], None] = lambda _: None
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

        @tool(reads=True)
        async def work(context: ToolContext) -> str:
            self.report = context.report
            self.begun.set()
            await self.go_on.wait()
            return "worked"

        table.host.toolbox.set_client_tools("chat", (work,))


async def heard(table: Desk, during: Callable[[Work], None]) -> tuple[list[Progress], list[str]]:
    """What a client of ours is told of one call, and in which order with its end."""
    work, client = Work(table), await table.client()
    told: list[Progress] = []
    order: list[str] = []

    def progressed(report: Progress) -> None:
        told.append(report)
        order.append("progress")

    async def turn() -> None:
        async for received in client.ask("chat", "go", on_progress=progressed):
            order.extend(["called"] if isinstance(received.content, ToolCalledContent) else [])

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(turn())
        await work.begun.wait()
        during(work)
        work.go_on.set()
    work.report(Report("after the end"))
    return told, order


async def test_the_last_report_of_many_is_told_before_the_call_ends(tmp_path: Path) -> None:
    def during(work: Work) -> None:
        for n in range(100_000):
            work.report(Report(f"line {n}", done=n, total=100_000))

    async with desk(tmp_path, RULES, **ALLOW) as table:
        (told,), order = await heard(table, during)
        assert (told.text, told.progress, told.total) == ("line 99999", 99_999, 100_000)
        assert order == ["progress", "called"]


async def test_a_report_of_what_json_cannot_say_is_told_as_far_as_it_can(tmp_path: Path) -> None:
    def during(work: Work) -> None:
        work.report(Report("a" * 9000 + "\x1b[31m 10%\r 20%\ud800", done=math.nan, total=math.inf))

    async with desk(tmp_path, RULES, **ALLOW) as table:
        (told,), _ = await heard(table, during)
        assert told.text == " 20%\N{REPLACEMENT CHARACTER}"
        assert (told.progress, told.total) == (None, None)


async def test_a_call_that_goes_on_is_reported_while_it_does(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALLOW) as table, connect_and_initialize(table, **OWN) as at:
        work = Work(table)
        await at.send("chat/prompt", {"chatId": "chat", "message": "go"})
        async with asyncio.timeout(PATIENCE):
            await work.begun.wait()
        work.report(Report("one", done=1, total=2))
        await at.until(lambda m: isinstance(m, Notification) and m.method == "chat/toolCallProgress")
        (told,) = at.params("chat/toolCallProgress")
        assert (told["chatId"], told["text"], told["progress"]) == ("chat", "one", 1)
        assert not work.go_on.is_set()
        work.go_on.set()


async def test_a_client_of_ecas_own_protocol_is_told_nothing_of_it(tmp_path: Path) -> None:
    async with (
        desk(tmp_path, RULES, **ALLOW) as table,
        connect_and_initialize(table, **CURRENT) as editor,
        connect_and_initialize(table, **OWN) as ours,
    ):
        await heard(table, lambda work: work.report(Report("one")))
        for at in (editor, ours):
            await at.until(lambda m: isinstance(m, Notification) and m.params.get("status") == "idle")
        assert editor.params("chat/toolCallProgress") == []
        assert len(ours.params("chat/toolCallProgress")) == 1


async def test_of_a_client_that_does_not_read_only_the_newest_report_of_each_call_waits() -> None:
    behind: list[Item] = []
    for n in range(1000):
        for id in ("one", "two"):
            report = ChatToolCallProgressParams(chat_id="chat", id=id, text=str(n))
            add_notice(behind, Notice("chat/toolCallProgress", report, "chat"))
    assert [one.params.as_json_object()["text"] for one in behind if isinstance(one, Notice)] == ["999", "999"]


async def test_of_the_states_of_a_server_that_wait_together_the_last_is_sent() -> None:
    starting = ToolServerUpdatedParams(type="mcp", name="one", status=ServerStatus.STARTING)
    running = starting.model_copy(update={"status": ServerStatus.RUNNING})
    other = starting.model_copy(update={"name": "two"})
    removed = Notice("tool/serverRemoved", ToolServerRemovedParams(name="one"))
    waiting: list[Item] = []
    for params in (starting, other, running):
        add_notice(waiting, Notice("tool/serverUpdated", params))
    assert [item.params for item in waiting if isinstance(item, Notice)] == [running, other]
    for notice in (removed, Notice("tool/serverUpdated", starting)):
        add_notice(waiting, notice)
    assert waiting[2:] == [removed, Notice("tool/serverUpdated", starting)]
