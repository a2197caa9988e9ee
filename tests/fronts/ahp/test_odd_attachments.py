"""Attachments that name nothing: the turn goes on or fails, and never hangs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import Json, place, text_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


@pytest.mark.parametrize(
    "uri", ["http://[", "file://[", "vscode://[x", "//[", f"file:///{'a' * 5000}", "/" + "a/" * 3000, "file:///a%00b"]
)
async def test_an_attachment_that_is_no_usable_address_does_not_hold_up_its_turn(tmp_path: Path, uri: str) -> None:
    async with place(tmp_path) as at:
        client = await at.connect("one")
        await client.create(S)
        for turn, more in (("t1", {}), ("t2", {"selection": _select_line()})):
            await client.ask(S, turn, "hello", attachments=[{"type": "resource", "label": "x", "uri": uri, **more}])
            state = await client.settled(S, 1 if turn == "t1" else 2)
            assert text_of(state["turns"][-1]).startswith("Hello, hello")


async def test_a_turn_that_cannot_begin_because_of_a_bug_fails_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(tmp_path) as at:

        async def break_down(*_: object) -> None:
            raise ValueError("a bug")

        monkeypatch.setattr(at.host.turns, "prompt", break_down)
        client = await at.connect("one")
        await client.create(S)
        await client.ask(S, "t1", "hello")
        (turn,) = (await client.settled(S, 1))["turns"]
        assert turn["state"] == "error"
        assert "ValueError('a bug')" in turn["error"]["message"]


def _select_line() -> Json:
    return {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}}
