"""`/login`: the steps of a sign-in as questions. What is answered goes to the server's own store and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.commands.base import Answer
from jupyter_eca.protocol.provider import LoginAction
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.commands.base import Command, Place
    from jupyter_eca.engine.commands import Called
    from jupyter_eca.protocol.provider import LoginStep
    from jupyter_eca.providers.logins import Logins
    from jupyter_eca.workspace.base import Questions

# Method, fields, browser, done: a dialogue that goes on longer than this goes in circles.
MAX_STEPS = 6

BY_HAND = (
    "This client cannot ask you for a key. Set it in one of these ways:\n\n"
    "- in the environment: `ANTHROPIC_API_KEY` for Anthropic, then start the server again;\n"
    '- in `~/.config/eca/config.json`: `{"providers": {"PROVIDER": {"key": "${env:MY_KEY}"}}}`;\n'
    "- in the settings of a client that has a page for providers."
)
NO_KEYS_HERE = (
    "A key is not typed into a chat, where it would be kept: write `/login PROVIDER` and you are asked for it. "
    "Remove the one you typed at its provider, and make a new one."
)
CANCELLED = "Nobody answered; nothing was changed."


async def login(place: Place, called: Called) -> Answer:
    """Raises: what the sign-in raises, which tells what was wrong."""
    if len(called.arguments) > 1:
        return Answer(NO_KEYS_HERE)
    questions = place.host.surroundings(place.chat, place.kernel).questions
    logins = place.host.logins
    if questions is None:
        return Answer(BY_HAND)
    return Answer(await _Dialogue(place.chat, questions, logins).run(called.text))


class _Dialogue:
    def __init__(self, chat: str, questions: Questions, logins: Logins) -> None:
        self._chat = chat
        self._questions = questions
        self._logins = logins

    async def run(self, provider: str) -> str:
        provider = provider or await self._provider()
        if not provider:
            return CANCELLED
        step = await self._logins.login(provider)
        for _ in range(MAX_STEPS):
            if step.action is LoginAction.DONE:
                return step.message or f"You are signed in to {provider}."
            if step.action is LoginAction.DEVICE_CODE or not (step.fields or step.methods):
                return _told(step)
            following = await self._answered(provider, step)
            if following is None:
                return CANCELLED
            step = following
        return f"The sign-in to {provider} does not come to an end. Try it in the settings instead."

    async def _provider(self) -> str:
        offered = [one for one in await self._logins.list() if one.login is not None]
        options = [QuestionOption(label=one.id, description=one.auth.status) for one in offered]
        return await self._ask("Which provider do you want to sign in to?", options) or ""

    async def _answered(self, provider: str, step: LoginStep) -> LoginStep | None:
        """The next step; None when the user gave up."""
        if step.action is LoginAction.CHOOSE_METHOD:
            methods = {method.label: method.key for method in step.methods or ()}
            label = await self._ask("How do you want to sign in?", [QuestionOption(label=label) for label in methods])
            return None if label is None else await self._logins.login(provider, methods.get(label, label))
        told, data = _told(step), dict[str, str]()
        for field in step.fields or ():
            answer = await self._ask(f"{told}\n\n{field.label}".strip(), secret=field.type == "secret")
            if not answer:
                return None
            data[field.key] = answer.strip()
            told = ""
        return await self._logins.enter(provider, data)

    async def _ask(self, question: str, options: Sequence[QuestionOption] = (), *, secret: bool = False) -> str | None:
        params = ChatAskQuestionParams(
            chat_id=self._chat,
            question=question,
            options=tuple(options) or None,
            allow_freeform=not options,
            secret=secret or None,
        )
        answer = await self._questions.ask(params)
        return None if answer.cancelled else answer.answer


def _told(step: LoginStep) -> str:
    said = [step.message or "", step.url or "", f"Code: `{step.code}`" if step.code else ""]
    return "\n\n".join(part for part in said if part)


COMMANDS: Final[dict[str, Command]] = {"login": login}
