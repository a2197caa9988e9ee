"""Finds the user's instructions in a notebook. They are stored in its metadata, under `jupyter_eca.instructions`.

They are sent with a prompt of the user, and not in the system prompt: a chat may move from one notebook to another, and
its beginning must not change. They are sent once, and again whenever they have changed.

If somebody else wrote the notebook, this person must not control the assistant. So only the instructions of trusted
notebooks are sent. (This is Jupyter's own trust: the user has run or signed all code in the notebook.) Only the page
knows whether a notebook is trusted, and it reports only the instructions of trusted notebooks. If no page has the
notebook open, nothing is sent.

The module must not edit notebooks. `sources.py` lists the instructions that are in the system prompt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.texts import format_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.engine.model.request import History
    from jupyter_eca.workspace.ports import OpenNotebooks

# The largest number of characters of the instructions. Longer ones are left out, with a warning.
MAX_CHARS: Final = 20_000

# The text that is sent when the instructions were removed.
_NONE: Final = "(none any more)"


async def find_new_instructions(
    notebooks: OpenNotebooks | None, path: str, history: History, warn: Callable[[str], None]
) -> str:
    """Return the text to add to the user's prompt. It is empty when the model knows the present instructions already,
    when there are none and the model knows of none, and when no page has the notebook open.

    `path` is the notebook in which the prompt was sent; empty for none. `history` is the conversation so far. `warn`
    shows a warning to the user.
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
    """Return the newest instructions with this label in the conversation; empty when there are none."""
    # The pattern is the text as `format_context` writes it, with a group in place of the instructions.
    block = re.compile(re.escape(format_context(label, "\0")).replace("\0", "(.*?)"), re.DOTALL)
    found = [text for message in history if message.role == "user" for text in block.findall(message.text)]
    return found[-1] if found else ""
