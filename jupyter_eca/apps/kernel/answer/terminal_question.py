"""Asks a question of the assistant, or of a dialogue such as `/login`, by `input()`. A secret is read without an
echo where that is possible. `terminal_approval` beside it asks about tool calls.
"""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from jupyter_eca.apps.kernel.answer.exact_text import as_typed_text
from jupyter_eca.apps.kernel.engine.interrupt import in_input
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from jupyter_eca.protocol.question import ChatAskQuestionParams

NOBODY = ChatAskQuestionResult(cancelled=True)


def ask_answer(question: ChatAskQuestionParams) -> ChatAskQuestionResult:
    """Ask a question. The loop stands still meanwhile, as for an approval. An empty line means that there is no answer.

    Raises: KeyboardInterrupt.
    """
    options = question.options or ()
    lines = [f"{number}. {option.label}" for number, option in enumerate(options, 1)]
    lines = [
        f"{line} ({option.description})" if option.description else line
        for line, option in zip(lines, options, strict=True)
    ]
    hint = "Number" + (" or answer" if question.allow_freeform else "") if options else "Answer"
    text = as_typed_text("\n".join([question.question, *lines]))
    try:
        with in_input():
            words = _secretly(f"\n{text}\n") if question.secret else input(f"\n{text}\n{hint}: ")
    except EOFError:
        return NOBODY
    return _parse_answer(question, words.strip())


def _secretly(prompt: str) -> str:
    """Read a secret without an echo. The name is looked up now, because ipykernel puts its own `getpass` there while a
    cell runs."""
    return getpass.getpass(f"{prompt}Your input is not shown: ")


def _parse_answer(question: ChatAskQuestionParams, words: str) -> ChatAskQuestionResult:
    """Parse a number of the list, one of its labels (or the beginning of exactly one), or a free text."""
    labels = [option.label for option in question.options or ()]
    if words.isdecimal() and 1 <= int(words) <= len(labels):
        return ChatAskQuestionResult(answer=labels[int(words) - 1])
    free = question.allow_freeform or not labels
    same = [label for label in labels if label.lower() == words.lower()]
    begun = [label for label in labels if words and not free and label.lower().startswith(words.lower())]
    if len(matches := same or begun) == 1:
        return ChatAskQuestionResult(answer=matches[0])
    return ChatAskQuestionResult(answer=words) if words and free else NOBODY
