"""What the provider tests share: a script, a request, and an answer read to its end."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import Delta, TextDelta
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, Part, TextPart, ToolSpec
from jupyter_eca.plugins.providers.anthropic import PROVIDER
from jupyter_eca.plugins.providers.scripted import Script

if TYPE_CHECKING:
    from jupyter_eca.plugins.providers.base import Provider
    from tests.support.anthropic_server import LoopbackAnthropic

MODEL = "claude-sonnet-5-5"
KEY = "sk-ant-very-secret"
RUN_CODE = ToolSpec("run_code", "Runs Python.", {"type": "object", "properties": {"code": {"type": "string"}}})


def script(*rules: dict[str, Any]) -> Script:
    return Script.model_validate({"rules": rules})


def says(text: str) -> Script:
    return script({"message": "", "reply": [{"text": text}]}, {"result": "", "reply": [{"text": text}]})


def user(*parts: Part | str) -> ChatMessage:
    return ChatMessage("user", tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def assistant(*parts: Part | str) -> ChatMessage:
    return ChatMessage("assistant", tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def asking(*messages: ChatMessage | str, model: str = f"anthropic/{MODEL}", system: str = "Be brief.") -> ModelRequest:
    return ModelRequest(model, system, tuple(user(m) if isinstance(m, str) else m for m in messages), (RUN_CODE,))


def at(server: LoopbackAnthropic, **settings: Any) -> ProviderConfig:
    return ProviderConfig.model_validate({"url": server.url, "key": KEY} | settings)


async def answer(
    request: ModelRequest | str,
    settings: ProviderConfig,
    provider: Provider = PROVIDER,
    into: list[Delta] | None = None,
) -> list[Delta]:
    """`into` keeps what came before an error."""
    asked = asking(request) if isinstance(request, str) else request
    deltas: list[Delta] = [] if into is None else into
    stream = provider.stream(asked.model.partition("/")[2], asked, settings)
    async with asyncio.timeout(30), aclosing(stream):  # the first to ask imports the SDK
        async for delta in stream:
            deltas.append(delta)  # noqa: PERF401  # they must be there when the stream ends in an error
    return deltas


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
