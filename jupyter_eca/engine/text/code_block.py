"""Writes texts as blocks of code in Markdown. Pure."""

from __future__ import annotations

import re


def as_code_block(text: str, language: str = "") -> str:
    """Return a text in a block of code. Its fence is longer than any fence in the text. The caller adds a blank line
    after the block."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"\n\n{fence}{language}\n{text}\n{fence}"
