"""Builds the JSON of a request to OpenAI's Chat Completions API from a neutral request, which is the same for all
vendors. Pure.

A request has only what all servers understand, because each server refuses something else, and would refuse every later
request of the chat. So a message with nothing but text is a string, each call is answered in the next messages, and ids
are as short as the strictest server needs them (Mistral: nine letters and digits).

This module must not know a connection: `providers.openai` does. `events` reads the answer.
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
"""A JSON object of the API: a message, or a part of one."""

# The characters that the name of a tool must not have, and the form of an id that all servers accept.
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_ID = re.compile(r"[a-zA-Z0-9]{9}")

# The names of OpenAI's models that think.
THINKING_MODELS = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*-chat))")

# The names of Google's models at Google's own endpoint, which sign their calls, and Google's signature for a call that
# another model made.
_SIGNING_MODELS = re.compile(r"(?:models/)?gemini-(?:[3-9]|\d\d)")
UNSIGNED = "skip_thought_signature_validator"


def build_body(model_id: str, request: ModelRequest, extra: Payload, model_config: ModelConfig) -> Block:
    """Return the JSON of `POST /v1/chat/completions`. `extra` is the `extraPayload`: its keys override the others, and
    null removes a key."""
    payload: Block = {"model": model_id, "messages": _make_messages(request, model_config.reasoning_history, model_id)}
    if request.tools:
        payload["tools"] = [_make_tool(tool) for tool in request.tools]
    payload["stream_options"] = {"include_usage": True}
    if model_config.output_limit and not extra.keys() & {"max_tokens", "max_completion_tokens"}:
        # OpenAI's models that think refuse `max_tokens`, and many other servers know nothing else.
        payload["max_completion_tokens" if THINKING_MODELS.search(model_id) else "max_tokens"] = (
            model_config.output_limit
        )
    return {name: value for name, value in {**payload, **extra}.items() if value is not None} | {"stream": True}


def make_tool_name(name: str) -> str:
    """Return the name of a tool with valid characters only. The API accepts at most 64 of them."""
    return _ILLEGAL.sub("_", name)[:64] or "_"


def make_parameters(tool: ToolSpec) -> Block:
    """Return the JSON schema of a tool's arguments."""
    return {"type": "object", "properties": {}, **tool.parameters}


def make_image_url(part: ImagePart) -> str | None:
    """Return an image as a URL, None if no server would accept it."""
    fits = part.media_type in IMAGES and 0 < len(part.base64) <= MAX_IMAGE_CHARS
    return f"data:{part.media_type};base64,{part.base64}" if fits else None


def get_file_name(name: str) -> str:
    """Return the last part of a path: `"data/a.pdf" -> "a.pdf"`."""
    return name.replace("\\", "/").rpartition("/")[2] or name


def _make_tool(tool: ToolSpec) -> Block:
    """Return a tool as the API describes it."""
    function: Block = {"name": tool.name, "description": tool.description, "parameters": make_parameters(tool)}
    return {"type": "function", "function": function}


def _make_messages(request: ModelRequest, reasoning_history: str, model_id: str) -> list[Block]:
    """Return the messages of the chat, each reply followed by the results of its calls.

    `reasoning_history` says which thoughts are sent back: `all`, those of this `turn`, or none.
    """
    parts = (part for message in request.messages for part in message.parts)
    results = {part.id: part for part in parts if isinstance(part, ToolResultPart)}
    last_prompt = find_last_prompt(request)
    messages: list[Block] = [{"role": "system", "content": request.system}] if request.system.strip() else []
    for index, message in enumerate(request.messages):
        if message.role != "assistant":
            messages += _from_user(message)
            continue
        sends_thoughts = reasoning_history == "all" or (reasoning_history == "turn" and index > last_prompt)
        messages += _from_assistant(
            message, request.model if sends_thoughts else "", _find_signatures(message, request.model, model_id)
        )
        calls = [part.id for part in message.parts if isinstance(part, ToolUsePart)]
        messages += [
            {"role": "tool", "tool_call_id": _make_id(id), "content": get_result_text(results.get(id))} for id in calls
        ]
    return messages


def find_last_prompt(request: ModelRequest) -> int:
    """Return the index of the last message that the user wrote, 0 if there is none."""
    prompts = (index for index, message in enumerate(request.messages) if message.role == "user" and message.text)
    return max(prompts, default=0)


def get_result_text(result: ToolResultPart | None) -> str:
    """Return the result of a tool as text. None is the result of a call that did not finish."""
    if result is None:
        return NO_RESULT
    return result.text if result.text.strip() else NO_OUTPUT


def _make_image(image: ImagePart) -> list[Block]:
    """Return the blocks of a picture: the picture, and before it its name."""
    url = make_image_url(image)
    block = {"type": "image_url", "image_url": {"url": url}} if url else {"type": "text", "text": NO_IMAGE}
    return [{"type": "text", "text": f"[{image.name}]"}, block] if image.name else [block]


def _from_user(message: ChatMessage) -> Iterator[Block]:
    """Yield the message of the user, if it has anything to send. Results of tools are not in it."""
    blocks: list[Block] = []
    for part in message.parts:
        match part:
            case TextPart(text=text) if text.strip():
                blocks.append({"type": "text", "text": text})
            case ImagePart():
                blocks += _make_image(part)
            case ToolResultPart(images=images):
                # The result of a tool can only have text in this API.
                blocks += (block for image in images for block in _make_image(image))
            case DocumentPart(name=name, base64=data):
                file = {"filename": get_file_name(name), "file_data": f"data:application/pdf;base64,{data}"}
                blocks.append({"type": "file", "file": file})
            case _:
                pass
    if all(block["type"] == "text" for block in blocks):
        text = "\n\n".join(block["text"] for block in blocks)
        yield from [{"role": "user", "content": text}] if text else []
    else:
        yield {"role": "user", "content": blocks}


def _from_assistant(message: ChatMessage, model: str, signed: Mapping[str, Block]) -> Iterator[Block]:
    """Yield the messages for one message of the assistant. `model` is the model that gets its thoughts back, in the
    field in which it sent them; "" for no thoughts. `signed` has the fields with the signature of a call, by the call's
    id."""
    calls = [
        {
            "id": _make_id(part.id),
            "type": "function",
            "function": {"name": make_tool_name(part.name), "arguments": json.dumps(part.arguments)},
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
    answer: Block = {"role": "assistant", "content": text}
    for field, thought in thoughts:
        answer[field] = answer.get(field, "") + thought
    yield answer | {"tool_calls": calls} if calls else answer


def _find_signatures(message: ChatMessage, model: str, model_id: str) -> dict[str, Block]:
    """Return the fields with the signatures of calls, by the calls' ids. Gemini refuses a chat in which the first call
    of a reply has no signature, and has a special signature for calls that another model made."""
    calls = [part for part in message.parts if isinstance(part, ToolUsePart)]
    found = {part.id: json.loads(content) for part in calls if (content := unseal(model, part.signature))}
    if calls and not found and _SIGNING_MODELS.match(model_id):
        found[calls[0].id] = {"google": {"thought_signature": UNSIGNED}}
    return {id: {"extra_content": content} for id, content in found.items()}


def _make_id(id: str) -> str:
    """Return an id that all servers accept: the same one, or a digest of it."""
    return id if _ID.fullmatch(id) else sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:9]
