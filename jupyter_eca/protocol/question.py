"""A question of the model's, or of a dialogue such as `/login`, to whoever is there (`chat/askQuestion`)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

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


class FieldKind(StrEnum):
    """What a field of a form is filled in with."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    YES_OR_NO = "boolean"
    ONE = "one"
    SEVERAL = "several"


class FormField(Model):
    """`choices` are labels, for yes or no in this order; `least` and `most` are of the value, of its length, or of how
    many are chosen. `default`, `decline` and `leave_out` are answers in words."""

    kind: FieldKind
    title: str
    description: str = ""
    required: bool = True
    default: str | None = None
    format: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    decline: str
    leave_out: str


class FieldQuestion(ChatAskQuestionParams):
    """A question that stands for a field: whoever can draw one does, and answers in the words that the question itself
    would be answered in. On ECA's wire it is the question alone."""

    field: FormField = Field(exclude=True)


class ChatAskQuestionResult(Model):
    answer: str | None = None
    cancelled: bool = False
