"""Asks a question of the assistant, or of a dialogue such as `/login`, by `input()`. A secret is read without an
echo where that is possible. `terminal_approval` beside it asks about tool calls.
"""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from jupyter_eca.apps.kernel.engine.interrupt import in_input
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from jupyter_eca.protocol.question import ChatAskQuestionParams

NOBODY = ChatAskQuestionResult(cancelled=True)


def ask_answer(asked: ChatAskQuestionParams) -> ChatAskQuestionResult:
    """The loop stands still meanwhile, as it does for an approval. Only return means: no answer.

    Raises: KeyboardInterrupt.
    """
    options = asked.options or ()
    lines = [f"{number}. {one.label}" for number, one in enumerate(options, 1)]
    lines = [
        f"{line} ({one.description})" if one.description else line for line, one in zip(lines, options, strict=True)
    ]
    hint = "Number" + (" or answer" if asked.allow_freeform else "") if options else "Answer"
    shown = "\n".join([asked.question, *lines])
    try:
        with in_input():
            words = _secretly(f"\n{shown}\n") if asked.secret else input(f"\n{shown}\n{hint}: ")
    except EOFError:
        return NOBODY
    return _parse_answer(asked, words.strip())


def _secretly(prompt: str) -> str:
    """Read a secret without an echo. The name is looked up now, because ipykernel puts its own `getpass` there while a
    cell runs."""
    return getpass.getpass(f"{prompt}Your input is not shown: ")


def _parse_answer(asked: ChatAskQuestionParams, words: str) -> ChatAskQuestionResult:
    """Parse a number of the list, one of its labels (or the beginning of exactly one), or a free text."""
    labels = [option.label for option in asked.options or ()]
    if words.isdecimal() and 1 <= int(words) <= len(labels):
        return ChatAskQuestionResult(answer=labels[int(words) - 1])
    free = asked.allow_freeform or not labels
    same = [label for label in labels if label.lower() == words.lower()]
    begun = [label for label in labels if words and not free and label.lower().startswith(words.lower())]
    if len(found := same or begun) == 1:
        return ChatAskQuestionResult(answer=found[0])
    return ChatAskQuestionResult(answer=words) if words and free else NOBODY
