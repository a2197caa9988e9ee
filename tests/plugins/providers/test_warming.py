"""SDKs are imported when they are first needed, off the event loop, and that is while a user still types."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import anthropic, openai, openai_chat
from jupyter_eca.plugins.providers.base import Warms
from jupyter_eca.protocol.chat import ChatSelectedModelChangedParams
from tests.plugins.providers.ask import answer as ask
from tests.plugins.providers.ask import asking, at, says
from tests.plugins.providers.dialects.speaking import Speaking
from tests.support.host_and_client import PATIENCE, answer, desk, outcomes

if TYPE_CHECKING:
    from pathlib import Path

PLUGS = {"messages": anthropic.PROVIDER, "completions": openai_chat.PROVIDER, "responses": openai.PROVIDER}

# Where each of these modules was imported, told by the first finder that is asked for it.
_PROBE = """
import asyncio, json, sys, threading
seen = {}
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in ("anthropic", "openai", "httpx2", "genai_prices"):
            seen.setdefault(name, threading.current_thread() is threading.main_thread())
sys.meta_path.insert(0, Finder())
from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart
from jupyter_eca.host.host import Host
from jupyter_eca.plugins.providers import anthropic, openai, openai_chat
at_start = dict(seen)
async def main():
    for plug in (anthropic.PROVIDER, openai.PROVIDER, openai_chat.PROVIDER):
        request = ModelRequest("it/m", "", (ChatMessage("user", (TextPart("hi"),)),))
        try:
            async for _ in plug.stream("m", request, ProviderConfig(url="http://127.0.0.1:1", key="k")):
                pass
        except Exception as error:
            assert "Nothing answers" in str(error), error
asyncio.run(main())
print(json.dumps([at_start, seen]))
"""


def test_nothing_is_imported_at_start_and_nothing_on_the_event_loop() -> None:
    said = subprocess.check_output([sys.executable, "-c", _PROBE], text=True, timeout=60)  # our own code
    at_start, seen = json.loads(said)
    assert at_start == {}
    assert {name: seen[name] for name in ("anthropic", "openai", "httpx2")} == dict.fromkeys(
        ("anthropic", "openai", "httpx2"), False
    )


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize("dialect", PLUGS)
async def test_the_first_request_finds_a_connection(dialect: str) -> None:
    plug = PLUGS[dialect]
    with Speaking(dialect, says("Hello.")) as server:
        assert isinstance(plug, Warms)
        settings = at(server, url=server.provider()["url"])
        with suppress(ProviderError):  # this server lists no models, which is nobody's concern
            await plug.warm("it", settings)
        await ask(asking("hi", model="it/m"), settings, plug)
        assert [(one.path.partition("?")[0], one.connection) for one in server.requests][:1] == [("/v1/models", 1)]
        assert server.requests[1].connection == 1


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize("dialect", PLUGS)
async def test_a_model_is_warmed_once_while_its_user_types(tmp_path: Path, dialect: str) -> None:
    with Speaking(dialect, says("Hello.")) as server:
        providers = {"it": server.provider(fetchModels=False)}
        async with desk(tmp_path, [], providers=providers, defaultModel="it/m") as table:
            client = await table.client()
            await client.list_contexts("c", "pap")
            await asyncio.wait_for(asyncio.to_thread(server.asked.wait, PATIENCE), PATIENCE)
            await client.list_contexts("c", "paper")
            assert outcomes(await answer(client, "hi")) == ["completed"]
        assert [one.path.partition("?")[0] == "/v1/models" for one in server.requests] == [True, False]


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
async def test_a_model_is_warmed_when_it_is_chosen_and_one_that_is_not_there_disturbs_nobody(tmp_path: Path) -> None:
    with Speaking("messages", says("Hello.")) as server:
        gone: dict[str, Any] = {"api": "anthropic", "url": "http://127.0.0.1:1", "key": "k"}
        providers = {"it": server.provider(), "gone": gone}
        async with desk(tmp_path, [], providers=providers, defaultModel="gone/m") as table:
            client = await table.client()
            await client.list_contexts("c", "x")
            await client.notify("chat/selectedModelChanged", ChatSelectedModelChangedParams(chat_id="c", model="it/m"))
            await asyncio.wait_for(asyncio.to_thread(server.asked.wait, PATIENCE), PATIENCE)
            assert outcomes(await answer(client, "hi", model="it/m")) == ["completed"]
