"""Converts what MCP servers send to our own types: texts and images for the model, and structured results for the user.

It must not send requests. `manager.py`, `server.py` and `plugins/tools/configured/mcp_tool.py` do that, and call this
module.
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
from jupyter_eca.mcp_client.client_features import SamplingRequest
from jupyter_eca.protocol.content import JsonOutputsDetails, UrlContent
from jupyter_eca.protocol.mcp import ServerPrompt, ServerPromptArgument, ServerResource
from jupyter_eca.workspace.head_and_tail import truncate_result
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_types import CreateMessageRequestParams, Prompt, Resource

# The image types that vendors of models accept. If a chat contained another image, every later turn would fail.
_IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def convert_tool_result(result: CallToolResult) -> ToolResult:
    """Convert the result of a tool call. If it has structured content but no text, the model gets the structure as
    JSON."""
    texts: list[str] = []
    images: list[ImagePart] = []
    _add_blocks(result.content, texts, images)
    details = None
    if result.structured_content is not None:
        structure = json.dumps(result.structured_content, ensure_ascii=False)
        details = JsonOutputsDetails(jsons=(structure,))
        texts = texts or [structure]
    text = "\n\n".join(texts) or "(It answered with nothing.)"
    links = tuple(link for block in result.content if (link := _get_link(block)) is not None)
    return ToolResult(text, error=bool(result.is_error), details=details, images=tuple(images), links=links)


def _get_link(block: object) -> UrlContent | None:
    """Return the link in a block, if it leads to a web page; else None. Other addresses have a meaning only for the
    server."""
    if isinstance(block, ResourceLink) and block.uri.startswith(("https://", "http://")):
        return UrlContent(title=block.title or block.name, url=block.uri)
    return None


def render_prompt(result: GetPromptResult) -> str:
    """Return the messages of a prompt as one text. The messages of the assistant are marked, because the whole text is
    sent as a message of the user. An image becomes a note that it is left out."""
    parts: list[str] = []
    for message in result.messages:
        texts: list[str] = []
        _add_blocks([message.content], texts, None)
        parts.append("\n".join(texts) if message.role == "user" else f"(assistant) {' '.join(texts)}")
    return "\n\n".join(parts)


def convert_resource(result: ReadResourceResult) -> tuple[str, tuple[ImagePart, ...]]:
    """Return the text and the images of a resource. A text that is too long is shortened."""
    texts: list[str] = []
    images: list[ImagePart] = []
    for contents in result.contents:
        _add_contents(contents, texts, images)
    return truncate_result(ToolResult("\n\n".join(texts))).text, tuple(images)


def parse_sampling(server: str, params: CreateMessageRequestParams) -> SamplingRequest:
    """Parse a sampling request.

    Raises: ValueError for a feature of sampling that we do not offer.
    """
    if params.tools:
        raise ValueError("tools are not offered here")
    messages: list[ChatMessage] = []
    for message in params.messages:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        messages.append(ChatMessage(message.role, tuple(map(_convert_block, blocks))))
    return SamplingRequest(
        server,
        tuple(messages),
        params.max_tokens,
        params.system_prompt or "",
        tuple(stop for stop in params.stop_sequences or () if stop),
    )


def _convert_block(block: object) -> TextPart | ImagePart:
    """Convert a block of a sampling request. Raises: ValueError for a block that is neither a text nor an image."""
    match block:
        case TextContent(text=text):
            return TextPart(text)
        case ImageContent(data=data, mime_type=mime) if mime in _IMAGE_TYPES:
            return ImagePart(mime, data)
        case _:
            raise ValueError(f"{getattr(block, 'type', 'such content')} cannot be sent to a model here")


def describe_prompt(prompt: Prompt) -> ServerPrompt:
    """Return a prompt as clients see it."""
    arguments = tuple(
        ServerPromptArgument(name=argument.name, description=argument.description, required=bool(argument.required))
        for argument in prompt.arguments or ()
    )
    return ServerPrompt(name=prompt.name, description=prompt.description or prompt.title or "", arguments=arguments)


def describe_resource(resource: Resource) -> ServerResource:
    """Return a resource as clients see it."""
    return ServerResource(
        uri=resource.uri,
        name=resource.name,
        description=resource.description or "",
        mime_type=resource.mime_type or "",
    )


def _add_blocks(blocks: Iterable[Any], texts: list[str], images: list[ImagePart] | None) -> None:
    """Add content blocks to the texts and the images. A block that a model cannot read becomes a note in the texts.
    Without `images`, this is so for each image."""
    for block in blocks:
        match block:
            case TextContent(text=text):
                texts.append(text)
            case ImageContent(data=data, mime_type=mime):
                _add_image(data, mime, texts, images)
            case ResourceLink(name=name, uri=uri):
                texts.append(f"[{name}]({uri})")
            case EmbeddedResource(resource=contents):
                _add_contents(contents, texts, images)
            case AudioContent(mime_type=mime):
                texts.append(f"(audio, {mime}, left out)")
            case _:
                texts.append(f"(a {getattr(block, 'type', 'block')} that is not known, left out)")


def _add_contents(contents: Any, texts: list[str], images: list[ImagePart] | None) -> None:
    """Add the contents of a resource to the texts and the images. See `_add_blocks`."""
    match contents:
        case TextResourceContents(text=text):
            texts.append(text)
        case BlobResourceContents(blob=blob, mime_type=str(mime)) if mime.startswith("image/"):
            _add_image(blob, mime, texts, images)
        case _:
            texts.append(f"({contents.uri}: {contents.mime_type or 'binary'}, left out)")


def _add_image(data: str, mime: str, texts: list[str], images: list[ImagePart] | None) -> None:
    """Add an image to the images, if vendors accept it, and a note about it to the texts. Without `images`, the note
    says that the image is left out."""
    try:
        is_readable = mime in _IMAGE_TYPES and bool(base64.b64decode(data, validate=True))
    except binascii.Error:
        is_readable = False
    if is_readable and images is not None:
        images.append(ImagePart(mime, data))
        texts.append(f"({mime})")
    else:
        texts.append(f"({mime}{'' if is_readable else ', not readable'}, left out)")
