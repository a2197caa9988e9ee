"""Clients that may not approve: what else they may not do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.ahp import VERSION
from tests.fronts.ahp.place import Client, fails, place
from tests.fronts.ahp.test_lent import S

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
        other = await at.open("editor", approves=False)
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


async def _allow(client: Client) -> None:
    """Answer the question that is asked in the session."""
    (asked,) = await client.until(lambda: client.states[S].get("inputRequests"))
    answer = {"state": "submitted", "value": {"kind": "selected", "value": "1"}}
    await client.act("session/inputCompleted", S, requestId=asked["id"], response="accept", answers={"answer": answer})
