"""Clients that leave in the middle, and many sessions at once. Nobody else notices, and no error is logged."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Request
from tests.fronts.ahp.place import place

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/victim"
SESSIONS = 100


def list_requests(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    file = (folder / "old.txt").as_uri()
    return [
        ("createSession", {"session": "eca:/left"}),
        ("createSession", {"session": "eca:/copy", "fork": {"session": S, "turnId": "t1"}}),
        ("subscribe", {"resource": S}),
        ("listSessions", {}),
        ("fetchTurns", {"session": S, "limit": 5}),
        ("completions", {"kind": "userMessage", "session": S, "text": "@ol", "offset": 3}),
        ("resolveSessionConfig", {}),
        ("resourceRead", {"uri": file}),
        ("resourceList", {"uri": folder.as_uri()}),
        ("resourceWrite", {"uri": (folder / "w.txt").as_uri(), "data": "x", "encoding": "utf-8"}),
        ("resourceCopy", {"source": file, "destination": (folder / "c.txt").as_uri()}),
        ("resourceMove", {"source": (folder / "w.txt").as_uri(), "destination": (folder / "m.txt").as_uri()}),
        ("resourceDelete", {"uri": (folder / "m.txt").as_uri()}),
        ("createTerminal", {"terminal": "t:/1", "claim": {"kind": "client", "clientId": "rough"}}),
        ("disposeTerminal", {"terminal": "t:/1"}),
        ("authenticate", {"resource": "x", "token": "y"}),
        ("disposeSession", {"session": "eca:/left"}),
        ("dispatchAction", {"clientSeq": 1, "action": {"type": "session/turnStarted", "session": S}}),
    ]


def list_errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    ours = (record for record in caplog.records if record.name.startswith("jupyter_eca"))
    return [record.getMessage() for record in ours if record.levelno >= logging.ERROR]


async def test_clients_that_leave_during_each_request_disturb_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "old.txt").write_text("a\nb\n")
    async with place(tmp_path) as at:
        steady = await at.connect("steady")
        await steady.create(S)
        await steady.ask(S, "t1", "you")
        await steady.until(lambda: not steady.states[S].get("activeTurn") and steady.states[S]["turns"])
        for wait in (0, 1, 3):
            for method, params in list_requests(tmp_path):
                rough = await at.connect(f"rough {method}")
                rough.expect(1000)
                await rough.link.send(Request(1000, method, params))
                for _ in range(wait):
                    await asyncio.sleep(0)
                await rough.link.close()
        await steady.ask(S, "t2", "again")
        await steady.until(lambda: len(steady.states[S]["turns"]) == 2)
        assert steady.states[S]["turns"][1]["state"] == "complete"
        assert not steady.ended
    assert list_errors(caplog) == []


async def test_a_hundred_sessions_answer_at_once_each_with_its_own_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with place(tmp_path) as at:
        client = await at.connect("many")
        uris = [f"eca:/s{number}" for number in range(SESSIONS)]
        for uri in uris:
            await client.create(uri)
        for number, uri in enumerate(uris):
            await client.ask(uri, "t", f"number {number}.")
        await client.until(lambda: all(client.states[uri]["turns"] for uri in uris))
        for number, uri in enumerate(uris):
            (turn,) = client.states[uri]["turns"]
            assert f"Hello, number {number}." in str(turn["responseParts"])
        assert len((await client.request("listSessions"))["items"]) == SESSIONS
        for uri in uris:
            await client.request("disposeSession", session=uri)
        assert (await client.request("listSessions"))["items"] == []
    assert list_errors(caplog) == []
