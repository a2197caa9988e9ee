"""Converts the outputs of code to text for a model. It knows Jupyter's output messages, and must not know kernels.

`tail.py` keeps the last lines of the output while code still runs. `notebooks/cell_outputs.py` builds outputs in
nbformat.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# The escape sequences of terminals (ANSI): first colours and cursor moves, then titles and links. Titles and links end
# with a bell character or with another escape sequence.
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


def as_plain_text(text: str) -> str:
    """Return the text without terminal colours. Of a line that was overwritten by carriage returns, only the last state
    is kept."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))


def describe_bundle(data: Mapping[str, Any]) -> str:
    """Return the plain text of a MIME bundle, and a note about the parts that only the user sees."""
    text = str(data.get("text/plain", ""))
    types = [mime for mime in data if mime.startswith(("image/", "application/vnd."))]
    return "\n".join(part for part in (text, f"[shown to the user: {', '.join(types)}]" if types else "") if part)


class OutputText:
    """Collects the outputs of one execution, in order."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def add(self, msg_type: str, content: Mapping[str, Any]) -> None:
        """Add an output message. `msg_type` and `content` are those of Jupyter's messaging protocol."""
        match msg_type:
            case "stream":
                self._parts.append(str(content.get("text", "")))
            case "display_data" | "execute_result":
                self._parts.append(describe_bundle(content.get("data", {})) + "\n")
            case "error":
                self._parts.append("\n".join(content.get("traceback", ())) + "\n")
            case _:
                pass

    @property
    def text(self) -> str:
        """All outputs as plain text."""
        return as_plain_text("".join(self._parts)).strip("\n")
