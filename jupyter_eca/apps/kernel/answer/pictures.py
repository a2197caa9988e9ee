"""Converts pictures of tools into MIME bundles for a page. A MIME bundle is the form in which a kernel publishes an
output: `{"image/png": BASE64, "text/plain": TEXT}`. Pure.

It must not display them: `screen` does.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jupyter_eca.protocol.content import ImageContent

# The types of pictures that are shown. SVG is not among them, because a page runs the scripts in it.
_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

# The most pictures of an answer, and the most characters of a picture in base64. Pictures are saved in the notebook,
# which should not become large.
MAX_PICTURES: Final = 4
MAX_BASE64: Final = 2_000_000


def as_bundles(pictures: Sequence[ImageContent]) -> Iterator[dict[str, str]]:
    """Yield MIME bundles of the pictures that can be shown. The text of the answer mentions all pictures."""
    displayable = [
        picture
        for picture in pictures
        if picture.media_type in _TYPES and len(picture.base64) <= MAX_BASE64 and _is_base64(picture.base64)
    ]
    for picture in displayable[:MAX_PICTURES]:
        yield {picture.media_type: picture.base64, "text/plain": f"[{picture.media_type}]"}


def _is_base64(text: str) -> bool:
    """Return whether the text is base64 and nothing else. nbconvert writes it into an attribute without escaping it."""
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False
