"""A command that has questions: asked by `chat/askQuestion` where somebody can be, else in the chat, where the user's
next messages are the answers (ECA 3.1, status `login`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from jupyter_eca.engine.text.slash_commands import parse
from jupyter_eca.protocol.question import ChatAskQuestionParams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.workspace.ports import QuestionAsker

# Yields questions and is sent the answers, None when the user gave up; the text it yields last is what came of it. It
# raises errors of ours, which end it.
Steps: TypeAlias = "AsyncGenerator[ChatAskQuestionParams | str, str | None]"

# Stands in a chat for what was typed there and may not be kept.
UNSEEN: Final = "••••••••"
CANCEL: Final = "cancel"
_HOW: Final = f"Your next message is the answer; `{CANCEL}` ends this."
_HOW_SECRET: Final = f"Your next message is the answer, and is not kept in the chat; `{CANCEL}` ends this."


async def ask_all(steps: Steps, questions: QuestionAsker) -> str:
    """All of a dialogue with somebody who can be asked."""
    said = await anext(steps)
    while isinstance(said, ChatAskQuestionParams):
        answer = await questions.ask(said)
        said = await steps.asend(None if answer.cancelled else answer.answer)
    return said


class Dialogue:
    """One that waits for the user's next message."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._question: ChatAskQuestionParams | None = None
        self.over = False

    def takes(self, message: str) -> bool:
        """Another command ends the dialogue: it is no answer."""
        return not self.over and parse(message) is None

    def visible_part(self, message: str) -> str:
        """An answer as it may be kept."""
        secret = self._question is not None and self._question.secret
        return UNSEEN if secret and not _gives_up(message) else message

    async def begin(self) -> str:
        return await self._advance(None)

    async def hear(self, message: str) -> str:
        """What is said next. Raises: errors of ours, which end the dialogue, as being cancelled does."""
        return await self._advance(None if _gives_up(message) else _read_answer(self._question, message.strip()))

    async def _advance(self, answer: str | None) -> str:
        before, self.over = self._question, True
        said = await (anext(self._steps) if before is None else self._steps.asend(answer))
        if isinstance(said, str):
            return said
        self._question, self.over = said, False
        return _as_text(said)


def _gives_up(message: str) -> bool:
    return message.strip().lower() in {"", CANCEL}


def _read_answer(question: ChatAskQuestionParams | None, answer: str) -> str:
    """An option may be told by its number."""
    options = [option.label for option in (question.options if question else None) or ()]
    if answer.isascii() and answer.isdigit() and 0 < int(answer) <= len(options):
        return options[int(answer) - 1]
    return next((label for label in options if label.casefold() == answer.casefold()), answer)


def _as_text(question: ChatAskQuestionParams) -> str:
    listed = [
        f"{number}. {option.label}" + (f" ({option.description})" if option.description else "")
        for number, option in enumerate(question.options or (), 1)
    ]
    parts = [question.question, "\n".join(listed), _HOW_SECRET if question.secret else _HOW]
    return "\n\n".join(part for part in parts if part)
