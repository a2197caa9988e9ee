"""What servers answer, translated: texts and images for the model, structure for the reader. It calls nothing;
`server` and `plugins/tools/mcp_tool.py` use it.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any, Final

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    GetPromptResult,
    ImageContent,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from jupyter_eca.engine.model.request import ChatMessage, ImagePart, TextPart
from jupyter_eca.mcp_client.caller import Sampling
from jupyter_eca.protocol.content import JsonOutputsDetails, UrlContent
from jupyter_eca.protocol.mcp import ServerPrompt, ServerPromptArgument, ServerResource
from jupyter_eca.workspace.tool_result import ToolResult, truncate_result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_types import CreateMessageRequestParams, Prompt, Resource

# What vendors take. One image that they refuse would fail every later turn of the chat.
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def tool_result(result: CallToolResult) -> ToolResult:
    texts, images = _blocks(result.content)
    details = None
    if result.structured_content is not None:
        structure = json.dumps(result.structured_content, ensure_ascii=False)
        details = JsonOutputsDetails(jsons=(structure,))
        texts = texts or [structure]
    text = "\n\n".join(texts) or "(It answered with nothing.)"
    links = tuple(link for block in result.content if (link := _link(block)) is not None)
    return ToolResult(text, error=bool(result.is_error), details=details, images=tuple(images), links=links)


def _link(block: object) -> UrlContent | None:
    """Return a link, for web pages only: other addresses mean something to the server alone and cannot be opened."""
    if isinstance(block, ResourceLink) and block.uri.startswith(("https://", "http://")):
        return UrlContent(title=block.title or block.name, url=block.uri)
    return None


def prompt_text(result: GetPromptResult) -> str:
    """Return the messages one after the other. Those of the assistant are marked, because all of it is sent as the
    user's."""
    parts: list[str] = []
    for message in result.messages:
        texts, _ = _blocks([message.content])
        parts.append("\n".join(texts) if message.role == "user" else f"(assistant) {' '.join(texts)}")
    return "\n\n".join(parts)


def resource(result: ReadResourceResult) -> tuple[str, tuple[ImagePart, ...]]:
    texts: list[str] = []
    images: list[ImagePart] = []
    for contents in result.contents:
        _contents(contents, texts, images)
    return truncate_result(ToolResult("\n\n".join(texts))).text, tuple(images)


def parse_sampling(server: str, params: CreateMessageRequestParams) -> Sampling:
    """Parse a sampling request. Raises: ValueError for a feature that we did not declare."""
    if params.tools:
        raise ValueError("tools are not offered here")
    messages: list[ChatMessage] = []
    for message in params.messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        messages.append(ChatMessage(message.role, tuple(map(_part, blocks))))
    return Sampling(
        server,
        tuple(messages),
        params.max_tokens,
        params.system_prompt or "",
        tuple(stop for stop in params.stop_sequences or () if stop),
    )


def _part(block: object) -> TextPart | ImagePart:
    match block:
        case TextContent(text=text):
            return TextPart(text)
        case ImageContent(data=data, mime_type=mime) if mime in _IMAGES:
            return ImagePart(mime, data)
        case _:
            raise ValueError(f"{getattr(block, 'type', 'such content')} cannot be sent to a model here")


def server_prompt(prompt: Prompt) -> ServerPrompt:
    arguments = tuple(
        ServerPromptArgument(name=one.name, description=one.description, required=bool(one.required))
        for one in prompt.arguments or ()
    )
    return ServerPrompt(name=prompt.name, description=prompt.description or prompt.title or "", arguments=arguments)


def server_resource(resource: Resource) -> ServerResource:
    return ServerResource(
        uri=resource.uri,
        name=resource.name,
        description=resource.description or "",
        mime_type=resource.mime_type or "",
    )


def _blocks(blocks: Iterable[Any]) -> tuple[list[str], list[ImagePart]]:
    texts: list[str] = []
    images: list[ImagePart] = []
    for block in blocks:
        match block:
            case TextContent(text=text):
                texts.append(text)
            case ImageContent(data=data, mime_type=mime):
                _image(data, mime, texts, images)
            case ResourceLink(name=name, uri=uri):
                texts.append(f"[{name}]({uri})")
            case EmbeddedResource(resource=contents):
                _contents(contents, texts, images)
            case AudioContent(mime_type=mime):
                texts.append(f"(audio, {mime}, left out)")
            case _:
                texts.append(f"(a {getattr(block, 'type', 'block')} that is not known, left out)")
    return texts, images


def _contents(contents: Any, texts: list[str], images: list[ImagePart]) -> None:
    match contents:
        case TextResourceContents(text=text):
            texts.append(text)
        case BlobResourceContents(blob=blob, mime_type=str(mime)) if mime.startswith("image/"):
            _image(blob, mime, texts, images)
        case _:
            texts.append(f"({contents.uri}: {contents.mime_type or 'binary'}, left out)")


def _image(data: str, mime: str, texts: list[str], images: list[ImagePart]) -> None:
    try:
        whole = mime in _IMAGES and bool(base64.b64decode(data, validate=True))
    except binascii.Error:
        whole = False
    if whole:
        images.append(ImagePart(mime, data))
    texts.append(f"({mime}{'' if whole else ', not readable, left out'})")
