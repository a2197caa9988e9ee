"""Whoever approves a call that runs cells sees their whole sources, over each front: the arguments only name the cells,
and a diff only shows what changes in them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.ahp.front import AhpFront
from jupyter_eca.fronts.mcp.approval import make_question
from jupyter_eca.transport.eca_client import CallDecision
from tests.fronts.ahp.place import Place
from tests.support.host_and_client import answer
from tests.support.notebook_page import code, room, script
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = pytest.mark.asyncio

# The first line is the one that matters, and none that the edit changes, nor near one.
SOURCE = "\n".join(["delete_everything()", *(f"x{number} = {number}" for number in range(20))])
EDIT = {"do": "edit", "cell": "a", "source": f"{SOURCE} + 1"}
CALLS = {
    "run": {"tool": "notebook_run_cells", "arguments": {"cells": ["a"]}},
    "change and run": {"tool": "notebook_change", "arguments": {"changes": [EDIT], "run": True}},
}


@pytest.mark.parametrize("call", CALLS)
async def test_whoever_approves_a_call_that_runs_cells_sees_what_runs(tmp_path: Path, call: str) -> None:
    waiting: asyncio.Future[ToolCallRunContent] = asyncio.get_running_loop().create_future()

    def choose(content: ToolCallRunContent) -> CallDecision | None:
        waiting.set_result(content)
        return None

    async with room(tmp_path, code("a", SOURCE)) as there:
        script(tmp_path, [CALLS[call]])
        asking = there.table.tasks.create_task(answer(there.client, "go", choose))
        content = await waiting

        question = make_question(content)
        assert question is not None
        assert "delete_everything()" in question.message

        async with connect_and_initialize(there.table) as editor:
            await editor.result("chat/open", {"chatId": "chat"})
            shown: Any = await editor.content("toolCallRun")
            assert "delete_everything()" in json.dumps(shown["arguments"])

        front = AhpFront(there.table.host, None)
        async with front.run():
            place = Place(there.table.host, there.table.tasks, tmp_path, front=front)
            client = await place.connect()
            await client.subscribe("eca:/chat")
            message = (await client.call("eca:/chat", "pending-confirmation"))["invocationMessage"]
            assert "delete_everything()" in message
            await client.close()

        await there.client.decide("chat", content.id, CallDecision(approved=False))
        await asking
