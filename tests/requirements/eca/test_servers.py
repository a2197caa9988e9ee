"""What a real tool server offers, at the wire: its resources, its prompts, its results of every kind."""

from __future__ import annotations

import base64
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp_client.house import tour_server
from tests.mcp_client.sdk_server import PIXEL
from tests.requirements.eca.seat import ALLOW_ALL, prompt, seat, told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.support.raw_client import MemoryClient

pytestmark = pytest.mark.asyncio

STORY: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "add", "reply": [{"tool": "tour__add", "arguments": {"a": 1, "b": 2}}]},
    {"message": "draw", "reply": [{"tool": "tour__draw", "arguments": {}}]},
    {"message": "", "reply": [{"text": "{message}"}]},
]


@asynccontextmanager
async def tour(folder: Path) -> AsyncGenerator[MemoryClient]:
    """A client at a host whose one server runs and has told all that it offers."""
    async with seat(folder, STORY, mcpServers={"tour": tour_server()}, toolCall=ALLOW_ALL) as (_, at):
        await at.tell("initialized", {})
        while not {"prompts", "resources"} <= (server := await told(at, "tool/serverUpdated", name="tour")).keys() or (
            not (server["prompts"] and server["resources"])
        ):
            pass
        yield at


async def test_a_resource_is_offered_and_read_from_its_server(tmp_path: Path) -> None:
    async with tour(tmp_path) as at:
        offered = (await at.result("chat/queryContext", {"query": "memo", "contexts": []}))["contexts"]
        (memo,) = [one for one in offered if one.get("uri") == "memo://today"]
        assert (memo["server"], memo["uri"], memo["name"]) == ("tour", "memo://today", "memo")
        assert "buy milk" in await prompt(at, "Look", contexts=[memo])


async def test_a_prompt_of_a_server_is_found_with_its_arguments_and_becomes_the_users(tmp_path: Path) -> None:
    async with tour(tmp_path) as at:
        (greet,) = (await at.result("chat/queryCommands", {"query": "greets"}))["commands"]
        assert (greet["name"], greet["type"]) == ("tour:greet", "mcpPrompt")
        assert greet["arguments"] == [{"name": "name", "required": True}]
        assert "Say hello to Ada." in await prompt(at, "/tour:greet Ada")


async def test_a_result_with_structure_is_shown_with_it(tmp_path: Path) -> None:
    async with tour(tmp_path) as at:
        await at.result("chat/prompt", {"chatId": "c", "message": "add"})
        called = await at.content("toolCalled")
        assert called["details"] == {"type": "jsonOutputs", "jsons": ['{"result": 3}']}
        assert [output["text"] for output in called["outputs"]] == ["3"]
        await at.finished()


async def test_an_image_of_a_tool_is_a_content_of_its_own(tmp_path: Path) -> None:
    async with tour(tmp_path) as at:
        await at.result("chat/prompt", {"chatId": "c", "message": "draw"})
        image = await at.content("image")
        assert (image["mediaType"], base64.b64decode(image["base64"])) == ("image/png", PIXEL)
        await at.finished()
