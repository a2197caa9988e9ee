"""Asks the user a question with `input()`: a question of the assistant, or of a command such as `/login`. A secret is
not shown while the user types it, if the terminal can do that.

It must not send the answer: `questions` and `apps/process.py` do that. `terminal_approval` asks about tool calls.
"""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

from jupyter_eca.apps.kernel.engine.interrupt import handle_interrupts_in_input
from jupyter_eca.engine.text.exact_text import as_terminal_text
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from jupyter_eca.protocol.question import ChatAskQuestionParams

# The result for a question that the user does not answer.
NO_ANSWER = ChatAskQuestionResult(cancelled=True)


def ask_question(question: ChatAskQuestionParams) -> ChatAskQuestionResult:
    """Ask a question and return the answer. An empty line means that there is no answer. This blocks the loop, as
    `terminal_approval.ask_decision` does.

    Raises: KeyboardInterrupt.
    """
    options = question.options or ()
    lines = [f"{number}. {option.label}" for number, option in enumerate(options, 1)]
    lines = [
        f"{line} ({option.description})" if option.description else line
        for line, option in zip(lines, options, strict=True)
    ]
    hint = "Number" + (" or answer" if question.allow_freeform else "") if options else "Answer"
    text = as_terminal_text("\n".join([question.question, *lines]))
    try:
        with handle_interrupts_in_input():
            answer = _read_secret(f"\n{text}\n") if question.secret else input(f"\n{text}\n{hint}: ")
    except EOFError:
        return NO_ANSWER
    return _parse_answer(question, answer.strip())


def _read_secret(prompt: str) -> str:
    """Read a secret, which is not shown. `getpass` is looked up in its module at each call, because ipykernel replaces
    it while a cell runs."""
    return getpass.getpass(f"{prompt}Your input is not shown: ")


def _parse_answer(question: ChatAskQuestionParams, answer: str) -> ChatAskQuestionResult:
    """Parse an answer: the number of an option, its label, or a free text. If no free text is allowed, the beginning of
    exactly one label is enough."""
    labels = [option.label for option in question.options or ()]
    if answer.isdecimal() and 1 <= int(answer) <= len(labels):
        return ChatAskQuestionResult(answer=labels[int(answer) - 1])
    allows_text = question.allow_freeform or not labels
    matches = [label for label in labels if label.lower() == answer.lower()]
    if not matches and answer and not allows_text:
        matches = [label for label in labels if label.lower().startswith(answer.lower())]
    if len(matches) == 1:
        return ChatAskQuestionResult(answer=matches[0])
    return ChatAskQuestionResult(answer=answer) if answer and allows_text else NO_ANSWER
