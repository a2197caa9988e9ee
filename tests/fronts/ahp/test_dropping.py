"""Sessions that nobody looks at are not kept in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.jsonrpc import Notification
from tests.fronts.ahp.place import Client, Json, place, text_of, without_clock
from tests.support.host_and_client import PATIENCE, answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.ahp.place import Place

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


async def dropped(at: Place, uri: str = S) -> None:
    async with asyncio.timeout(PATIENCE):
        while uri in at.front.sessions:
            if task := at.front.dropping.get(uri):
                await asyncio.wait((task,))
            else:
                await at.host.store.settle()  # that the client has gone is not known yet


async def unsubscribe(client: Client, uri: str = S) -> None:
    await client.link.send(Notification("unsubscribe", {"resource": uri}))
    await client.request("ping")


async def test_a_session_that_nobody_looks_at_is_dropped_and_loaded_anew_as_it_was(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        at.host.unattended_calls.grace = 0.05
        client = await at.connect()
        await client.create(S, config={"agent": "plan"})
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        await client.act("session/isArchivedChanged", S, isArchived=True)
        await client.act("session/pendingMessageSet", S, kind="steering", id="s", userMessage={"text": "Be brief."})
        await client.until(lambda: client.states[S].get("steeringMessage"))
        before = client.states.pop(S)
        await unsubscribe(client)
        await dropped(at)
        assert not at.front.hub.has(S)
        assert [one["resource"] for one in (await client.request("listSessions"))["items"]] == [S]
        assert without_clock(await client.subscribe(S)) == without_clock(before)
        await client.ask(S, "t2", "me")
        assert len((await client.settled(S, 2))["turns"]) == 2
        at.same(client, S)
        assert not any(n["type"] == "notify/sessionRemoved" for n in client.notifications)


async def test_who_comes_back_to_a_session_that_was_dropped_is_sent_it_whole(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        at.host.unattended_calls.grace = 0.05
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        await client.close()
        await dropped(at)
        for number in (2, 3):
            again = await at.open("one")
            again.number = number
            about = {"clientId": "one", "lastSeenServerSeq": client.seen, "subscriptions": [S]}
            reply: Json = await again.request("reconnect", **about)
            assert reply["type"] == "snapshot"
            again.replay(reply)
            again.seen = reply["snapshots"][0]["fromSeq"]
            await again.ask(S, f"t{number}", "me")
            assert text_of((await again.settled(S, number))["turns"][-1]) == "Hello, me"
            await again.close()
            await dropped(at)


async def test_a_session_in_which_something_goes_on_is_not_dropped(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        at.host.unattended_calls.grace = 0.05
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await client.ask(S, "t1", "slow")
        await client.until(lambda: client.states[S].get("activeTurn", {}).get("responseParts"))
        await unsubscribe(client)
        await answer(await at.client(), "you", chat="chat")
        await dropped(at, "eca:/chat")
        assert S in at.front.sessions
        state = await other.subscribe(S)
        assert state["activeTurn"]["id"] == "t1"
        await other.act("session/turnCancelled", S, turnId="t1")
        await other.settled(S, 1)
