"""Tools of the active client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.ahp.place import APPROVE, DENY, Client, Json, Refused, calls_of, place, text_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"
TOOL: Json = {"name": "lookup", "description": "Looks a word up.",
              "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}}}  # fmt: skip


def client_of(id: str, *tools: Json) -> Json:
    return {"clientId": id, "tools": list(tools or (TOOL,))}


async def running(client: Client) -> dict[str, Any]:
    await client.ask(S, "t1", "lent")
    call = await client.call(S, "running")
    return {"turnId": "t1", "toolCallId": call["toolCallId"]}


async def test_the_model_calls_a_tool_that_the_client_carries_out(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        state = await client.create(S, activeClient=client_of("one"))
        assert state["activeClient"]["clientId"] == "one"
        await other.subscribe(S)
        about = await running(client)
        (call,) = calls_of(client.states[S]["activeTurn"])
        assert (call["toolName"], call["toolClientId"], call["confirmed"]) == ("lookup", "one", "not-needed")
        assert call["toolInput"] == '{"word": "x"}'
        live = [{"type": "text", "text": "half"}]
        await client.act("session/toolCallContentChanged", S, **about, content=live)
        await other.until(lambda: calls_of(other.states[S]["activeTurn"])[0].get("content") == live)
        result = {"success": True, "pastTenseMessage": "Looked up", "content": [{"type": "text", "text": "a letter"}]}
        stolen = await other.act("session/toolCallComplete", S, **about, result=result)
        assert "rejectionReason" in await other.echo(stolen)
        await client.act("session/toolCallComplete", S, **about, result=result)
        state = await client.settled(S, 1)
        assert text_of(state["turns"][0]) == "It said: a letter"
        assert calls_of(state["turns"][0])[0]["pastTenseMessage"] == "Looked up"
        await other.settled(S, 1)
        for one in (client, other):
            at.same(one, S)


async def test_a_tool_that_fails_at_the_client_tells_the_model_why(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S, activeClient=client_of("one"))
        about = await running(client)
        result = {"success": False, "pastTenseMessage": "Failed", "error": {"message": "no dictionary"}}
        await client.act("session/toolCallComplete", S, **about, result=result)
        assert "no dictionary" in text_of((await client.settled(S, 1))["turns"][0])


async def test_there_is_one_active_client_at_a_time(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await other.subscribe(S)

        async def refused(by: Client, **fields: Any) -> bool:
            kind = "Tools" if "tools" in fields else ""
            return "rejectionReason" in await by.echo(await by.act(f"session/activeClient{kind}Changed", S, **fields))

        assert not await refused(client, activeClient=client_of("one"))
        assert await refused(other, activeClient=client_of("two"))
        assert await refused(other, activeClient=None)
        assert await refused(other, tools=[])
        assert not await refused(client, tools=[{**TOOL, "name": "other"}])
        assert "client__other" in at.host.toolbox.get_tools("s1")
        assert "client__lookup" not in at.host.toolbox.get_tools("s1")
        assert "client__other" not in at.host.toolbox.get_tools("s2")
        assert not await refused(client, activeClient=None)
        assert "client__other" not in at.host.toolbox.get_tools("s1")
        assert await refused(other, activeClient=client_of("one"))
        assert not await refused(other, activeClient=client_of("two"))
        with pytest.raises(Refused) as error:
            await client.request("createSession", session="eca:/s2", activeClient=client_of("two"))
        assert error.value.code == -32602


async def test_a_client_that_leaves_is_active_no_longer_and_its_call_fails_after_a_while(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        at.host.unattended_calls.grace = 0.05
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S, activeClient=client_of("one"))
        await other.subscribe(S)
        await running(client)
        await other.call(S, "running")
        await client.close()
        state = await other.settled(S, 1)
        assert "activeClient" not in state
        (call,) = calls_of(state["turns"][0])
        assert (call["status"], call["success"]) == ("completed", False)
        assert "has left" in call["error"]["message"]
        assert "client__lookup" not in at.host.toolbox.get_tools("s1")


async def test_a_client_that_comes_back_in_time_ends_its_call(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S, activeClient=client_of("one"))
        await other.subscribe(S)
        about = await running(client)
        await client.close()
        await other.until(lambda: "activeClient" not in other.states[S])
        again = await at.open("one")
        again.states = client.states
        params = {"clientId": "one", "lastSeenServerSeq": client.seen, "subscriptions": [S]}
        await again.request("reconnect", **params)
        result = {"success": True, "pastTenseMessage": "Looked up", "content": [{"type": "text", "text": "late"}]}
        await again.act("session/toolCallComplete", S, 100, **about, result=result)
        assert text_of((await other.settled(S, 1))["turns"][0]) == "It said: late"


async def test_a_tool_of_the_client_that_is_approved_early_starts_in_its_turn(tmp_path: Path) -> None:
    rules: list[Json] = [
        {"result": "", "reply": [{"text": "Done."}]},
        {
            "message": "",
            "reply": [
                {"tool": "write_file", "arguments": {"path": "new.txt", "content": "one\n"}},
                {"tool": "client__lookup", "arguments": {"word": "x"}},
            ],
        },
    ]
    async with place(tmp_path, rules, toolCall={"approval": {"ask": {"client__lookup": {}}}}) as at:
        client = await at.connect("one")
        await client.create(S, activeClient=client_of("one"))
        await client.ask(S, "t1", "go")
        write = await client.call(S, "pending-confirmation", 0)
        lookup = await client.call(S, "pending-confirmation", 1)
        for _ in range(2):  # a second click gets the same answer
            early = await client.echo(await client.decide(S, "t1", lookup, **APPROVE))
            assert "starts when the calls before it have ended" in early["rejectionReason"]
            assert calls_of(client.states[S]["activeTurn"])[1]["status"] == "pending-confirmation"
        await client.decide(S, "t1", write, **APPROVE)
        await client.call(S, "running", 1)
        assert (tmp_path / "new.txt").read_text() == "one\n"
        assert calls_of(client.states[S]["activeTurn"])[0]["status"] == "completed"
        result = {"success": True, "pastTenseMessage": "Looked up"}
        about = {"turnId": "t1", "toolCallId": lookup["toolCallId"]}
        await client.act("session/toolCallComplete", S, **about, result=result)
        state = await client.settled(S, 1)
        assert [call["status"] for call in calls_of(state["turns"][0])] == ["completed", "completed"]


async def test_a_tool_of_the_client_that_is_approved_early_does_not_start_behind_a_denied_call(tmp_path: Path) -> None:
    rules: list[Json] = [
        {"result": "", "reply": [{"text": "Done."}]},
        {
            "message": "",
            "reply": [
                {"tool": "write_file", "arguments": {"path": "new.txt", "content": "one\n"}},
                {"tool": "client__lookup", "arguments": {"word": "x"}},
            ],
        },
    ]
    async with place(tmp_path, rules, toolCall={"approval": {"ask": {"client__lookup": {}}}}) as at:
        client = await at.connect("one")
        await client.create(S, activeClient=client_of("one"))
        await client.ask(S, "t1", "go")
        write = await client.call(S, "pending-confirmation", 0)
        lookup = await client.call(S, "pending-confirmation", 1)
        await client.echo(await client.decide(S, "t1", lookup, **APPROVE))
        await client.decide(S, "t1", write, **DENY)
        state = await client.settled(S, 1)
        assert [call["status"] for call in calls_of(state["turns"][0])] == ["cancelled", "cancelled"]


async def test_a_call_ends_when_its_client_gives_the_session_back_and_leaves(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        at.host.unattended_calls.grace = 0.05
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S, activeClient=client_of("one"))
        await other.subscribe(S)
        await running(client)
        await other.call(S, "running")
        await client.echo(await client.act("session/activeClientChanged", S, activeClient=None))
        await client.close()
        (call,) = calls_of((await other.settled(S, 1))["turns"][0])
        assert "has left" in call["error"]["message"]


async def test_a_call_ends_when_another_client_takes_the_session_over(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        at.host.unattended_calls.grace = 0.05
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S, activeClient=client_of("one"))
        await other.subscribe(S)
        await running(client)
        await other.call(S, "running")
        await client.close()
        await other.until(lambda: "activeClient" not in other.states[S])
        await other.echo(await other.act("session/activeClientChanged", S, activeClient=client_of("two")))
        (call,) = calls_of((await other.settled(S, 1))["turns"][0])
        assert "has left" in call["error"]["message"]
        assert "client__lookup" in at.host.toolbox.get_tools("s1")  # that of the client that took over


async def test_a_client_that_gave_the_session_back_still_ends_its_call(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        at.host.unattended_calls.grace = 0.05
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S, activeClient=client_of("one"))
        await other.subscribe(S)
        about = await running(client)
        await client.echo(await client.act("session/activeClientChanged", S, activeClient=None))
        await other.echo(await other.act("session/activeClientChanged", S, activeClient=client_of("two")))
        result = {"success": True, "pastTenseMessage": "Looked up", "content": [{"type": "text", "text": "late"}]}
        await client.act("session/toolCallComplete", S, **about, result=result)
        assert text_of((await other.settled(S, 1))["turns"][0]) == "It said: late"
