"""Sessions: what waits in them, what is chosen, how they are cut back, copied, kept and thrown away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.ahp.place import DENY, Client, Json, Refused, place, text_of
from tests.support.host_and_client import answer, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


async def refused(client: Client, type: str, uri: str = S, /, **fields: Any) -> bool:
    return "rejectionReason" in await client.echo(await client.act(type, uri, **fields))


def message(id: str, text: str, kind: str = "queued") -> Json:
    return {"kind": kind, "id": id, "userMessage": {"text": text}}


async def test_queued_messages_are_asked_in_order_once_a_turn_is_complete(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "write")
        call = await client.call(S, "pending-confirmation")
        for id in ("a", "b", "c"):
            await client.act("session/pendingMessageSet", S, **message(id, f"question {id}"))
        await client.act("session/pendingMessageRemoved", S, kind="queued", id="b")
        await client.act("session/queuedMessagesReordered", S, order=["c", "a"])
        assert await refused(client, "session/pendingMessageRemoved", kind="queued", id="nothing")
        await client.decide(S, "t1", call, **DENY)
        state = await client.settled(S, 3)
        assert [turn["userMessage"]["text"] for turn in state["turns"]] == ["write", "question c", "question a"]
        assert "queuedMessages" not in state
        types = [e["action"]["type"] for e in client.envelopes]
        begun = [at for at, type in enumerate(types) if type == "session/turnStarted"][1:]
        assert [types[at - 1] for at in begun] == ["session/pendingMessageRemoved"] * 2
        at.same(client, S)


async def test_a_message_queued_while_idle_is_asked_at_once(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.act("session/pendingMessageSet", S, **message("a", "you"))
        assert text_of((await client.settled(S, 1))["turns"][0]) == "Hello, you"
        at.same(client, S)


async def test_after_a_cancelled_turn_the_queue_is_kept(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "slow")
        await client.until(lambda: client.states[S].get("activeTurn", {}).get("responseParts"))
        await client.act("session/pendingMessageSet", S, **message("a", "you"))
        await client.act("session/turnCancelled", S, turnId="t1")
        state = await client.settled(S, 1)
        assert [one["id"] for one in state["queuedMessages"]] == ["a"]
        live = at.host.chats.get_live("s1")
        assert live is not None
        await asyncio.gather(*live.tasks.values(), return_exceptions=True)
        await at.host.store.settle()
        state = at.front.hub.get_state(S)
        assert (len(state["turns"]), "activeTurn" in state, len(state["queuedMessages"])) == (1, False, 1)


async def test_steering_that_was_set_while_idle_is_told_with_the_next_question(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.act("session/pendingMessageSet", S, **message("s1", "Be brief.", "steering"))
        await client.until(lambda: client.states[S].get("steeringMessage"))
        await client.ask(S, "t1", "you")
        state = await client.settled(S, 1)
        assert "steeringMessage" not in state
        assert text_of(state["turns"][0]) == "Hello, Be brief."
        at.same(client, S)


async def test_steering_is_told_to_the_model_before_its_next_step_and_the_newest_counts(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "write")
        call = await client.call(S, "pending-confirmation")
        await client.act("session/pendingMessageSet", S, **message("s0", "never", "steering"))
        await client.act("session/pendingMessageRemoved", S, kind="steering", id="s0")
        await client.act("session/pendingMessageSet", S, **message("s1", "nor this", "steering"))
        await client.act("session/pendingMessageSet", S, **message("s1", "Be brief.", "steering"))
        await client.decide(S, "t1", call, **DENY)
        state = await client.settled(S, 1)
        assert "steeringMessage" not in state
        assert "Be brief." in str(state["turns"][0]["responseParts"])
        sent = str((await at.host.turns.draft("s1")).messages)
        assert ("Be brief." in sent, "never" in sent, "nor this" in sent) == (True, False, False)
        at.same(client, S)


async def test_a_fork_goes_on_by_itself_from_the_turn_it_was_made_at(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        for turn in ("t1", "t2"):
            await client.ask(S, turn, turn)
            await client.settled(S, int(turn[1]))
        state = await client.create("eca:/s2", fork={"session": S, "turnId": "t1"})
        assert [text_of(turn) for turn in state["turns"]] == ["Hello, t1"]
        assert state["summary"]["title"] == "t1"
        await client.ask("eca:/s2", "x", "more")
        assert len((await client.settled("eca:/s2", 2))["turns"]) == len(at.front.hub.get_state(S)["turns"]) == 2
        added = [n["summary"]["resource"] for n in client.notifications if n["type"] == "notify/sessionAdded"]
        assert added == [S, "eca:/s2"]
        for source in ({"session": "eca:/none", "turnId": "t1"}, {"session": S, "turnId": "none"}):
            with pytest.raises(Refused) as error:
                await client.request("createSession", session="eca:/s3", fork=source)
            assert error.value.code == -32001
        at.same(client, "eca:/s2")


async def test_a_session_that_answers_cannot_be_forked_yet(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        await client.ask(S, "t2", "write")
        await client.call(S, "pending-confirmation")
        with pytest.raises(Refused) as error:
            await client.request("createSession", session="eca:/s2", fork={"session": S, "turnId": "t1"})
        assert error.value.code == -32004
        assert len((await client.request("listSessions"))["items"]) == 1


async def test_truncating_takes_turns_from_the_session_and_from_what_the_model_knows(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        for number, words in enumerate(("first", "second", "third"), 1):
            await client.ask(S, f"t{number}", words)
            await client.settled(S, number)
        assert await refused(client, "session/truncated", turnId="none")
        await client.echo(await client.act("session/truncated", S, turnId="t1"))
        await client.ask(S, "t4", "fourth")
        state = await client.settled(S, 2)
        assert [turn["id"] for turn in state["turns"]] == ["t1", "t4"]
        known = str((await at.host.turns.draft("s1")).messages)
        assert "first" in known
        assert "second" not in known
        await client.echo(await client.act("session/truncated", S))
        await client.ask(S, "t5", "fifth")
        assert [turn["id"] for turn in (await client.settled(S, 1))["turns"]] == ["t5"]
        at.same(client, S)


async def test_truncating_ends_a_turn_under_way(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        await client.ask(S, "t2", "slow")
        await client.until(lambda: client.states[S].get("activeTurn", {}).get("responseParts"))
        await client.act("session/truncated", S, turnId="t1")
        await client.ask(S, "t3", "me")
        assert [turn["id"] for turn in (await client.settled(S, 2))["turns"]] == ["t1", "t3"]
        at.same(client, S)


async def test_a_chat_that_an_editor_cuts_back_is_cut_back_here(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, editor = await at.connect(), await at.client()
        await answer(editor, "you", chat="chat")
        received = await answer(editor, "me", chat="chat")
        state = await client.subscribe("eca:/chat")
        assert len(state["turns"]) == 2
        id = next(id for r in received if (id := getattr(r.content, "content_id", "")))
        await at.host.chat_operations.rollback("chat", id, messages=True, files=False)
        await client.until(lambda: len(client.states["eca:/chat"]["turns"]) == 1)
        await client.ask("eca:/chat", "t3", "more")
        await client.settled("eca:/chat", 2)
        at.same(client, "eca:/chat")


async def test_flags_title_model_choices_and_queue_survive_the_server(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S, workingDirectory=tmp_path.as_uri())
        await client.act("session/titleChanged", S, title="Mine")
        await client.ask(S, "t1", "slow")
        await client.until(lambda: client.states[S].get("activeTurn", {}).get("responseParts"))
        await client.act("session/turnCancelled", S, turnId="t1")
        await client.act("session/isReadChanged", S, isRead=True)
        await client.act("session/isArchivedChanged", S, isArchived=True)
        await client.act("session/modelChanged", S, model={"id": "scripted/test"})
        await client.act("session/configChanged", S, config={"agent": "plan", "approval": "auto"})
        seq = await client.act("session/pendingMessageSet", S, **message("s", "Be brief.", "steering"))
        await client.echo(seq)
        await client.settled(S, 1)
        before = client.states[S]["summary"]
        seen = client.seen
        empty = await client.create("eca:/empty")
        assert empty["turns"] == []
    async with place(tmp_path) as at:
        client = await at.connect()
        assert client.seen > seen
        state = await client.subscribe(S)
        summary = state["summary"]
        assert (summary["title"], summary["status"]) == ("Mine", 1 | 32 | 64)
        assert summary["workingDirectory"] == tmp_path.as_uri()
        assert summary["createdAt"] == before["createdAt"]
        assert state["config"]["values"] == {"agent": "plan", "effort": "default", "approval": "auto"}
        assert state["steeringMessage"]["id"] == "s"
        assert state["turns"][0]["state"] == "cancelled"
        listed = (await client.request("listSessions"))["items"]
        assert {one["resource"] for one in listed} == {S, "eca:/empty"}
        assert next(one for one in listed if one["resource"] == S) == summary


async def test_the_users_title_stands_over_the_one_made_of_the_first_question(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.act("session/titleChanged", S, title="Mine")
        await client.ask(S, "t1", "you")
        assert (await client.settled(S, 1))["summary"]["title"] == "Mine"
        await client.act("session/titleChanged", S, title="Later")
        await client.ask(S, "t2", "me")
        assert (await client.settled(S, 2))["summary"]["title"] == "Later"
        row = await at.host.chats.read_row("s1")
        assert row is not None
        assert row.title == "Later"
        at.same(client, S)


async def test_a_choice_is_run_with_from_the_next_turn_and_one_that_is_none_is_refused(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S, config={"approval": "auto"})
        await client.ask(S, "t1", "write")
        await client.settled(S, 1)
        assert (tmp_path / "new.txt").exists()
        for wrong in ({"approval": "perhaps"}, {"colour": "red"}, {"agent": 7}):
            assert await refused(client, "session/configChanged", config=wrong)
        await client.act("session/configChanged", S, config={"agent": "plan"})
        await client.ask(S, "t2", "write")
        turn = (await client.settled(S, 2))["turns"][1]
        assert "Proposed only: plan mode changes nothing." in str(turn)
        await client.act("session/modelChanged", S, model={"id": "scripted/none"})
        await client.ask(S, "t3", "you")
        assert (await client.settled(S, 3))["turns"][2]["state"] == "error"
        at.same(client, S)


async def test_a_tool_server_that_is_switched_off_is_not_in_the_session(tmp_path: Path) -> None:
    (tmp_path / ".eca" / "commands").mkdir(parents=True)
    (tmp_path / ".eca" / "commands" / "tidy.md").write_text("Tidy up.")
    (tmp_path / ".eca" / "rules").mkdir()
    (tmp_path / ".eca" / "rules" / "units.md").write_text("Metres.")
    (tmp_path / ".eca" / "skills" / "plot").mkdir(parents=True)
    (tmp_path / ".eca" / "skills" / "plot" / "SKILL.md").write_text("---\nname: plot\ndescription: Plots\n---\nPlot.")
    rule = (tmp_path / ".eca" / "rules" / "units.md").resolve().as_uri()
    servers = {"far": {"url": "http://127.0.0.1:9/mcp", "disabled": True}}
    async with place(tmp_path, mcpServers=servers) as at:
        await at.host.mcp.servers_known.wait()
        client = await at.connect()
        state = await client.create(S)
        uris = {one["customization"]["uri"]: one["enabled"] for one in state["customizations"]}
        assert uris == {"mcp:far": False, rule: True, "skill:plot": True, "command:tidy": True}
        await client.act("session/customizationToggled", S, uri="mcp:far", enabled=True)
        await client.until(lambda: client.states[S]["customizations"][0]["enabled"])
        for uri in ("command:tidy", "mcp:none"):
            assert await refused(client, "session/customizationToggled", uri=uri, enabled=False)
        at.same(client, S)


async def test_a_disposed_session_is_gone_for_everybody(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other, editor = await at.connect("one"), await at.connect("two"), await at.client()
        await client.create(S)
        await other.subscribe(S)
        await client.ask(S, "t1", "slow")
        await client.until(lambda: client.states[S].get("activeTurn", {}).get("responseParts"))
        assert await client.request("disposeSession", session=S) is None
        for one in (client, other):
            assert (await one.told("notify/sessionRemoved"))["session"] == S
        with pytest.raises(Refused) as error:
            await client.request("disposeSession", session=S)
        assert error.value.code == -32001
        assert (await client.request("listSessions"))["items"] == []
        await answer(editor, "you", chat="other")
        await client.told("notify/sessionAdded")


async def test_a_change_of_a_summary_is_told_to_those_who_do_not_watch(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await client.ask(S, "t1", "write")
        call = await client.call(S, "pending-confirmation")

        def needs() -> bool:
            news = [n for n in other.notifications if n["type"] == "notify/sessionSummaryChanged"]
            return any(n["changes"].get("status") == 24 and n["session"] == S for n in news)

        await other.until(needs)
        assert other.envelopes == []
        told = (n["changes"] for n in other.notifications if n["type"] == "notify/sessionSummaryChanged")
        assert not any(changes.keys() & {"resource", "provider", "createdAt"} for changes in told)
        await client.decide(S, "t1", call, **DENY)
        await client.settled(S, 1)


async def test_two_clients_fold_the_same_and_only_the_sender_hears_of_a_refusal(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await other.subscribe(S)
        await client.ask(S, "t1", "write")
        call = await other.call(S, "pending-confirmation")
        about = {"turnId": "t1", "toolCallId": call["toolCallId"]}
        first = await client.act("session/toolCallConfirmed", S, **about, approved=True, confirmed="user-action")
        late = await other.act("session/toolCallConfirmed", S, **about, approved=False, reason="denied")
        assert "rejectionReason" in await other.echo(late)
        assert "rejectionReason" not in await client.echo(first)
        await other.ask(S, "t1", "again")
        await client.settled(S, 1)
        await other.settled(S, 1)
        assert not any("rejectionReason" in e for e in client.envelopes)
        for one in (client, other):
            at.same(one, S)


async def test_titles_and_answers_of_a_session_reach_an_editor(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, editor = await at.connect(), await at.client()
        await client.create(S)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        assert said(await answer(editor, "me", chat="s1")) == "Hello, me"
        await client.settled(S, 2)


async def test_a_rename_is_echoed_once_however_fast_the_next_one_comes(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        before = len(client.envelopes)
        titles = [f"Title {number}" for number in range(5)]
        for title in titles:
            await client.act("session/titleChanged", S, title=title)
        await client.ask(S, "t2", "me")
        await client.settled(S, 2)
        renamed = [e["action"]["title"] for e in client.envelopes[before:] if "title" in e["action"]]
        assert renamed == titles
        row = await at.host.chats.read_row("s1")
        assert row is not None
        assert row.title == titles[-1]
        await at.wait_until_same(client, S)


async def test_a_session_of_a_name_that_was_used_before_begins_empty_for_who_comes_back(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await other.subscribe(S)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        await other.settled(S, 1)
        await other.close()
        await client.ask(S, "t2", "me")
        await client.settled(S, 2)
        await client.request("disposeSession", session=S)
        await client.create(S)
        again = await at.open("two")
        missed = await again.request("reconnect", clientId="two", lastSeenServerSeq=other.seen, subscriptions=[S])
        again.states = {S: other.states[S]}
        again.seen = other.seen
        again.replay(missed)
        assert again.states[S]["turns"] == []
        await at.wait_until_same(again, S)


async def test_disposing_a_session_in_the_middle_of_its_work_logs_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        for number in range(10):
            await client.create(uri := f"eca:/n{number}")
            await client.ask(uri, "t1", "write")
            if number % 2:
                await client.call(uri, "pending-confirmation")
            await client.act("session/configChanged", uri, config={"agent": "plan"})
            await client.request("disposeSession", session=uri)
        assert (await client.request("listSessions"))["items"] == []
    assert [record.getMessage() for record in caplog.records if record.levelname in {"ERROR", "CRITICAL"}] == []
