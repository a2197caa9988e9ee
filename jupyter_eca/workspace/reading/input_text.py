"""Writes the text for a model about the inputs that ran in a kernel. It is used where no page has a notebook open: in
nbclient, in a console, or in an editor. `place_text` is its neighbour for open notebooks. An example:

    Inputs 3-4 of the kernel (process 4711):
    [3] df = load()
    [4] df["price"]
    -> KeyError: 'price'

Each input is described to the model once. Which inputs were described already is found in the conversation. The module
is pure, except that it reads the id of this process, which is the kernel itself.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.texts import format_context
from jupyter_eca.workspace.reading.error_text import find_execution_counts, shorten_traceback

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import History
    from jupyter_eca.workspace.ports import ExecutionMemory, RanInput

# The label of the context with this text, as the model sees it.
LABEL: Final = "what ran in this kernel"

# The inputs that are shown, and the characters of each. The model can ask the kernel for more.
MAX_INPUTS: Final = 10
_MAX_SOURCE: Final = 600

# The characters of the last traceback: its end, where the error is.
_MAX_TRACEBACK: Final = 1500

# The beginning of an input that asks the assistant. It is left out, because the conversation has it.
_QUESTION: Final = re.compile(r"\s*%{1,2}eca\b")

# The first line of the text.
_HEAD: Final = "Inputs {first}-{last} of the kernel (process {process}):"
# Finds the headings of the earlier contexts in a conversation.
_EARLIER_HEAD: Final = re.compile(
    re.escape(format_context(LABEL, "").removesuffix("\n</context>"))
    + r"Inputs \d+-(\d+) of the kernel \(process (\d+)\):"
)


def describe_inputs(kernel: ExecutionMemory, history: History, *, without_error: bool = False) -> tuple[str, str]:
    """Return the label and the text about the inputs that were not described to the model yet; the text is empty if
    there are none. `history` is the conversation, in which earlier texts of this kind are found. With `without_error`
    the last traceback is left out, because the same message has it in another context."""
    last_shown = _find_last_shown(history)
    ran = [entry for entry in kernel.list_inputs() if entry.source.strip() and not _QUESTION.match(entry.source)]
    news = [entry for entry in ran if entry.count > last_shown][-MAX_INPUTS:]
    if not news:
        return LABEL, ""
    lines = [_HEAD.format(first=news[0].count, last=news[-1].count, process=os.getpid())]
    for entry in news:
        lines += _describe_input(entry)
    traceback = shorten_traceback(kernel.last_error() or "")
    if not without_error and find_execution_counts(traceback) & {entry.count for entry in news}:
        lines += ["The last traceback:", traceback[-_MAX_TRACEBACK:]]
    return LABEL, "\n".join(lines)


def _describe_input(entry: RanInput) -> list[str]:
    """Return the lines about one input: its source, and its error if it had one."""
    left_out = len(entry.source) - _MAX_SOURCE
    source = entry.source if left_out <= 0 else f"{entry.source[:_MAX_SOURCE]}\n[{left_out} more characters]"
    return [f"[{entry.count}] {source.strip()}", *([f"-> {entry.error}"] if entry.error else [])]


def _find_last_shown(history: History) -> int:
    """Return the execution count of the last input of this process that was described to the model; 0 for none."""
    texts = (message.text for message in history if message.role == "user")
    found = [(int(last), int(process)) for text in texts for last, process in _EARLIER_HEAD.findall(text)]
    return max((last for last, process in found if process == os.getpid()), default=0)
