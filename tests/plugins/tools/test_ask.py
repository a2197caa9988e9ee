"""Questions to whoever is there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.ask import ask_user
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult, QuestionOption
from jupyter_eca.workspace.ports import Files
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@dataclass
class Somebody:
    """Answers with `answer`; without one, never."""

    answer: ChatAskQuestionResult | None = None
    asked: list[ChatAskQuestionParams] = field(default_factory=list[ChatAskQuestionParams])
    hears: asyncio.Event = field(default_factory=asyncio.Event)
    taken_back: bool = False

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        self.asked.append(question)
        self.hears.set()
        try:
            while self.answer is None:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.taken_back = True
            raise
        return self.answer


def there(folder: Path, somebody: Somebody | None) -> ToolContext:
    return ToolContext("chat", Files((folder,)), "call", questions=somebody)


async def test_an_answer_goes_to_the_model(tmp_path: Path) -> None:
    somebody = Somebody(ChatAskQuestionResult(answer="Blue."))
    arguments = {"question": "Which?", "options": ["Red", {"label": "Blue", "description": "As the sky"}]}
    result = await ask_user.run(there(tmp_path, somebody), arguments)
    assert result.text == "The user answered: Blue."
    assert somebody.asked == [
        ChatAskQuestionParams(
            chat_id="chat",
            question="Which?",
            options=(QuestionOption(label="Red"), QuestionOption(label="Blue", description="As the sky")),
            tool_call_id="call",
        )
    ]


@pytest.mark.parametrize("answer", [ChatAskQuestionResult(cancelled=True), ChatAskQuestionResult()])
async def test_no_answer_is_told_to_the_model(tmp_path: Path, answer: ChatAskQuestionResult) -> None:
    result = await ask_user.run(there(tmp_path, Somebody(answer)), {"question": "Which?"})
    assert result.text.startswith("The user did not answer.")


async def test_a_question_is_taken_back_when_the_turn_is_stopped(tmp_path: Path) -> None:
    somebody = Somebody()
    asking = asyncio.ensure_future(ask_user.run(there(tmp_path, somebody), {"question": "Which?"}))
    await asyncio.wait_for(somebody.hears.wait(), PATIENCE)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert somebody.taken_back


async def test_a_question_that_cannot_be_answered_is_not_asked(tmp_path: Path) -> None:
    somebody = Somebody(ChatAskQuestionResult(answer="x"))
    with pytest.raises(ToolError, match="no way to answer"):
        await ask_user.run(there(tmp_path, somebody), {"question": "Which?", "allow_freeform": False})
    assert somebody.asked == []
    assert not there(tmp_path, None).has(next(iter(ask_user.needs)))
