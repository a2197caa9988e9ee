"""Loads images that can be sent to a model.

The type of an image is read from its bytes, and not from its name. If a type is wrong, the vendor refuses the request,
and also every later request of the chat, because each contains the image. The module must not know which tool or
context needs the image. Its neighbour `pdf.py` loads PDF documents.
"""

from __future__ import annotations

import base64
import binascii
import io
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config.disk.regular_file import open_resolved
from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from pathlib import Path

# A file with one of these extensions is loaded as an image.
EXTENSIONS: Final = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})

# The most bytes of an image that is sent. Vendors refuse images with more than 5 MB in base64.
MAX_BYTES: Final = 3_750_000

# The most bytes of an image that is read. An image that is too large to be sent is made smaller: its longer side then
# has `_MAX_SIDE` pixels, and models use no more than that.
MAX_READ: Final = 50_000_000
_MAX_SIDE: Final = 1568


def load_file(real: Path, name: str) -> ImagePart:
    """Load an image file. `real` is its resolved path, and `name` its name in errors, here and below.

    Raises: ToolError when it is no image, or too large; OSError.
    """
    with open_resolved(real) as file:
        return _make_part(file.read(MAX_READ + 1), name)


def load_base64(text: str, name: str) -> ImagePart:
    """Load an image from base64, or from a `data:` URI.

    Raises: ToolError when it is no image, or too large.
    """
    try:
        return _make_part(base64.b64decode(text.partition("base64,")[2] or text, validate=True), name)
    except binascii.Error as error:
        raise ToolError(f"{name} is not valid base64: {error}.") from error


def load_bytes(data: bytes, name: str) -> ImagePart:
    """Load an image from its bytes.

    Raises: ToolError when it is no image, or too large.
    """
    return _make_part(data, name)


def _make_part(data: bytes, name: str) -> ImagePart:
    """Return the part of a message with this image, which is made smaller if it is too large."""
    media_type = _detect_media_type(data)
    if not media_type:
        raise ToolError(f"{name} is no PNG, JPEG, GIF or WebP picture, whatever it is called.")
    if len(data) > MAX_BYTES:
        media_type, data = "image/jpeg", _shrink(data, name)
    return ImagePart(media_type, base64.b64encode(data).decode("ascii"))


def _detect_media_type(data: bytes) -> str:
    """Return the type of an image from its first bytes; empty when it is none of the types that models accept."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def _shrink(data: bytes, name: str) -> bytes:
    """Make an image smaller, and return it as JPEG. This needs Pillow.

    Raises: ToolError when it cannot be made smaller.
    """
    problem = f"{name} is larger than {MAX_BYTES / 1e6:g} MB"
    if len(data) > MAX_READ:
        raise ToolError(f"{problem}, and too large to be made smaller.", "Crop it, or save it with fewer pixels.")
    try:
        from PIL import Image
    except ImportError:
        raise ToolError(f"{problem}.", "Install Pillow to have it made smaller.") from None
    try:
        picture: Any = Image.open(io.BytesIO(data))
        picture.thumbnail((_MAX_SIDE, _MAX_SIDE))
        buffer = io.BytesIO()
        picture.convert("RGB").save(buffer, "JPEG", quality=85)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ToolError(f"{problem} and cannot be made smaller: {error}.") from error
    return buffer.getvalue()
