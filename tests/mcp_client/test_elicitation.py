"""What a server asks of whoever uses it, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from mcp_types import ElicitRequestURLParams

from jupyter_eca.config import McpServerConfig
from jupyter_eca.errors import ToolError
from jupyter_eca.mcp_client.active_calls import ActiveCalls
from jupyter_eca.mcp_client.client_features import McpCaller
from jupyter_eca.mcp_client.connection_settings import ConnectionSettings
from jupyter_eca.mcp_client.server_log import ServerLog
from jupyter_eca.mcp_client.server_requests import ACCEPT, DECLINE, LEAVE_OUT, OPENED, ServerRequests
from jupyter_eca.mcp_client.watched_resources import AttachedResources
from tests.mcp_client.house import QUICK, User, house, puppet
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp_client.house import House

pytestmark = pytest.mark.asyncio
BOTH = pytest.mark.parametrize("era", ["legacy", "modern"])
NAME = {"name": {"type": "string", "title": "Name", "description": "of the table"}}


def form(properties: dict[str, Any], *required: str, message: str = "Which table?") -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }


def page(url: str) -> dict[str, Any]:
    params = {"mode": "url", "elicitationId": "e", "message": "Pay here", "url": url}
    return {"method": "elicitation/create", "params": params}


async def answered(at: House, ask: dict[str, Any], chat: str = "chat") -> dict[str, Any]:
    await at.running("puppet")
    return json.loads((await at.call("puppet__do", chat, ask=ask)).text)


@BOTH
async def test_a_form_is_asked_field_by_field_in_the_chat_of_the_call(tmp_path: Path, era: str) -> None:
    properties = {
        **NAME,
        "rows": {"type": "integer", "minimum": 1, "default": 10},
        "size": {"type": "number"},
        "sure": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["csv", "sql"], "enumNames": ["A file", "A query"]},
        "shade": {"type": "string", "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#00f", "title": "Blue"}]},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}},
    }
    user = User(["sales", "7", "2.5", "Yes", "A query", "Blue", "A, B"])
    async with house(tmp_path, {"puppet": puppet(era)}, user=user) as at:
        got = await answered(at, form(properties, *properties))
    assert got["action"] == "accept"
    assert got["content"] == {
        "name": "sales", "rows": 7, "size": 2.5, "sure": True, "kind": "sql", "shade": "#00f", "tags": ["a", "b"],
    }  # fmt: skip
    first = user.asked[0]
    assert (first.chat_id, first.tool_call_id, first.allow_freeform) == ("chat", "call", True)
    assert first.question == "The MCP server 'puppet' asks: Which table?\n\nName: of the table"
    labels = [[option.label for option in asked.options or ()] for asked in user.asked]
    assert labels[1] == ["10", DECLINE]
    assert labels[4] == ["A file", "A query", DECLINE]
    assert not user.asked[4].allow_freeform


@BOTH
@pytest.mark.parametrize(("answer", "action"), [(DECLINE, "decline"), (None, "cancel")])
async def test_what_is_not_answered_is_told_to_the_server_as_what_it_is(
    tmp_path: Path, era: str, answer: str | None, action: str
) -> None:
    async with house(tmp_path, {"puppet": puppet(era)}, user=User([answer])) as at:
        assert (await answered(at, form(NAME, "name")))["action"] == action


async def test_a_field_that_need_not_be_filled_in_can_be_left_out(tmp_path: Path) -> None:
    user = User([LEAVE_OUT, "3"])
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        got = await answered(at, form({**NAME, "rows": {"type": "integer"}}, "rows"))
    assert got["content"] == {"rows": 3}


async def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_reason(tmp_path: Path) -> None:
    schema = {"rows": {"type": "integer", "minimum": 1, "maximum": 9}}
    user = User(["many", "12", "9"])
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        assert (await answered(at, form(schema, "rows")))["content"] == {"rows": 9}
    assert "'12' does not fit. It must be a whole number at least 1 and at most 9." in user.asked[2].question


async def test_a_number_below_a_minimum_of_zero_is_asked_for_again_with_that_minimum(tmp_path: Path) -> None:
    schema = {"rows": {"type": "integer", "minimum": 0}}
    user = User(["-1", "0"])
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        assert (await answered(at, form(schema, "rows")))["content"] == {"rows": 0}
    assert "'-1' does not fit. It must be a whole number at least 0." in user.asked[1].question


async def test_a_form_without_fields_is_a_yes_or_no(tmp_path: Path) -> None:
    user = User([ACCEPT])
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        assert await answered(at, form({})) == {"action": "accept", "content": {}}
    assert [option.label for option in user.asked[0].options or ()] == [ACCEPT, DECLINE]


async def test_what_no_form_can_have_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    user = User(["x"])
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        nested = form({"inner": {"type": "object"}})
        assert (await answered(at, nested))["code"] == -32602
    assert user.asked == []


@BOTH
async def test_a_page_is_opened_by_the_user_alone_who_is_shown_where_it_is(tmp_path: Path, era: str) -> None:
    user = User([OPENED])
    async with house(tmp_path, {"puppet": puppet(era)}, user=user) as at:
        assert (await answered(at, page("https://pay.example/x?y")))["action"] == "accept"
    assert "at pay.example: Pay here\n\nhttps://pay.example/x?y" in user.asked[0].question


async def test_what_is_no_page_is_declined_unasked(tmp_path: Path) -> None:
    user = User([OPENED])
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        assert (await answered(at, page("javascript:alert(1)")))["action"] == "decline"
    assert user.asked == []


async def test_a_call_that_needs_a_page_first_is_made_again_when_its_user_was_there(tmp_path: Path) -> None:
    user = User([OPENED])
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        await at.running("puppet")
        assert (await at.call("puppet__do", page="https://sign.example/in")).text == "done"
    assert "https://sign.example/in" in user.asked[0].question


async def test_a_call_that_needs_a_page_fails_when_nobody_opens_it(tmp_path: Path) -> None:
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=User([DECLINE])) as at:
        await at.running("puppet")
        with pytest.raises(ToolError, match="sign in first"):
            await at.call("puppet__do", page="https://sign.example/in")


@pytest.mark.parametrize("chat", ["", "elsewhere"])
async def test_where_nobody_is_there_the_question_is_cancelled_and_logged(tmp_path: Path, chat: str) -> None:
    user = User(["x"], sees=frozenset({"chat"}))
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        assert (await answered(at, form(NAME), chat))["action"] == "cancel"
        assert "nobody was there: Which table?" in at.manager.read_log("puppet")[-1].text
    assert user.asked == []


@BOTH
async def test_a_question_may_take_longer_than_a_call(tmp_path: Path, era: str) -> None:
    user = User(["x"])
    slow = user.ask

    async def ask(question: Any) -> Any:
        await asyncio.sleep(0.8)
        return await slow(question)

    user.ask = ask
    async with house(tmp_path, {"puppet": puppet(era)}, replace(QUICK, timeout=0.6), user=user) as at:
        assert (await answered(at, form(NAME)))["action"] == "accept"


@BOTH
async def test_a_question_does_not_survive_its_call(tmp_path: Path, era: str) -> None:
    user = User(holds=True)
    async with house(tmp_path, {"puppet": puppet(era)}, user=user) as at:
        await at.running("puppet")
        calling = asyncio.create_task(at.call("puppet__do", ask=form(NAME)))
        await asyncio.wait_for(user.hears.wait(), PATIENCE)
        calling.cancel()
        await asyncio.wait_for(user.taken_back.wait(), PATIENCE)


async def test_a_page_counts_as_not_opened_if_the_call_ends_first() -> None:
    user, calls = User(holds=True), ActiveCalls()
    settings = ConnectionSettings(
        name="puppet",
        config=McpServerConfig(),
        get_folders=tuple,
        timing=QUICK,
        on_change=lambda: None,
        client_features=user,
        log=ServerLog(str),
        resources=AttachedResources(),
        get_environment=dict,
    )
    address = ElicitRequestURLParams(message="Sign in", url="https://sign.example/in", elicitation_id="e")
    with calls.begin(McpCaller("chat"), PATIENCE, asyncio.timeout(None)):
        asking = asyncio.create_task(ServerRequests(settings, calls).ask_to_open_pages([address]))
        await asyncio.wait_for(user.hears.wait(), PATIENCE)
    assert not await asyncio.wait_for(asking, PATIENCE)


async def test_a_question_does_not_survive_its_server(tmp_path: Path) -> None:
    user = User(holds=True)
    async with house(tmp_path, {"puppet": puppet("legacy")}, user=user) as at:
        await at.running("puppet")
        calling = asyncio.create_task(at.call("puppet__do", ask=form(NAME)))
        await asyncio.wait_for(user.hears.wait(), PATIENCE)
        at.manager.stop("puppet")
        await asyncio.wait_for(user.taken_back.wait(), PATIENCE)
        with pytest.raises(ToolError):
            await calling
