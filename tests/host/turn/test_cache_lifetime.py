"""How long the vendor's cache keeps a chat: five minutes, or an hour for a user who pauses between questions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host_and_client import Desk

MODEL = "claude-sonnet-5-5"
MINUTE = 60_000


async def pause(table: Desk, milliseconds: int) -> None:
    """Let the last request of the chat be older."""
    live = await table.host.chats.load("chat")
    live.rhythm = replace(live.rhythm, last_request_at=live.rhythm.last_request_at - milliseconds)


def list_marks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The marks of a request, in the order in which the vendor reads them."""
    messages = [block for message in body["messages"] for block in message["content"]]
    return [
        block["cache_control"] for block in (*body["tools"], *body["system"], *messages) if "cache_control" in block
    ]


@pytest.mark.asyncio
async def test_after_a_pause_of_ten_minutes_all_that_is_sent_is_kept_for_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script.model_validate({"rules": [{"message": "", "reply": [{"text": "Yes."}]}]})
    with LoopbackAnthropic(script) as server:
        # The marks depend on the host of the URL, so this server takes the place of the vendor as its proxy.
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://api.anthropic.com")
        monkeypatch.setenv("HTTP_PROXY", server.url)
        more = {"anthropic": {"key": "sk-ant-loopback"}}
        async with desk(tmp_path, [], providers=more, defaultModel=f"anthropic/{MODEL}") as table:
            client = await table.client()
            await answer(client, "one")
            await pause(table, 2 * MINUTE)
            await answer(client, "two")
            await pause(table, 10 * MINUTE)
            await answer(client, "three")
            await answer(client, "four")
        bodies = [request.body for request in server.requests if request.path == "/v1/messages"]
    chats = [body for body in bodies if body.get("tools")]
    short, hour = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
    assert [list_marks(body) for body in chats] == [[short] * 3, [short] * 4, [hour] * 4, [hour] * 4]


@pytest.mark.parametrize("way", ["url", "ANTHROPIC_BASE_URL"])
@pytest.mark.asyncio
async def test_another_server_of_the_same_api_is_sent_no_lifetime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    script = Script.model_validate({"rules": [{"message": "", "reply": [{"text": "Yes."}]}]})
    with LoopbackAnthropic(script) as server:
        more: dict[str, Any] = {"anthropic": {"key": "sk-ant-loopback", "models": {MODEL: {}}}}
        if way == "url":
            more["anthropic"]["url"] = server.url
        else:
            monkeypatch.setenv(way, server.url)
        async with desk(tmp_path, [], providers=more, defaultModel=f"anthropic/{MODEL}") as table:
            client = await table.client()
            await answer(client, "one")
            await pause(table, 10 * MINUTE)
            await answer(client, "two")
        bodies = [request.body for request in server.requests if request.path == "/v1/messages"]
    assert bodies
    assert not any("ttl" in mark for body in bodies for mark in list_marks({"tools": [], "system": [], **body}))
