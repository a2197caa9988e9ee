"""A neutral request in the words of the Responses API. Pure.

Nothing is stored at the vendor's: the whole chat goes out each time, and with it the thoughts, encrypted, of the model
that had them.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.request import (
    DocumentPart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
)
from jupyter_eca.plugins.providers.completions.request import answer, file_name, parameters, picture, tool_name
from jupyter_eca.plugins.providers.messages.request import NO_IMAGE, unseal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.config import ModelConfig
    from jupyter_eca.config.provider_schema import Payload
    from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, ToolSpec

Block = dict[str, Any]

# Those that think; the others refuse to be asked for their thoughts.
_THINKS = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*-chat))")

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

_SEARCH: Block = {"type": "web_search"}

# Refused without what they led to.
_LEADS_ON = frozenset({"reasoning", "web_search_call"})


def body(model_id: str, request: ModelRequest, extra: Payload, chosen: ModelConfig) -> Block:
    """Return the JSON of `POST /v1/responses`. `extra` is the `extraPayload`: it overrides the rest, and null removes a
    key."""
    made: Block = {"model": model_id, "input": list(_items(request, chosen)), "store": False}
    if request.system.strip():
        made["instructions"] = request.system
    if request.tools:
        made["tools"] = [_tool(tool) for tool in request.tools]
    if chosen.web_search:
        made["tools"] = [_SEARCH, *made.get("tools", ())]
    if _THINKS.search(model_id):
        made["include"] = ["reasoning.encrypted_content"]
    made["prompt_cache_key"] = _cache_key(request)
    return {name: value for name, value in {**made, **extra}.items() if value is not None} | {"stream": True}


def _cache_key(request: ModelRequest) -> str:
    """Return a key that is the same for every request of a chat, so that they meet where its beginning is cached."""
    first = request.messages[0].text if request.messages else ""
    return sha256(f"{request.system}\0{first}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _tool(tool: ToolSpec) -> Block:
    # Strict schemas know no optional arguments.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters(tool),
        "strict": False,
    }


def _items(request: ModelRequest, chosen: ModelConfig) -> Iterator[Block]:
    keeps = chosen.reasoning_history
    parts = (part for message in request.messages for part in message.parts)
    results = {part.id: part for part in parts if isinstance(part, ToolResultPart)}
    last = max((at for at, one in enumerate(request.messages) if one.role == "user" and one.text), default=0)
    for at, message in enumerate(request.messages):
        if message.role != "assistant":
            yield from _from_user(message)
            continue
        thinks = keeps == "all" or (keeps == "turn" and at > last)
        yield from _from_assistant(message, request.model if thinks else "", searches=bool(chosen.web_search))
        for part in message.parts:
            if isinstance(part, ToolUsePart):
                output = answer(results.get(part.id))
                yield {"type": "function_call_output", "call_id": _id(part.id), "output": output}


def _from_user(message: ChatMessage) -> Iterator[Block]:
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "input_text", "text": text})
            case ImagePart():
                url = picture(part)
                seen = {"type": "input_image", "image_url": url, "detail": "auto"}
                blocks.append(seen if url else {"type": "input_text", "text": NO_IMAGE})
            case DocumentPart(name=name, base64=data):
                whole = f"data:application/pdf;base64,{data}"
                blocks.append({"type": "input_file", "filename": file_name(name), "file_data": whole})
            case _:
                pass
    if blocks:
        yield {"role": "user", "content": blocks}


def _from_assistant(message: ChatMessage, model: str, *, searches: bool) -> Iterator[Block]:
    items: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                items.append({"role": "assistant", "content": text})
            case ToolUsePart():
                call = {"call_id": _id(part.id), "name": tool_name(part.name), "arguments": json.dumps(part.arguments)}
                items.append({"type": "function_call"} | call)
            case ReasoningPart() if opaque := model and unseal(model, part.signature):
                items += _make_reasoning(part.text, opaque, searches=searches)
            case _:
                pass
    while items and items[-1].get("type") in _LEADS_ON:
        items.pop()
    yield from items


def _make_reasoning(text: str, opaque: str, *, searches: bool) -> Iterator[Block]:
    match json.loads(opaque) if opaque.startswith("{") else None:
        case {"type": "web_search_call"} as searched:
            yield from [searched] if searches else []
        case {"id": str(id), "encrypted_content": str(content)}:
            summary = [{"type": "summary_text", "text": text}] if text else []
            yield {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": content}
        case _:
            pass


def _id(id: str) -> str:
    return id if _ID.fullmatch(id) else sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
