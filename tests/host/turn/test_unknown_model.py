"""A prompt that names a model which is not there: the error names those there are, and the chat keeps its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.chat import ChatSelectedModelChangedParams
from tests.host.faults.vendor import MODEL, Fault, vendor
from tests.support.host_and_client import answer, desk, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello."}]}]


@pytest.mark.parametrize("model", ["nobody/none", "none", "scripted/none"])
async def test_a_model_that_is_not_there_does_not_stick_to_the_chat(tmp_path: Path, model: str) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        assert outcomes(await answer(client, "one")) == ["completed"]
        received = await answer(client, "two", model=model)
        assert outcomes(received) == ["failed"]
        assert "The models there are: " in said(received, "system")
        assert "This chat keeps scripted/test." in said(received, "system")
        assert outcomes(await answer(client, "three")) == ["completed"]
    async with desk(tmp_path, RULES) as table:
        assert outcomes(await answer(await table.client(), "four")) == ["completed"]


async def test_a_new_chat_that_began_with_an_unknown_model_goes_on_with_the_default(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        received = await answer(client, "one", model="nobody/none")
        assert "This chat keeps the default model." in said(received, "system")
        assert outcomes(await answer(client, "two")) == ["completed"]


@pytest.mark.usefixtures("sdk")
async def test_a_model_that_its_server_does_not_have_does_not_stick_to_the_chat(tmp_path: Path) -> None:
    async with vendor(tmp_path, [None, Fault(404, "model: claude-none")]) as (table, server):
        client = await table.client()
        await answer(client, "one")
        received = await answer(client, "two", model="anthropic/claude-none")
        assert f"This chat keeps {MODEL}." in said(received, "system")
        assert outcomes(await answer(client, "three")) == ["completed"]
        assert server.requests[-1].body["model"] == MODEL.partition("/")[2]


async def test_an_unknown_model_that_a_client_selects_is_refused(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        await client.notify("chat/selectedModelChanged", ChatSelectedModelChangedParams(model="nobody/none"))
        assert outcomes(await answer(client, "one")) == ["completed"]
