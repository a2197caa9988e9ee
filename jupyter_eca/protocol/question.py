"""Owns the question that the server asks the user (`chat/askQuestion`): a question of the model, or of a command such
as `/login`.

It must not know who asks. The approval of a tool call is not a question of this kind: see `chat/toolCallApprove` in
`chat`.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from jupyter_eca.protocol.base import ChatId, Model


# No docstring: the schema of the tool `ask_user` contains this model, and a docstring would be sent to the model.
class QuestionOption(Model):
    label: str
    description: str | None = None


class ChatAskQuestionParams(Model):
    """A question to the user."""

    chat_id: ChatId
    question: str
    options: tuple[QuestionOption, ...] | None = None
    """The answers that the user can choose from."""
    tool_call_id: str | None = None
    """The tool call that asks."""
    allow_freeform: bool = True
    """Whether the user can type another answer."""
    secret: bool | None = None
    """Not in ECA: the answer is a secret, for example a key. The client must not show or store it."""


class FieldKind(StrEnum):
    """The kind of value that a field of a form takes. `ONE` takes one of the choices of the field, and `SEVERAL` takes
    any number of them."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    YES_OR_NO = "boolean"
    ONE = "one"
    SEVERAL = "several"


class FormField(Model):
    """A field of a form. `default`, `decline` and `leave_out` are answers in words, as the user could type them."""

    kind: FieldKind
    title: str
    description: str = ""
    required: bool = True
    default: str | None = None
    """The answer that is filled in already."""
    format: str = ""
    """The format of a text, for example `email` or `date`."""
    least: float | None = None
    """The smallest value, the shortest length, or the smallest number of choices."""
    most: float | None = None
    """The largest value, the longest length, or the largest number of choices."""
    choices: tuple[str, ...] = ()
    """The labels of the choices. For `boolean` they are the labels of yes and no, in this order."""
    decline: str
    """The answer that declines the whole form."""
    leave_out: str
    """The answer that leaves this field empty."""


class FieldQuestion(ChatAskQuestionParams):
    """A question about one field of a form.

    A front whose clients can show a form shows the field. The answer is a text, as for any other question. ECA has no
    fields, so an ECA client gets only the question.
    """

    field: FormField = Field(exclude=True)
    """The field, which is not sent to ECA clients."""


class ChatAskQuestionResult(Model):
    """The user's answer."""

    answer: str | None = None
    """The label of the chosen option, or the text that the user has typed; absent when there is no answer."""
    cancelled: bool = False
    """Whether the user did not want to answer."""
