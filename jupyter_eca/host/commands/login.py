"""The command `/login`, which asks for each step of a sign-in. The answers go only to the store of keys.

It must not know the vendors: `plugins.providers.credentials.sign_in` has the steps. `host.chat.dialogue` asks the
questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.host.chat.dialogue import Dialogue, ask_all
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.protocol.command import CommandArgument
from jupyter_eca.protocol.provider import LoginAction
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.chat.dialogue import QuestionSteps
    from jupyter_eca.host.commands.base import CommandPlace
    from jupyter_eca.plugins.providers.credentials.browser_sign_in import User
    from jupyter_eca.plugins.providers.credentials.sign_in import Logins
    from jupyter_eca.protocol.provider import LoginStep

# The steps of the longest sign-in are: choose a method, fill in fields, go to the browser, done. A sign-in with more
# steps than this goes in circles.
MAX_STEPS = 6

HOW_TO_SET_A_KEY = (
    "There is nobody here who could be asked for a key. Set it in one of these ways:\n\n"
    "- in the environment: `ANTHROPIC_API_KEY` for Anthropic, then start the server again;\n"
    '- in `~/.config/eca/config.json`: `{"providers": {"PROVIDER": {"key": "${env:MY_KEY}"}}}`;\n'
    "- in the settings of a client that has a page for providers."
)
NO_KEYS_HERE = (
    "A key is not typed into a chat, where it would be kept: write `/login PROVIDER` and you are asked for it. "
    "Remove the one you typed at its provider, and make a new one."
)
CANCELLED = "Nobody answered; nothing was changed."


async def login(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Sign in to a provider. Raises: EcaError, whose message says what is wrong."""
    if len(call.arguments) > 1:
        return CommandAnswer(NO_KEYS_HERE)
    steps = _yield_questions(
        place.host.logins, place.chat, call.text, place.host.subscribers.find_browser_client(place.chat)
    )
    if questions := place.host.tool_contexts.build(place.chat, place.kernel).questions:
        return CommandAnswer(await ask_all(steps, questions))
    # Without a user, as in a notebook that runs by itself, the next message would be taken for the key.
    if place.host.subscribers.has_approver(place.chat):
        return CommandAnswer(await place.host.turns.begin_dialogue(place.chat, Dialogue(steps)))
    return CommandAnswer(HOW_TO_SET_A_KEY)


async def _yield_questions(logins: Logins, chat: str, provider: str, user: User | None) -> QuestionSteps:
    """Yield the questions of a sign-in, and then its result. The caller sends the answer of each question into this
    generator (`dialogue.QuestionSteps`).

    `provider` is its name, "" to ask for it. `user` can open a page in a browser; None if no client can.
    """
    if not provider:
        offered = [status for status in await logins.list() if status.login is not None]
        options = [QuestionOption(label=status.id, description=status.auth.status) for status in offered]
        provider = (yield _make_question(chat, "Which provider do you want to sign in to?", options)) or ""
        if not provider:
            yield CANCELLED
            return
    step = await logins.login(provider, user=user)
    for _ in range(MAX_STEPS):
        if step.action is LoginAction.DONE:
            yield step.message or f"You are signed in to {provider}."
            return
        if step.action is LoginAction.CHOOSE_METHOD:
            methods = {method.label: method.key for method in step.methods or ()}
            options = [QuestionOption(label=label) for label in methods]
            label = yield _make_question(chat, "How do you want to sign in?", options)
            if not label:
                yield CANCELLED
                return
            step = await logins.login(provider, methods.get(label, label), user)
            continue
        if step.action is LoginAction.DEVICE_CODE or not step.fields:
            yield _describe(step)
            return
        description, data = _describe(step), dict[str, str]()
        for field in step.fields:
            answer = yield _make_question(
                chat, f"{description}\n\n{field.label}".strip(), secret=field.type == "secret"
            )
            if not answer:
                yield CANCELLED
                return
            data[field.key], description = answer.strip(), ""
        step = await logins.enter(provider, data)
    yield f"The sign-in to {provider} does not come to an end. Try it in the settings instead."


def _make_question(
    chat: str, question: str, options: Sequence[QuestionOption] = (), *, secret: bool = False
) -> ChatAskQuestionParams:
    """Return a question to the user of a chat. Without options, the user writes the answer. With `secret`, the answer
    is hidden while it is written."""
    return ChatAskQuestionParams(
        chat_id=chat,
        question=question,
        options=tuple(options) or None,
        allow_freeform=not options,
        secret=secret or None,
    )


def _describe(step: LoginStep) -> str:
    """Return what the user reads of a step: its message, its address and its code, as far as it has them."""
    parts = [step.message or "", step.url or "", f"Code: `{step.code}`" if step.code else ""]
    return "\n\n".join(part for part in parts if part)


COMMANDS: Final = {
    "login": NativeCommand(
        login,
        "Sign in to a model provider",
        (CommandArgument(name="provider", description="its name; you are asked for it if you leave it out"),),
    ),
}
