"""File names as an indented tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Lines: more is no overview any longer.
MAX_ENTRIES: Final = 500


def drawn(names: Iterable[str], sizes: Mapping[str, int] | None = None) -> str:
    """What is deep is left out first, and a folder that is not shown whole has dots behind it."""
    paths = {tuple(name.split("/")) for name in names}
    every = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
    kept = set(sorted(every, key=lambda path: (len(path), path))[:MAX_ENTRIES])
    cut = {path[:-1] for path in every - kept}
    lines = [_draw_line(path, path in paths, path in cut, sizes or {}) for path in sorted(kept)]
    if len(kept) < len(every):
        lines.append(f"[{len(kept)} of {len(every)} entries, the nearest first; directory_tree shows more]")
    return "\n".join(lines)


def _draw_line(path: tuple[str, ...], is_file: bool, is_cut: bool, sizes: Mapping[str, int]) -> str:
    indent = "  " * (len(path) - 1)
    if not is_file:
        return f"{indent}{path[-1]}/{' ...' if is_cut else ''}"
    size = sizes.get("/".join(path))
    return f"{indent}{path[-1]}" + ("" if size is None else f" ({size} bytes)")
