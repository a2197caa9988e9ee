"""Owns dialogues: commands that ask the user one question after the other, as `/login` does.

A client that supports `chat/askQuestion` shows each question by itself. Otherwise the question is a message in the
chat, and the user's next message is the answer (ECA 3.1, status `login`). This module must not know the
commands: `host.commands.login` has the questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from jupyter_eca.engine.text.slash_commands import parse_command
from jupyter_eca.protocol.question import ChatAskQuestionParams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.workspace.ports import QuestionAsker

# A generator that yields each question. The caller sends the answer into it; None if the user cancelled. In the end the
# generator yields the result, a text for the user. It may raise an `EcaError`, which ends the dialogue.
QuestionSteps: TypeAlias = "AsyncGenerator[ChatAskQuestionParams | str, str | None]"

# Stored and shown in a chat in place of an answer that is secret.
HIDDEN_ANSWER: Final = "••••••••"
CANCEL: Final = "cancel"
_HINT: Final = f"Your next message is the answer; `{CANCEL}` ends this."
_HINT_SECRET: Final = f"Your next message is the answer, and is not kept in the chat; `{CANCEL}` ends this."


async def ask_all(steps: QuestionSteps, asker: QuestionAsker) -> str:
    """Ask all questions by `chat/askQuestion`, and return the result."""
    output = await anext(steps)
    while isinstance(output, ChatAskQuestionParams):
        answer = await asker.ask(output)
        output = await steps.asend(None if answer.cancelled else answer.answer)
    return output


class Dialogue:
    """A dialogue in a chat, whose answers are the user's next messages."""

    def __init__(self, steps: QuestionSteps) -> None:
        self._steps = steps
        # The question that waits for an answer.
        self._question: ChatAskQuestionParams | None = None
        self.is_over = False
        """Whether the dialogue has ended, so that no message is an answer any more."""

    def accepts(self, message: str) -> bool:
        """Return whether a message is an answer. A command is not an answer: it ends the dialogue."""
        return not self.is_over and parse_command(message) is None

    def hide_secret(self, message: str) -> str:
        """Return the text of an answer that may be stored and shown."""
        secret = self._question is not None and self._question.secret
        return HIDDEN_ANSWER if secret and not _is_cancel(message) else message

    async def begin(self) -> str:
        """Return the first question as a text."""
        return await self._advance(None)

    async def answer(self, message: str) -> str:
        """Give an answer, and return the next question or the result as a text.

        Raises: EcaError when the command fails or is cancelled. This ends the dialogue.
        """
        return await self._advance(None if _is_cancel(message) else _read_answer(self._question, message.strip()))

    async def _advance(self, answer: str | None) -> str:
        """Send an answer to the steps, and return the next question or the result as a text. None cancels, or begins
        the dialogue."""
        previous_question = self._question
        self.is_over = True  # this stays True if the steps raise an error
        output = await (anext(self._steps) if previous_question is None else self._steps.asend(answer))
        if isinstance(output, str):
            return output
        self._question, self.is_over = output, False
        return _format_question(output)


def _is_cancel(message: str) -> bool:
    """Return whether a message ends the dialogue. An empty message does, too."""
    return message.strip().lower() in {"", CANCEL}


def _read_answer(question: ChatAskQuestionParams | None, answer: str) -> str:
    """Return the answer that a message gives. An option may be chosen by its label or by its number."""
    options = [option.label for option in (question.options if question else None) or ()]
    if answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(options):
        return options[int(answer) - 1]
    return next((label for label in options if label.casefold() == answer.casefold()), answer)


def _format_question(question: ChatAskQuestionParams) -> str:
    """Return a question as a message in a chat: the question, its numbered options, and how to answer or cancel."""
    listed = [
        f"{number}. {option.label}" + (f" ({option.description})" if option.description else "")
        for number, option in enumerate(question.options or (), 1)
    ]
    parts = [question.question, "\n".join(listed), _HINT_SECRET if question.secret else _HINT]
    return "\n\n".join(part for part in parts if part)
