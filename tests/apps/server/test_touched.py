"""Jupyter's own events tell every page when files may have changed."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.apps.server.file_events import SCHEMA_ID
from tests.apps.server.cells import PATIENCE
from tests.apps.server.test_websocket import START, prompt, reply, until_finished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Fetch = Callable[..., Awaitable[Any]]


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"byDefault": "allow"}


async def test_a_tool_call_that_ended_is_told_and_words_are_not(jp_ws_fetch: Fetch) -> None:
    listener = await jp_ws_fetch("api", "events", "subscribe")
    socket = await jp_ws_fetch("eca", "ws")
    await reply(socket, START)
    await reply(socket, prompt("hello"))
    await until_finished(socket)
    await reply(socket, {**prompt("make it"), "id": 3})
    heard = await until_finished(socket)
    ended = [content for content in heard if content["type"] == "toolCalled"]
    async with asyncio.timeout(PATIENCE):
        while (event := json.loads(await listener.read_message()))["schema_id"] != SCHEMA_ID:
            pass
    for one in (socket, listener):
        one.close()
    assert [one["name"] for one in ended] == ["run_code"]
    assert set(event) - {"__timestamp__", "__schema__", "__schema_version__", "__metadata_version__"} == {"schema_id"}
