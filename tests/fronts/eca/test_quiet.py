"""A session that is shown only what comes of its own prompts: the cells of a kernel, whose panels ask in the same
chats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.transport.eca_client import EcaClient
from jupyter_eca.transport.memory import make_link_pair
from tests.support.host_and_client import Door, answer, desk, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.base import ChatId
    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello, {message}"}]}]


async def of_a_kernel(table: Desk, own: dict[str, ChatId], *, quiet: bool) -> EcaClient:
    ours, theirs = make_link_pair()
    session = EcaSession(theirs, Door(table.host, sees_all_chats=False), own, quiet=quiet)
    table.tasks.create_task(session.run())
    client = EcaClient(ours, "test")
    table.tasks.create_task(client.run())
    await client.initialize(unattended=False)
    return client


async def test_cells_hear_of_their_own_turns_alone_in_a_chat_that_a_panel_asks_in_too(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        own: dict[str, ChatId] = {}
        cells, panel = await of_a_kernel(table, own, quiet=True), await of_a_kernel(table, own, quiet=False)
        heard: list[ChatContentReceivedParams] = []
        cells.listen("chat", heard.append)
        assert said(await answer(panel, "panel")) == "Hello, panel"
        # Answered after all that was to be shown before.
        assert await cells.list_commands("chat", "help")
        assert heard == []
        seen: list[ChatContentReceivedParams] = []
        panel.listen("chat", seen.append)
        mine = await answer(cells, "cell")
        assert (said(mine), outcomes(mine)) == ("Hello, cell", ["completed"])
        assert await panel.list_commands("chat", "help")
        assert said(seen) == "Hello, cell"
        cells.listen("chat", heard.append)
        await answer(panel, "again")
        assert await cells.list_commands("chat", "help")
        assert said(heard) == ""
        await cells.close()
        await panel.close()
