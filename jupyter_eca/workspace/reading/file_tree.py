"""Draws file names as an indented tree. It must not read the disk: the names come from `files/index.py` or from a
tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Lines of a tree. A longer tree gives no overview.
MAX_ENTRIES: Final = 500


def draw_tree(names: Iterable[str], sizes: Mapping[str, int] | None = None) -> str:
    """Draw the tree. If it is too long, the deepest entries are left out first, and dots mark each folder whose entries
    are not all shown. `names` are paths of files, such as `src/app.py`, and `sizes` are the bytes of files, by name."""
    paths = {tuple(name.split("/")) for name in names}
    # The files and all their folders: `src/app.py` gives `("src",)` and `("src", "app.py")`.
    every = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
    nearest = set(sorted(every, key=lambda path: (len(path), path))[:MAX_ENTRIES])
    cut = {path[:-1] for path in every - nearest}
    lines = [_draw_line(path, path in paths, path in cut, sizes or {}) for path in sorted(nearest)]
    if len(nearest) < len(every):
        lines.append(f"[{len(nearest)} of {len(every)} entries, the nearest first; directory_tree shows more]")
    return "\n".join(lines)


def _draw_line(path: tuple[str, ...], is_file: bool, is_cut: bool, sizes: Mapping[str, int]) -> str:
    """Return the line of a file (`is_file`) or a folder. `is_cut` means that not all entries of the folder are shown.
    `sizes` has the sizes of files in bytes, by their paths."""
    indent = "  " * (len(path) - 1)
    if not is_file:
        return f"{indent}{path[-1]}/{' ...' if is_cut else ''}"
    size = sizes.get("/".join(path))
    return f"{indent}{path[-1]}" + ("" if size is None else f" ({size} bytes)")
