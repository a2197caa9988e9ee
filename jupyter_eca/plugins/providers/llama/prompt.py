"""Builds the messages of a request in OpenAI's format, and cuts them to the small context of a local model. Pure.

`calls` converts tools and their calls, and `providers.local` runs the model.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.request import TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.plugins.providers.llama.calls import as_messages, replace_surrogates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, Part

# How many bytes a token has: about 4 in English text, and 3 in code. In other scripts it has only 1 or 2, so a prompt
# may be longer than estimated. Then the server refuses it before it computes anything, and a shorter one is tried.
BYTES_PER_TOKEN = 3
# The tokens that a chat template (it makes the model's prompt of the messages) adds to each message.
TOKENS_PER_MESSAGE = 8
# The system prompt for a model that is too small for long instructions, and the sentence for a model without tools.
SHORT_SYSTEM = "You are a small, friendly assistant inside a Jupyter notebook. Keep answers short."
NO_TOOLS = "You have no tools here: answer from this conversation alone."


def format_part(part: Part) -> str:
    """Return a part of a message as text, for a model without tools. The calls and results in its history come from
    other models of the chat, or from requests that still had tools."""
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
    """Return a message as text, for a model without tools."""
    return replace_surrogates("".join(map(format_part, message.parts)).strip())


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a message with this text has."""
    return len(text.encode()) // BYTES_PER_TOKEN + TOKENS_PER_MESSAGE


def find_first_kept(sizes: Sequence[int], room: int) -> int:
    """Return the index of the first message to keep, so that the history fits into `room` tokens. `sizes` are the
    tokens of each message. The last message is always kept.

    When the room is full, half of it is emptied instead of dropping one message. So the beginning stays the same for
    some turns. llama.cpp reads everything after the first difference again, which takes 30 s for a full prompt. This
    function keeps no state: it goes through the whole history in each turn, and so makes the same cuts at the same
    messages again.
    """
    start = total = 0
    for end, size in enumerate(sizes):
        total += size
        if total > room:
            while start < end and total > room // 2:
                total -= sizes[start]
                start += 1
    return start


def build_messages(request: ModelRequest, room: int, *, tiny: bool, tools: bool = False) -> list[dict[str, Any]]:
    """Return the messages of a request in OpenAI's format. The oldest messages are left out, so that all have about
    `room` tokens. After the system prompt comes a message of the user.

    A `tiny` model gets a short system prompt. So does any model whose whole system prompt would take more than a
    quarter of the room, because the rest is for the conversation. With `tools`, calls of tools and their results are
    messages of their own. Otherwise they are parts of the text.
    """
    whole_system = request.system if tools else f"{request.system}\n\n{NO_TOOLS}"
    system = SHORT_SYSTEM if tiny or estimate_tokens(whole_system) > room // 4 else whole_system
    start = find_first_kept(
        [estimate_tokens(_as_text(message)) for message in request.messages], room - estimate_tokens(system)
    )
    while start < len(request.messages) - 1 and not _can_begin(request.messages[start], tools=tools):
        start += 1
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
    for message in request.messages[start:]:
        messages += as_messages(message) if tools else [{"role": message.role, "content": _as_text(message)}]
    return messages


def _can_begin(message: ChatMessage, *, tools: bool) -> bool:
    """Return whether a history can begin with this message: it is the user's and, if the model gets calls of tools and
    their results (`tools`), it has no such result. The call of the result would be left out."""
    return message.role == "user" and not (tools and any(isinstance(part, ToolResultPart) for part in message.parts))
