"""Those whom the host shows things to: fans out, asks, and forgets whoever leaves. Knows no protocol's framing."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jupyter_eca.plugins.providers.browser_sign_in import User
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
    """Something that is no event of a chat: a method of ECA's with its parameters. With `chat`, only for those who see
    that chat."""

    method: str
    params: Model
    chat: str | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """A chat is to be shown from its beginning: it was cut back, or is new though it has a past."""

    chat: str


class Subscriber(Protocol):
    """Somebody things are shown to. `kernel`, `editor` and `notebooks` are there when it has them."""

    kernel: Kernel | None
    editor: Editor | None
    notebooks: Notebooks | None

    def sees(self, chat: str) -> bool: ...

    def approves(self, chat: str) -> bool:
        """Whether somebody is there to approve or reject a tool call."""
        ...

    def answers(self, chat: str) -> bool:
        """Whether somebody is there to answer a question."""
        ...

    def show(self, events: list[Event]) -> None:
        """Called on the event loop; must not wait. What cannot be shown at once is the subscriber's to keep."""
        ...

    def tell(self, notice: Notice) -> None:
        """As `show`; comes after what was shown before."""
        ...

    def show_anew(self, again: Again) -> None:
        """As `show`, in place of everything that was shown of the chat."""
        ...

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Raises: RemoteError when it cannot answer after all."""
        ...


@dataclass(frozen=True, slots=True)
class ChatQuestions:
    """Asks whoever is there in one chat. See `workspace.ports.Questions`."""

    subscribers: Subscribers
    chat: str

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        return await self.subscribers.ask(self.chat, question)


@contextmanager
def _report_failure() -> Generator[None]:
    """Log what goes wrong in one subscriber. The others, and the chat itself, go on."""
    try:
        yield
    except Exception:  # noqa: BLE001  # the boundary to a front: a bug there costs one client one message
        _log.exception("a client could not be shown something")


class Subscribers:
    def __init__(self) -> None:
        self._all: list[Subscriber] = []
        self._warned: set[str] = set()

    def join(self, subscriber: Subscriber) -> None:
        self._all.append(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        self._all.remove(subscriber)

    def list_subscribed(self, chat: str) -> list[Subscriber]:
        return [subscriber for subscriber in self._all if subscriber.sees(chat)]

    def has_approver(self, chat: str) -> bool:
        return any(subscriber.approves(chat) for subscriber in self._all)

    def has_answerer(self, chat: str) -> bool:
        return any(subscriber.answers(chat) for subscriber in self._all)

    def editor(self, chat: str) -> Editor | None:
        """The editor of the chat's newest client that has one."""
        return next((one.editor for one in reversed(self.list_subscribed(chat)) if one.editor is not None), None)

    def user(self, chat: str) -> User | None:
        """Whoever of the chat's newest client could be sent somewhere with a browser."""
        return next((one for one in reversed(self.list_subscribed(chat)) if isinstance(one, User)), None)

    def notebooks(self, chat: str) -> list[Notebooks]:
        """Of all clients of the chat that have some open, the newest client first."""
        return [one.notebooks for one in reversed(self.list_subscribed(chat)) if one.notebooks is not None]

    def show(self, events: list[Event]) -> None:
        for subscriber in list(self._all):
            with _report_failure():
                if seen := [event for event in events if subscriber.sees(event.chat)]:
                    subscriber.show(seen)

    def tell(self, notice: Notice) -> None:
        for subscriber in list(self._all):
            with _report_failure():
                if notice.chat is None or subscriber.sees(notice.chat):
                    subscriber.tell(notice)

    def message(self, type: MessageType, message: str) -> None:
        self.tell(Notice("$/showMessage", ShowMessageParams(type=type, message=message)))

    def has_warned(self, message: str) -> bool:
        return message in self._warned

    def warn(self, message: str, place: str = "") -> None:
        """Once: a file of the user's that cannot be used is told of when it is found, not at every prompt. `place` goes
        before it."""
        if message not in self._warned:
            self._warned.add(message)
            self.message(MessageType.WARNING, f"{place}{message}")

    def show_anew(self, chat: str) -> None:
        for subscriber in self.list_subscribed(chat):
            with _report_failure():
                subscriber.show_anew(Again(chat))

    async def ask(self, chat: str, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """The first answer counts; the others are taken their question back. A client that fails or leaves is no
        answer, and when nobody is left the question is cancelled."""
        asking = {asyncio.ensure_future(one.ask(question)) for one in self._all if one.answers(chat)}
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
