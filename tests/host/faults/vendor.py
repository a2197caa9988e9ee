"""A host whose model is served by a real server on this machine, which has faults."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.chat import ChatPromptParams, ChatPromptResult
from tests.plugins.providers.ask import KEY, says
from tests.support.anthropic_server import Fault, LoopbackAnthropic
from tests.support.host_and_client import PATIENCE, Desk, desk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from pathlib import Path

    from jupyter_eca.plugins.providers.scripted import Script
    from jupyter_eca.transport.eca_client import EcaClient

MODEL = "anthropic/claude-sonnet-5-5"
__all__ = ["MODEL", "Fault", "events", "shows", "vendor"]


@asynccontextmanager
async def vendor(
    folder: Path, faults: Iterable[Fault | None] = (), script: Script | None = None, **more: Any
) -> AsyncGenerator[tuple[Desk, LoopbackAnthropic]]:
    """`more` are keys of the provider, or at the top of the configuration."""
    own = {name: more.pop(name) for name in ("retry", "retryRules", "rateLimitMaxWaitSeconds") if name in more}
    with LoopbackAnthropic(script or says("Hello."), faults) as server:
        providers = {"anthropic": {"url": server.url, "key": KEY, **own}}
        settings: dict[str, Any] = {"providers": providers, "defaultModel": MODEL, **more}
        async with desk(folder, [], **settings) as table:
            yield table, server


def events(*blocks: dict[str, Any], reason: str | None = "end_turn") -> tuple[dict[str, Any], ...]:
    """A stream of whole blocks; without a reason it has no end."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    made: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": usage}}]
    for index, block in enumerate(blocks):
        made.append({"type": "content_block_start", "index": index, "content_block": block})
        made.append({"type": "content_block_stop", "index": index})
    if reason is not None:
        made += [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, {"type": "message_stop"}]
    return tuple(made)


async def shows(client: EcaClient, message: str, *contexts: Any, chat: str = "chat") -> list[Any]:
    """A turn with contexts: everything received in it."""
    received: list[Any] = []
    ended = asyncio.Event()

    def hear(item: Any) -> None:
        received.append(item)
        if item.outcome is not None:
            ended.set()

    client.listen(chat, hear)
    params = ChatPromptParams(chat_id=chat, message=message, contexts=contexts)
    await client.request("chat/prompt", params, ChatPromptResult)
    await asyncio.wait_for(ended.wait(), PATIENCE)
    client.listen(chat, None)
    return received
