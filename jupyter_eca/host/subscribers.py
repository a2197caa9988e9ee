"""Owns the subscribers of a host, which are its connected clients: it sends them events and notices, and asks them
questions.

It must not know the protocols of clients: each front implements `Subscriber`. `host.turn.unattended_calls` denies calls
that wait for approval when no client is left that could approve them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jupyter_eca.plugins.providers.credentials.browser_sign_in import User
from jupyter_eca.protocol.lifecycle import MessageType, ShowMessageParams
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from collections.abc import Generator

    from jupyter_eca.protocol.base import Model
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification that is no event of a chat."""

    method: str
    """The method of the ECA protocol."""
    params: Model
    """The parameters of the method."""
    chat: str | None = None
    """Only clients that see this chat get the notice. None: all clients."""


@dataclass(frozen=True, slots=True)
class ChatReload:
    """A request to show a chat from its beginning, because the chat was rolled back, or is a copy of another chat. It
    is a class, so that a front can put it into the same queue as events and notices."""

    chat: str
    """The id of the chat."""


class Subscriber(Protocol):
    """A connected client."""

    kernel: Kernel | None
    """The kernel that the client runs in; None for a client that does not run in a kernel."""
    editor: Editor | None
    """The client's editor, if it has one."""
    notebooks: Notebooks | None
    """The notebooks that the client has open, if it can edit them."""

    def sees(self, chat: str) -> bool:
        """Return whether the client may know of a chat, and gets its events."""
        ...

    def approves(self, chat: str) -> bool:
        """Return whether a user can approve or reject a tool call at this client."""
        ...

    def answers(self, chat: str) -> bool:
        """Return whether a user can answer a question at this client."""
        ...

    def reviews(self, chat: str) -> bool:
        """Return whether a user can keep and undo the changes of a chat at this client, after they were made."""
        ...

    def show(self, events: list[Event]) -> None:
        """Send events to the client. This is called on the event loop and must not wait: the subscriber keeps what it
        cannot send at once."""
        ...

    def tell(self, notice: Notice) -> None:
        """Send a notice to the client, after the events that were shown before. This must not wait, see `show`."""
        ...

    def reload_chat(self, reload: ChatReload) -> None:
        """Send a chat from its beginning, in place of all its events that were sent. This must not wait, see `show`."""
        ...

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the user of this client. Raises: RemoteError when the client cannot answer after all."""
        ...


@dataclass(frozen=True, slots=True)
class ChatQuestions:
    """Asks the users of one chat. Implements `workspace.ports.QuestionAsker`."""

    subscribers: Subscribers
    """The clients of the host."""
    chat: str
    """The id of the chat."""

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask all clients of the chat that can answer, and return the first answer."""
        return await self.subscribers.ask(self.chat, question)


@contextmanager
def _report_failure() -> Generator[None]:
    """Log an error of one subscriber within this context. The other subscribers and the chat are not affected."""
    try:
        yield
    except Exception:  # noqa: BLE001  # the boundary to a front: a bug there costs one client one message
        _log.exception("a client could not be shown something")


