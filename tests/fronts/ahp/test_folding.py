"""Whatever two clients and an editor do, in whatever order: what the server holds is what each client folds."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from jupyter_eca.errors import EcaError
from jupyter_eca.host.chat.live_chat import Prompt
from jupyter_eca.protocol.ahp import ROOT
from jupyter_eca.protocol.ahp.content import AhpToolSchema
from jupyter_eca.protocol.ahp.state import RootState, SessionState
from tests.fronts.ahp.place import Client, Json, calls_of, place, without_clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fronts.ahp.place import Place

S = "eca:/s1"

TURN = st.sampled_from(["t1", "t2", "t3", "t4"])
WORDS = st.sampled_from(["you", "write", "twice", "ask", "think", "fail", "slow", "lent"])
ID = st.sampled_from(["a", "b"])
KIND = st.sampled_from(["queued", "steering"])
MESSAGE = WORDS.map(lambda text: {"text": text})


def act(type: str, **fields: Any) -> Any:
    """Fields are strategies, or what they are."""

    def made(value: Any) -> Any:
        return cast("Any", value) if isinstance(value, st.SearchStrategy) else st.just(value)

    every = {"type": f"session/{type}", **fields}
    return st.fixed_dictionaries({name: made(value) for name, value in every.items()})


ACTIONS = st.one_of(
    act("turnStarted", turnId=TURN, userMessage=MESSAGE),
    act("turnStarted", turnId=TURN, userMessage=MESSAGE),
    act("turnCancelled", turnId=TURN),
    act("titleChanged", title=st.sampled_from(["One", "Two"])),
    act("modelChanged", model={"id": "scripted/test"}),
    act("isReadChanged", isRead=st.booleans()),
    act("isArchivedChanged", isArchived=st.booleans()),
    act("truncated", turnId=TURN),
    act("truncated"),
    act("pendingMessageSet", kind=KIND, id=ID, userMessage=MESSAGE),
    act("pendingMessageRemoved", kind=KIND, id=ID),
    act("queuedMessagesReordered", order=["b", "a"]),
    act("configChanged", config=st.sampled_from([{"agent": "plan"}, {"agent": "code"}, {"x": 1}])),
    act("activeClientToolsChanged", tools=[]),
    act("customizationToggled", uri="mcp:none", enabled=True),
    act("delta", turnId=TURN, partId="text-0", content="forged"),
)
# What needs to look at the state first, or is no action.
OTHERS = st.sampled_from(
    ["approve", "deny", "complete", "answer", "decline", "claim", "release", "drop", "editor", "wait"]
)
STEPS = st.lists(st.tuples(st.integers(0, 1), st.one_of(ACTIONS, ACTIONS, OTHERS)), min_size=3, max_size=14)


class Two:
    """Two clients of one session, either of which may lose its connection."""

    def __init__(self, at: Place, clients: list[Client]) -> None:
        self.at = at
        self.clients = clients
        self.editor = 0

    async def step(self, who: int, what: Json | str) -> None:
        client = self.clients[who]
        if isinstance(what, dict):
            fields = {name: value for name, value in what.items() if name != "type"}
            await client.act(what["type"], S, **fields)
        elif what == "drop":
            await self._drop(who)
        elif what == "editor":
            self.editor += 1
            with suppress(EcaError):  # it is busy, as an editor would be told
                await self.at.host.turns.prompt(Prompt("s1", "you", turn=f"editor-{self.editor}"))
        elif what == "wait":
            await client.request("ping")
            await self.at.host.store.settle()
        elif what in {"claim", "release"}:
            tool = {"name": "lookup"}
            claim = {"clientId": client.id, "tools": [tool]} if what == "claim" else None
            await client.act("session/activeClientChanged", S, activeClient=claim)
        else:
            await self._respond(client, what)

    async def _respond(self, client: Client, what: str) -> None:
        state = client.states[S]
        turn: Json = state.get("activeTurn") or {}
        for call in calls_of(turn)[-1:]:
            about: Json = {"turnId": turn["id"], "toolCallId": call["toolCallId"]}
            if what == "approve":
                await client.act("session/toolCallConfirmed", S, **about, approved=True, confirmed="user-action")
            elif what == "deny":
                await client.act("session/toolCallConfirmed", S, **about, approved=False, reason="denied")
            elif what == "complete":
                result = {"success": True, "pastTenseMessage": "Done"}
                await client.act("session/toolCallComplete", S, **about, result=result)
        for request in state.get("inputRequests", ()):
            value = {"state": "submitted", "value": {"kind": "selected", "value": "1"}}
            about = {"requestId": request["id"]}
            if what == "answer":
                await client.act("session/inputAnswerChanged", S, **about, questionId="answer", answer=value)
                await client.act("session/inputCompleted", S, **about, response="accept")
            elif what == "decline":
                await client.act("session/inputCompleted", S, **about, response="decline")

    async def _drop(self, who: int) -> None:
        before = self.clients[who]
        await before.close()
        client = self.clients[who] = await self.at.open(before.id)
        client.states, client.seen, client.number = before.states, before.seen, before.number
        about = {"clientId": before.id, "lastSeenServerSeq": before.seen}
        answer = await client.request("reconnect", **about, subscriptions=[S, ROOT])
        client.replay(answer)

    async def rest(self) -> None:
        """Whatever waits is ended, until nothing is under way."""
        for client in self.clients:
            # The actions of a client are handled in their order; a ping does not wait for them.
            await client.echo(await client.act("session/isReadChanged", S, isRead=True))
        one = self.clients[0]
        for id in ("a", "b"):
            await one.echo(await one.act("session/pendingMessageRemoved", S, kind="queued", id=id))
        while turn := one.states[S].get("activeTurn"):
            await one.echo(await one.act("session/turnCancelled", S, turnId=turn["id"]))
        for _ in range(3):
            live = self.at.host.chats.get_live("s1")
            if live is not None:
                await asyncio.gather(*live.tasks.values(), return_exceptions=True)
            await self.at.host.store.settle()
            await self.at.front.wait_until_done()
            for client in self.clients:
                await client.request("ping")


async def told(steps: list[tuple[int, Json | str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with place(Path(folder)) as at:
            clients = [await at.connect(id, ROOT) for id in ("one", "two")]
            await clients[0].create(S)
            await clients[1].subscribe(S)
            two = Two(at, clients)
            for who, what in steps:
                await two.step(who, what)
            await two.rest()
            for uri, model in ((S, SessionState), (ROOT, RootState)):
                held = at.front.hub.get_state(uri)
                assert list(extras(model.model_validate(held))) == []
                for client in two.clients:
                    assert without_clock(client.states[uri]) == without_clock(held)
            for client in two.clients:
                foreign = [e for e in client.envelopes if "rejectionReason" in e]
                assert all(e["origin"]["clientId"] == client.id for e in foreign)
            stored = {event.turn for event in await at.host.chats.read_events("s1") if event.turn}
            assert stored <= {turn["id"] for turn in at.front.hub.get_state(S)["turns"]}


def extras(value: Any, path: str = "") -> Iterator[str]:
    """Fields that the protocol does not have."""
    if isinstance(value, AhpToolSchema):
        return  # a JSON schema has what JSON schemas have
    if isinstance(value, BaseModel):
        yield from (f"{path}.{name}" for name in value.model_extra or ())
        for name in type(value).model_fields:
            yield from extras(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, (tuple, list)):
        for one in cast("list[Any]", value):
            yield from extras(one, path)


# The editor prompts first, and its turn ends before the turn of the client could begin.
OVERTAKEN: list[tuple[int, Json | str]] = [
    (0, {"type": "session/turnStarted", "turnId": "t2", "userMessage": {"text": "ask"}}),
    (1, "editor"),
    (1, {"type": "session/isArchivedChanged", "isArchived": True}),
    (0, {"type": "session/turnStarted", "turnId": "t1", "userMessage": {"text": "lent"}}),
    (1, {"type": "session/configChanged", "config": {"agent": "plan"}}),
]


@example(steps=OVERTAKEN)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_what_the_server_holds_is_what_each_client_folds(steps: list[tuple[int, Json | str]]) -> None:
    asyncio.run(told(steps))


@pytest.mark.nightly
@settings(max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_what_the_server_holds_is_what_each_client_folds_many_times(steps: list[tuple[int, Json | str]]) -> None:
    asyncio.run(told(steps))
