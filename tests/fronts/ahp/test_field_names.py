"""Actions whose fields have the names of our Python models instead of the protocol's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import APPROVE, Json, place

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"
MESSAGE: Json = {"text": "hello"}


@pytest.mark.parametrize(
    ("type", "fields"),
    [
        ("session/turnStarted", {"turn_id": "t9", "userMessage": MESSAGE}),
        ("session/turnStarted", {"turnId": "t9", "user_message": MESSAGE}),
        ("session/pendingMessageSet", {"kind": "queued", "id": "q1", "user_message": MESSAGE}),
        ("session/pendingMessageSet", {"kind": "steering", "id": "q1", "user_message": MESSAGE}),
        ("session/activeClientChanged", {"active_client": {"clientId": "one", "tools": []}}),
        ("session/activeClientChanged", {"activeClient": {"client_id": "one", "tools": []}}),
    ],
)
async def test_an_action_counts_only_with_the_names_of_the_protocol(tmp_path: Path, type: str, fields: Json) -> None:
    async with place(tmp_path) as at:
        one, two = await at.connect("one"), await at.connect("two")
        before = await one.create(S)
        await two.subscribe(S)
        answer = await one.echo(await one.act(type, S, **fields))
        assert "rejectionReason" in answer
        at.same(one, S)
        assert one.states[S] == before
        await two.ask(S, "t1", "hello")
        await two.settled(S, 1)


async def test_a_message_that_was_refused_is_not_sent_after_a_restart(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        one = await at.connect("one")
        await one.create(S)
        await one.ask(S, "t0", "hello")
        await one.settled(S, 1)
        await one.echo(await one.act("session/turnStarted", S, turn_id="t9", userMessage={"text": "write"}))
    async with place(tmp_path) as at:
        state = await (await at.connect("one")).subscribe(S)
        assert not state.get("queuedMessages")


async def test_an_approval_that_no_client_sees_is_not_remembered(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        one = await at.connect("one")
        await one.create(S)
        await one.ask(S, "t1", "write")
        call = await one.call(S, "pending-confirmation")
        await one.echo(await one.decide(S, "t1", call, **APPROVE, selected_option_id="allow-session"))
        await one.settled(S, 1)
        await one.ask(S, "t2", "write")
        await one.call(S, "pending-confirmation")
