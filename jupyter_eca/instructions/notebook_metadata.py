"""The user's instructions in a notebook: `jupyter_eca.instructions` of its metadata. It edits no notebook; `sources`
has the instructions that stand at the beginning of a chat.

These instructions are sent with the user's question, not in the system prompt: a chat may move from one notebook to
another, and the beginning of the chat must not change. They are sent once, and again after they changed.

The author of a notebook that was sent to the user must not control the assistant. So only the instructions of trusted
notebooks are sent (Jupyter's own trust: the user has run or signed all code in it). Only the page knows this, and it
reports the instructions of trusted notebooks alone. When no page has the notebook open, nothing is sent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.texts import format_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.engine.model.request import History
    from jupyter_eca.workspace.ports import OpenNotebooks

MAX_CHARS: Final = 20_000

_NONE: Final = "(none any more)"


async def find_news(notebooks: OpenNotebooks | None, path: str, history: History, warn: Callable[[str], None]) -> str:
    """Return the text to add to the user's question. It is empty when the model knows the instructions already.

    `path` is the notebook that the question was asked in; empty for none.
    """
    opened = await notebooks.list() if notebooks is not None and path else ()
    found = next((info for info in opened if info.path == path), None)
    if found is None:
        return ""
    text = found.instructions.strip()
    if len(text) > MAX_CHARS:
        warn(f"The instructions of {found.path} were left out: they are longer than {MAX_CHARS:,} characters.")
        text = ""
    label = f"the user's instructions for {found.path}"
    known = _find_known(history, label)
    now = text or (_NONE if known else "")
    return "" if now == known else format_context(label, now)


def _find_known(history: History, label: str) -> str:
    """Return the newest instructions with this label in the conversation, or an empty text."""
    block = re.compile(re.escape(format_context(label, "\0")).replace("\0", "(.*?)"), re.DOTALL)
    found = [text for message in history if message.role == "user" for text in block.findall(message.text)]
    return found[-1] if found else ""
