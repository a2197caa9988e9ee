"""The chat contract's quick checklist, against a real process and real tool servers; each sentence a test."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.fronts.rest.served import Running, Served, running, said, talking
from tests.mcp_client.house import raw, tour_server

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

SERVERS: dict[str, Any] = {
    "tour": tour_server(os.devnull, "--key", "hunter2"),
    "other": raw("good"),
    "far": {"url": "http://user:hunter2@127.0.0.1:9/mcp?key=hunter2", "disabled": True},
    "broken": {"command": "/does/not/exist"},
}
ADD = {"name": "add", "description": "Adds."}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("rest"), "--approve", "allow", mcpServers=SERVERS) as at:
        yield at


@pytest_asyncio.fixture
async def at(process: Running) -> AsyncGenerator[Served]:
    """Nothing is connected."""
    async with talking(process) as served:
        yield served


async def test_servers_are_an_array_of_server_objects_without_their_secrets(at: Served) -> None:
    await at.post("/connect/tour")
    tour, _, far, *_ = await at.get("/servers")
    assert (tour["id"], tour["name"], tour["description"]) == ("tour", "tour", "Be kind to me.")
    assert tour["path"].endswith("tour_server.py")
    assert ADD in tour["tools"]
    assert far == {"id": "far", "name": "far", "path": "http://127.0.0.1:9/mcp"}


async def test_it_says_at_its_start_what_happens_to_tool_calls(process: Running) -> None:
    assert process.policy.startswith("Tool calls, with --approve allow: every call runs")


async def test_with_rules_it_says_at_its_start_which_calls_are_refused(tmp_path: Path) -> None:
    with running(tmp_path, "--approve", "rules") as process:
        policy = process.policy
        async with talking(process) as at:
            await at.post("/connect/tour")
            assert "It did not run" in said(await at.events("add"))
    assert policy.startswith(
        "Tool calls, with --approve rules: a call runs only if a rule in `toolCall.approval` allows"
    )
    assert "All others are refused" in policy
    assert "`--approve allow` runs them too" in policy


async def test_connecting_answers_with_the_tools_and_status_tells_it(at: Served) -> None:
    assert await at.get("/status") == {"connected": False, "server_id": None, "tools": []}
    connected = await at.post("/connect/tour")
    assert (connected["success"], connected["server_id"], connected["server_name"]) == (True, "tour", "tour")
    assert ADD in connected["tools"]
    assert await at.get("/status") == {"connected": True, "server_id": "tour", "tools": connected["tools"]}


async def test_disconnecting_leaves_nothing_connected_and_may_be_said_twice(at: Served) -> None:
    await at.post("/connect/tour")
    for _ in range(2):
        assert await at.post("/disconnect") == {"success": True}
        assert await at.get("/status") == {"connected": False, "server_id": None, "tools": []}
    assert "There is no tool 'tour__add'. The tools are: none." in said(await at.events("add"))


async def test_an_answer_with_a_tool_call_streams_what_the_contract_shows(at: Served) -> None:
    await at.post("/connect/tour")
    body = {"message": "add", "conversation_id": "x", "chat_id": None}
    answer = await at.client.post("/chat/stream", json=body)
    assert answer.headers["content-type"] == "text/event-stream"
    *events, rest = answer.text.split("\n\n")
    assert rest == ""
    assert all(event.startswith("data: ") and "\n" not in event for event in events)
    assert events.pop() == "data: [DONE]"
    start, end, *texts = (json.loads(event[6:]) for event in events)
    assert start == {"type": "tool_start", "id": start["id"], "name": "add", "args": {"a": 2, "b": 3}}
    assert end == {"type": "tool_end", "id": start["id"], "name": "add"}
    assert said(texts) == "It said: 5"


async def test_tool_ids_are_unique_and_the_same_at_start_and_end(at: Served) -> None:
    await at.post("/connect/tour")
    for _ in range(2):
        events = await at.events("twice")
        starts = [event["id"] for event in events if event["type"] == "tool_start"]
        ends = [event["id"] for event in events if event["type"] == "tool_end"]
        assert len(set(starts)) == 2
        assert sorted(starts) == sorted(ends)
        assert all(events.index(s) < events.index(e) for s in events for e in events if _ends(s, e))


def _ends(start: dict[str, Any], end: dict[str, Any]) -> bool:
    return (start["type"], end["type"]) == ("tool_start", "tool_end") and start["id"] == end["id"]


async def test_only_the_final_answer_is_text_neither_reasoning_nor_words_before_a_call(at: Served) -> None:
    await at.post("/connect/tour")
    assert said(await at.events("twice")).startswith("Both are done: ")


async def test_pages_of_the_frontends_origin_may_read_answers_with_credentials_and_others_not(at: Served) -> None:
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,authorization"}
    mine = {"Origin": "http://localhost:3000"}
    preflight = await at.client.options("/chat/stream", headers=mine | asks)
    assert preflight.status_code == 200
    assert "authorization" in preflight.headers["access-control-allow-headers"]
    answer = await at.client.post("/chat/stream", json={"message": "you"}, headers=mine)
    for heard in (preflight, answer):
        assert heard.headers["access-control-allow-origin"] == "http://localhost:3000"
        assert heard.headers["access-control-allow-credentials"] == "true"
    other = {"Origin": "http://evil.example"}
    assert (await at.client.options("/chat/stream", headers=other | asks)).status_code == 400
    refused = await at.client.post("/chat", json={"message": "evil"}, headers=other)
    assert refused.status_code == 403
    assert "access-control-allow-origin" not in refused.headers
    assert "evil" not in [chat["title"] for chat in await at.get("/chats")]


async def test_the_whole_answer_has_each_call_with_its_result(at: Served) -> None:
    await at.post("/connect/tour")
    call = {"name": "add", "args": {"a": 2, "b": 3}, "result": "5"}
    assert await at.post("/chat", json={"message": "add"}) == {"response": "It said: 5", "tool_calls": [call]}


async def test_a_failed_answer_ends_with_its_reason_and_nothing_after(at: Served) -> None:
    await at.post("/connect/tour")
    assert await at.lines("break") == ["[ERROR] The endpoint broke off. Ask again."]
    whole = await at.client.post("/chat", json={"message": "break"})
    assert (whole.status_code, whole.json()) == (502, {"detail": "The endpoint\nbroke off. Ask again."})


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/connect/nobody", None, 404),
        ("/nothing", None, 404),
        ("/servers", None, 405),
        ("/chat", b"{", 422),
        ("/chat", b"[]", 422),
        ("/chat", b'{"message": 5}', 422),
        ("/chat/stream", b'{"message": ""}', 422),
        ("/chat/stream", b'{"message": "\\ud800"}', 422),
        ("/chat/stream", b'{"message": "x", "chat_id": "../x"}', 422),
    ],
)
async def test_what_cannot_be_done_is_an_error_with_a_detail(
    at: Served, path: str, body: bytes | None, status: int
) -> None:
    answer = await at.client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert list(answer.json()) == ["detail"]


async def test_a_body_that_is_not_called_json_is_refused(at: Served) -> None:
    """Any page may send a form, or plain text, to any origin."""
    text = {"Content-Type": "text/plain"}
    assert (await at.client.post("/chat", content=b'{"message": "x"}', headers=text)).status_code == 415


async def test_a_second_server_replaces_the_first_once_it_is_up_and_not_when_it_fails(at: Served) -> None:
    await at.post("/connect/tour")
    failed = await at.client.post("/connect/broken")
    assert failed.status_code == 502
    assert "broken" in failed.json()["detail"]
    assert (await at.get("/status"))["server_id"] == "tour"
    await at.post("/connect/other")
    assert (await at.get("/status"))["server_id"] == "other"
    assert [one["id"] for one in await at.get("/servers") if "tools" in one] == ["tour", "other"]


async def test_only_the_connected_servers_tools_are_offered(at: Served) -> None:
    await at.post("/connect/other")
    assert said(await at.events("add")) == "It said: There is no tool 'tour__add'. The tools are: other__work."
    assert said(await at.events("work")) == "It said: done"
    tour = (await at.post("/connect/tour"))["tools"]
    names = ", ".join(f"tour__{tool['name']}" for tool in tour)
    assert said(await at.events("both")) == f"It said: There is no tool 'other__work'. The tools are: {names}."
