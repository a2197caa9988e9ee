"""The assistant is asked over MCP: sessions, what they tell while they work, and what can be read of them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from tests.fronts.mcp.room import LEGACY, MODERN, User, allowed, call, ok, room
from tests.mcp_client.house import tour_server
from tests.support.host_and_client import PATIENCE, answer

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.asyncio


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    return json.loads(content.text)


async def test_a_task_is_answered_with_its_session_and_what_was_done(tmp_path: Path) -> None:
    rules = allowed("write_file")
    async with room(tmp_path, toolCall=rules) as here, here.client() as client:
        told: list[str | None] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            del progress, total
            told.append(message)

        result = await client.call_tool("eca_run", {"prompt": "write"}, progress_callback=hear)
        data = result.structured_content
    assert data["text"].startswith("It said: Created made.txt")
    assert data["model"] == "scripted/test"
    (called,) = data["toolCalls"]
    assert (called["name"], called["arguments"]["path"], called["error"]) == ("write_file", "made.txt", False)
    assert "Writing made.txt" in told


async def test_the_first_task_has_the_tools_of_mcp_servers_that_are_still_starting(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "It is {result}."}]},
        {"message": "", "reply": [{"tool": "tour__add", "arguments": {"a": 40, "b": 2}}]},
    ]
    async with (
        room(tmp_path, rules, mcpServers={"tour": tour_server()}, toolCall=allowed("tour__add")) as at,
        at.client() as client,
    ):
        assert (await ok(client, "eca_run", prompt="add"))["text"] == "It is 42."


async def test_a_session_is_made_prompted_listed_and_forked(tmp_path: Path) -> None:
    async with room(tmp_path) as here, here.client(LEGACY) as client:
        made = await ok(client, "eca_session_create", title="Mine")
        one = await ok(client, "eca_session_prompt", sessionId=made["sessionId"], prompt="you")
        assert (one["text"], one["sessionId"]) == ("Hello, you", made["sessionId"])
        forked = await ok(client, "eca_session_fork", sessionId=made["sessionId"])
        listed = (await ok(client, "eca_session_list"))["sessions"]
        assert {(one["sessionId"], one["title"]) for one in listed} == {
            (made["sessionId"], "Mine"),
            (forked["sessionId"], "Mine (fork)"),
        }
        said = (await read(client, f"eca://chat/{forked['sessionId']}"))["said"]
        assert {"role": "user", "text": "you"} in said
        assert {"role": "assistant", "text": "Hello, you"} in said


async def test_an_answer_is_aborted_and_a_session_that_answers_takes_no_prompt(tmp_path: Path) -> None:
    async with room(tmp_path) as here, here.client() as client:
        made = await ok(client, "eca_session_create")
        id = made["sessionId"]
        began = asyncio.Event()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            del progress, total, message
            began.set()

        asked = {"sessionId": id, "prompt": "slow"}
        asking = asyncio.ensure_future(client.call_tool("eca_session_prompt", asked, progress_callback=hear))
        await asyncio.wait_for(began.wait(), PATIENCE)
        failed, data = await call(client, "eca_session_prompt", sessionId=id, prompt="you")
        assert failed
        assert "still answering" in data["error"]
        assert (await ok(client, "eca_session_abort", sessionId=id))["aborted"]
        stopped = await asyncio.wait_for(asking, PATIENCE)
        assert stopped.is_error
        assert stopped.structured_content["error"] == "Stopped."
        assert not (await ok(client, "eca_session_abort", sessionId=id))["aborted"]


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_what_the_assistant_asks_is_asked_of_the_clients_user(tmp_path: Path, mode: str) -> None:
    user = User({"answer": "b", "decision": "approve"})
    async with room(tmp_path, toolCall=allowed("ask_user")) as here, here.client(mode, user) as client:
        assert "b" in (await ok(client, "eca_run", prompt="ask"))["text"]
        assert (await ok(client, "eca_run", prompt="write"))["toolCalls"][0]["error"] is False
    assert [words in asked for words, asked in zip(("Which?", "write_file"), user.asked, strict=True)] == [True, True]


async def test_open_notebooks_their_cells_and_chats_are_resources(tmp_path: Path) -> None:
    async with room(tmp_path) as here, here.client() as client:
        panel = await here.desk.client()
        await answer(panel, "you")
        templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
        assert {one.split("/")[2] for one in templates} == {"notebook", "kernel", "chat"}
        listed = {str(one.uri) for one in (await client.list_resources()).resources}
        assert "eca://chat/chat" in listed
        book = await read(client, "eca://notebook/book.ipynb")
        (cell,) = book["cells"]
        assert (cell["source"], cell["uri"]) == ("x = 1", "eca://notebook/book.ipynb/cell/a")
        assert await read(client, cell["uri"]) == cell
        ref = types.ResourceTemplateReference(uri="eca://chat/{id}")
        done = await client.complete(ref, {"name": "id", "value": "ch"})
        assert done.completion.values == ["chat"]
        for uri in ("eca://notebook/book.ipynb/cell/none", "eca://notebook/none.ipynb", "eca://chat/none", "eca://x"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert refused.value.code == types.INVALID_PARAMS


async def test_whoever_listens_hears_that_a_chat_went_on(tmp_path: Path) -> None:
    async with room(tmp_path) as here, here.client() as client:
        panel = await here.desk.client()
        await answer(panel, "you")
        async with client.listen(resource_subscriptions=["eca://chat/chat"]) as events:
            await answer(panel, "again")
            event = await asyncio.wait_for(anext(aiter(events)), PATIENCE)
    assert "eca://chat/chat" in str(event)


@pytest.mark.parametrize("uri", ["eca://notebook/book.ipynb", "eca://kernel/book.ipynb"])
async def test_whoever_listens_hears_that_a_user_changed_a_notebook(tmp_path: Path, uri: str) -> None:
    book = tmp_path / "book.ipynb"
    async with (
        room(tmp_path) as here,
        here.client() as client,
        client.listen(resource_subscriptions=[uri]) as events,
    ):
        book.write_text(book.read_text().replace("x = 1", "x = 2"))
        event = await asyncio.wait_for(anext(aiter(events)), PATIENCE)
    assert uri in str(event)


async def test_a_picture_is_an_item_for_newer_versions_and_base64_for_the_oldest(tmp_path: Path) -> None:
    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.fronts.mcp import answers
    from jupyter_eca.fronts.mcp.offers_base import ToolAnswer

    del tmp_path
    answered = ToolAnswer({"text": "A plot."}, (ImagePart("image/png", "aW1hZ2U="),))
    new = answers.make_result(answered, "2025-06-18")
    assert [item.type for item in new.content] == ["text", "image"]
    assert new.structured_content == {"text": "A plot."}
    (old,) = answers.make_result(answered, "2024-11-05").content
    assert isinstance(old, types.TextContent)
    assert json.loads(old.text) == {"text": "A plot.", "images": [{"mimeType": "image/png", "base64": "aW1hZ2U="}]}
    assert answers.make_result(answered, "2024-11-05").structured_content is None


async def test_a_subscriber_of_the_older_versions_is_told_and_one_that_left_does_no_harm(tmp_path: Path) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    subscribe = types.SubscribeRequest(params=types.SubscribeRequestParams(uri="eca://chat/chat"))

    async def hear(message: object) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.put_nowait(str(message.params.uri))

    async with room(tmp_path) as here:
        panel = await here.desk.client()
        async with here.client(LEGACY) as client:
            await client.session.send_request(subscribe, types.EmptyResult)
        async with Client(here.front.server, mode=LEGACY, message_handler=hear) as client:
            await client.session.send_request(subscribe, types.EmptyResult)
            await answer(panel, "you")
            assert await asyncio.wait_for(heard.get(), PATIENCE) == "eca://chat/chat"
            assert (await ok(client, "eca_run", prompt="you"))["text"] == "Hello, you"


async def test_sessions_that_are_created_and_never_prompted_are_bounded_in_number_and_size(tmp_path: Path) -> None:
    async with room(tmp_path) as here, here.client() as client:
        long, _ = await call(client, "eca_session_create", title="x" * 501)
        for _ in range(100):
            await ok(client, "eca_session_create", title="waits")
        one_too_many, told = await call(client, "eca_session_create", title="waits")
    assert long
    assert one_too_many
    assert "not prompted yet" in told["error"]
