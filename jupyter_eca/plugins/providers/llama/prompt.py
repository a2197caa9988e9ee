"""A request in OpenAI's words, cut to the little that a model in this process can read. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.request import TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.plugins.providers.llama.calls import as_messages, replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, Part

# Bytes a token, low on purpose: prose has 4, code 3. Where this is still too high (other scripts have 1 to 2), the
# server refuses before it computes, and less room is tried.
BYTES_PER_TOKEN = 3
# What a chat template puts around a message.
TOKENS_PER_MESSAGE = 8
SHORT_SYSTEM = "You are a small, friendly assistant inside a Jupyter notebook. Keep answers short."
NO_TOOLS = "You have no tools here: answer from this conversation alone."


def text_of(part: Part) -> str:
    match part:
        case TextPart(text=text):
            return text
        case ToolUsePart(name=name, arguments=arguments):
            return f"\n[{name} {json.dumps(arguments)}]\n"
        case ToolResultPart(text=text):
            return f"\n[result: {text}]\n"
        case _:
            return ""


def _as_text(message: ChatMessage) -> str:
    return replace_surrogates("".join(map(text_of, message.parts)).strip())


def tokens(text: str) -> int:
    return len(text.encode()) // BYTES_PER_TOKEN + TOKENS_PER_MESSAGE


def first_kept(sizes: Sequence[int], room: int) -> int:
    """Return where the part of a history that fits begins; the last message is always kept.

    An overflow halves what is kept instead of dropping one message, so that the beginning stays the same for some
    turns: llama.cpp reads again everything after the first difference, 30 s for a full prompt.
    """
    start = total = 0
    for end, size in enumerate(sizes):
        total += size
        if total > room:
            while start < end and total > room // 2:
                total -= sizes[start]
                start += 1
    return start


def prompt(request: ModelRequest, room: int, *, tiny: bool, tools: bool = False) -> list[dict[str, Any]]:
    """Return the request in OpenAI's format, cut from the oldest message to about `room` tokens. It begins with a
    user's message."""
    long = request.system if tools else f"{request.system}\n\n{NO_TOOLS}"
    system = SHORT_SYSTEM if tiny or tokens(long) > room // 4 else long
    start = first_kept([tokens(_as_text(message)) for message in request.messages], room - tokens(system))
    while start < len(request.messages) - 1 and not _begins(request.messages[start], tools=tools):
        start += 1
    made: list[dict[str, Any]] = [{"role": "system", "content": system}]
    for message in request.messages[start:]:
        made += as_messages(message) if tools else [{"role": message.role, "content": _as_text(message)}]
    return made


def _begins(message: ChatMessage, *, tools: bool) -> bool:
    """Whether a history may begin with the message: a result whose call was left out may not."""
    return message.role == "user" and not (tools and any(isinstance(part, ToolResultPart) for part in message.parts))
