"""Owns the conversion between attachments and contexts, in both directions. An attachment is what a client of the Agent
Host Protocol adds to a message. A context is our model for what the model reads with a message: a file, an image, a
text, or a web page.

It must not send requests to clients: `client_files.py` reads the files that only a client has.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from jupyter_eca.fronts.ahp.reducers.base import Json, omit_none
from jupyter_eca.protocol.ahp.content import EmbeddedAttachment, ResourceAttachment, SimpleAttachment
from jupyter_eca.protocol.context import (
    ChatContext,
    DirectoryContext,
    FileContext,
    ImageContext,
    LinesRange,
    TextContext,
    WebContext,
)
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_eca.protocol.ahp.content import MessageAttachment, SelectedPart, UserMessage

# A key in an attachment's `_meta`. It marks an attachment that we offered as a completion. Its value is the context. A
# client sends it back unchanged.
META_KEY: Final = "eca"

# Parses the JSON of a context.
_CONTEXT: TypeAdapter[Any] = TypeAdapter(ChatContext)


def read_contexts(message: UserMessage) -> tuple[ChatContext, ...]:
    """Return the contexts of all attachments of a message."""
    return tuple(context for attachment in message.attachments or () for context in _parse_attachment(attachment))


def _parse_attachment(attachment: MessageAttachment) -> Iterator[ChatContext]:
    """Yield the context of an attachment; nothing for an attachment without content."""
    if (offered_context := (attachment.meta or {}).get(META_KEY)) is not None:
        try:
            yield _CONTEXT.validate_python(offered_context)
        except ValidationError:
            yield TextContext(label=attachment.label, content=str(offered_context))
        return
    match attachment:
        case SimpleAttachment(model_representation=text):
            if text:
                yield TextContext(label=attachment.label, content=text)
        case EmbeddedAttachment():
            yield _make_embedded_context(attachment)
        case ResourceAttachment(uri=uri):
            yield _make_resource_context(uri, read_lines(attachment.selection))


def _make_embedded_context(attachment: EmbeddedAttachment) -> ChatContext:
    """Make the context of an attachment that contains its content, in base64."""
    if attachment.content_type.startswith("image/"):
        return ImageContext(media_type=attachment.content_type, base64=attachment.data)
    try:
        text = base64.b64decode(attachment.data, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        text = f"(This is {attachment.content_type}, which cannot be shown as text.)"
    return TextContext(label=attachment.label, content=text)


def read_lines(selected: SelectedPart | None) -> LinesRange | None:
    """Return the lines of a selection, counted from 1; None if nothing is selected. The protocol counts from 0."""
    if selected is None:
        return None
    start, end = selected.range.start, selected.range.end
    # A range that ends at the start of a line does not include this line.
    last = end.line if end.character == 0 and end.line > start.line else end.line + 1
    return LinesRange(start=start.line + 1, end=last)


def _make_resource_context(uri: str, lines: LinesRange | None) -> ChatContext:
    """Make the context of a URI: a web page, a folder, or a file of this machine, of which only `lines` are read if
    they are given. The model gets any other URI as a text."""
    path = parse_file_uri(uri)
    if path is None:
        return WebContext(url=uri) if is_web_address(uri) else TextContext(label=uri, content=uri)
    if lines is None and os.path.isdir(path):  # noqa: PTH112  # `Path.is_dir` raises an error for a path that is too long
        return DirectoryContext(path=str(path))
    return FileContext(path=str(path), lines_range=lines)


def is_web_address(uri: str) -> bool:
    """Return whether a URI is that of a web page."""
    return uri.lower().startswith(("http://", "https://"))


def make_attachment(context: ChatContext, root: Path) -> Json:
    """Return the attachment that a client sends when its user chooses this context. The client sends `_meta` back
    unchanged. `root` is the folder to which the paths of contexts are relative."""
    wire: Json = context.as_json_object()
    meta = {META_KEY: wire}
    if isinstance(context, FileContext | DirectoryContext):
        path = root / context.path
        kind = "directory" if isinstance(context, DirectoryContext) else "document"
        return {
            "type": "resource",
            "label": path.name,
            "uri": path.as_uri(),
            "displayKind": kind,
            "_meta": meta,
        }
    label = str(wire.get("label") or wire.get("name") or wire.get("url") or wire.get("uri") or wire["type"])
    return omit_none(type="simple", label=label, _meta=meta)
