"""A neutral request in the words of the Chat Completions API. Pure; it says only what every server understands.

Of the servers that speak this API each refuses something else, for ever after when it is in a history: so a text alone
is a string, every call is answered in the next messages, and ids are as short as the strictest wants them (Mistral:
nine letters and digits).
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
from jupyter_eca.plugins.providers.messages.request import (
    IMAGES,
    MAX_IMAGE_CHARS,
    NO_IMAGE,
    NO_OUTPUT,
    NO_RESULT,
    unseal,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.config import ModelConfig
    from jupyter_eca.config.provider_schema import Payload
    from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, ToolSpec

Block = dict[str, Any]

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_ID = re.compile(r"[a-zA-Z0-9]{9}")

# Google's models, by their names at Google's own endpoint, and its word for a call that was not theirs.
_SIGNS = re.compile(r"(?:models/)?gemini-(?:[3-9]|\d\d)")
UNSIGNED = "skip_thought_signature_validator"


def body(model_id: str, request: ModelRequest, extra: Payload, chosen: ModelConfig) -> Block:
    """Return the JSON of `POST /v1/chat/completions`. `extra` is the `extraPayload`: it overrides the rest, and null
    removes a key."""
    made: Block = {"model": model_id, "messages": _messages(request, chosen.reasoning_history, model_id)}
    if request.tools:
        made["tools"] = [_tool(tool) for tool in request.tools]
    made["stream_options"] = {"include_usage": True}
    return {name: value for name, value in {**made, **extra}.items() if value is not None} | {"stream": True}


def tool_name(name: str) -> str:
    return _ILLEGAL.sub("_", name)[:64] or "_"


def parameters(tool: ToolSpec) -> Block:
    return {"type": "object", "properties": {}, **tool.parameters}


def picture(part: ImagePart) -> str | None:
    """Return a picture as an address; None when no server would accept it."""
    fits = part.media_type in IMAGES and 0 < len(part.base64) <= MAX_IMAGE_CHARS
    return f"data:{part.media_type};base64,{part.base64}" if fits else None


def file_name(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2] or name


def _tool(tool: ToolSpec) -> Block:
    function: Block = {"name": tool.name, "description": tool.description, "parameters": parameters(tool)}
    return {"type": "function", "function": function}


def _messages(request: ModelRequest, keeps: str, model_id: str) -> list[Block]:
    parts = (part for message in request.messages for part in message.parts)
    results = {part.id: part for part in parts if isinstance(part, ToolResultPart)}
    last = max((at for at, one in enumerate(request.messages) if one.role == "user" and one.text), default=0)
    made: list[Block] = [{"role": "system", "content": request.system}] if request.system.strip() else []
    for at, message in enumerate(request.messages):
        if message.role != "assistant":
            made += _from_user(message)
            continue
        thinks = keeps == "all" or (keeps == "turn" and at > last)
        made += _from_assistant(
            message, request.model if thinks else "", _find_signatures(message, request.model, model_id)
        )
        calls = [part.id for part in message.parts if isinstance(part, ToolUsePart)]
        made += [{"role": "tool", "tool_call_id": _id(id), "content": answer(results.get(id))} for id in calls]
    return made


def answer(result: ToolResultPart | None) -> str:
    """Return the result of a tool as text."""
    if result is None:
        return NO_RESULT
    return result.text if result.text.strip() else NO_OUTPUT


def _from_user(message: ChatMessage) -> Iterator[Block]:
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ImagePart():
                url = picture(part)
                seen = {"type": "image_url", "image_url": {"url": url}}
                blocks.append(seen if url else {"type": "text", "text": NO_IMAGE})
            case DocumentPart(name=name, base64=data):
                file = {"filename": file_name(name), "file_data": f"data:application/pdf;base64,{data}"}
                blocks.append({"type": "file", "file": file})
            case _:
                pass
    if all(block["type"] == "text" for block in blocks):
        text = "\n\n".join(block["text"] for block in blocks)
        yield from [{"role": "user", "content": text}] if text else []
    else:
        yield {"role": "user", "content": blocks}


def _from_assistant(message: ChatMessage, model: str, signed: Mapping[str, Block]) -> Iterator[Block]:
    """Yield the assistant's messages. `model` is the one that gets its thoughts back: it knows the field in which it
    sent them. `signed` is what goes back with calls, by their ids."""
    calls = [
        {
            "id": _id(part.id),
            "type": "function",
            "function": {"name": tool_name(part.name), "arguments": json.dumps(part.arguments)},
            **signed.get(part.id, {}),
        }
        for part in message.parts
        if isinstance(part, ToolUsePart)
    ]
    thoughts = [
        (field, part.text)
        for part in message.parts
        if isinstance(part, ReasoningPart) and (field := model and unseal(model, part.signature))
    ]
    text = message.text if message.text.strip() else None
    if text is None and not calls:
        return
    made: Block = {"role": "assistant", "content": text}
    for field, thought in thoughts:
        made[field] = made.get(field, "") + thought
    yield made | {"tool_calls": calls} if calls else made


def _find_signatures(message: ChatMessage, model: str, model_id: str) -> dict[str, Block]:
    """Return the signatures of calls. Gemini refuses a chat in which the first call of a reply has lost its signature,
    and has a special value for calls that another model made."""
    calls = [part for part in message.parts if isinstance(part, ToolUsePart)]
    found = {part.id: json.loads(said) for part in calls if (said := unseal(model, part.signature))}
    if calls and not found and _SIGNS.match(model_id):
        found[calls[0].id] = {"google": {"thought_signature": UNSIGNED}}
    return {id: {"extra_content": content} for id, content in found.items()}


def _id(id: str) -> str:
    return id if _ID.fullmatch(id) else sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:9]
