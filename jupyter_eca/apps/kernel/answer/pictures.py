"""Pictures of tools as MIME bundles for a page. Pure. `screen` displays them."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_eca.protocol.content import ImageContent

# Only pixels: a page runs the scripts in an SVG.
_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

# Pictures are kept in the notebook, which should not become large.
MAX_PICTURES: Final = 4
MAX_BASE64: Final = 2_000_000


def as_bundles(pictures: Sequence[ImageContent]) -> Iterator[dict[str, str]]:
    """Yield MIME bundles of the pictures that can be shown; the text mentions each picture."""
    good = [
        picture
        for picture in pictures
        if picture.media_type in _TYPES and len(picture.base64) <= MAX_BASE64 and _pure(picture.base64)
    ]
    for picture in good[:MAX_PICTURES]:
        yield {picture.media_type: picture.base64, "text/plain": f"[{picture.media_type}]"}


def _pure(text: str) -> bool:
    """Return whether it is base64 and nothing else: nbconvert writes it into an attribute as it is."""
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False
