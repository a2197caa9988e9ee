"""The tool with which the model asks the user a question. `host/subscribers.py` asks the clients."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption


def _accept_label(value: Any) -> Any:
    """Accept a plain label instead of an option, because models write that too."""
    return {"label": value} if isinstance(value, str) else value


# The types of the arguments, with their descriptions for the model.
Question = Annotated[str, Field(min_length=1, description="One clear question, in the user's language.")]
Option = Annotated[QuestionOption, BeforeValidator(_accept_label)]
Options = Annotated[list[Option], Field(description="Answers to choose from, the one you would take first.")]
Freeform = Annotated[bool, Field(description="Whether other words are an answer, too.")]


@tool(reads=True, needs=[Need.QUESTIONS], summary="Asking: {question}")
async def ask_user(
    context: ToolContext,
    question: Question,
    options: Options = [],  # noqa: B006  # read only
    allow_freeform: Freeform = True,
) -> str:
    """Ask the user and wait for the answer. Only for what you cannot find out or decide yourself, and what changes how
    you go on. Not for permission to call a tool.
    """
    if context.questions is None:
        raise ToolError("Nobody is there to ask.", "Go on with what you know, and say what you assumed.")
    if not options and not allow_freeform:
        raise ToolError("There is no way to answer that.", "Give options, or allow_freeform.")
    params = ChatAskQuestionParams(
        chat_id=context.chat,
        question=question,
        options=tuple(options) or None,
        tool_call_id=context.call or None,
        allow_freeform=allow_freeform,
    )
    answer = await context.questions.ask(params)
    if answer.cancelled or answer.answer is None:
        return "The user did not answer. Go on with what you know, or stop if you cannot."
    return f"The user answered: {answer.answer}"


TOOLS = (ask_user,)
