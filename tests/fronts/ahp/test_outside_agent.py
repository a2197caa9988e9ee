"""An outside agent answers in a session: its text, and a command that the client allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import APPROVE, place, text_of
from tests.host.outside.talking import fake

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


async def test_an_outside_agent_is_chosen_asks_and_is_allowed(tmp_path: Path) -> None:
    async with place(tmp_path, acpAgents=fake(tmp_path)) as at:
        client = await at.connect()
        await client.create(S, config={"agent": "fake"})
        await client.ask(S, "t1", "DO: say From outside.")
        state = await client.settled(S, 1)
        assert text_of(state["turns"][0]) == "From outside."
        await client.ask(S, "t2", "DO: codex_shell touch made.txt\nDO: say Done.")
        shown = await client.call(S, "pending-confirmation")
        assert "touch made.txt" in shown["toolInput"]
        assert not (tmp_path / "made.txt").exists()
        await client.act("session/toolCallConfirmed", S, turnId="t2", toolCallId=shown["toolCallId"], **APPROVE)
        state = await client.settled(S, 2)
        assert (tmp_path / "made.txt").exists()
        assert text_of(state["turns"][1]).endswith("Done.")
        at.host.outside_agents.close()
