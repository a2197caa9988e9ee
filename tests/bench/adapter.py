"""What our providers add to the SDKs: the same stream of a server on this machine, read by the SDK alone as its
documentation shows it, and read through the provider."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TYPE_CHECKING, Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import TextDelta
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart
from jupyter_eca.plugins.providers import anthropic, openai, openai_chat
from tests.bench.figure import Figure, list_of, ratios
from tests.bench.processes import loopback

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.plugins.providers.base import Provider

CHUNKS = 2000
CHUNK = "some words, "
ROUNDS = 5
BUDGET = 1.2


async def figures() -> list[Figure]:
    found: list[Figure] = []
    with TemporaryDirectory() as name:
        rules: list[dict[str, Any]] = [{"message": "", "reply": [{"text": CHUNK * CHUNKS, "chunk": len(CHUNK)}]}]
        for dialect, (plug, bare) in _PAIRS.items():
            with loopback(Path(name), rules, dialect) as url:
                found.append(await _compared(dialect, url, plug, bare))
    return found


async def _compared(dialect: str, url: str, plug: Provider, bare: Callable[[str], Awaitable[int]]) -> Figure:
    ours: list[float] = []
    theirs: list[float] = []
    for at in range(-1, ROUNDS):  # the first is for the imports
        for read, times in ((bare(url), theirs), (_through(plug, url), ours)):
            began = process_time()
            assert await read >= CHUNKS
            if at >= 0:
                times.append(process_time() - began)
    beside = f"CPU {list_of(ours, 'ms', 1000)}, bare SDK {list_of(theirs, 'ms', 1000)}"
    return Figure(f"CPU of {CHUNKS} chunks of {dialect}: provider over SDK", ratios(ours, theirs), "x", BUDGET, beside)


async def _through(plug: Provider, url: str) -> int:
    # The provider of Chat Completions adds no version to an address.
    url = f"{url}/v1" if plug is openai_chat.PROVIDER else url
    request = ModelRequest("it/m", "", (ChatMessage("user", (TextPart("go"),)),))
    settings = ProviderConfig.model_validate({"url": url, "key": "loopback"})
    async with aclosing(plug.stream("m", request, settings)) as deltas:
        return sum([isinstance(delta, TextDelta) async for delta in deltas])


async def _messages(url: str) -> int:
    async with AsyncAnthropic(api_key="loopback", base_url=url) as client:
        question: Any = [{"role": "user", "content": [{"type": "text", "text": "go"}]}]
        async with client.messages.stream(model="m", max_tokens=1000, messages=question) as stream:
            return sum([1 async for _ in stream.text_stream])


async def _completions(url: str) -> int:
    async with AsyncOpenAI(api_key="loopback", base_url=f"{url}/v1") as client:
        question: Any = [{"role": "user", "content": "go"}]
        stream: Any = await client.chat.completions.create(model="m", messages=question, stream=True)
        return sum([bool(chunk.choices and chunk.choices[0].delta.content) async for chunk in stream])


async def _responses(url: str) -> int:
    async with AsyncOpenAI(api_key="loopback", base_url=f"{url}/v1") as client:
        question: Any = [{"role": "user", "content": [{"type": "input_text", "text": "go"}]}]
        stream: Any = await client.responses.create(model="m", input=question, stream=True, store=False)
        return sum([event.type == "response.output_text.delta" async for event in stream])


_PAIRS = {
    "messages": (anthropic.PROVIDER, _messages),
    "completions": (openai_chat.PROVIDER, _completions),
    "responses": (openai.PROVIDER, _responses),
}
