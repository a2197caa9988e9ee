"""A question of the model's, or of a dialogue such as `/login`, to whoever is there (`chat/askQuestion`)."""

from __future__ import annotations

from jupyter_eca.protocol.base import ChatId, Model


class QuestionOption(Model):
    label: str
    description: str | None = None


class ChatAskQuestionParams(Model):
    chat_id: ChatId
    question: str
    options: tuple[QuestionOption, ...] | None = None
    tool_call_id: str | None = None
    allow_freeform: bool = True


class ChatAskQuestionResult(Model):
    answer: str | None = None
    cancelled: bool = False
