"""Connections: the handshake, coming back, and what no client should say."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.ahp.connection import AhpConnection
from jupyter_eca.fronts.ahp.hub import MAX_RECENT
from jupyter_eca.protocol.ahp import ROOT
from jupyter_eca.protocol.jsonrpc import Notification, Request
from jupyter_eca.transport import send_limit
from jupyter_eca.transport.websocket import WebSocketLink
from tests.fronts.ahp.place import Client, Refused, place, text_of
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.ahp.place import Json, Place

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


async def code(client: Client, method: str, /, **params: Any) -> int:
    with pytest.raises(Refused) as error:
        await client.request(method, **params)
    return error.value.code


async def reconnect(at: Place, before: Client, *uris: str) -> tuple[Client, Json]:
    client = await at.open(before.id)
    client.states, client.seen = dict(before.states), before.seen
    answer = await client.request(
        "reconnect", clientId=before.id, lastSeenServerSeq=before.seen, subscriptions=list(uris)
    )
    client.replay(answer)
    return client, answer


async def test_the_handshake_names_the_version_the_number_the_folder_and_what_was_subscribed(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.open()
        answer = await client.request(
            "initialize",
            protocolVersions=["0.9.0", "0.1.0"],
            clientId="one",
            initialSubscriptions=[ROOT, "eca:/none", ROOT],
            locale="ja",
        )
        assert answer["protocolVersion"] == "0.1.0"
        assert answer["defaultDirectory"] == tmp_path.as_uri()
        assert answer["completionTriggerCharacters"] == ["@", "/"]
        (root,) = answer["snapshots"]
        assert (root["resource"], root["fromSeq"]) == (ROOT, answer["serverSeq"])
        (agent,) = root["state"]["agents"]
        assert (agent["provider"], agent["models"][0]["id"]) == ("eca", "scripted/test")
        assert root["state"]["activeSessions"] == 0
        assert "terminals" not in root["state"]


@pytest.mark.parametrize("offered", [["9.9.9"], [], ["one", "0.1"]])
async def test_another_version_is_refused_with_what_is_spoken_and_the_connection_ends(
    tmp_path: Path, offered: list[str]
) -> None:
    async with place(tmp_path) as at:
        client = await at.open()
        with pytest.raises(Refused) as error:
            await client.request("initialize", protocolVersions=offered, clientId="one")
        assert (error.value.code, error.value.data) == (-32005, {"supportedVersions": ["0.1.0"]})
        await client.until(lambda: client.ended)


async def test_before_the_handshake_there_is_an_error_and_ping_is_answered(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.open()
        assert await client.request("ping") is None
        assert await code(client, "listSessions") == -32600
        await client.act("session/turnStarted", S, turnId="t", userMessage={"text": "x"})
        assert await code(client, "initialize", protocolVersions=["0.1.0"]) == -32602
        await client.initialize()
        assert await code(client, "initialize", protocolVersions=["0.1.0"], clientId="one") == -32600
        assert await code(client, "reconnect", clientId="one", lastSeenServerSeq=0, subscriptions=[]) == -32600
        assert await code(client, "doSomething") == -32601
        assert await client.request("ping") is None


async def test_the_same_client_coming_anew_stands_in_for_its_old_connection(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        old = await at.connect("one")
        await old.create(S)
        new = await at.connect("one", S)
        await old.until(lambda: old.ended)
        await new.ask(S, "t1", "you")
        assert text_of((await new.settled(S, 1))["turns"][0]) == "Hello, you"


async def test_what_was_missed_is_replayed_in_the_answer_and_what_is_gone_is_named(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await client.create("eca:/s2")
        await other.subscribe(S)
        await client.close()
        await other.ask(S, "t1", "you")
        await other.ask(S, "t1", "refused: one is under way")
        await other.settled(S, 1)
        await other.request("disposeSession", session="eca:/s2")
        again, answer = await reconnect(at, client, S, "eca:/s2", "eca:/never")
        assert (answer["type"], answer["missing"]) == ("replay", ["eca:/s2", "eca:/never"])
        assert not any("rejectionReason" in one for one in answer["actions"])
        assert all(one["serverSeq"] > client.seen for one in answer["actions"])
        at.same(again, S)
        await again.ask(S, "t2", "me")
        await again.settled(S, 2)
        at.same(again, S)


async def test_a_connection_lost_in_mid_answer_goes_on_where_it_was(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "slow")
        await client.until(lambda: text_of(client.states[S].get("activeTurn") or {"responseParts": []}))
        await client.close()
        again, answer = await reconnect(at, client, S)
        assert answer["type"] == "replay"
        await again.until(lambda: text_of(again.states[S]["activeTurn"]) > text_of(client.states[S]["activeTurn"]))
        await again.act("session/turnCancelled", S, 50, turnId="t1")
        assert (await again.settled(S, 1))["turns"][0]["state"] == "cancelled"
        at.same(again, S)


@pytest.mark.parametrize("seen", [0, 2**52])
async def test_what_cannot_be_replayed_is_sent_whole(tmp_path: Path, seen: int) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        for number in range(MAX_RECENT + 1 if seen == 0 else 1):
            await client.act("session/isReadChanged", S, isRead=number % 2 == 0)
        await client.echo(MAX_RECENT + 1 if seen == 0 else 1)
        await client.close()
        client.seen = seen
        again, answer = await reconnect(at, client, S, "eca:/never")
        assert answer["type"] == "snapshot"
        assert [one["resource"] for one in answer["snapshots"]] == [S]
        assert "missing" not in answer
        at.same(again, S)


async def test_numbers_go_on_behind_those_of_the_server_before(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
    async with place(tmp_path) as at:
        again, answer = await reconnect(at, client, S)
        assert answer["type"] == "snapshot"
        assert text_of(again.states[S]["turns"][0]) == "Hello, you"
        assert answer["snapshots"][0]["fromSeq"] > client.seen
        await again.ask(S, "t2", "me")
        await again.settled(S, 2)
        at.same(again, S)


async def test_an_action_sent_again_is_not_done_again_and_a_client_that_begins_anew_counts_anew(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.act("session/turnStarted", S, 7, turnId="t1", userMessage={"text": "you"})
        await client.settled(S, 1)
        before = len(client.envelopes)
        await client.act("session/turnStarted", S, 7, turnId="t1", userMessage={"text": "you"})
        await client.act("session/turnStarted", S, 3, turnId="t0", userMessage={"text": "you"})
        await client.act("session/isReadChanged", S, 8, isRead=True)
        await client.until(lambda: len(client.envelopes) > before)
        assert [e["action"]["type"] for e in client.envelopes[before:]] == ["session/isReadChanged"]
        again = await at.connect("one", S)
        await again.act("session/isReadChanged", S, 1, isRead=False)
        assert "rejectionReason" not in await again.echo(1)


WRONG: list[tuple[str, Json]] = [
    ("session/delta", {"turnId": "t", "partId": "p", "content": "x"}),
    ("session/noSuch", {}),
    ("session/turnStarted", {"turnId": "t"}),
    ("session/turnStarted", {"turnId": "t", "userMessage": {"text": " "}}),
    ("session/turnStarted", {"turnId": "x" * 300, "userMessage": {"text": "x"}}),
    ("session/turnStarted", {"turnId": "t", "userMessage": {"text": "x"}, "queuedMessageId": "none"}),
    ("session/turnStarted", {"turnId": "t", "userMessage": {"text": "x", "attachments": [
        {"type": "embeddedResource", "label": "big", "contentType": "image/png", "data": "A" * (9 * 1024 * 1024)}]}}),
    ("session/titleChanged", {"title": "x" * 501}),
    ("session/turnCancelled", {"turnId": "none"}),
    ("session/toolCallConfirmed", {"turnId": "t", "toolCallId": "c", "approved": True, "confirmed": "user-action"}),
    ("session/toolCallComplete", {"turnId": "t", "toolCallId": "c",
                                  "result": {"success": True, "pastTenseMessage": "x"}}),
    ("session/toolCallResultConfirmed", {"turnId": "t", "toolCallId": "c", "approved": True}),
    ("session/inputCompleted", {"requestId": "none", "response": "accept"}),
    ("session/inputAnswerChanged", {"requestId": "none", "questionId": "q"}),
]  # fmt: skip


@pytest.mark.parametrize(("type", "fields"), WRONG, ids=lambda one: one if isinstance(one, str) else "")
async def test_what_a_client_may_not_do_is_refused_with_a_number_of_its_own(
    tmp_path: Path, type: str, fields: Json
) -> None:
    async with place(tmp_path) as at:
        client = await at.connect("one", ROOT)
        before = await client.create(S)
        echo = await client.echo(await client.act(type, S, **fields))
        assert echo["rejectionReason"]
        assert echo["action"] == {"type": type, "session": S, **fields}
        assert at.front.hub.get_state(S) == before
        next_echo = await client.echo(await client.act("session/isReadChanged", S, isRead=True))
        assert next_echo["serverSeq"] > echo["serverSeq"]


async def test_what_is_about_nothing_or_malformed_is_ignored_and_the_connection_lives(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect("one", ROOT)
        await client.create(S)
        await client.ask("eca:/none", "t1", "you")
        await client.act("terminal/input", "term:/none", data="x")
        await client.act("session/titleChanged", "eca:/none", title="x")
        odd: list[Any] = [None, [], {}, {"clientSeq": "x", "action": {}}, {"clientSeq": 50}]
        for params in (*odd, {"clientSeq": 51, "action": 5}):
            await client.link.send(Notification("dispatchAction", params))
        await client.link.send(Notification("unsubscribe", {"resource": "eca:/none"}))
        await client.link.send(Notification("unsubscribe", {}))
        await client.link.send(Notification("whatever", {}))
        await client.link.send(Notification("dispatchAction", {"clientSeq": 52, "action": {"session": S}}))
        assert await client.request("ping") is None
        seq = await client.act("root/configChanged", ROOT, 60, config={"x": 1})
        assert (await client.echo(seq))["rejectionReason"]
        assert [e["origin"]["clientSeq"] for e in client.envelopes if "origin" in e] == [60]


async def test_commands_that_make_no_sense_are_answered_with_the_protocols_codes(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        assert await code(client, "createSession", session=S) == -32003
        assert await code(client, "createSession", session="eca:/x", provider="other") == -32002
        for uri in ("other:/x", "eca://x", "eca:/", "eca:/a/b", ""):
            assert await code(client, "createSession", session=uri) == -32602
        assert await code(client, "createSession", session="eca:/x", config={"agent": "none"}) == -32602
        for method in ("subscribe", "fetchTurns", "disposeSession"):
            name = "resource" if method == "subscribe" else "session"
            assert await code(client, method, **{name: "eca:/none"}) == -32001
        assert await code(client, "authenticate", resource="https://x", token="t") == -32602  # noqa: S106
        assert await code(client, "resolveSessionConfig", provider="other") == -32002
        assert (
            await code(client, "createTerminal", terminal="t:/1", claim={"kind": "client", "clientId": "one"}) == -32601
        )
        await client.link.send(Request("a string", "ping", {}))


async def test_a_frame_that_is_no_json_is_answered_and_the_connection_lives(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        said: asyncio.Queue[Json] = asyncio.Queue()

        async def write(text: str) -> None:
            said.put_nowait(json.loads(text))

        async def front() -> Any:
            return at.front

        link = WebSocketLink(write, lambda _: None)
        serving = at.tasks.create_task(AhpConnection(link, front).run())
        for text in ("{oops", "[" * 100_000, '{"jsonrpc":"2.0","id":"x","method":"ping"}', "[1]"):
            link.receive(text)
        heard = [await asyncio.wait_for(said.get(), PATIENCE) for _ in range(4)]
        assert [one.get("error", {}).get("code", one.get("id")) for one in heard] == [-32700, -32700, "x", -32600]
        link.end()
        await serving


async def test_only_what_is_subscribed_is_sent_and_unsubscribing_ends_it(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two", ROOT)
        await client.create(S)
        await client.link.send(Notification("unsubscribe", {"resource": S}))
        await client.ask(S, "t1", "you")
        await other.subscribe(S)
        await other.settled(S, 1)
        assert client.envelopes == []
        kinds = {e["action"]["type"].partition("/")[0] for e in other.envelopes}
        assert "root" in kinds
        assert (await client.subscribe(S))["turns"][0]["state"] == "complete"
        assert await client.subscribe(S) == client.states[S]


async def test_a_client_that_reads_slowly_is_sent_longer_pieces_and_delays_nobody(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        gate, ended = asyncio.Event(), asyncio.Event()
        sent: list[Json] = []

        async def write(text: str) -> None:
            message = json.loads(text)
            action: Json = message["params"]["action"] if message.get("method") == "action" else {}
            if action.get("turnId") == "t2":
                sent.append(action)
            if action.get("type") == "session/turnComplete" and sent:
                ended.set()
            if message.get("id") != 1:
                await gate.wait()

        async def front() -> Any:
            return at.front

        link = WebSocketLink(write, lambda _: None)
        serving = at.tasks.create_task(AhpConnection(link, front).run())
        client = await at.connect("one")
        await client.create(S)
        hello = {"protocolVersions": ["0.1.0"], "clientId": "slow", "initialSubscriptions": [S]}
        link.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)

        def dispatch(name: str, **fields: Any) -> None:
            at.front.hub.apply(S, {"type": f"session/{name}", "session": S, "turnId": "t2", **fields}, 1)

        dispatch("turnStarted", userMessage={"text": "x"})
        dispatch("responsePart", part={"kind": "markdown", "id": "p", "content": ""})
        for _ in range(2_000):
            dispatch("delta", partId="p", content="word ")
        dispatch("turnComplete")
        assert len(text_of((await client.settled(S, 2))["turns"][1])) == 10_000
        assert sent == []
        gate.set()
        await asyncio.wait_for(ended.wait(), PATIENCE)
        deltas = [one["content"] for one in sent if one["type"] == "session/delta"]
        assert "".join(deltas) == "word " * 2_000
        assert len(deltas) < 10
        link.end()
        await serving


async def test_a_client_that_never_reads_is_cut_off_and_can_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_limit, "MAX_ITEMS", 50)
    async with place(tmp_path) as at:
        never = asyncio.Event()

        async def write(text: str) -> None:
            if '"id"' not in text:
                await never.wait()

        async def front() -> Any:
            return at.front

        shut: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        link = WebSocketLink(write, shut.set_result)
        at.tasks.create_task(AhpConnection(link, front).run())
        client = await at.connect("one")
        await client.create(S)
        hello = {"protocolVersions": ["0.1.0"], "clientId": "stuck", "initialSubscriptions": [S]}
        link.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))
        for number in range(60):
            await client.act("session/isReadChanged", S, isRead=number % 2 == 0)
            await client.echo(number + 1)
        assert await asyncio.wait_for(shut, PATIENCE) == send_limit.NOT_READING
        assert at.front.hub.find_client("stuck") is None
        again = await at.connect("stuck", S)
        assert again.states[S] == at.front.hub.get_state(S)


@pytest.mark.parametrize("depth", [101, 50_000])
async def test_what_is_nested_too_deeply_is_refused_and_the_connection_lives(tmp_path: Path, depth: int) -> None:
    deep: Any = "x"
    for _ in range(depth):
        deep = [deep]
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await other.subscribe(S)
        assert await code(client, "listSessions", filter={"x": deep}) == -32602
        assert await code(client, "createSession", session="eca:/x", config={"x": deep}) == -32602
        for name in ("extra", "_meta"):
            seq = await client.act("session/titleChanged", S, title="x", **{name: deep})
            echo = await client.echo(seq)
            assert "nested" in echo["rejectionReason"]
            assert echo["action"] == {"type": "session/titleChanged", "session": S, "title": "x"}
        await client.link.send(Notification("unsubscribe", {"resource": deep}))
        assert await client.request("ping") is None
        assert (await client.request("listSessions"))["items"][0]["title"] == ""
        await other.request("ping")
        assert other.envelopes == []
