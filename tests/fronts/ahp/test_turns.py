"""Sessions and turns of one client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import place, text_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


async def test_a_session_is_made_asked_in_and_answered(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect("one")
        state = await client.create(S)
        assert (state["lifecycle"], state["turns"], state["summary"]["status"]) == ("ready", [], 1)
        await client.ask(S, "t1", "you")
        state = await client.settled(S, 1)
        assert state["turns"][0]["id"] == "t1"
        assert state["turns"][0]["userMessage"] == {"text": "you"}
        assert text_of(state["turns"][0]) == "Hello, you"
        at.same(client, S)
