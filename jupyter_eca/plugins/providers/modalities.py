"""What a model can be given besides text, and what it is told in place of what it cannot read. Pure.

A model that has no eyes refuses a picture, and with it every later request of the chat: so a chat that goes on with
such a model is told what stood there. One that nobody knows is given the picture; the engine takes it back if refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.request import DocumentPart, ImagePart, TextPart

if TYPE_CHECKING:
    from jupyter_eca.config import ModelConfig
    from jupyter_eca.engine.model.request import ModelRequest, Part

_BLIND: Final = re.compile(
    r"deepseek-(?:chat|reasoner|coder|r\d|v[23])|gpt-3\.5|gpt-oss|(?:^|/)o1-mini|o3-mini|codestral|devstral|smollm2"
    r"|llama-?3(?:\.[0-3])?(?=[:-]|$)(?!.*vision)|qwen(?:2\.5|3)-?coder|phi-?[34](?!.*(?:vision|multimodal))",
    re.IGNORECASE,
)
_READS: Final = re.compile(r"claude|gpt-(?:4o|4\.1|[5-9])|(?:^|/)o(?:1(?!-mini)|3(?!-mini)|4)")

NO_EYES: Final = "(An image stood here. You cannot see images; say so if it matters.)"
NO_READER: Final = (
    "(The PDF {} stood here. You cannot read PDFs: take its text out with code, or say so if it matters.)"
)


@dataclass(frozen=True, slots=True)
class Senses:
    images: bool = True
    documents: bool = False


def senses(model_id: str, chosen: ModelConfig) -> Senses:
    """Return what a model can read. `model_id` is the vendor's name for it; the configuration overrides it."""
    sees = not _BLIND.search(model_id) if chosen.image_input is None else chosen.image_input
    reads = bool(_READS.search(model_id)) if chosen.document_input is None else chosen.document_input
    return Senses(sees, reads)


def adapt_to(request: ModelRequest, has: Senses) -> ModelRequest:
    """Return the request as this model can read it."""
    messages = tuple(
        replace(one, parts=tuple(_adapt_part(part, has) for part in one.parts)) for one in request.messages
    )
    return replace(request, messages=messages)


def _adapt_part(part: Part, has: Senses) -> Part:
    match part:
        case ImagePart() if not has.images:
            return TextPart(NO_EYES)
        case DocumentPart(name=name) if not has.documents:
            return TextPart(NO_READER.format(name))
        case _:
            return part
