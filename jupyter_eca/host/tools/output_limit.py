"""Cuts outputs of tools that are too long for a model: the model gets the beginning and the end, and the whole output
is kept. The result of every tool passes here.

It must not know the tools. `kept_outputs` keeps the whole outputs, and `workspace.head_and_tail` cuts a text.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.workspace.head_and_tail import split_head_and_tail

if TYPE_CHECKING:
    from jupyter_eca.config.schema import OutputConfig
    from jupyter_eca.host.tools.kept_outputs import ToolOutputs
    from jupyter_eca.workspace.tool_result import ToolResult

_log = logging.getLogger(__name__)

# The lines that a tool such as `read_output` may write before the part of the output.
_HEADER_LINES: Final = 5

# The texts for the model that stand in place of the part that was cut.
_NOTE: Final = "[... {left_out} characters left out: the whole output is kept, read_output reads it by the id {id} ...]"
_LOST: Final = "[... {left_out} characters left out; they could not be kept ...]"


async def cut_and_keep(
    outputs: ToolOutputs, chat: str, call: str, result: ToolResult, limits: OutputConfig
) -> ToolResult:
    """Return a result as the model gets it. If it is too long, keep the whole of it, and cut it."""
    size = limits.size_kb * 1_000
    if len(result.text) <= size and result.text.count("\n") <= limits.lines + _HEADER_LINES:
        return result
    return await asyncio.to_thread(_cut, outputs, chat, call, result, size, limits.lines)


def _cut(outputs: ToolOutputs, chat: str, call: str, result: ToolResult, size: int, lines: int) -> ToolResult:
    """Keep a result that is too long, and return its beginning and its end with a note in between. The two together
    have at most `size` characters and `lines` lines. Blocks."""
    head, tail = split_head_and_tail(result.text, size, lines)
    left_out = len(result.text) - len(head) - len(tail)
    try:
        id = outputs.write(chat, call, result.text)
    except OSError:
        _log.exception("an output of %d characters could not be kept", len(result.text))
        return replace(result, text=f"{head}\n\n{_LOST.format(left_out=left_out)}\n\n{tail}")
    note = _NOTE.format(left_out=left_out, id=id)
    return replace(result, text=f"{head}\n\n{note}\n\n{tail}", whole_length=len(result.text))
