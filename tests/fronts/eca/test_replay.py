"""A session that shows a chat again while the chat goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.event import Event
from jupyter_eca.protocol.jsonrpc import Notification
from jupyter_eca.protocol.lifecycle import InitializeParams
from jupyter_eca.transport.memory import make_link_pair
from tests.support.host_and_client import PATIENCE, Door, desk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


def piece(n: int) -> Event:
    return Event(chat="a", turn="t", role=Role.ASSISTANT, content=TextContent(text=str(n)), seq=n)


async def test_what_a_replay_showed_is_not_part_of_what_comes_after_it(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table, asyncio.timeout(PATIENCE):
        ours, theirs = make_link_pair()
        session = EcaSession(theirs, Door(table.host))
        await session.open(InitializeParams())
        session.show([piece(2), piece(3), piece(4)])
        async with session.sending:
            await session.send_past_events("a", None, [piece(1), piece(2), piece(3)], clear_first=True)
        table.tasks.create_task(session.run())
        texts: list[str] = []
        async for message in ours:
            assert isinstance(message, Notification)
            if message.method != "chat/contentReceived":
                continue
            texts.append(message.params["content"]["text"])
            if texts[-1].endswith("4"):
                await ours.close()
                break
    assert texts == ["123", "4"]
