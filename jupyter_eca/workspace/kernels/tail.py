"""The end of what code puts out while it runs, as a terminal shows it. Costs the same however much it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.workspace.kernels.output_text import describe_bundle, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

# Characters of it: a card shows a few lines, a list of jobs a page.
MAX_CHARS: Final = 4_000

# What is kept before it is cut: cutting at each of 100,000 lines would cost more than the lines.
_MAX_BUFFERED: Final = 4 * MAX_CHARS


class Tail:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        self._clear_next = False

    def take(self, message: Mapping[str, Any]) -> None:
        """One of the kernel's messages."""
        kind, content = message["header"]["msg_type"], message["content"]
        match kind:
            case "stream":
                self._add(content["text"])
            case "display_data" | "execute_result":
                self._add(describe_bundle(content["data"]) + "\n")
            case "error":
                self._add("\n".join(content["traceback"]) + "\n")
            case "clear_output" if content.get("wait"):
                self._clear_next = True
            case "clear_output":
                self._clear()
            case _:
                pass

    @property
    def text(self) -> str:
        return plain("".join(self._parts)).strip("\n")[-MAX_CHARS:]

    def _add(self, text: str) -> None:
        if self._clear_next:
            self._clear()
        self._parts.append(text)
        self._size += len(text)
        if self._size > _MAX_BUFFERED:
            self._shorten()

    def _shorten(self) -> None:
        """A bar that was drawn a thousand times in one line is one line: those above it stay. The last line is still
        being written, so where it is to be written over is kept too."""
        above, line_end, last = "".join(self._parts).rpartition("\n")
        drawn = last.rstrip("\r")
        drawn = drawn.rpartition("\r")[2] + last[len(drawn) :][:1]
        kept = (plain(above) + line_end + drawn)[-MAX_CHARS:]
        self._parts, self._size = [kept], len(kept)

    def _clear(self) -> None:
        self._parts.clear()
        self._size = 0
        self._clear_next = False
