"""Owns the question whether a client's user trusts a folder: who may be asked, and how.

A client with the capability `trust` shows which settings are held back, and sends `workspace/trust`. Any other client
is asked by `chat/askQuestion` before its first prompt, or gets a message if it cannot ask. It must not know which
settings are held back: `config.trust` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from jupyter_eca.errors import LocalError, RemoteError
from jupyter_eca.protocol.lifecycle import MessageType, UntrustedSettingsParams
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.fronts.eca.door import Door
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.base import Model
    from jupyter_eca.protocol.lifecycle import CodeAssistant, HeldSettings
    from jupyter_eca.protocol.question import ChatAskQuestionResult

TRUST: Final = "Trust this folder"
LATER: Final = "Not now"

_HELD: Final = "The folder {folder} brings its own settings: {summary}. They do nothing until you trust this folder."
ELSEWHERE: Final = " Trust it in the chat panel of JupyterLab, or start with `JUPYTER_ECA_TRUSTED_FOLDERS={folder}`."

# A question is read in a few lines. The digest covers all settings, those that are left out too.
_MOST_LINES: Final = 20
_LONGEST: Final = 200


class TrustClient(Protocol):
    """What is needed of the session of a client."""

    door: Door
    can: CodeAssistant
    known_digests: set[str]
    """The settings that the user was asked or told about."""

    @property
    def host(self) -> Host: ...

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult: ...

    async def notify(self, method: str, params: Model, chat: str | None = None) -> None: ...

    def say(self, type: MessageType, message: str) -> None: ...


def may_trust(session: TrustClient) -> bool:
    """Return whether the client's user may trust a folder here."""
    return session.door.may_trust and not session.can.unattended


def describe(held: HeldSettings) -> str:
    return _HELD.format(folder=held.folder, summary=held.summary)


async def announce(session: TrustClient, folders: Sequence[HeldSettings]) -> None:
    """Tell the client which settings are held back now. A client of somebody else's gets a message once, if it is not
    asked."""
    if session.can.trust or session.can.envelope:
        params = UntrustedSettingsParams(folders=tuple(folders), can_trust=may_trust(session))
        await session.notify("workspace/untrustedSettings", params)
        return
    for held in folders:
        if not _can_ask(session) and held.digest not in session.known_digests:
            session.known_digests.add(held.digest)
            session.say(MessageType.WARNING, describe(held) + ELSEWHERE.format(folder=held.folder))


async def ask(session: TrustClient, chat: str) -> None:
    """Ask the user about each folder whose settings are held back, once for each content of the settings."""
    if session.can.trust or not _can_ask(session):
        return
    for held in session.host.config.held_back:
        if held.digest in session.known_digests:
            continue
        session.known_digests.add(held.digest)
        try:
            answer = await session.ask(_make_question(held, chat))
        except RemoteError:
            # It could not ask in this chat after all. It is asked again at the next prompt.
            session.known_digests.discard(held.digest)
            return
        if answer.answer == TRUST and not answer.cancelled:
            try:
                await session.host.folder_trust.trust(held.folder, held.digest)
            except LocalError as error:
                session.say(MessageType.WARNING, str(error))


def _can_ask(session: TrustClient) -> bool:
    return may_trust(session) and session.can.chat_capabilities.ask_question


def _make_question(held: HeldSettings, chat: str) -> ChatAskQuestionParams:
    lines = [f"{setting.key}: {setting.value}" for setting in held.settings]
    shown = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..." for line in lines[:_MOST_LINES]]
    left_out = [f"... and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
    return ChatAskQuestionParams(
        chat_id=chat,
        question="\n".join([describe(held), "", *shown, *left_out]),
        options=(
            QuestionOption(label=TRUST, description="These settings hold from now on, until they change."),
            QuestionOption(label=LATER, description="Only what restricts the assistant holds."),
        ),
        allow_freeform=False,
    )
