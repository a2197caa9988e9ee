"""A session that was prompted with a model which is not there shows, and runs with, the one it had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import place, text_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


@pytest.mark.parametrize("model", ["nobody/none", "scripted/none"])
async def test_an_unknown_model_is_neither_shown_nor_used_after_its_turn_has_failed(tmp_path: Path, model: str) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "one")
        await client.settled(S, 1)
        await client.echo(await client.act("session/modelChanged", S, model={"id": model}))
        await client.ask(S, "t2", "two")
        state = await client.settled(S, 2)
        assert state["turns"][1]["state"] == "error"
        await client.until(lambda: client.states[S]["summary"]["model"]["id"] == "scripted/test")
        await client.ask(S, "t3", "three")
        state = await client.settled(S, 3)
        assert text_of(state["turns"][2]) == "Hello, three"
        at.same(client, S)
