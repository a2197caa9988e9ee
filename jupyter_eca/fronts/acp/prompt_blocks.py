"""Owns the conversion of a prompt from a client of the Agent Client Protocol (ACP), which is a list of blocks, to a
message and its contexts. A context is what the model reads with a message: a file, an image, a text, or a web page.

It must not read a file: `plugins/contexts/` does.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urldefrag

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.acp.content import (
    AudioBlock,
    BlobResource,
    ImageBlock,
    LinkBlock,
    ResourceBlock,
    TextBlock,
    TextResource,
)
from jupyter_eca.protocol.context import (
    ChatContext,
    DirectoryContext,
    FileContext,
    ImageContext,
    LinesRange,
    TextContext,
    WebContext,
)
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.protocol.acp.content import ContentBlock

# The lines at the end of a URI, in the forms that editors write: `#L10`, `#L10-20`, `#L10:20`.
_LINES: Final = re.compile(r"L(\d+)(?:[-:]L?(\d+))?")


def read_prompt(blocks: Iterable[ContentBlock], root: Path) -> tuple[str, tuple[ChatContext, ...]]:
    """Return the message of a prompt and its contexts. In the message, the name of a resource replaces its block. A
    file in the folder `root` is named by its path from there.

    Raises: RemoteError for a block whose kind is not among our capabilities, or whose data is not valid.
    """
    texts: list[str] = []
    contexts: list[ChatContext] = []
    for block in blocks:
        match block:
            case TextBlock(text=text):
                texts.append(text)
            case ImageBlock(data=data, mime_type=type):
                contexts.append(_make_image(data, type))
            case AudioBlock():
                raise RemoteError("audio is not supported", ErrorCode.INVALID_PARAMS)
            case LinkBlock(uri=uri):
                contexts.append(_make_link_context(uri))
                texts.append(_make_mention(uri, block.title or block.name, root))
            case ResourceBlock(resource=resource):
                contexts.append(_make_resource_context(resource))
                if not isinstance(contexts[-1], ImageContext):
                    texts.append(_make_mention(resource.uri, resource.uri, root))
    return "".join(texts), tuple(contexts)


def _make_image(data: str, type: str) -> ImageContext:
    """Make the context of an image. Raises: RemoteError if it is not base64."""
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RemoteError(f"the data of the image is not base64: {error}", ErrorCode.INVALID_PARAMS) from error
    return ImageContext(media_type=type, base64=data)


def _make_link_context(uri: str) -> ChatContext:
    """Make the context of a link: a file or a folder of this machine, or a web page. Any other link is a text."""
    address, fragment = urldefrag(uri)
    path = parse_file_uri(address)
    if path is None:
        is_web = address.lower().startswith(("http://", "https://"))
        return WebContext(url=uri) if is_web else TextContext(label=uri, content=uri)
    lines = _parse_lines(fragment)
    if lines is None and os.path.isdir(path):  # noqa: PTH112  # `Path.is_dir` raises an error for a path that is too long
        return DirectoryContext(path=str(path))
    return FileContext(path=str(path), lines_range=lines)


def _parse_lines(fragment: str) -> LinesRange | None:
    """Return the lines that the end of a URI names, counted from 1; None if it names none."""
    found = _LINES.fullmatch(fragment)
    if found is None:
        return None
    start = int(found[1])
    return LinesRange(start=start, end=max(start, int(found[2] or start)))


def _make_resource_context(resource: TextResource | BlobResource) -> ChatContext:
    """Make the context of a resource that comes with its content. This content is used, and not the file with the name
    of the resource: the content may have changes that are not saved yet."""
    match resource:
        case TextResource(uri=uri, text=text):
            return TextContext(label=uri, content=text)
        case BlobResource(uri=uri, blob=blob, mime_type=type):
            if type and type.startswith("image/"):
                return _make_image(blob, type)
            try:
                text = base64.b64decode(blob, validate=True).decode("utf-8")
            except (binascii.Error, ValueError):
                text = f"(This is {type or 'data'}, which cannot be shown as text.)"
            return TextContext(label=uri, content=text)


def _make_mention(uri: str, name: str, root: Path) -> str:
    """Return the text that replaces a resource in the message: its path in the workspace, or its name."""
    address, fragment = urldefrag(uri)
    path = parse_file_uri(address)
    if path is None:
        return f"`{name}`"
    shown = str(path.relative_to(root)) if path.is_relative_to(root) and path != root else str(path)
    return f"`{shown}`" if not fragment else f"`{shown}` ({fragment})"
