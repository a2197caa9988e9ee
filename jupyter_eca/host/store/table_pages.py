"""Reads the rows in the pages of a damaged SQLite file, without the list of its tables and without its trees.

SQLite finds a page of rows by the pages above it, up to the first page of the file. If one of those is destroyed, it
finds nothing below. The pages of rows themselves are whole then, so this reads each of them by itself. The format is
that of https://sqlite.org/fileformat2.html, sections 1.5 to 2.1.

It must not know our tables: the caller recognizes a row by its values. `repair` reads with SQLite first.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE_SIZE: Final = 4096
"""The size of a page in bytes. SQLite has made all files of ours with this size (since its version 3.12)."""

Value: TypeAlias = "int | float | str | bytes | None"
Row = TypeVar("Row")

# The first byte of a page with rows, and the bytes of the header of such a page.
_LEAF: Final = 0x0D
_LEAF_HEADER: Final = 8

# A row with more bytes than `_MAX_LOCAL` continues on other pages. `_MIN_LOCAL` is the least that its first page has.
_MAX_LOCAL: Final = PAGE_SIZE - 35
_MIN_LOCAL: Final = (PAGE_SIZE - 12) * 32 // 255 - 23

# The number of bytes of an integer by its type, and the numbers of the other types: of a float, of the integers 0 and
# 1, which have no bytes, and of the shortest blob. Texts and longer blobs have higher numbers.
_INTEGER_BYTES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_FLOAT: Final = 7
_ZERO: Final = 8
_ONE: Final = 9
_FIRST_BLOB: Final = 12


def read_rows_of_pages(data: bytes) -> Iterator[tuple[int, list[Value]]]:
    """Yield the rowid and the values of each row that can be read in a file. `data` are the bytes of the whole file.
    Pages of the free list are left out, because their rows are deleted."""
    free = _list_free_pages(data)
    for number in range(1, len(data) // PAGE_SIZE + 1):
        page = _get_page(data, number)
        if page[0] == _LEAF and number not in free:
            for rowid, (_, values) in correct_rowids(_read_rows_of_page(data, page)):
                yield rowid, values


def correct_rowids(rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, tuple[int, Row]]]:
    """Yield rows that were read in the order of their tree, each with the correct rowid before it. A rowid that does
    not lie between its neighbours is damaged, and the one next to a neighbour is right in most files: of 7, 380, 9 the
    second must be 8. A row with a wrong number would take the place of the true row 380."""
    before: int | None = None
    waiting: tuple[int, Row] | None = None
    for row in rows:
        if waiting is not None:
            before = _choose_rowid(before, waiting[0], row[0])
            yield before, waiting
        waiting = row
    if waiting is not None:
        yield waiting[0] if before is None else max(waiting[0], before + 1), waiting


def _choose_rowid(before: int | None, rowid: int, after: int) -> int:
    """Return the rowid if it lies between its neighbours `before` and `after`, otherwise one that does, if there is
    one. `before` is None for the first row."""
    if before is None:
        return rowid if rowid < after else after - 1
    return rowid if before < rowid < after or before + 1 >= after else before + 1


def _read_rows_of_page(data: bytes, page: bytes) -> Iterator[tuple[int, list[Value]]]:
    """Yield the rowid and the values of each row of a page. `data` are the bytes of the whole file."""
    (count,) = struct.unpack_from(">H", page, 3)
    cells = min(count, (PAGE_SIZE - _LEAF_HEADER) // 2)
    # The offsets of the rows in the page. A damaged offset may be that of another row, which would be read twice.
    for offset in dict.fromkeys(struct.unpack_from(f">{cells}H", page, _LEAF_HEADER)):
        try:
            yield _read_cell(data, page, offset)
        except (ValueError, IndexError, struct.error):
            continue  # this row is damaged


def _get_page(data: bytes, number: int) -> bytes:
    """Return the bytes of a page. The number of the first page is 1."""
    return data[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]


def _list_free_pages(data: bytes) -> set[int]:
    """Return the numbers of the pages of the free list, as far as it can be followed."""
    free: set[int] = set()
    if not data.startswith(b"SQLite format 3\0"):
        return free
    (trunk,) = struct.unpack_from(">I", data, 32)
    while trunk and trunk not in free and len(page := _get_page(data, trunk)) == PAGE_SIZE:
        free.add(trunk)
        trunk, count = struct.unpack_from(">II", page)
        free.update(struct.unpack_from(f">{min(count, PAGE_SIZE // 4 - 2)}I", page, 8))
    return free


def _read_cell(data: bytes, page: bytes, offset: int) -> tuple[int, list[Value]]:
    """Return the rowid and the values of the row at an offset in a page. Raises: ValueError, IndexError,
    struct.error."""
    size, offset = _read_varint(page, offset)
    rowid, offset = _read_varint(page, offset)
    return rowid, _decode_record(_read_payload(data, page, offset, size))


def _read_payload(data: bytes, page: bytes, offset: int, size: int) -> bytes:
    """Return the `size` bytes of a row that begins at an offset in a page, with those on other pages. Raises:
    ValueError, struct.error."""
    local = size  # how many of the bytes are on this page
    if size > _MAX_LOCAL:
        local = _MIN_LOCAL + (size - _MIN_LOCAL) % (PAGE_SIZE - 4)
        local = _MIN_LOCAL if local > _MAX_LOCAL else local
    payload = bytearray(page[offset : offset + local])
    (following,) = struct.unpack_from(">I", page, offset + local) if local < size else (0,)
    while len(payload) < size:
        if not 0 < following <= len(data) // PAGE_SIZE:
            raise ValueError("the rest of the row is lost")
        more = _get_page(data, following)
        payload += more[4 : 4 + size - len(payload)]
        (following,) = struct.unpack_from(">I", more)
    return bytes(payload)


def _decode_record(record: bytes) -> list[Value]:
    """Return the values of a row. Raises: ValueError, IndexError, struct.error."""
    # The record begins with the types of the values. The values themselves follow, from `body` on.
    end, offset = _read_varint(record, 0)
    body = end
    values: list[Value] = []
    while offset < end:
        kind, offset = _read_varint(record, offset)
        size = _INTEGER_BYTES.get(kind, 0) if kind < _FLOAT else 8 if kind == _FLOAT else 0
        if kind >= _FIRST_BLOB:
            size = (kind - _FIRST_BLOB) // 2
        part = record[body : body + size]
        if len(part) < size:
            raise ValueError("the row is cut")
        values.append(_decode_value(kind, part))
        body += size
    return values


def _decode_value(kind: int, part: bytes) -> Value:
    """Return a value. `kind` is the number of its type, and `part` its bytes."""
    if kind >= _FIRST_BLOB:
        return part.decode("utf-8", "replace") if kind % 2 else part
    if kind == _FLOAT:
        return struct.unpack(">d", part)[0]
    if kind in _INTEGER_BYTES:
        return int.from_bytes(part, "big", signed=True)
    return {_ZERO: 0, _ONE: 1}.get(kind)


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and the offset behind it. Raises: IndexError."""
    value = 0
    for index in range(offset, offset + 8):
        value = value << 7 | data[index] & 0x7F
        if not data[index] & 0x80:
            return value, index + 1
    return value << 8 | data[offset + 8], offset + 9
