"""A neutral request in the words of the Messages API. Pure; it repairs what the API would refuse for ever after.

One refused block in a history makes every later request of that chat fail, so this module leaves nothing to chance:
roles alternate, no text is blank, every tool use is answered in the very next message, ids have legal characters, and
reasoning goes back only to the model that signed it.
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

# The smallest output limit of the models still served (Claude Opus 4.1), and far more than an answer in a notebook
# needs. Only what is written is paid for. A model's `extraPayload.max_tokens` overrides it.
MAX_TOKENS = 32_000

# The API's own least budget for thinking.
MIN_BUDGET = 1_024

# The API takes four marks: tools, system, the chat so far, and where it ended the last time, for it looks only twenty
# blocks back. Whatever comes before a mark is read from the cache at a tenth of the price or less.
_MARK: Block = {"cache_control": {"type": "ephemeral"}}

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")

# What the API takes as images; one that it refuses would fail every later request of the chat (ECA 6.1, class 11).
IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MAX_IMAGE_CHARS = 5 * 1024 * 1024 * 4 // 3

# The search of the API's own, and how often an answer may use it: each time is billed.
SEARCH: Block = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
# What is sealed of a search: both of its blocks, which are refused without each other (ECA 5, 9).
SEARCHED = "searched:"
# What a message may not end in: it leads on to what was never said.
_LEADS_ON = frozenset({"thinking", "server_tool_use", "web_search_tool_result"})

MAX_TITLE = 200

NO_IMAGE = "(An image stood here that cannot be sent to you: its kind or its size is not one you read.)"
NO_OUTPUT = "(no output)"
NO_RESULT = "This call has no result: it did not finish."


def body(model_id: str, request: ModelRequest, extra: Mapping[str, Any], *, searches: bool = False) -> dict[str, Any]:
    """Return the JSON of `POST /v1/messages`. `extra` is the `extraPayload`: it overrides the rest, and null removes a
    key. Only a model that `searches` the web gets back what it found."""
    made: dict[str, Any] = {"model": model_id, "max_tokens": MAX_TOKENS, "messages": _messages(request, searches)}
    if request.system.strip():
        made["system"] = [{"type": "text", "text": request.system} | _MARK]
    tools = [_tool(tool) for tool in request.tools]
    if searches and all(tool["name"] != SEARCH["name"] for tool in tools):
        tools.insert(0, SEARCH)
    if tools:
        made["tools"] = [*tools[:-1], tools[-1] | _MARK]
    return _fit_thinking(
        {name: value for name, value in {**made, **extra}.items() if value is not None} | {"stream": True}
    )


def _fit_thinking(made: Block) -> Block:
    """Make the budget for thinking valid. It must be below the limit of the whole answer and has a least size: half of
    the limit, or no thinking."""
    thinking: Any = made.get("thinking")
    budget: Any = cast("Block", thinking).get("budget_tokens") if isinstance(thinking, dict) else None
    if not isinstance(budget, int) or budget < made["max_tokens"]:
        return made
    room = max(made["max_tokens"] // 2, MIN_BUDGET)
    if room < made["max_tokens"]:
        return made | {"thinking": cast("Block", thinking) | {"budget_tokens": room}}
    return {name: value for name, value in made.items() if name != "thinking"}


def seal(model: str, signature: str) -> str:
    """Join a signature with the model that made it: another model would refuse it, and the chat with it."""
    return f"{model}#{signature}" if signature else ""


def unseal(model: str, signature: str) -> str:
    return signature.removeprefix(f"{model}#") if signature.startswith(f"{model}#") else ""


def _tool(tool: ToolSpec) -> Block:
    made: Block = {"name": tool.name, "input_schema": {"type": "object", "properties": {}, **tool.parameters}}
    return made | {"description": tool.description} if tool.description.strip() else made


def _messages(request: ModelRequest, searches: bool) -> list[Block]:
    parts = (part for message in request.messages for part in message.parts)
    results = {part.id: part for part in parts if isinstance(part, ToolResultPart)}
    made: list[Block] = []
    unanswered: list[str] = []
    last = len(request.messages) - 1
    for number, message in enumerate(request.messages):
        if message.role == "assistant":
            # An answer with nothing after it is one that its vendor paused.
            said = _from_assistant(message, request.model, searches)
            _add(made, "assistant", _drop_halves(said, paused=number == last))
            unanswered += [part.id for part in message.parts if isinstance(part, ToolUsePart)]
        else:
            _add(made, "user", [_result(id, results.get(id)) for id in unanswered] + _from_user(message))
            unanswered = []
    _add(made, "user", [_result(id, results.get(id)) for id in unanswered])
    # The last two of the user: where the last request ended is found again however much was said since.
    for message in [one for one in made if one["role"] == "user"][-2:]:
        message["content"][-1] |= _MARK
    return made


def _add(made: list[Block], role: str, blocks: list[Block]) -> None:
    if made and made[-1]["role"] == role:
        made[-1]["content"] += blocks
    elif blocks:
        made.append({"role": role, "content": blocks})


def _from_user(message: ChatMessage) -> list[Block]:
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
            case DocumentPart(name=name, base64=data):
                source = {"type": "base64", "media_type": "application/pdf", "data": data}
                # Of all documents of a request or of none: the API refuses a mixture.
                cited = {"citations": {"enabled": True}}
                blocks.append({"type": "document", "source": source, "title": name[:MAX_TITLE]} | cited)
            case _:
                pass
    return blocks


def _from_assistant(message: ChatMessage, model: str, searches: bool) -> list[Block]:
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ToolUsePart():
                name = _ILLEGAL.sub("_", part.name)[:128] or "_"
                blocks.append({"type": "tool_use", "id": _id(part.id), "name": name, "input": part.arguments})
            case ReasoningPart() if signature := unseal(model, part.signature):
                blocks += _make_thinking(part.text, signature, searches)
            case _:
                pass
    return blocks


def _drop_halves(blocks: list[Block], *, paused: bool) -> list[Block]:
    """Drop searches that lack one half: a pause may have come between the two, and a stop in the pause. A message must
    not end with what leads on either, unless it is `paused`: that goes back as it came."""
    asked = {block["id"] for block in blocks if block["type"] == "server_tool_use"}
    found = {block["tool_use_id"] for block in blocks if block["type"] == "web_search_tool_result"}
    whole = asked if paused else asked & found
    kept = [block for block in blocks if _search_of(block) in whole | {""}]
    while not paused and kept and kept[-1]["type"] in _LEADS_ON:
        kept.pop()
    return kept


def _search_of(block: Block) -> str:
    names = {"server_tool_use": "id", "web_search_tool_result": "tool_use_id"}
    return str(block[names[block["type"]]]) if block["type"] in names else ""


def _make_thinking(text: str, signature: str, searches: bool) -> list[Block]:
    if signature.startswith(SEARCHED):
        return json.loads(signature.removeprefix(SEARCHED)) if searches else []
    return [{"type": "thinking", "thinking": text, "signature": signature}]


def _result(id: str, result: ToolResultPart | None) -> Block:
    made: Block = {"type": "tool_result", "tool_use_id": _id(id)}
    if result is None:
        return made | {"content": NO_RESULT, "is_error": True}
    made["content"] = result.text if result.text.strip() else NO_OUTPUT
    return made | {"is_error": True} if result.error else made


def _id(id: str) -> str:
    return _ILLEGAL.sub("_", id) or "_"
