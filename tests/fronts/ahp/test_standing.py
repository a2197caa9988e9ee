"""What stands beside the turns of a session: its tools, its customizations, the files it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.ahp import ROOT
from jupyter_eca.protocol.changes import ChangeExtent
from tests.fronts.ahp.place import Client, Refused, fails, place

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.ahp.place import Json

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


async def test_what_a_session_changed_is_in_its_summary_until_it_is_kept_or_taken_back(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("a\nb\nz\n")
    async with place(tmp_path) as at:
        client = await at.connect()
        state = await client.create(S, config={"approval": "auto"})
        assert "diffs" not in state["summary"]
        for number, words in enumerate(("edit", "write"), 1):
            await client.ask(S, f"t{number}", words)
            await client.settled(S, number)
        old, new = await client.until(lambda: _diffs(client, 2))
        assert (old["after"]["uri"], old["diff"]) == ((tmp_path / "old.txt").as_uri(), {"added": 2, "removed": 1})
        assert ("before" in new, new["diff"]) == (False, {"added": 2, "removed": 0})

        async def read(side: Json) -> str:
            return (await client.request("resourceRead", uri=side["content"]["uri"]))["data"]

        assert (await read(old["before"]), await read(old["after"])) == ("a\nb\nz\n", "a\nB\nc\nz\n")
        at.same(client, S)
        first, second = await at.host.changes.list("s1", extent=ChangeExtent.CHAT)
        await at.host.changes.keep("s1", [second.id])
        await client.until(lambda: _diffs(client, 1))
        await at.host.changes.revert("s1", [first.id])
        await client.until(lambda: client.states[S]["summary"]["diffs"] == [])
        with pytest.raises(Refused) as error:
            await read(old["before"])
        assert error.value.code == -32006


def _diffs(client: Client, count: int) -> list[Any] | None:
    found = client.states[S]["summary"].get("diffs", [])
    return found if len(found) == count else None


async def test_what_a_session_changed_is_listed_after_a_restart(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S, config={"approval": "auto"})
        await client.ask(S, "t1", "write")
        await client.settled(S, 1)
        (before,) = await client.until(lambda: _diffs(client, 1))
    async with place(tmp_path) as at:
        client = await at.connect()
        (listed,) = (await client.request("listSessions"))["items"]
        assert listed["diffs"] == [before]
        (tmp_path / "new.txt").unlink()
        await client.subscribe(S)
        await client.until(lambda: client.states[S]["summary"]["diffs"] == [])


async def test_the_tools_of_a_session_are_those_of_its_agent(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        state = await client.create(S)
        tools = {one["name"]: one for one in state["serverTools"]}
        assert {"write_file", "ask_user", "task"} <= tools.keys()
        assert tools["read_file"]["annotations"] == {"readOnlyHint": True}
        assert tools["write_file"]["inputSchema"]["required"] == ["path", "content"]
        lent = {"clientId": "one", "tools": [{"name": "lookup"}]}
        await client.act("session/activeClientChanged", S, activeClient=lent)
        await client.act("session/configChanged", S, config={"agent": "plan"})
        await client.until(lambda: "write_file" not in {one["name"] for one in client.states[S]["serverTools"]})
        assert not any("lookup" in one["name"] for one in client.states[S]["serverTools"])
        at.same(client, S)


@pytest.mark.parametrize(("locale", "labels"), [
    ("de-AT", ["Erlauben", "In dieser Sitzung erlauben: write_file in the top folder", "Ablehnen"]),
    ("tlh", ["Allow", "Allow in this session: write_file in the top folder", "Deny"]),
])  # fmt: skip
async def test_what_can_be_chosen_is_in_the_language_of_who_looks_on_after_a_reconnect_too(
    tmp_path: Path, locale: str, labels: list[str]
) -> None:
    async with place(tmp_path) as at:
        client = await at.open("one")
        await client.initialize(locale=locale)
        await client.create(S)
        for turn in ("t1", "t2"):
            await client.ask(S, turn, "write")
            call = await client.call(S, "pending-confirmation")
            assert [one["label"] for one in call["options"]] == labels
            await client.decide(S, turn, call, approved=False, reason="denied", selectedOptionId="deny")
            await client.settled(S, int(turn[1]))
            before, client = client, await at.open("one")
            about = {"clientId": "one", "lastSeenServerSeq": before.seen, "subscriptions": [S]}
            client.states, client.seen, client.number = before.states, before.seen, before.number
            client.replay(await client.request("reconnect", **about))
        at.same(client, S)


async def test_no_agent_asks_for_a_sign_in_and_so_none_is_told_to_be_needed(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect("one", ROOT)
        assert not any("protectedResources" in agent for agent in client.states[ROOT]["agents"])
        await client.create(S)
        await client.act("session/modelChanged", S, model={"id": "anthropic/none"})
        await client.ask(S, "t1", "you")
        turn = (await client.settled(S, 1))["turns"][0]
        assert (turn["state"], bool(turn["error"]["message"])) == ("error", True)
        pushed = {"resource": "https://example.org", "token": "x"}
        assert (await fails(client, "authenticate", **pushed)).code == -32602
        assert not any(n["type"] == "notify/authRequired" for n in client.notifications)