class Subscribers:
    """The connected clients of one host."""

    def __init__(self) -> None:
        # The connected clients, in the order in which they have connected.
        self._all: list[Subscriber] = []
        # The messages that `warn` has shown.
        self._warned: set[str] = set()
        # How many questions wait for an answer, by chat.
        self._asking: Counter[str] = Counter()

    def add(self, subscriber: Subscriber) -> None:
        """Add a client that has connected."""
        self._all.append(subscriber)

    def remove(self, subscriber: Subscriber) -> None:
        """Remove a client that has disconnected."""
        self._all.remove(subscriber)

    def list_subscribed(self, chat: str) -> list[Subscriber]:
        """Return the clients that see a chat, the newest last."""
        return [subscriber for subscriber in self._all if subscriber.sees(chat)]

    def has_approver(self, chat: str) -> bool:
        """Return whether a user can approve or reject a tool call in a chat."""
        return any(subscriber.approves(chat) for subscriber in self._all)

    def has_attending_approver(self, chat: str) -> bool:
        """Return whether a user can approve or reject a tool call at any time. In a cell this is only possible while
        the cell waits for an answer, so the client of a kernel does not count."""
        return any(subscriber.kernel is None and subscriber.approves(chat) for subscriber in self._all)

    def has_reviewer(self, chat: str) -> bool:
        """Return whether a user can keep and undo the changes of a chat after they were made."""
        return any(subscriber.reviews(chat) for subscriber in self._all)

    def has_answerer(self, chat: str) -> bool:
        """Return whether a user can answer a question in a chat."""
        return any(subscriber.answers(chat) for subscriber in self._all)

    def find_editor(self, chat: str) -> Editor | None:
        """Return the editor of the chat's newest client that has one; None if no client has one."""
        return next(
            (client.editor for client in reversed(self.list_subscribed(chat)) if client.editor is not None), None
        )

    def find_browser_client(self, chat: str) -> User | None:
        """Return the newest client of a chat whose user can open a page in a browser, as a sign-in needs it. Such a
        client implements `User`. None if there is no such client."""
        return next((client for client in reversed(self.list_subscribed(chat)) if isinstance(client, User)), None)

    def list_notebooks(self, chat: str) -> list[Notebooks]:
        """Return the open notebooks of all clients of a chat, those of the newest client first."""
        return [client.notebooks for client in reversed(self.list_subscribed(chat)) if client.notebooks is not None]

    def show(self, events: list[Event]) -> None:
        """Send events to each client that sees their chat."""
        for subscriber in list(self._all):
            with _report_failure():
                if seen := [event for event in events if subscriber.sees(event.chat)]:
                    subscriber.show(seen)

    def tell(self, notice: Notice) -> None:
        """Send a notice to all clients, or to those that see its chat."""
        for subscriber in list(self._all):
            with _report_failure():
                if notice.chat is None or subscriber.sees(notice.chat):
                    subscriber.tell(notice)

    def message(self, type: MessageType, message: str) -> None:
        """Show a message to the users of all clients."""
        self.tell(Notice("$/showMessage", ShowMessageParams(type=type, message=message)))

    def has_warned(self, message: str) -> bool:
        """Return whether `warn` has shown this message already."""
        return message in self._warned

    def warn(self, message: str, place: str = "") -> None:
        """Show a warning to all users, once: a file that cannot be used is reported when it is found, and not again at
        every prompt. `place` is written before the message: the file and line of a mistake, such as
        `config.json:12: `."""
        if message not in self._warned:
            self._warned.add(message)
            self.message(MessageType.WARNING, f"{place}{message}")

    def reload_chat(self, chat: str) -> None:
        """Send a chat from its beginning to the clients that see it."""
        for subscriber in self.list_subscribed(chat):
            with _report_failure():
                subscriber.reload_chat(ChatReload(chat))

    async def ask(self, chat: str, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask all clients that can answer in a chat, and return the first answer.

        The question is then withdrawn at the other clients. A client that fails or leaves gives no answer. If no client
        is left, the question is cancelled.
        """
        with self._note_question(chat):
            return await self._ask_all(chat, question)

    def is_asking(self, chat: str) -> bool:
        """Return whether a question in a chat waits for an answer."""
        return chat in self._asking

    @contextmanager
    def _note_question(self, chat: str) -> Generator[None]:
        """Count a question of a chat as long as this context lasts."""
        self._asking[chat] += 1
        try:
            yield
        finally:
            self._asking -= Counter([chat])  # this also removes a chat whose count is 0 now

    async def _ask_all(self, chat: str, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask all clients that can answer, and return the first answer. See `ask`."""
        # The questions that wait for an answer, one for each client.
        asking = {asyncio.ensure_future(client.ask(question)) for client in self._all if client.answers(chat)}
        try:
            while asking:
                done, asking = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
                for answer in done:
                    if answer.exception() is None:
                        return answer.result()
        finally:
            for waiting in asking:
                waiting.cancel()
        return ChatAskQuestionResult(cancelled=True)
