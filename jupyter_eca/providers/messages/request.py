"""A neutral request in the words of the Messages API. Pure; it repairs what the API would refuse for ever after.

One refused block in a history makes every later request of that chat fail, so this module leaves nothing to chance:
roles alternate, no text is blank, every tool use is answered in the very next message, ids have legal characters, and
reasoning goes back only to the model that signed it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.engine.spec import ImagePart, ReasoningPart, TextPart, ToolResultPart, ToolUsePart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.spec import ChatMessage, ModelRequest, ToolSpec

Block = dict[str, Any]

# The smallest output limit of the models still served (Claude Opus 4.1), and far more than an answer in a notebook
# needs. Only what is written is paid for. A model's `extraPayload.max_tokens` overrides it.
MAX_TOKENS = 32_000

# The API's own least budget for thinking.
MIN_BUDGET = 1_024

# The API takes four marks; three are enough: tools, system, and the chat so far. Whatever comes before a mark is read
# from the cache at a tenth of the price or less.
_MARK: Block = {"cache_control": {"type": "ephemeral"}}

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")

# What the API takes as images; one that it refuses would fail every later request of the chat (ECA 6.1, class 11).
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MAX_IMAGE_CHARS = 5 * 1024 * 1024 * 4 // 3

NO_IMAGE = "(An image stood here that cannot be sent to you: its kind or its size is not one you read.)"
NO_OUTPUT = "(no output)"
NO_RESULT = "This call has no result: it did not finish."


def body(model_id: str, request: ModelRequest, extra: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of `POST /v1/messages`. `extra` is the `extraPayload`, which wins; null takes a key away."""
    made: dict[str, Any] = {"model": model_id, "max_tokens": MAX_TOKENS, "messages": _messages(request)}
    if request.system.strip():
        made["system"] = [{"type": "text", "text": request.system} | _MARK]
    if request.tools:
        tools = [_tool(tool) for tool in request.tools]
        made["tools"] = [*tools[:-1], tools[-1] | _MARK]
    return _fitting({name: value for name, value in {**made, **extra}.items() if value is not None} | {"stream": True})


def _fitting(made: Block) -> Block:
    """A budget for thinking must be below the limit of the whole answer, and have a least size: half of it, or none."""
    thinking: Any = made.get("thinking")
    budget: Any = cast("Block", thinking).get("budget_tokens") if isinstance(thinking, dict) else None
    if not isinstance(budget, int) or budget < made["max_tokens"]:
        return made
    room = max(made["max_tokens"] // 2, MIN_BUDGET)
    if room < made["max_tokens"]:
        return made | {"thinking": cast("Block", thinking) | {"budget_tokens": room}}
    return {name: value for name, value in made.items() if name != "thinking"}


def sealed(model: str, signature: str) -> str:
    """A signature with the model that made it: another one would refuse it, and the chat with it."""
    return f"{model}#{signature}" if signature else ""


def unsealed(model: str, signature: str) -> str:
    return signature.removeprefix(f"{model}#") if signature.startswith(f"{model}#") else ""


def _tool(tool: ToolSpec) -> Block:
    made: Block = {"name": tool.name, "input_schema": {"type": "object", "properties": {}, **tool.parameters}}
    return made | {"description": tool.description} if tool.description.strip() else made


def _messages(request: ModelRequest) -> list[Block]:
    parts = (part for message in request.messages for part in message.parts)
    results = {part.id: part for part in parts if isinstance(part, ToolResultPart)}
    made: list[Block] = []
    unanswered: list[str] = []
    for message in request.messages:
        if message.role == "assistant":
            _add(made, "assistant", _said(message, request.model))
            unanswered += [part.id for part in message.parts if isinstance(part, ToolUsePart)]
        else:
            _add(made, "user", [_result(id, results.get(id)) for id in unanswered] + _asked(message))
            unanswered = []
    _add(made, "user", [_result(id, results.get(id)) for id in unanswered])
    if made:
        made[-1]["content"][-1] |= _MARK
    return made


def _add(made: list[Block], role: str, blocks: list[Block]) -> None:
    if made and made[-1]["role"] == role:
        made[-1]["content"] += blocks
    elif blocks:
        made.append({"role": role, "content": blocks})


def _asked(message: ChatMessage) -> list[Block]:
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ImagePart(media_type=kind, base64=data) if kind in IMAGES and 0 < len(data) <= MAX_IMAGE_CHARS:
                source = {"type": "base64", "media_type": kind, "data": data}
                blocks.append({"type": "image", "source": source})
            case ImagePart():
                blocks.append({"type": "text", "text": NO_IMAGE})
            case _:
                pass
    return blocks


def _said(message: ChatMessage, model: str) -> list[Block]:
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ToolUsePart():
                name = _ILLEGAL.sub("_", part.name)[:128] or "_"
                blocks.append({"type": "tool_use", "id": _id(part.id), "name": name, "input": part.arguments})
            case ReasoningPart() if signature := unsealed(model, part.signature):
                blocks.append({"type": "thinking", "thinking": part.text, "signature": signature})
            case _:
                pass
    while blocks and blocks[-1]["type"] == "thinking":  # the API refuses a message that ends in one
        blocks.pop()
    return blocks


def _result(id: str, result: ToolResultPart | None) -> Block:
    made: Block = {"type": "tool_result", "tool_use_id": _id(id)}
    if result is None:
        return made | {"content": NO_RESULT, "is_error": True}
    made["content"] = result.text if result.text.strip() else NO_OUTPUT
    return made | {"is_error": True} if result.error else made


def _id(id: str) -> str:
    return _ILLEGAL.sub("_", id) or "_"
