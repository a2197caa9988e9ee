"""Cuts a text that is too long for a model: it keeps the head and the tail. Pure.

It must not know chats. `host/tools/output_limit.py` uses it for the result of each call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_eca.workspace.tool_result import ToolResult

# Characters that one result may add to a model's context: about 5,600 tokens, which stay there for the rest of the
# chat. Except in `truncate_result`, the whole result is kept, and can be searched.
MAX_RESULT_CHARS = 20_000


def truncate_result(result: ToolResult) -> ToolResult:
    """Return the result with only the head and the tail of its text, if the text is too long. This is for callers that
    cannot store the whole text."""
    if len(result.text) <= MAX_RESULT_CHARS:
        return result
    head, tail = split_head_and_tail(result.text, MAX_RESULT_CHARS)
    left_out = len(result.text) - len(head) - len(tail)
    return replace(result, text=f"{head}\n\n[... {left_out} characters left out ...]\n\n{tail}")


def split_head_and_tail(text: str, size: int, lines: int | None = None) -> tuple[str, str]:
    """Return the head and the tail of a text that is too long. Together they have at most `size` characters and, unless
    `lines` is None, at most `lines` lines. Each has at least one line, also if `lines` is 1. The tail gets as much as
    the head, because errors are usually at the end."""
    head, tail = text[: size // 2], text[-(size // 2) :]
    if lines is not None:
        head = "".join(head.splitlines(keepends=True)[: max(lines // 2, 1)])
        tail = "".join(tail.splitlines(keepends=True)[-max(lines // 2, 1) :])
    return head, tail
