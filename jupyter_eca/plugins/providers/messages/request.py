"""Builds the JSON of a request to the Anthropic Messages API from a neutral request, which is the same for all vendors.
Pure.

The API would refuse every later request of a chat that has one invalid block in its history. So this module ensures the
following rules: roles alternate, and no text is blank. Each tool call is answered in the next message. Ids have only
valid characters. Thoughts are only sent to the model that has signed them.

This module must not know a connection: `providers.anthropic` does. `events` reads the answer.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.engine.model.request import (
    DocumentPart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, ToolSpec

Block = dict[str, Any]
"""A JSON object of the API: a message, or a block of its content."""

# The tokens that an answer may have. This is the smallest limit of all current models (Claude Opus 4.1), and far more
# than an answer in a notebook needs. Only written tokens cost money. `limit.output` of a model overrides it, and
# `extraPayload.max_tokens` overrides both.
MAX_TOKENS = 32_000

# The smallest budget for thinking that the API accepts.
MIN_BUDGET_TOKENS = 1_024

# The mark for the cache. Everything before a mark is read from the cache, at a tenth of the price or less. The API
# takes four marks. We set them at the end of the tools, of the system prompt, and of the chat. The fourth is where the
# chat ended at the last request, because the API looks for an old mark only in the last twenty blocks.
_MARK: Block = {"cache_control": {"type": "ephemeral"}}

# The mark that keeps the cache for an hour. All marks of a request are of one kind, because the API refuses a long mark
# after a short one.
_HOUR_MARK: Block = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

# The characters that ids and names of tools must not have.
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")

# The images that the API accepts. With one image that it refuses, every later request of the chat would fail.
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MAX_IMAGE_CHARS = 5 * 1024 * 1024 * 4 // 3

# The web search of the API. The number of searches in an answer is limited, because each costs money.
SEARCH: Block = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
# The beginning of a signature that has both blocks of a search. The API refuses one block without the other.
SEARCH_PREFIX = "searched:"
# The kinds of blocks that a message must not end with, because something must follow them.
_NEEDS_MORE = frozenset({"thinking", "server_tool_use", "web_search_tool_result"})

# How many characters the title of a document may have.
MAX_TITLE_CHARACTERS = 200

# The texts in place of an image that the API would refuse, of an empty output, and of a missing result.
NO_IMAGE = "(An image stood here that cannot be sent to you: its kind or its size is not one you read.)"
NO_OUTPUT = "(no output)"
NO_RESULT = "This call has no result: it did not finish."


def build_body(
    model_id: str,
    request: ModelRequest,
    extra: Mapping[str, Any],
    *,
    searches: bool = False,
    output_limit: int = 0,
    offers_hour: bool = False,
) -> dict[str, Any]:
    """Return the JSON of `POST /v1/messages`.

    `extra` is the `extraPayload`: its keys override the others, and null removes a key. `searches` says whether the
    model can search the web: only then are the results of earlier searches sent to it. `output_limit` is the longest
    answer of the model in tokens, 0 if it is not known. `offers_hour` says whether the server can keep its cache for an
    hour.
    """
    mark = _HOUR_MARK if offers_hour and request.cached_for_hour else _MARK
    payload: dict[str, Any] = {
        "model": model_id,
        "max_tokens": output_limit or MAX_TOKENS,
        "messages": _make_messages(request, searches, mark),
    }
    if request.system.strip():
        payload["system"] = [{"type": "text", "text": request.system} | mark]
    tools = [_make_tool(tool) for tool in request.tools]
    if searches and all(tool["name"] != SEARCH["name"] for tool in tools):
        tools.insert(0, SEARCH)
    if tools:
        payload["tools"] = [*tools[:-1], tools[-1] | mark]
    return _fit_thinking(
        {name: value for name, value in {**payload, **extra}.items() if value is not None} | {"stream": True}
    )


def _fit_thinking(payload: Block) -> Block:
    """Make the budget for thinking valid: it must be below the limit of the answer, and at least `MIN_BUDGET_TOKENS`. A
    budget that is too large becomes half of the limit. If that is impossible, thinking is switched off."""
    thinking: Any = payload.get("thinking")
    budget: Any = cast("Block", thinking).get("budget_tokens") if isinstance(thinking, dict) else None
    if not isinstance(budget, int) or budget < payload["max_tokens"]:
        return payload
    room = max(payload["max_tokens"] // 2, MIN_BUDGET_TOKENS)
    if room < payload["max_tokens"]:
        return payload | {"thinking": cast("Block", thinking) | {"budget_tokens": room}}
    return {name: value for name, value in payload.items() if name != "thinking"}


def seal(model: str, signature: str) -> str:
    """Join a signature with the model that made it. Another model would refuse the signature, and so the whole chat."""
    return f"{model}#{signature}" if signature else ""


def unseal(model: str, signature: str) -> str:
    """Return the signature that `seal` has joined, "" if another model made it."""
    return signature.removeprefix(f"{model}#") if signature.startswith(f"{model}#") else ""


def _make_tool(tool: ToolSpec) -> Block:
    """Return a tool as the API describes it."""
    tool_json: Block = {"name": tool.name, "input_schema": {"type": "object", "properties": {}, **tool.parameters}}
    return tool_json | {"description": tool.description} if tool.description.strip() else tool_json


def _make_messages(request: ModelRequest, searches: bool, mark: Block) -> list[Block]:
    """Return the messages of the chat, with marks for the cache. Each message of the user begins with the results of
    the calls before it. `searches` is whether the request offers the search of the vendor, and `mark` is the mark for
    the cache."""
    parts = (part for message in request.messages for part in message.parts)
    results = {part.id: part for part in parts if isinstance(part, ToolResultPart)}
    messages: list[Block] = []
    unanswered: list[str] = []
    for index, message in enumerate(request.messages):
        if message.role == "assistant":
            # An answer at the end of the history was paused by the vendor.
            is_paused = index == len(request.messages) - 1
            blocks = _from_assistant(message, request.model, searches)
            _append(messages, "assistant", _drop_incomplete_searches(blocks, paused=is_paused))
            unanswered += [part.id for part in message.parts if isinstance(part, ToolUsePart)]
        else:
            _append(messages, "user", [_make_result(id, results.get(id)) for id in unanswered] + _from_user(message))
            unanswered = []
    _append(messages, "user", [_make_result(id, results.get(id)) for id in unanswered])
    # The last two messages of the user are marked: the second last one is where the last request ended.
    for sent in [sent for sent in messages if sent["role"] == "user"][-2:]:
        sent["content"][-1] |= mark
    return messages


def _append(messages: list[Block], role: str, blocks: list[Block]) -> None:
    """Append blocks to the last message if it has the same role, because roles must alternate. Otherwise append a
    message with these blocks, unless there are none."""
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"] += blocks
    elif blocks:
        messages.append({"role": role, "content": blocks})


def _from_user(message: ChatMessage) -> list[Block]:
    """Return the blocks of a message of the user, without the results of tools."""
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ImagePart():
                blocks += _make_image(part)
            case ToolResultPart(error=True, images=images):
                # The API refuses a picture in a result that is an error. So it follows the results.
                blocks += (block for image in images for block in _make_image(image))
            case DocumentPart(name=name, base64=data):
                source = {"type": "base64", "media_type": "application/pdf", "data": data}
                # All documents of a request must have citations, or none: the API refuses a mixture.
                cited = {"citations": {"enabled": True}}
                blocks.append({"type": "document", "source": source, "title": name[:MAX_TITLE_CHARACTERS]} | cited)
            case _:
                pass
    return blocks


def _make_image(image: ImagePart) -> list[Block]:
    """Return the blocks of a picture: the picture, and before it its name."""
    name = [{"type": "text", "text": f"[{image.name}]"}] if image.name else []
    if image.media_type in IMAGES and 0 < len(image.base64) <= MAX_IMAGE_CHARS:
        source = {"type": "base64", "media_type": image.media_type, "data": image.base64}
        return [*name, {"type": "image", "source": source}]
    return [*name, {"type": "text", "text": NO_IMAGE}]


def _from_assistant(message: ChatMessage, model: str, searches: bool) -> list[Block]:
    """Return the blocks of a reply. Thoughts that another model than `model` has signed are left out. `searches`: see
    `_make_thinking`."""
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ToolUsePart():
                # The API accepts at most 128 characters.
                name = _ILLEGAL.sub("_", part.name)[:128] or "_"
                blocks.append({"type": "tool_use", "id": _make_id(part.id), "name": name, "input": part.arguments})
            case ReasoningPart() if signature := unseal(model, part.signature):
                blocks += _make_thinking(part.text, signature, searches)
            case _:
                pass
    return blocks


def _drop_incomplete_searches(blocks: list[Block], *, paused: bool) -> list[Block]:
    """Drop searches without a result, and blocks at the end after which something must follow.

    A search has no result if the vendor paused the answer after its first block, and the user then stopped the turn. A
    `paused` answer is sent back as it came, because the vendor continues it.
    """
    begun = {block["id"] for block in blocks if block["type"] == "server_tool_use"}
    ended = {block["tool_use_id"] for block in blocks if block["type"] == "web_search_tool_result"}
    valid = begun if paused else begun & ended
    kept = [block for block in blocks if _get_search_id(block) in valid | {""}]
    while not paused and kept and kept[-1]["type"] in _NEEDS_MORE:
        kept.pop()
    return kept


def _get_search_id(block: Block) -> str:
    """Return the id of the search that a block belongs to, "" for another block."""
    names = {"server_tool_use": "id", "web_search_tool_result": "tool_use_id"}
    return str(block[names[block["type"]]]) if block["type"] in names else ""


def _make_thinking(text: str, signature: str, searches: bool) -> list[Block]:
    """Return the block of a thought, or the blocks of a search that its signature has. Without `searches`, a search is
    left out, because this request does not allow the model to search."""
    if signature.startswith(SEARCH_PREFIX):
        return json.loads(signature.removeprefix(SEARCH_PREFIX)) if searches else []
    return [{"type": "thinking", "thinking": text, "signature": signature}]


def _make_result(id: str, result: ToolResultPart | None) -> Block:
    """Return the block with the result of a call. None is the result of a call that did not finish."""
    block: Block = {"type": "tool_result", "tool_use_id": _make_id(id)}
    if result is None:
        return block | {"content": NO_RESULT, "is_error": True}
    text = result.text if result.text.strip() else NO_OUTPUT
    if result.error:
        # Without its pictures: `_from_user` adds them after the results.
        return block | {"content": text, "is_error": True}
    pictures = [piece for image in result.images for piece in _make_image(image)]
    return block | {"content": [{"type": "text", "text": text}, *pictures] if pictures else text}


def _make_id(id: str) -> str:
    """Return an id with valid characters only."""
    return _ILLEGAL.sub("_", id) or "_"
