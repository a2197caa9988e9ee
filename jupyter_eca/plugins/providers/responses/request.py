"""Builds the JSON of a request to OpenAI's Responses API from a neutral request, which is the same for all vendors.
Pure.

The vendor stores nothing: the whole chat is sent each time, and with it the encrypted thoughts of the same model. This
module must not know a connection: `providers.openai` does. `events` reads the answer.
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
from jupyter_eca.plugins.providers.completions.request import (
    THINKING_MODELS,
    find_last_prompt,
    get_file_name,
    get_result_text,
    make_image_url,
    make_parameters,
    make_tool_name,
)
from jupyter_eca.plugins.providers.messages.request import NO_IMAGE, unseal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.config import ModelConfig
    from jupyter_eca.config.provider_schema import Payload
    from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, ToolSpec

Block = dict[str, Any]
"""A JSON object of the API: an item of the chat, or a part of one."""

# The form of an id that the API accepts.
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# The vendor's own web search.
_SEARCH: Block = {"type": "web_search"}

# The types of items that the API refuses at the end of a message, because something must follow them.
_NEEDS_MORE = frozenset({"reasoning", "web_search_call"})


def build_body(model_id: str, request: ModelRequest, extra: Payload, model_config: ModelConfig) -> Block:
    """Return the JSON of `POST /v1/responses`. `extra` is the `extraPayload`: its keys override the others, and null
    removes a key."""
    payload: Block = {"model": model_id, "input": list(_make_items(request, model_config)), "store": False}
    if request.system.strip():
        payload["instructions"] = request.system
    if request.tools:
        payload["tools"] = [_make_tool(tool) for tool in request.tools]
    if model_config.web_search:
        payload["tools"] = [_SEARCH, *payload.get("tools", ())]
    if model_config.output_limit:
        payload["max_output_tokens"] = model_config.output_limit
    if THINKING_MODELS.search(model_id):  # the others refuse a request for their thoughts
        payload["include"] = ["reasoning.encrypted_content"]
    payload["prompt_cache_key"] = _make_cache_key(request)
    return {name: value for name, value in {**payload, **extra}.items() if value is not None} | {"stream": True}


def _make_cache_key(request: ModelRequest) -> str:
    """Return a key that is the same for all requests of a chat, so that they are sent to the server that has cached the
    beginning of the chat. Half of the digest is enough to tell chats apart."""
    first = request.messages[0].text if request.messages else ""
    return sha256(f"{request.system}\0{first}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _make_tool(tool: ToolSpec) -> Block:
    """Return a tool as the API describes it."""
    # Not strict, because a strict schema cannot have optional arguments.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": make_parameters(tool),
        "strict": False,
    }


def _make_items(request: ModelRequest, model_config: ModelConfig) -> Iterator[Block]:
    """Yield the items of the chat, each call followed by its result. `model_config.reasoning_history` says which
    thoughts are sent back: `all`, those of this `turn`, or none."""
    reasoning_history = model_config.reasoning_history
    parts = (part for message in request.messages for part in message.parts)
    results = {part.id: part for part in parts if isinstance(part, ToolResultPart)}
    last_prompt = find_last_prompt(request)
    for index, message in enumerate(request.messages):
        if message.role != "assistant":
            yield from _from_user(message)
            continue
        sends_thoughts = reasoning_history == "all" or (reasoning_history == "turn" and index > last_prompt)
        yield from _from_assistant(
            message, request.model if sends_thoughts else "", searches=bool(model_config.web_search)
        )
        for part in message.parts:
            if isinstance(part, ToolUsePart):
                output = _make_output(results.get(part.id))
                yield {"type": "function_call_output", "call_id": _make_id(part.id), "output": output}


def _make_output(result: ToolResultPart | None) -> str | list[Block]:
    """Return the result of a call: a text, or blocks if it has pictures."""
    text = get_result_text(result)
    if result is None or not result.images:
        return text
    return [{"type": "input_text", "text": text}, *(block for image in result.images for block in _make_image(image))]


def _make_image(image: ImagePart) -> list[Block]:
    """Return the blocks of a picture: the picture, and before it its name."""
    url = make_image_url(image)
    picture = {"type": "input_image", "image_url": url, "detail": "auto"}
    block = picture if url else {"type": "input_text", "text": NO_IMAGE}
    return [{"type": "input_text", "text": f"[{image.name}]"}, block] if image.name else [block]


def _from_user(message: ChatMessage) -> Iterator[Block]:
    """Yield the message of the user, if it has anything to send. Results of tools are not in it."""
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "input_text", "text": text})
            case ImagePart():
                blocks += _make_image(part)
            case DocumentPart(name=name, base64=data):
                data_url = f"data:application/pdf;base64,{data}"
                blocks.append({"type": "input_file", "filename": get_file_name(name), "file_data": data_url})
            case _:
                pass
    if blocks:
        yield {"role": "user", "content": blocks}


def _from_assistant(message: ChatMessage, model: str, *, searches: bool) -> Iterator[Block]:
    """Yield the items of a reply. `model` is the model that gets its thoughts back, "" for no thoughts. Searches are
    only sent if the model `searches` the web."""
    items: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                items.append({"role": "assistant", "content": text})
            case ToolUsePart():
                call = {
                    "call_id": _make_id(part.id),
                    "name": make_tool_name(part.name),
                    "arguments": json.dumps(part.arguments),
                }
                items.append({"type": "function_call"} | call)
            case ReasoningPart() if signature := model and unseal(model, part.signature):
                items += _make_reasoning(part.text, signature, searches=searches)
            case _:
                pass
    while items and items[-1].get("type") in _NEEDS_MORE:
        items.pop()
    yield from items


def _make_reasoning(text: str, signature: str, *, searches: bool) -> Iterator[Block]:
    """Yield the item of a thought or of a search. The signature is JSON that `events` has written. Without `searches`,
    a search is left out, because this request does not allow the model to search."""
    match json.loads(signature) if signature.startswith("{") else None:
        case {"type": "web_search_call"} as search:
            yield from [search] if searches else []
        case {"id": str(id), "encrypted_content": str(content)}:
            summary = [{"type": "summary_text", "text": text}] if text else []
            yield {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": content}
        case _:
            pass


def _make_id(id: str) -> str:
    """Return an id that the API accepts: the same one, or a digest of it."""
    return id if _ID.fullmatch(id) else sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
