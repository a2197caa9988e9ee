"""Owns the question to a client's user whether to trust the settings that a folder brings. Such settings could start
programs or allow tools. So they are held back, which means that they do nothing, until the user trusts them.

A client with the capability `trust` shows which settings are held back, and sends `workspace/trust` if the user trusts
them. Any other client gets the question as `chat/askQuestion` before its first prompt. If it cannot ask questions, it
gets a message. This module must not know which settings are held back: `config/trust.py` does.
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

# The labels of the two answers to the question.
TRUST: Final = "Trust this folder"
LATER: Final = "Not now"

# The sentence about settings that are held back.
_HELD: Final = "The folder {folder} brings its own settings: {summary}. They do nothing until you trust this folder."
# How the user can trust the folder in another program. It is for a client that cannot ask questions.
HOW_TO_TRUST_ELSEWHERE: Final = (
    " Trust it in the chat panel of JupyterLab, or start with `JUPYTER_ECA_TRUSTED_FOLDERS={folder}`."
)

# How many settings the question shows, and how many characters of each. Nobody reads a longer question. The digest
# covers all settings, also those that are left out.
_MAX_SETTINGS: Final = 20
_MAX_CHARACTERS: Final = 200


class TrustClient(Protocol):
    """The parts of a session that the question needs. `EcaSession` implements it."""

    door: Door
    """What the application allows this client, see `Door`."""
    capabilities: CodeAssistant
    """What the client can do, as it has declared in `initialize`."""
    known_digests: set[str]
    """The digests of the settings about which the user was already asked or informed."""

    @property
    def host(self) -> Host:
        """The object that runs all chats."""
        ...

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the client's user. Raises: RemoteError."""
        ...

    async def notify(self, method: str, params: Model, chat: str | None = None) -> None:
        """Send a notification to the client."""
        ...

    def say(self, type: MessageType, message: str) -> None:
        """Show a message to this client alone."""
        ...


def may_trust(session: TrustClient) -> bool:
    """Return whether the client's user may decide to trust a folder."""
    return session.door.may_trust_folders and not session.capabilities.unattended


def describe_held_settings(held: HeldSettings) -> str:
    """Return a sentence about the settings of a folder that are held back."""
    return _HELD.format(folder=held.folder, summary=held.summary)


async def announce(session: TrustClient, folders: Sequence[HeldSettings]) -> None:
    """Notify the client which settings are held back at the moment. A client that does not know this notification gets
    one message instead, unless it can be asked the question."""
    if session.capabilities.trust or session.capabilities.envelope:
        params = UntrustedSettingsParams(folders=tuple(folders), can_trust=may_trust(session))
        await session.notify("workspace/untrustedSettings", params)
        return
    for held in folders:
        if not _can_ask(session) and held.digest not in session.known_digests:
            session.known_digests.add(held.digest)
            session.say(
                MessageType.WARNING, describe_held_settings(held) + HOW_TO_TRUST_ELSEWHERE.format(folder=held.folder)
            )


async def ask_user(session: TrustClient, chat: str) -> None:
    """Ask the user about each folder whose settings are held back. Ask only once, unless the settings change."""
    if session.capabilities.trust or not _can_ask(session):
        return
    for held in session.host.config.held_back:
        if held.digest in session.known_digests:
            continue
        session.known_digests.add(held.digest)
        try:
            answer = await session.ask(_make_question(held, chat))
        except RemoteError:
            # The client could not ask the question in this chat. It gets the question again before the next prompt.
            session.known_digests.discard(held.digest)
            return
        if answer.answer == TRUST and not answer.cancelled:
            try:
                await session.host.folder_trust.trust(held.folder, held.digest)
            except LocalError as error:
                session.say(MessageType.WARNING, str(error))


def _can_ask(session: TrustClient) -> bool:
    """Return whether the client can ask its user, and the user may decide."""
    return may_trust(session) and session.capabilities.chat_capabilities.ask_question


def _make_question(held: HeldSettings, chat: str) -> ChatAskQuestionParams:
    """Make the question whether to trust a folder. It shows the settings."""
    lines = [f"{setting.key}: {setting.value}" for setting in held.settings]
    shown = [line if len(line) <= _MAX_CHARACTERS else f"{line[:_MAX_CHARACTERS]}..." for line in lines[:_MAX_SETTINGS]]
    left_out = [f"... and {len(lines) - _MAX_SETTINGS} more"] if len(lines) > _MAX_SETTINGS else []
    return ChatAskQuestionParams(
        chat_id=chat,
        question="\n".join([describe_held_settings(held), "", *shown, *left_out]),
        options=(
            QuestionOption(label=TRUST, description="These settings take effect from now on, until they change."),
            QuestionOption(label=LATER, description="Only the settings that restrict the assistant take effect."),
        ),
        allow_freeform=False,
    )
