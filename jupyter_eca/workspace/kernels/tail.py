"""Keeps the last lines of the output of running code, as a terminal shows them. However much the code prints, the
memory stays the same.

It must not know who shows the lines. `output_text.py` converts whole outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.workspace.kernels.output_text import as_plain_text, describe_bundle

if TYPE_CHECKING:
    from collections.abc import Mapping

# Characters of the tail. The card of a tool call shows a few lines, and the list of jobs shows one page.
MAX_CHARS: Final = 4_000

# The buffer is cut to the tail when it has so many characters. A cut after each of 100,000 lines would take more time
# than the lines themselves.
_MAX_BUFFERED: Final = 4 * MAX_CHARS


class Tail:
    """The last lines of the output of one run, collected from the messages of the kernel."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0
        # Whether the code called `clear_output(wait=True)`: the next output replaces the present ones.
        self._clear_next = False

    def add_message(self, message: Mapping[str, Any]) -> None:
        """Add a message of the kernel."""
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
        """The last `MAX_CHARS` characters of the output."""
        return as_plain_text("".join(self._parts)).strip("\n")[-MAX_CHARS:]

    def _add(self, text: str) -> None:
        """Add output, and shorten the buffer if it has become too long."""
        if self._clear_next:
            self._clear()
        self._parts.append(text)
        self._size += len(text)
        if self._size > _MAX_BUFFERED:
            self._shorten()

    def _shorten(self) -> None:
        """Cut the buffer to the tail.

        A progress bar that was drawn a thousand times in one line counts as one line, so the lines above it are kept.
        The last line is not complete yet, so a carriage return at its end is kept too.
        """
        above, line_end, last = "".join(self._parts).rpartition("\n")
        drawn = last.rstrip("\r")
        return_at_end = last[len(drawn) :][:1]
        newest_state = drawn.rpartition("\r")[2]
        tail = (as_plain_text(above) + line_end + newest_state + return_at_end)[-MAX_CHARS:]
        self._parts, self._size = [tail], len(tail)

    def _clear(self) -> None:
        """Forget all output so far."""
        self._parts.clear()
        self._size = 0
        self._clear_next = False
