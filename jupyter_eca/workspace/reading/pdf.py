"""Loads PDF documents, which some models can read. The type is read from the bytes, and not from the name of the file.

It must not know which model gets the document. Its neighbour `image.py` loads images.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import open_resolved
from jupyter_eca.engine.model.request import DocumentPart
from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from pathlib import Path

# The extension of files that are loaded as PDF.
EXTENSION: Final = ".pdf"

# Bytes of a document. Vendors accept requests of at most 32 MB, and each request contains the whole chat. The document
# is also stored with the chat.
MAX_BYTES: Final = 10_000_000


def load_file(real: Path, name: str) -> DocumentPart:
    """Load a PDF file. `real` is its resolved path, and `name` its name in errors.

    Raises: ToolError when it is no PDF, or too large; OSError.
    """
    with open_resolved(real) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ToolError(f"{name} is larger than {MAX_BYTES / 1e6:g} MB.", "Split it, or take its text out with code.")
    # A few bytes may come before the mark. Readers of PDF accept it anywhere in the first 1024 bytes.
    if b"%PDF-" not in data[:1024]:
        raise ToolError(f"{name} is no PDF, whatever it is called.")
    return DocumentPart(name, base64.b64encode(data).decode("ascii"))
