"""What is at a client: asked of it, as the protocol lets the server."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.ahp.resources import client_files
from tests.fronts.ahp.place import place

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.ahp.place import Client, Json, Place

pytestmark = pytest.mark.asyncio

S = "eca:/s1"
FAR = "vscode-remote://box/notes.txt"


def resource(uri: str, **more: Any) -> Json:
    return {"type": "resource", "label": "notes", "uri": uri, **more}


async def sent(at: Place) -> str:
    """What the model was asked."""
    return str([one for one in (await at.host.turns.draft("s1")).messages if one.role == "user"])


async def test_a_file_that_only_the_client_has_is_read_there(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await other.subscribe(S)
        client.files[FAR] = "alpha\nbeta\ngamma\n"
        second = {"range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 4}}}
        await client.ask(S, "t1", "look", attachments=[resource(FAR, selection=second)])
        await client.settled(S, 1)
        assert ("beta" in await sent(at), "alpha" in await sent(at)) == (True, False)
        assert (client.asked, other.asked) == ([("resourceRead", {"uri": FAR})], [])
        (tmp_path / "here.txt").write_text("delta")
        await client.ask(S, "t2", "look", attachments=[resource((tmp_path / "here.txt").as_uri())])
        await client.settled(S, 2)
        assert "delta" in await sent(at)
        assert len(client.asked) == 1


async def test_where_reading_is_denied_leave_is_asked_for_first(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        client.files[FAR], client.allows = "alpha", False
        await client.ask(S, "t1", "look", attachments=[resource(FAR)])
        await client.settled(S, 1)
        assert [method for method, _ in client.asked] == ["resourceRead", "resourceRequest", "resourceRead"]
        assert client.asked[1][1] == {"uri": FAR, "read": True}
        assert "alpha" in await sent(at)


async def test_what_a_client_does_not_have_or_does_not_tell_in_time_is_said_to_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "look", attachments=[resource("file:///nowhere/x")])
        await client.settled(S, 1)
        assert "could not be read: It is not there." in await sent(at)
        monkeypatch.setattr(client_files, "ANSWER_SECONDS", 0.05)
        client.silent = True
        await client.ask(S, "t2", "look", attachments=[resource(FAR)])
        await client.settled(S, 2)
        assert "the client did not answer" in await sent(at)


@pytest.mark.parametrize(
    "answer", [None, {"data": 5}, {"data": "?", "encoding": "base64"}, {"data": "x", "encoding": "rot13"}]
)
async def test_an_answer_that_is_no_content_is_none(answer: Json | None) -> None:
    async def ask(_method: str, _params: Json) -> Json | None:
        return answer

    with pytest.raises(client_files.RemoteError, match="not a resource"):
        await client_files.read(ask, FAR)


async def test_a_picture_at_the_client_is_a_picture() -> None:
    png = base64.b64encode(b"png").decode()

    async def ask(_method: str, _params: Json) -> Json:
        return {"data": png, "encoding": "base64", "contentType": "image/png"}

    assert await client_files.read(ask, FAR) == (b"png", "image/png")


def listed(client: Client) -> dict[str, Json]:
    return {one["customization"]["uri"]: one for one in client.states[S]["customizations"] if "clientId" in one}


async def test_what_the_active_client_brings_is_listed_loaded_read_by_the_model_and_gone_with_it(
    tmp_path: Path,
) -> None:
    rules, none = "client:/rules", "client:/none"
    refs = [{"uri": rules, "displayName": "Our rules"}, {"uri": none, "displayName": "None"}]
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        client.files = {f"{rules}/style.md": "Write in verse.", f"{rules}/logo.png": "no"}
        await client.create(S, activeClient={"clientId": "one", "tools": [], "customizations": refs})
        await other.subscribe(S)
        await client.until(lambda: {one["status"] for one in listed(client).values()} == {"loaded", "error"})
        assert listed(client)[rules] == {
            "customization": refs[0], "enabled": True, "clientId": "one", "status": "loaded",
        }  # fmt: skip
        assert listed(client)[none]["statusMessage"] == "It is not there."
        for turn in ("t1", "t2"):
            await client.ask(S, turn, "you")
            await client.settled(S, int(turn[1]))
        assert (await sent(at)).count("Write in verse.") == 1
        at.same(client, S)
        await client.close()
        await other.until(lambda: not listed(other))
        at.same(other, S)


async def test_what_a_client_brought_can_be_switched_off(tmp_path: Path) -> None:
    rules = "client:/rules.md"
    async with place(tmp_path) as at:
        client = await at.connect()
        client.files[rules] = "Write in verse."
        ref = {"uri": rules, "displayName": "Our rules"}
        await client.create(S, activeClient={"clientId": "one", "tools": [], "customizations": [ref]})
        await client.until(lambda: listed(client).get(rules, {}).get("status") == "loaded")
        await client.act("session/customizationToggled", S, uri=rules, enabled=False)
        await client.ask(S, "t1", "you")
        await client.settled(S, 1)
        assert "verse" not in await sent(at)
        await client.act("session/customizationToggled", S, uri=rules, enabled=True)
        await client.ask(S, "t2", "me")
        await client.settled(S, 2)
        assert "verse" in await sent(at)
        at.same(client, S)
