"""Decides whether a model can read images and PDF documents, and replaces those that it cannot read by a text. Pure.

A model that cannot read images would refuse a chat with an image, and so every later request of that chat. An unknown
model gets the image, and the engine removes it if the model refuses it. This module must not know an API: the providers
use it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.request import DocumentPart, ImagePart, TextPart, ToolResultPart

if TYPE_CHECKING:
    from jupyter_eca.config import ModelConfig
    from jupyter_eca.engine.model.request import ModelRequest, Part

# The names of models that cannot read images, and of models that can read PDF documents.
_WITHOUT_IMAGES: Final = re.compile(
    r"deepseek-(?:chat|reasoner|coder|r\d|v[23])|gpt-3\.5|gpt-oss|(?:^|/)o1-mini|o3-mini|codestral|devstral|smollm2"
    r"|llama-?3(?:\.[0-3])?(?=[:-]|$)(?!.*vision)|qwen(?:2\.5|3)-?coder|phi-?[34](?!.*(?:vision|multimodal))",
    re.IGNORECASE,
)
_WITH_PDF: Final = re.compile(r"claude|gpt-(?:4o|4\.1|[5-9])|(?:^|/)o(?:1(?!-mini)|3(?!-mini)|4)")

# What the model reads in place of an image or a document.
IMAGE_PLACEHOLDER: Final = "(An image stood here. You cannot see images; say so if it matters.)"
PDF_PLACEHOLDER: Final = (
    "(The PDF {} stood here. You cannot read PDFs: take its text out with code, or say so if it matters.)"
)


@dataclass(frozen=True, slots=True)
class Modalities:
    """What a model can read besides text."""

    images: bool = True
    """Whether the model can read images."""
    documents: bool = False
    """Whether the model can read PDF documents."""


def find_modalities(model_id: str, model_config: ModelConfig) -> Modalities:
    """Return what a model can read. `model_id` is the vendor's name of the model. What the configuration of the model
    says overrides our own knowledge."""
    images = not _WITHOUT_IMAGES.search(model_id) if model_config.image_input is None else model_config.image_input
    documents = bool(_WITH_PDF.search(model_id)) if model_config.document_input is None else model_config.document_input
    return Modalities(images, documents)


def adapt_to(request: ModelRequest, modalities: Modalities) -> ModelRequest:
    """Return the request with only those parts that the model can read. The others are replaced by a text."""
    messages = tuple(
        replace(message, parts=tuple(_adapt_part(part, modalities) for part in message.parts))
        for message in request.messages
    )
    return replace(request, messages=messages)


def _adapt_part(part: Part, modalities: Modalities) -> Part:
    """Return a part of a message, or a text in its place if the model cannot read it."""
    match part:
        case ImagePart() if not modalities.images:
            return TextPart(IMAGE_PLACEHOLDER)
        case DocumentPart(name=name) if not modalities.documents:
            return TextPart(PDF_PLACEHOLDER.format(name))
        case ToolResultPart(text=text, images=images) if images and not modalities.images:
            return replace(part, text="\n".join((text, *(IMAGE_PLACEHOLDER for _ in images))), images=())
        case _:
            return part
