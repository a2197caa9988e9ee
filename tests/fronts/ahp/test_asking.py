"""Forms of tool servers: each field is a question of its own kind."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import RULES, Client, calls_of, place
from tests.mcp_client.house import puppet

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tests.fronts.ahp.place import Json, Place

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


def form(folder: Path, properties: Json, *required: str) -> AbstractAsyncContextManager[Place]:
    """A place where the model calls a tool whose server asks for this."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    params = {"mode": "form", "message": "Which table?", "requestedSchema": schema}
    ask = {"method": "elicitation/create", "params": params}
    rules = [*RULES[:1], {"message": "", "reply": [{"tool": "puppet__do", "arguments": {"ask": ask}}]}]
    allowed: Json = {"approval": {"allow": {"puppet": {}}}}
    return place(folder, rules, mcpServers={"puppet": puppet("legacy")}, toolCall=allowed)


async def begun(at: Place) -> Client:
    await at.host.mcp.servers_known.wait()
    client = await at.connect()
    await client.create(S)
    await client.until(lambda: any(one["name"] == "puppet__do" for one in client.states[S]["serverTools"]))
    await client.ask(S, "t1", "go")
    return client


async def asked(client: Client, title: str) -> Json:
    def found() -> Json | None:
        requests = client.states[S].get("inputRequests", ())
        return next((one for one in requests if one["questions"][0]["title"] == title), None)

    return await client.until(found)


async def respond(client: Client, request: Json, kind: str, value: object) -> bool:
    """Whether it was taken."""
    given = {"answer": {"state": "submitted", "value": {"kind": kind, "value": value}}}
    about = {"requestId": request["id"], "response": "accept", "answers": given}
    return "rejectionReason" not in await client.echo(await client.act("session/inputCompleted", S, **about))


async def result(client: Client) -> Json:
    (call,) = calls_of((await client.settled(S, 1))["turns"][0])
    return json.loads(call["content"][0]["text"])


async def test_each_field_of_a_form_is_a_question_of_its_kind_with_its_bounds(tmp_path: Path) -> None:
    properties = {
        "name": {"type": "string", "description": "Of the table.", "maxLength": 5},
        "rows": {"type": "integer", "minimum": 1, "default": 10},
        "size": {"type": "number", "maximum": 4},
        "sure": {"type": "boolean", "default": False},
        "kind": {"type": "string", "enum": ["csv", "sql"], "default": "sql"},
        "tags": {"type": "array", "maxItems": 2, "items": {"enum": ["a", "b", "c"]}},
    }
    async with form(tmp_path, properties, *properties) as at:
        client = await begun(at)
        name = await asked(client, "name")
        assert "Which table?" in name["message"]
        assert name["questions"][0] == {
            "id": "answer", "kind": "text", "title": "name", "message": "Of the table.", "required": True, "max": 5,
        }  # fmt: skip
        assert not await respond(client, name, "text", "too long")
        assert await respond(client, name, "text", "sales")
        rows = await asked(client, "rows")
        assert (rows["questions"][0]["kind"], rows["questions"][0]["defaultValue"]) == ("integer", 10)
        for wrong in (0, 2.5):
            assert not await respond(client, rows, "number", wrong)
        assert await respond(client, rows, "number", 7.0)
        size = await asked(client, "size")
        assert (size["questions"][0]["kind"], size["questions"][0]["max"]) == ("number", 4)
        assert await respond(client, size, "number", 2.5)
        sure = await asked(client, "sure")
        assert (sure["questions"][0]["kind"], sure["questions"][0]["defaultValue"]) == ("boolean", False)
        assert not await respond(client, sure, "number", 1)
        assert await respond(client, sure, "boolean", True)
        kind = await asked(client, "kind")
        options = kind["questions"][0]["options"]
        assert (kind["questions"][0]["kind"], options) == (
            "single-select", [{"id": "1", "label": "csv"}, {"id": "2", "label": "sql", "recommended": True}],
        )  # fmt: skip
        assert await respond(client, kind, "selected", "1")
        tags = await asked(client, "tags")
        assert (tags["questions"][0]["kind"], tags["questions"][0]["max"]) == ("multi-select", 2)
        for wrong in (["1", "2", "3"], ["4"], "1"):
            assert not await respond(client, tags, "selected-many", wrong)
        assert await respond(client, tags, "selected-many", ["1", "3"])
        filled = {"name": "sales", "rows": 7, "size": 2.5, "sure": True, "kind": "csv", "tags": ["a", "c"]}
        assert await result(client) == {"action": "accept", "content": filled}
        at.same(client, S)


async def test_a_field_that_need_not_be_filled_in_can_be_skipped(tmp_path: Path) -> None:
    async with form(tmp_path, {"size": {"type": "number"}, "name": {"type": "string"}}, "name") as at:
        client = await begun(at)
        size = await asked(client, "size")
        skipped = {"answer": {"state": "skipped"}}
        about = {"requestId": size["id"], "response": "accept"}
        await client.act("session/inputCompleted", S, **about, answers=skipped)
        assert await respond(client, await asked(client, "name"), "text", "x")
        assert (await result(client))["content"] == {"name": "x"}


@pytest.mark.parametrize(("response", "action"), [("decline", "decline"), ("cancel", "cancel")])
async def test_a_form_that_is_declined_is_told_to_the_server_as_that(
    tmp_path: Path, response: str, action: str
) -> None:
    async with form(tmp_path, {"name": {"type": "string"}}) as at:
        client = await begun(at)
        request = await asked(client, "name")
        await client.act("session/inputCompleted", S, requestId=request["id"], response=response)
        assert (await result(client))["action"] == action
