"""A picture, and how a model that sees pictures reads it: the text is recorded, because no model runs in tests."""

from __future__ import annotations

import base64
import struct
import zlib

SIZE = 8


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _draw() -> bytes:
    rows = b"".join(b"\0" + bytes((x * y * 3) % 256 for x in range(SIZE * 3)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    return b"".join(
        [b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b"")]
    )


PICTURE = _draw()
PICTURE_BASE64 = base64.b64encode(PICTURE).decode()
