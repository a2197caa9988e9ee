"""Three subagents in parallel finish, are stopped, and fail, each cleanly; and never more at once than is allowed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.chats import ChatStatus
from jupyter_eca.protocol.content import ToolCalledContent, ToolCallRunningContent
from tests.host.turn.subagents.family import children, house, mine, results, spawn
from tests.support.host_and_client import PATIENCE, Notebook, answer, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams as Received
    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio

LOOK: dict[str, Any] = {"tool": "variables", "arguments": {}}
SPAWN: dict[str, Any] = {"message": "share it", "reply": [spawn("explorer", f"part {one}") for one in "abc"]}
RULES: list[dict[str, Any]] = [
    SPAWN,
    {"message": "part", "reply": [{"text": "I begin {message}."}, LOOK]},
    {"result": "", "tool": "variables", "reply": [{"text": "Done {message}."}]},
    {"result": "", "tool": "spawn_agent", "reply": [{"text": "All back."}]},
]


async def test_three_finish_in_parallel(tmp_path: Path) -> None:
    async with house(tmp_path, RULES, "variables") as table:
        received = await answer(await table.client(Notebook()), "share it")
    assert sorted(results(received)) == [f"## Agent 'explorer' Result\n\nDone part {one}." for one in "abc"]
    assert len(children(received)) == 3
    assert outcomes(mine(received)) == ["completed"]
    assert said(mine(received)) == "All back."


async def test_a_stop_of_the_parent_stops_three_and_all_turns_end(tmp_path: Path) -> None:
    notebook = Notebook(hold=asyncio.Event())
    async with house(tmp_path, RULES, "variables") as table:
        client = await table.client(notebook)
        received = await _stopped(client, calls=3)
        ids = children(received)
        states = {id: table.host.chats.get_status(id) for id in ["chat", *ids]}
        notebook.hold = None
        again = await answer(client, "part d")
    assert outcomes(mine(received)) == ["stopped"]
    ended = [one for one in received if one.outcome is not None and one.parent_chat_id]
    assert sorted((str(one.chat_id), str(one.outcome)) for one in ended) == sorted((id, "stopped") for id in ids)
    assert len(ids) == 3
    assert set(states.values()) == {ChatStatus.IDLE}
    assert all(text.startswith("The user stopped this call") for text in results(received))
    assert outcomes(mine(again)) == ["completed"]


async def _stopped(client: EcaClient, calls: int) -> list[Received]:
    """Everything received of a turn that is stopped when so many calls of subagents run."""
    received: list[Received] = []
    running = 0
    async with asyncio.timeout(PATIENCE):
        async for item in client.ask("chat", "share it"):
            received.append(item)
            if isinstance(item.content, ToolCallRunningContent) and item.parent_chat_id is not None:
                running += 1
                if running == calls:
                    await client.stop("chat")
    return received


async def test_three_that_fail_are_errors_with_what_they_had_said(tmp_path: Path) -> None:
    fails: list[dict[str, Any]] = [
        SPAWN,
        {"message": "part", "reply": [{"text": "So far {message}. "}, {"error": "the vendor is down"}]},
        {"result": "", "reply": [{"text": "All failed."}]},
    ]
    async with house(tmp_path, fails) as table:
        received = await answer(await table.client(), "share it")
    called = [one.content for one in mine(received) if isinstance(one.content, ToolCalledContent)]
    assert [one.error for one in called] == [True] * 3
    assert sorted(results(received)) == [
        f"## Agent 'explorer' failed: the vendor is down\n\nUntil then it said:\n\nSo far part {one}." for one in "abc"
    ]
    assert outcomes(mine(received)) == ["completed"]


async def test_no_more_work_at_once_than_the_configuration_allows(tmp_path: Path) -> None:
    notebook = Notebook(hold=asyncio.Event())
    async with house(tmp_path, RULES, "variables", subagents={"maxParallel": 2}) as table:
        client = await table.client(notebook)
        told = asyncio.Event()
        asked = asyncio.ensure_future(_watched(client, told))
        async with asyncio.timeout(PATIENCE):
            await told.wait()
        at_once = len(table.host.subagents.list_running("chat"))
        assert notebook.hold is not None
        notebook.hold.set()
        received = await asked
    assert at_once == 2
    assert len(results(received)) == 3
    assert len(children(received)) == 3


async def _watched(client: EcaClient, told: asyncio.Event) -> list[Received]:
    """`told` is set when a call says that it waits for its place."""
    return [
        item
        async for item in client.ask(
            "chat", "share it", on_progress=lambda one: told.set() if one.text.startswith("Waits: 2") else None
        )
    ]


async def test_a_subagent_that_is_stopped_alone_ends_alone(tmp_path: Path) -> None:
    notebook = Notebook(hold=asyncio.Event())
    async with house(tmp_path, RULES, "variables") as table:
        client = await table.client(notebook)
        received: list[Received] = []
        stopped = ""
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "share it"):
                received.append(item)
                if isinstance(item.content, ToolCallRunningContent) and item.parent_chat_id is not None:
                    if not stopped:
                        stopped = str(item.chat_id)
                        await client.stop(stopped)
                    assert notebook.hold is not None
                    notebook.hold.set()
    heads = sorted(text.partition("\n")[0] for text in results(received))
    assert heads == ["## Agent 'explorer' Result"] * 2 + ["## Agent 'explorer' was stopped by the user"]
    assert outcomes(mine(received)) == ["completed"]
