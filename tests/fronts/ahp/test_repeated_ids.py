"""Calls of turns that were taken back, and of later turns with the same ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import APPROVE, Json, calls_of, place
from tests.fronts.ahp.test_lent import S

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_an_approval_of_a_call_that_was_taken_back_approves_no_other_call(tmp_path: Path) -> None:
    write: Json = {"tool": "write_file", "arguments": {"path": "harmless.txt", "content": "x"}}
    run: Json = {"tool": "shell_command", "arguments": {"command": "touch evil"}}
    rules: list[Json] = [
        {"message": "write", "reply": [write]},
        {"message": "run", "reply": [run]},
        {"result": "", "reply": [{"text": "End."}]},
    ]
    async with place(tmp_path, rules) as at:
        one, two = await at.connect("one"), await at.connect("two")
        await one.create(S)
        await two.subscribe(S)
        await one.ask(S, "t1", "write")
        shown = await two.call(S, "pending-confirmation")
        await one.act("session/truncated", S)
        await one.ask(S, "t1", "run")
        await one.until(lambda: "evil" in str(calls_of(one.states[S].get("activeTurn") or {})))
        call = await one.call(S, "pending-confirmation")
        late = await two.echo(await two.decide(S, "t1", shown, **APPROVE))
        assert "does not wait" in late["rejectionReason"]
        assert call["toolCallId"] != shown["toolCallId"]
        await one.decide(S, "t1", call, **APPROVE)
        await one.settled(S, 1)
        assert (tmp_path / "evil").exists()
