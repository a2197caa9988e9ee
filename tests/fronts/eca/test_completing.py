"""A client that only completes text: what it takes back ends, and of chats it is shown nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.delta import Delta, TextDelta
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.protocol.jsonrpc import ErrorCode, ErrorResponse, Notification, Result
from tests.support.host_and_client import PATIENCE, answer, desk, said
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.request import ModelRequest

pytestmark = pytest.mark.asyncio

COMPLETE: dict[str, Any] = {"docText": "x = ", "docVersion": 1, "position": {"line": 1, "character": 5}}


class Endless:
    """Says one word and then nothing, until nobody listens."""

    name = "endless"
    rank = None

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.ended = asyncio.Event()

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        return tuple(settings.models)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:  # noqa: ARG002
        try:
            yield TextDelta("1 ")
            self.began.set()
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_a_completion_that_is_taken_back_ends_the_models_stream(tmp_path: Path) -> None:
    plug = Endless()
    async with desk(tmp_path, [], completion={"model": "endless/x"}) as table, connect_and_initialize(table) as client:
        table.host.catalog = Catalog({"endless": plug}, table.host.config)
        asked = await client.send("completion/inline", COMPLETE)
        async with asyncio.timeout(PATIENCE):
            await plug.began.wait()
            await client.link.send(Notification("$/cancelRequest", {"id": asked}))
            reply = await client.reply(asked)
            await plug.ended.wait()
        assert reply == ErrorResponse(asked, ErrorCode.CANCELLED, "completion/inline was cancelled")


async def test_a_client_without_a_chat_is_shown_none_and_completes(tmp_path: Path) -> None:
    rules = [
        {"message": "hello", "reply": [{"text": "Hello yourself."}]},
        {"message": "", "reply": [{"text": "42"}]},
    ]
    async with (
        desk(tmp_path, rules, completion={"model": "scripted/test"}) as table,
        connect_and_initialize(table, chat=False) as client,
        connect_and_initialize(table, chat=True) as other,
    ):
        assert said(await answer(await table.client(), "hello")) == "Hello yourself."
        await other.until(lambda message: isinstance(message, Notification) and message.method.startswith("chat/"))
        reply = await client.ask("completion/inline", COMPLETE)
        assert isinstance(reply, Result)
        assert reply.result["items"][0]["text"] == "42"
        heard = [message.method for message in client.heard if isinstance(message, Notification)]
        assert [method for method in heard if method.startswith("chat/")] == []
