"""What stands beside the words of an answer, and changes of the set-up."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.config import Config
from jupyter_eca.fronts.ahp.hub import Hub
from jupyter_eca.fronts.ahp.persistence import RESERVED_COUNT, NoteStore
from jupyter_eca.fronts.unified_diff import apply_diff, read_side
from jupyter_eca.host.store import Store
from jupyter_eca.protocol.ahp import ROOT
from jupyter_eca.protocol.ahp.actions import ActiveSessionsChanged
from jupyter_eca.workspace.files.text_file import describe_change
from tests.fronts.ahp.place import calls_of, place
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

S = "eca:/s1"
PNG = base64.b64encode(b"\x89PNG not really").decode()
TOOL = {"name": "lookup", "inputSchema": {"type": "object"}}


@pytest.mark.asyncio
async def test_a_picture_of_a_tool_is_behind_a_reference_that_outlives_the_server(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S, activeClient={"clientId": "one", "tools": [TOOL]})
        await client.ask(S, "t1", "lent")
        call = await client.call(S, "running")
        content = [{"type": "embeddedResource", "data": PNG, "contentType": "image/png"}]
        structured = {"found": 1, "nothing": None}
        result = {"success": True, "pastTenseMessage": "x", "content": content, "structuredContent": structured}
        await client.act("session/toolCallComplete", S, turnId="t1", toolCallId=call["toolCallId"], result=result)
        turn = (await client.settled(S, 1))["turns"][0]
        assert calls_of(turn)[0]["structuredContent"] == structured
        (part,) = (part for part in turn["responseParts"] if part["kind"] == "contentRef")
        assert (part["contentType"], PNG in json.dumps(part)) == ("image/png", False)
    async with place(tmp_path) as at:
        read = await (await at.connect()).request("resourceRead", uri=part["uri"])
        assert read == {"data": PNG, "encoding": "base64", "contentType": "image/png"}


@pytest.mark.asyncio
async def test_models_that_come_with_another_configuration_are_told_in_the_root(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect("one", ROOT)
        more = settings(tmp_path, [])
        more["providers"]["scripted"]["models"]["second"] = {"script": "script.json"}
        await at.host.configure(Config.model_validate(more))
        await client.until(lambda: len(client.states[ROOT]["agents"][0]["models"]) == 2)
        at.same(client, ROOT)


@pytest.mark.asyncio
async def test_how_many_sessions_there_are_is_told_in_the_root(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect("one", ROOT)
        await client.create(S)
        await client.until(lambda: client.states[ROOT]["activeSessions"] == 1)
        await client.request("disposeSession", session=S)
        await client.until(lambda: client.states[ROOT]["activeSessions"] == 0)


@pytest.mark.asyncio
async def test_numbers_of_two_servers_on_one_file_and_of_those_after_them_never_fall_back(tmp_path: Path) -> None:
    stores = [Store(tmp_path / "chats.db", "w", lambda _: None) for _ in range(2)]
    for store in stores:
        await store.open()
    one, two = (NoteStore(store) for store in stores)
    first, second = await one.open(), await two.open()
    assert second >= first + RESERVED_COUNT
    widened: list[asyncio.Task[int]] = []

    def reserve_numbers() -> int:
        widened.append(asyncio.ensure_future(one.reserve_more()))
        return one.reserve_at

    hub = Hub(first, {"agents": []}, lambda _uri, _before: None, reserve_numbers)
    hub.reserve_at = one.reserve_at
    for _ in range(RESERVED_COUNT + 10):
        hub.dispatch(ROOT, ActiveSessionsChanged(active_sessions=1), 0)
    await asyncio.gather(*widened)
    for store in stores:
        await store.close()
    last = Store(tmp_path / "chats.db", "w", lambda _: None)
    await last.open()
    assert await NoteStore(last).open() > hub.seq
    await last.close()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("", "one\n"),
        ("one\n", ""),
        ("no end", "no end\nbut one\n"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("".join(f"{n}\n" for n in range(100)), "".join(f"{n}\n" for n in range(100) if n not in {3, 50, 99})),
        ("x\n-- a\n", "x\n++ b\n"),
    ],
)
def test_a_diff_of_ours_makes_the_text_after_from_the_text_before(before: str, after: str) -> None:
    assert apply_diff(before, describe_change("x.txt", before, after).diff) == after


def test_a_diff_of_another_text_makes_nothing_and_tells_its_own_sides() -> None:
    diff = describe_change("x.txt", "a\nb\n", "a\nc\n").diff
    assert apply_diff("something else\n", diff) is None
    assert (read_side(diff, "-"), read_side(diff, "+")) == ("a\nb\n", "a\nc\n")
