"""A question of the model's, or of a dialogue such as `/login`, to whoever is there (`chat/askQuestion`)."""

from __future__ import annotations

from jupyter_eca.protocol.base import ChatId, Model


class QuestionOption(Model):
    label: str
    description: str | None = None


class ChatAskQuestionParams(Model):
    """`secret` is ours: the answer is a key, say, and must be neither shown nor kept by who asks for it."""

    chat_id: ChatId
    question: str
    options: tuple[QuestionOption, ...] | None = None
    tool_call_id: str | None = None
    allow_freeform: bool = True
    secret: bool | None = None


class ChatAskQuestionResult(Model):
    answer: str | None = None
    cancelled: bool = False
