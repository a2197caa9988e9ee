"""The card below a cell: a widget that draws approvals and questions of one turn as the panel draws them, with the same
bundle. It decides nothing: `questions` passes on what a page of the card answers.

Each page that shows it is told only what waits: the contents of those calls, and the questions. The desk (`Desk`)
carries out what the user decides.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import traitlets

from jupyter_eca.apps.kernel.panel.multi_page_widget import Paged
from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.chats import ChatListResult
from jupyter_eca.protocol.jsonrpc import ErrorCode, to_json
from jupyter_eca.protocol.lifecycle import InitializeResult
from jupyter_eca.protocol.question import ChatAskQuestionResult
from jupyter_eca.transport.comm import CommLink
from jupyter_eca.transport.peer import Peer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.apps.kernel.answer.screen import Publisher
    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.jsonrpc import Message
    from jupyter_eca.protocol.question import ChatAskQuestionParams


class Desk(Protocol):
    """Carries out what the user decides on a card."""

    def heed(self, method: str, params: Any) -> None:
        """Raises: RemoteError, and pydantic's ValidationError."""
        ...


class Card(Paged):
    """The card of one turn. It can be shown and hidden as often as needed."""

    # The bundle tells a card from a panel by this name.
    card = traitlets.Bool(default_value=True).tag(sync=True)

    drawn: ClassVar[bool | None] = None
    """Whether the pages of this kernel draw cards; None as long as that is not known."""

    def __init__(self, publisher: Publisher, chat: str, desk: Desk, told: Sequence[ChatContentReceivedParams]) -> None:
        """Make a card. Call this in the cell that the card is for. `told` are the contents about its calls; a page gets
        them when it comes."""
        super().__init__()
        self.opened = asyncio.Event()
        self.desk = desk
        self.told = told
        self.questions: list[tuple[ChatAskQuestionParams, asyncio.Future[ChatAskQuestionResult]]] = []
        self._publisher = publisher
        self._chat = chat
        self._id = uuid.uuid4().hex
        self._published = self._shown = False
        self._pages: dict[str, _Page] = {}

    # -- in the notebook

    def show(self, text: str) -> None:
        """Show the card. A front end without widgets shows `text` instead."""
        if not self._shown:
            view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
            self._publish({"application/vnd.jupyter.widget-view+json": view, "text/plain": text})
            self._shown = True

    def hide(self) -> None:
        if self._shown:
            self._publish({"text/plain": ""})
            self._shown = False

    def close(self) -> None:
        """Close the card for good; a second call does nothing. It must not stay open: JupyterLab may save the state of
        every open widget."""
        self.hide()
        # The manager of widgets does not know a card any more that the page has closed.
        with suppress(KeyError):
            self.layout.close()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]  # untyped library
        with suppress(KeyError):
            super().close()

    def _publish(self, data: dict[str, Any]) -> None:
        publish = partial(self._publisher.publish, data, transient={"display_id": self._id}, update=self._published)
        # Show it at the cell, whichever task decides.
        self._context.copy().run(publish)
        self._published = True

    # -- what it shows

    def tell(self, received: ChatContentReceivedParams) -> None:
        for page in self._pages.values():
            self.start(page.tell(received))

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Return the first answer that a page gives. Cancel the call to take the question back."""
        answer: asyncio.Future[ChatAskQuestionResult] = self._loop.create_future()
        self.questions.append((question, answer))
        for page in self._pages.values():
            self.start(page.ask(question, answer))
        try:
            return await answer
        finally:
            answer.cancel()
            self.questions = [pending for pending in self.questions if pending[1] is not answer]

    # -- what pages say

    async def _serve(self, channel: str) -> None:
        """Serve one page, until it leaves or the card is closed."""
        page = self._pages[channel] = _Page(self, partial(self._say, channel))
        self._links[channel] = page.line
        Card.drawn = True
        self.opened.set()
        self._say(channel, {"opened": True, "chat": self._chat})
        try:
            await page.run()
        finally:
            del self._pages[channel], self._links[channel]


class _Line(CommLink):
    """The link to a page. It delays no message: approved code may block the kernel before a timer ends."""

    async def send(self, message: Message) -> None:
        if not self.closed:
            self._write({"messages": [to_json(message)]})


class _Page:
    """A page that shows the card. To the page it looks like a server with one chat, which began when the page came."""

    def __init__(self, card: Card, write: partial[None]) -> None:
        self.line = _Line(write, lambda: None)
        self._card = card
        self._peer = Peer(self.line, self._answer, self._heed)
        self._ready = False

    async def run(self) -> None:
        await self._peer.run()

    async def tell(self, received: ChatContentReceivedParams) -> None:
        if self._ready:
            await self._peer.notify("chat/contentReceived", received.wire())

    async def ask(self, question: ChatAskQuestionParams, answer: asyncio.Future[ChatAskQuestionResult]) -> None:
        """Ask until the question is answered, here or elsewhere. A page that leaves or answers nonsense has not
        answered."""
        if not self._ready:
            return
        request = asyncio.ensure_future(self._peer.request("chat/askQuestion", question.wire()))
        await asyncio.wait((request, answer), return_when=asyncio.FIRST_COMPLETED)
        if not request.done():
            request.cancel()
        elif request.exception() is None and not answer.done():
            answer.set_result(ChatAskQuestionResult.model_validate(request.result() or {"cancelled": True}))

    async def _answer(self, method: str, _params: Any) -> Any:
        match method:
            case "initialize":
                return InitializeResult().wire()
            case "chat/list":
                return ChatListResult(chats=()).wire()
            case _:
                # Requests about rules are refused too: code that runs in the kernel could send them over the kernel's
                # link.
                raise RemoteError(f"there is no {method!r} here", ErrorCode.METHOD_NOT_FOUND)

    def _heed(self, method: str, params: Any) -> None:
        if method != "initialized":
            self._card.desk.heed(method, params)
            return
        self._ready = True
        for received in self._card.told:
            self._card.start(self.tell(received))
        for question, answer in self._card.questions:
            self._card.start(self.ask(question, answer))
