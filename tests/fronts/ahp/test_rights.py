"""Clients that may not approve: what else they may not do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.ahp import VERSION
from tests.fronts.ahp.place import Client, fails, place
from tests.fronts.ahp.test_lent import S
from tests.fronts.ahp.test_terminals import Shells
from tests.support.access import ASKER

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("has_left", [False, True])
async def test_a_client_that_may_not_approve_cannot_have_the_id_of_one_that_may(tmp_path: Path, has_left: bool) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside.txt"
    inside.mkdir()
    outside.write_text("private")
    async with place(inside) as at:
        client = await at.connect("editor")
        await client.create(S)
        asking = asyncio.create_task(client.request("resourceRequest", uri=outside.as_uri(), read=True))
        await _allow(client)
        await asking
        assert (await client.request("resourceRead", uri=outside.as_uri()))["data"] == "private"
        if has_left:
            await client.close()
            await at.serving[0]
        other = await at.open("editor", access=ASKER)
        for method, params in (
            ("initialize", {"protocolVersions": [VERSION]}),
            ("reconnect", {"lastSeenServerSeq": 0, "subscriptions": [S]}),
        ):
            error = await fails(other, method, clientId="editor", **params)
            assert (error.code, "another id" in str(error)) == (-32009, True)
        other.id = "kernel"
        await other.initialize()
        assert (await fails(other, "resourceRead", uri=outside.as_uri())).code == -32009
        assert client.ended is has_left


async def test_a_client_that_may_not_approve_cannot_change_what_may_run(tmp_path: Path) -> None:
    (tmp_path / ".eca").mkdir()
    for path in ("a.txt", "AGENTS.md"):
        (tmp_path / path).write_text("x")
    uri = {name: (tmp_path / name).as_uri() for name in ("a.txt", "b.txt", ".eca", ".eca/config.json", "AGENTS.md")}
    wide = {"data": '{"toolCall": {"approval": {"byDefault": "allow"}}}', "encoding": "utf-8"}
    async with place(tmp_path) as at:
        kernel, editor = await at.connect("kernel", access=ASKER), await at.connect("editor")
        for method, params in (
            ("resourceWrite", {"uri": uri[".eca/config.json"], **wide}),
            ("resourceWrite", {"uri": f"{tmp_path.as_uri()}/x/../.eca/config.json", **wide}),
            ("resourceCopy", {"source": uri["a.txt"], "destination": uri[".eca/config.json"]}),
            ("resourceMove", {"source": uri["a.txt"], "destination": uri["AGENTS.md"]}),
            ("resourceMove", {"source": uri["AGENTS.md"], "destination": uri["b.txt"]}),
            ("resourceDelete", {"uri": uri[".eca"], "recursive": True}),
        ):
            error = await fails(kernel, method, **params)
            assert (error.code, "decides what may run" in str(error)) == (-32009, True)
        await kernel.request("resourceWrite", uri=uri["b.txt"], data="y", encoding="utf-8")
        await kernel.request("resourceDelete", uri=uri["b.txt"])
        await editor.request("resourceWrite", uri=uri["AGENTS.md"], data="y", encoding="utf-8")
        assert (tmp_path / "AGENTS.md").read_text() == "y"
        assert not (tmp_path / ".eca" / "config.json").exists()


async def test_a_client_that_may_not_approve_has_no_terminal(tmp_path: Path) -> None:
    async with place(tmp_path, shells=Shells()) as at:
        kernel, editor = await at.connect("kernel", access=ASKER), await at.connect("editor")
        claim = {"kind": "client", "clientId": "kernel"}
        assert (await fails(kernel, "createTerminal", terminal="term:/1", claim=claim)).code == -32009
        await editor.request("createTerminal", terminal="term:/2", claim={"kind": "client", "clientId": "editor"})
        await kernel.subscribe("term:/2")
        typed = await kernel.echo(await kernel.act("terminal/input", "term:/2", data="touch x\r"))
        assert "may ask, but not approve" in typed["rejectionReason"]
        assert (await fails(kernel, "disposeTerminal", terminal="term:/2")).code == -32009


async def _allow(client: Client) -> None:
    """Answer the question that is asked in the session."""
    (asked,) = await client.until(lambda: client.states[S].get("inputRequests"))
    answer = {"state": "submitted", "value": {"kind": "selected", "value": "1"}}
    await client.act("session/inputCompleted", S, requestId=asked["id"], response="accept", answers={"answer": answer})
