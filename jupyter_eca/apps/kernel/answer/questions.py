"""Asks the user, at the cell of a turn, to decide about tool calls and to answer questions. It uses a card, which is a
widget with buttons, if the page draws widgets, and otherwise `input()`.

It must not know which calls need an approval: the engine decides that, and `turn` passes the contents that it receives.
A content is one piece of an answer; a tool call has a content for each of its states.
The card is in `card`, the texts for `input()` are in `terminal_approval` and `terminal_question`.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import uuid
from math import inf
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.answer import clicks, terminal_approval, terminal_question
from jupyter_eca.apps.kernel.front_end import FrontEndKind
from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.chat import (
    ChatPromptStopParams,
    ChatToolCallApproveParams,
    ChatToolCallRejectParams,
)
from jupyter_eca.protocol.content import (
    ToolCallContent,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
)
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.protocol.methods import METHODS
from jupyter_eca.transport.eca_client import CallDecision

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from jupyter_eca.apps.kernel.answer.card import Card
    from jupyter_eca.apps.kernel.answer.screen import Publisher
    from jupyter_eca.apps.kernel.answer.transcript import CellTranscript, TranscriptCall
    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.transport.eca_client import EcaClient

# Seconds to wait until a page has drawn the first card of a kernel. To draw it, the page loads half a megabyte, perhaps
# on a busy machine. A front end that cannot draw cards does not report that. So this wait is the only way to find out.
FIRST_CARD_SECONDS: Final = 20.0

# The page of somebody else who has the notebook open has no buttons in this cell.
_NO_BUTTONS: Final = (
    "If no buttons appear here, decide in the panel of the assistant. Where there is no panel, a field to type into "
    "will follow in a moment."
)


class CellQuestions:
    """The tool calls and questions of one turn that wait for the user."""

    def __init__(
        self,
        front_end: FrontEndKind,
        publisher: Publisher,
        client: EcaClient,
        chat: str,
        draw: Callable[[], None],
        stop: Callable[[], None],
    ) -> None:
        """Call this in the cell of the turn, because the card appears in the cell that calls it. `publisher` publishes
        outputs in this cell. `chat` is the id of the chat. `draw()` redraws the answer, so that the user sees what led
        to a question. `stop()` stops the turn."""
        self._front_end = front_end
        self._publisher = publisher
        self._client = client
        self._chat = chat
        self._draw = draw
        self._stop = stop
        # A display appears in the cell whose context is current. All tasks here use the context of this cell.
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._calls: dict[str, TranscriptCall | None] = {}
        """The calls that wait for a decision, by their keys. None: it was decided here, and the engine has not reported
        that yet."""
        self._questions: dict[str, asyncio.Task[ChatAskQuestionResult]] = {}
        """The open questions, by the id of the tool call or the name of the command that asks."""
        self._contents: list[ChatContentReceivedParams] = []
        """The contents about these calls. A page needs them to draw the card."""
        self._card_task: asyncio.Task[Card | None] | None = None
        """The task that creates the card of the turn; None until something has to be asked."""
        self._card: Card | None = None
        """The card of the turn; None before it is created, and if no page draws it."""
        self._ended = False
        """Whether no more questions are asked."""

    # -- tool calls

    def receive(self, received: ChatContentReceivedParams, transcript: CellTranscript) -> None:
        """Handle a content that was just added to the transcript: ask about new calls, and withdraw the questions of
        calls that have ended."""
        # A tool may have asked a question, whose id is that of its call.
        self.withdraw({call.id for call in transcript.calls if call.is_over})
        waiting = {call.key: call for call in transcript.undecided_calls}
        new = {key: call for key, call in waiting.items() if key not in self._calls}
        # A call that was decided here keeps its None until the engine reports that it no longer waits.
        self._calls = {key: self._calls.get(key, call) for key, call in waiting.items()}
        self._update_card(received, asks=bool(new))
        self._show_or_hide_card()
        for call in new.values():
            self._draw()
            self._ask(call)

    def _update_card(self, received: ChatContentReceivedParams, *, asks: bool) -> None:
        """Send a content to the card if it is about a call that waits, or has waited, for a decision. `asks`: a new
        call waits because of this content."""
        content = received.content
        if not isinstance(content, ToolCallContent) or isinstance(content, ToolCallPrepareContent):
            return
        known = [other for other in self._contents if _is_same_call(other, received)]
        if not (asks or known):
            return
        self._contents.append(received)
        if isinstance(content, ToolCalledContent | ToolCallRejectedContent):
            self._contents[:] = [other for other in self._contents if not _is_same_call(other, received)]
        if self._card is not None:
            self._card.send_content(received)

    def _ask(self, call: TranscriptCall) -> None:
        """Ask for a decision about a call, in the way of this front end."""
        match self._front_end:
            case FrontEndKind.NOTEBOOK:
                self._start(self._ask_on_card(call))
            case FrontEndKind.TERMINAL:
                self._ask_in_terminal(call)
            case FrontEndKind.UNATTENDED:
                # Usually no call waits in an unattended kernel. But a program in this kernel may have connected as a
                # client that can approve calls.
                self._decide(call, CallDecision(approved=False, reason="Nobody is there to approve this call."))

    async def _ask_on_card(self, call: TranscriptCall) -> None:
        """Show the card, which asks about all calls that wait. If no page draws it, ask in another way."""
        if await self._show_card() is None:
            self._ask_in_terminal(call)

    def _ask_in_terminal(self, call: TranscriptCall) -> None:
        """Ask about a call by `input()`, unless it was decided elsewhere."""
        if self._ended or self._calls.get(call.key) is None:
            return
        try:
            self._decide(call, terminal_approval.ask_decision(call))
        except KeyboardInterrupt:
            self._interrupt()

    def _decide(self, call: TranscriptCall, decision: CallDecision) -> None:
        """Send the decision about a call to the engine."""
        self._calls[call.key] = None
        self._start(self._client.decide(call.chat or self._chat, call.id, decision))

    def _interrupt(self) -> None:
        """Stop the turn, because the user has interrupted `input()`."""
        self._ended = True
        self._stop()

    # -- questions

    async def answer(self, question: ChatAskQuestionParams, id: str) -> ChatAskQuestionResult:
        """Ask a question and return the answer. `id` says who asks: the id of a tool call, `/NAME` for a command, or
        "". A new question with the same id replaces the earlier one, which was answered elsewhere."""
        id = id or uuid.uuid4().hex
        self.withdraw({id})
        task = self._questions[id] = self._start(self._answer(question))
        try:
            await asyncio.wait((task,))
        finally:
            task.cancel()
            if self._questions.get(id) is task:
                del self._questions[id]
            self._show_or_hide_card()
        return terminal_question.NO_ANSWER if task.cancelled() else task.result()

    async def _answer(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask a question, in the way of this front end."""
        self._draw()
        if self._front_end is FrontEndKind.UNATTENDED:
            return terminal_question.NO_ANSWER
        if (card := await self._show_card()) is not None:
            return await card.ask(question)
        try:
            if not self._ended:
                return terminal_question.ask_question(question)
        except KeyboardInterrupt:
            self._interrupt()
        # The user has interrupted. Any answer would let the model continue, so none is returned: when the turn stops,
        # the question is withdrawn.
        return await asyncio.get_running_loop().create_future()

    def withdraw(self, questions: set[str]) -> None:
        """Withdraw the open questions with these ids."""
        for id in questions & set(self._questions):
            self._questions.pop(id).cancel()

    # -- the card

    async def _show_card(self) -> Card | None:
        """Show the card of the turn and return it as soon as a page has drawn it. Return None if no page draws it."""
        if self._front_end is not FrontEndKind.NOTEBOOK or not clicks.may_receive_clicks():
            return None
        self._card_task = self._card_task or self._start(self._create_card())
        card = await asyncio.shield(self._card_task)
        if card is not None:
            self._show_or_hide_card()
        return card

    async def _create_card(self) -> Card | None:
        """Create the card and wait until a page has drawn it. Return None if no page does."""
        try:
            # The imports take half a second, while the answer continues.
            await asyncio.to_thread(importlib.import_module, "jupyter_eca.apps.kernel.answer.card")
            from jupyter_eca.apps.kernel.answer.card import Card

            if self._ended or Card.are_drawn is False:
                return None
            card = self._card = Card(self._publisher, self._chat, self, self._contents)
        except Exception:  # noqa: BLE001  # anywidget is missing, the bundle was not built, or the widget manager failed
            return None
        self._show_or_hide_card()
        watcher = clicks.ClickWatcher(card)
        # A page that has drawn one card draws all cards, but each only when it is scrolled into view. So no time limit
        # is needed then.
        if await watcher.wait_for_page(card.opened, inf if Card.are_drawn else FIRST_CARD_SECONDS):
            return card
        if not watcher.is_lost:
            Card.are_drawn = False
        self._card = None
        card.close()
        return None

    def _show_or_hide_card(self) -> None:
        """Show the card if something waits for the user, otherwise hide it."""
        if self._card is None:
            return
        waiting = [f"{call.name} waits for approval." for call in self._calls.values() if call is not None]
        if waiting or self._questions:
            self._card.show("\n".join([*(waiting or ["A question waits for an answer."]), _NO_BUTTONS]))
        else:
            self._card.hide()

    def handle_decision(self, method: str, params: Any) -> None:
        """Handle a message that a page with the card has sent. Raises: RemoteError, ValidationError."""
        row = METHODS.get(method)
        match row and row.parse(params):
            case ChatToolCallApproveParams() | ChatToolCallRejectParams() as decision:
                self._forward_decision(method, decision)
            case ChatPromptStopParams():
                self._stop()
            case _:
                raise RemoteError(f"there is no {method!r} here", ErrorCode.METHOD_NOT_FOUND)

    def _forward_decision(self, method: str, decision: ChatToolCallApproveParams | ChatToolCallRejectParams) -> None:
        """Send the user's decision about a call to the engine, unless the call was decided elsewhere."""
        for key, call in self._calls.items():
            if call is not None and (call.chat or self._chat, call.id) == (decision.chat_id, decision.tool_call_id):
                # Update the card at once. The approved code may block the kernel before the server reports the
                # decision.
                self._calls[key] = None
                self._show_or_hide_card()
                self._start(self._client.notify(method, decision))
                return

    # -- the end

    def close(self) -> None:
        """Ask no more questions, and remove the card from the cell."""
        self._ended = True
        self.withdraw(set(self._questions))
        if self._card_task is not None:
            self._card_task.cancel()
        if self._card is not None:
            self._card.close()

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task, which runs the coroutine `work` in the cell's context. It has no parent task, because the loop
        belongs to the kernel. It ends with the turn."""
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _is_same_call(first: ChatContentReceivedParams, second: ChatContentReceivedParams) -> bool:
    """Return whether both contents are about the same call."""
    ids = [content.id for content in (first.content, second.content) if isinstance(content, ToolCallContent)]
    return first.chat_id == second.chat_id and len(set(ids)) == 1
