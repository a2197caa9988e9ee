"""At odd moments: what comes too early, too late, from the wrong hand, or for what is no longer there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.ahp.session.action_rules import refuse_session_action
from jupyter_eca.host.turn import path_rules
from jupyter_eca.protocol.ahp import ROOT, actions
from jupyter_eca.protocol.jsonrpc import Request
from tests.fronts.ahp.place import DENY, Client, Json, calls_of, fails, place, text_of

if TYPE_CHECKING:
    from pathlib import Path

S = "eca:/s1"
LENT: Json = {"clientId": "one", "tools": [{"name": "lookup", "inputSchema": {"type": "object"}}]}


async def running(client: Client) -> Json:
    """A call of a tool that the client has."""
    await client.ask(S, "t1", "lent")
    call = await client.call(S, "running")
    return {"turnId": "t1", "toolCallId": call["toolCallId"]}


@pytest.mark.asyncio
async def test_a_turn_that_is_sent_behind_createsession_without_waiting_is_answered(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.link.send(Request(90, "createSession", {"session": S}))
        await client.link.send(Request(91, "subscribe", {"resource": S}))
        client.expect(90, 91)
        await client.ask(S, "t1", "you")
        await client.told("notify/sessionAdded")
        await client.subscribe(S)
        assert text_of((await client.settled(S, 1))["turns"][0]) == "Hello, you"


def test_a_session_that_could_not_be_made_begins_no_turn_and_one_that_is_being_made_does() -> None:
    turn = {"type": "session/turnStarted", "session": S, "turnId": "t1", "userMessage": {"text": "you"}}
    action = actions.parse(turn)
    assert isinstance(action, actions.SessionScoped)
    about: Json = {"turns": [], "summary": {}}
    assert (
        refuse_session_action({**about, "lifecycle": "creationFailed"}, action, "one")
        == "The session could not be created."
    )
    assert refuse_session_action({**about, "lifecycle": "creating"}, action, "one") is None


@pytest.mark.asyncio
async def test_a_bare_name_of_a_model_is_understood_and_a_filter_of_the_list_means_nothing(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        assert (await client.create(S, model="scripted/test"))["summary"]["model"] == {"id": "scripted/test"}
        listed = await client.request("listSessions", filter={"title": "none"})
        assert [one["resource"] for one in listed["items"]] == [S]


@pytest.mark.asyncio
async def test_contents_are_read_and_not_subscribed(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        assert (await fails(client, "subscribe", resource=f"{S}/content/image/1")).code == -32001


@pytest.mark.asyncio
async def test_who_looked_at_a_session_that_was_disposed_does_not_look_at_the_next_of_its_name(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await other.subscribe(S)
        await client.request("disposeSession", session=S)
        await client.create(S)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        await other.request("ping")
        assert [e["action"]["type"] for e in other.envelopes] == []


@pytest.mark.asyncio
async def test_notifications_are_not_told_again_to_who_comes_back(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one", ROOT), await at.connect("two")
        await client.close()
        await other.create(S)
        await other.request("disposeSession", session=S)
        again = await at.open("one")
        about = {"clientId": "one", "lastSeenServerSeq": client.seen, "subscriptions": [ROOT]}
        answer = await again.request("reconnect", **about)
        counted = [one["action"]["activeSessions"] for one in answer["actions"]]
        assert counted == [1, 0]
        await again.request("ping")
        assert again.notifications == []


@pytest.mark.asyncio
async def test_the_end_of_a_clients_old_connection_takes_nothing_from_its_new_one(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        old = await at.connect("one")
        await old.create(S, activeClient=LENT)
        new = await at.connect("one", S)
        await old.until(lambda: old.ended)
        await at.serving[0]
        await new.request("ping")
        assert new.states[S]["activeClient"]["clientId"] == "one"
        at.same(new, S)


@pytest.mark.asyncio
async def test_a_question_vanishes_with_the_turn_that_was_cancelled(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "ask")
        (request,) = await client.until(lambda: client.states[S].get("inputRequests"))
        await client.act("session/turnCancelled", S, turnId="t1")
        state = await client.settled(S, 1)
        assert ("inputRequests" in state, state["summary"]["status"]) == (False, 1)
        late = await client.act("session/inputCompleted", S, requestId=request["id"], response="decline")
        assert (await client.echo(late))["rejectionReason"]
        at.same(client, S)


@pytest.mark.asyncio
async def test_cancelling_ends_the_tool_that_runs_and_the_model_is_not_asked_on(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S, activeClient=LENT)
        about = await running(client)
        await client.act("session/turnCancelled", S, turnId="t1")
        turn = (await client.settled(S, 1))["turns"][0]
        (call,) = calls_of(turn)
        assert (turn["state"], call["status"], call["reason"]) == ("cancelled", "cancelled", "skipped")
        late = {"success": True, "pastTenseMessage": "Late"}
        assert (await client.echo(await client.act("session/toolCallComplete", S, **about, result=late)))[
            "rejectionReason"
        ]
        await client.ask(S, "t2", "you")
        assert text_of((await client.settled(S, 2))["turns"][1]) == "Hello, you"
        at.same(client, S)


@pytest.mark.asyncio
async def test_what_a_call_puts_out_is_told_by_its_owner_alone(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S, activeClient=LENT)
        await other.subscribe(S)
        about = await running(client)
        await other.call(S, "running")
        forged: dict[str, Any] = {"content": [{"type": "text", "text": "forged"}]}
        seq = await other.act("session/toolCallContentChanged", S, **about, **forged)
        assert (await other.echo(seq))["rejectionReason"] == "That call belongs to another client."
        assert "content" not in calls_of(client.states[S]["activeTurn"])[0]


@pytest.mark.asyncio
async def test_a_client_that_denies_the_call_of_its_own_tool_fails_it(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S, activeClient=LENT)
        await other.subscribe(S)
        about = await running(client)
        await other.call(S, "running")
        stolen = await other.act("session/toolCallConfirmed", S, **about, **DENY)
        assert (await other.echo(stolen))["rejectionReason"]
        assert calls_of(at.front.hub.get_state(S)["activeTurn"])[0]["status"] == "running"
        denied = await client.act("session/toolCallConfirmed", S, **about, **DENY, reasonMessage="I know no lookup.")
        assert (await client.echo(denied))["rejectionReason"]
        turn = (await client.settled(S, 1))["turns"][0]
        (call,) = calls_of(turn)
        assert (call["status"], call["success"], call["error"]) == (
            "completed",
            False,
            {"message": "I know no lookup."},
        )
        assert "I know no lookup." in text_of(turn)
        at.same(client, S)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("type", "fields", "success"),
    [
        ("session/toolCallComplete", {"result": {"success": True, "pastTenseMessage": "Found at once."}}, True),
        ("session/toolCallConfirmed", {**DENY, "reasonMessage": "I know no lookup."}, False),
    ],
)
async def test_what_a_client_makes_of_a_call_counts_also_while_the_host_still_checks_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, type: str, fields: Json, success: bool
) -> None:
    told = asyncio.Event()
    check = path_rules.check_call

    async def check_late(*about: Any) -> None:
        await told.wait()
        await check(*about)

    monkeypatch.setattr(path_rules, "check_call", check_late)
    async with place(tmp_path) as at:
        client = await at.connect("one")
        await client.create(S, activeClient=LENT)
        about = await running(client)
        await client.echo(await client.act(type, S, **about, **fields))
        told.set()
        turn = (await client.settled(S, 1))["turns"][0]
        (call,) = calls_of(turn)
        assert (call["status"], call["success"]) == ("completed", success)
        assert ("Found at once." if success else "I know no lookup.") in text_of(turn)
        at.same(client, S)


@pytest.mark.asyncio
async def test_that_nobody_is_the_active_client_is_written_as_null(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S, activeClient=LENT)
        echo = await client.echo(await client.act("session/activeClientChanged", S, activeClient=None))
        assert echo["action"] == {"type": "session/activeClientChanged", "session": S, "activeClient": None}
        assert "activeClient" not in at.front.hub.get_state(S)


@pytest.mark.asyncio
async def test_what_is_echoed_is_the_servers_version_and_what_it_holds(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        sent = {"text": "you", "attachments": None, "unheardOf": 1}
        echo = await client.echo(await client.act("session/turnStarted", S, turnId="t1", userMessage=sent))
        assert echo["action"]["userMessage"] == {"text": "you", "unheardOf": 1}
        turn = (await client.settled(S, 1))["turns"][0]
        assert turn["userMessage"] == echo["action"]["userMessage"]
        at.same(client, S)


@pytest.mark.asyncio
async def test_a_terminal_always_has_an_owner(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        assert (await fails(await at.connect(), "createTerminal", terminal="term:/1")).code == -32602
