"""Owns the card below a cell: a widget that shows the tool calls and questions of a turn which wait for the user. It
uses the same JavaScript bundle as the panel, so it looks the same.

A page that shows the card gets only what waits: the contents of those calls, and the questions. A content is one piece
of an answer, as the server sends it in a message `chat/contentReceived`. This module must not decide anything: it
passes what the user decides to a `DecisionHandler`, which is `questions`.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import traitlets
from pydantic import ValidationError

from jupyter_eca.apps.kernel.engine.saved_code import METADATA_KEY
from jupyter_eca.apps.kernel.panel.multi_page_widget import MultiPageWidget
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


class DecisionHandler(Protocol):
    """Carries out what the user decides on a card."""

    def handle_decision(self, method: str, params: Any) -> None:
        """Handle a message that a page with the card has sent. Raises: RemoteError, and pydantic's ValidationError."""
        ...


class Card(MultiPageWidget):
    """The card of one turn. It can be shown and hidden as often as needed."""

    # By this trait the bundle knows that the widget is a card and not a panel.
    card = traitlets.Bool(default_value=True).tag(sync=True)

    are_drawn: ClassVar[bool | None] = None
    """Whether the pages of this kernel draw cards; None until a page has drawn one, or has failed to."""

    def __init__(
        self, publisher: Publisher, chat: str, handler: DecisionHandler, contents: Sequence[ChatContentReceivedParams]
    ) -> None:
        """Create the card in the cell in which it is shown. `contents` are the contents about its calls, which a page
        gets when it connects. The caller may add to them later."""
        super().__init__()
        self.opened = asyncio.Event()
        """Set when the first page has connected."""
        self.handler = handler
        self.contents = contents
        self.questions: list[tuple[ChatAskQuestionParams, asyncio.Future[ChatAskQuestionResult]]] = []
        """The questions that wait, and the futures of their answers."""
        self._publisher = publisher
        self._chat = chat
        self._id = uuid.uuid4().hex  # the display id of the output
        self._published = self._shown = False  # whether the output exists, and whether the card is in it now
        self._pages: dict[str, _Page] = {}  # by the id of the channel over which a page is connected

    # -- in the notebook

    def show(self, text: str) -> None:
        """Show the card. A front end without widgets shows `text` instead."""
        if not self._shown:
            view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
            data = {"application/vnd.jupyter.widget-view+json": view, "text/plain": text}
            # By this mark the page finds the cell when it is out of sight, and the chat of a cell that is deleted:
            # `labextension/src/answers/waiting_cells.ts`.
            self._publish(data, {METADATA_KEY: {"waiting": True, "chat": self._chat}})
            self._shown = True

    def hide(self) -> None:
        """Make the output of the card empty. It can be shown again."""
        if self._shown:
            self._publish({"text/plain": ""})
            self._shown = False

    def close(self) -> None:
        """Close the card. It cannot be shown again, and a second call does nothing. A card must be closed, because
        JupyterLab may save the state of every open widget."""
        self.hide()
        # ipywidgets raises KeyError if the page has closed the card already.
        with suppress(KeyError):
            self.layout.close()  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]  # untyped library
        with suppress(KeyError):
            super().close()

    def _publish(self, data: dict[str, Any], metadata: dict[str, Any] | None = None) -> None:
        """Publish data as the output of the card, or replace the earlier data."""
        publish = partial(
            self._publisher.publish, data, metadata, transient={"display_id": self._id}, update=self._published
        )
        # Publish in the context of the cell, because this may be called by a task of another context.
        self._context.copy().run(publish)
        self._published = True

    # -- messages to pages

    def send_content(self, received: ChatContentReceivedParams) -> None:
        """Send one content to all pages."""
        for page in self._pages.values():
            self.start_task(page.send_content(received))

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask a question on all pages, and return the first answer. Cancel the call to withdraw the question."""
        answer: asyncio.Future[ChatAskQuestionResult] = self._loop.create_future()
        self.questions.append((question, answer))
        for page in self._pages.values():
            self.start_task(page.ask(question, answer))
        try:
            return await answer
        finally:
            answer.cancel()
            self.questions = [pending for pending in self.questions if pending[1] is not answer]

    # -- messages of pages

    async def _serve(self, channel: str) -> None:
        """Serve the page that is connected over a channel, until it leaves or the card is closed. The base class calls
        this when a page connects."""
        page = self._pages[channel] = _Page(self, partial(self._send_to_page, channel))
        self._links[channel] = page.link
        Card.are_drawn = True
        self.opened.set()
        self._send_to_page(channel, {"opened": True, "chat": self._chat})
        try:
            await page.run()
        finally:
            del self._pages[channel], self._links[channel]


class _UndelayedLink(CommLink):
    """The link to a page. It sends each message at once. `CommLink` may delay messages by a timer, but code that the
    user approves may block the kernel before the timer ends."""

    async def send(self, message: Message) -> None:
        """Send a message now, unless the link is closed."""
        if not self.closed:
            self._write({"messages": [to_json(message)]})


class _Page:
    """The connection to a page that shows the card. The page speaks ECA, the protocol of our panel. This class behaves
    like a server with one chat, which began when the page connected."""

    def __init__(self, card: Card, write: partial[None]) -> None:
        """`write` sends a message to the page."""
        self.link = _UndelayedLink(write, lambda: None)
        """The kernel's end of the link to the page."""
        self._card = card
        self._peer = Peer(self.link, self._answer, self._handle_notification)
        self._ready = False
        """Whether the page has sent `initialized`."""

    async def run(self) -> None:
        """Read the messages of the page until its link ends."""
        await self._peer.run()

    async def send_content(self, received: ChatContentReceivedParams) -> None:
        """Send a content to the page, if it is ready."""
        if self._ready:
            await self._peer.notify("chat/contentReceived", received.as_json_object())

    async def ask(self, question: ChatAskQuestionParams, answer: asyncio.Future[ChatAskQuestionResult]) -> None:
        """Ask the question on this page, until it is answered here or on another page. If the page leaves, or its
        answer is an error, the question stays open."""
        if not self._ready:
            return
        request = asyncio.ensure_future(self._peer.request("chat/askQuestion", question.as_json_object()))
        await asyncio.wait((request, answer), return_when=asyncio.FIRST_COMPLETED)
        if not request.done():
            request.cancel()
        elif request.exception() is None and not answer.done():
            # Code in the kernel can answer anything, too.
            with suppress(ValidationError):
                answer.set_result(ChatAskQuestionResult.model_validate(request.result() or {"cancelled": True}))

    async def _answer(self, method: str, _params: Any) -> Any:
        """Answer a request of the page."""
        match method:
            case "initialize":
                return InitializeResult().as_json_object()
            case "chat/list":
                return ChatListResult(chats=()).as_json_object()
            case _:
                # Requests to write approval rules are refused, too: code that runs in the kernel could send such a
                # request in the user's name.
                raise RemoteError(f"there is no {method!r} here", ErrorCode.METHOD_NOT_FOUND)

    def _handle_notification(self, method: str, params: Any) -> None:
        """Handle a notification of the page. After `initialized`, the page gets everything that waits. All others are
        decisions of the user."""
        if method != "initialized":
            self._card.handler.handle_decision(method, params)
            return
        self._ready = True
        for received in self._card.contents:
            self._card.start_task(self.send_content(received))
        for question, answer in self._card.questions:
            self._card.start_task(self.ask(question, answer))
