"""Asks the user at a cell about tool calls and questions of one turn: on a card where a page draws widgets, by
`input()` elsewhere. It knows no policy; `turn` feeds it with contents as they come.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import uuid
from math import inf
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.answer import clicks, terminal_approval, terminal_question
from jupyter_eca.apps.kernel.surroundings import FrontEndKind
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

# Seconds a page has to draw the first card of a kernel, on a busy machine: it loads half a megabyte for it. Front ends
# that cannot (no widgets, no anywidget among them, nothing that hears while a cell runs) say so by silence.
PATIENCE: Final = 20.0

_WITHOUT: Final = "If no buttons appear here, a field to type into will follow in a moment."


class CellQuestions:
    def __init__(
        self,
        surroundings: FrontEndKind,
        publisher: Publisher,
        client: EcaClient,
        chat: str,
        draw: Callable[[], None],
        stop: Callable[[], None],
    ) -> None:
        """Make it in the cell. `draw` shows what led to a question; `stop` ends the turn for a user who wants no more
        of it."""
        self._surroundings = surroundings
        self._publisher = publisher
        self._client = client
        self._chat = chat
        self._draw = draw
        self._stop = stop
        # What is displayed appears in the cell whose context is current. Use the context of this cell, whoever calls.
        self._context = contextvars.copy_context()
        self._tasks: set[asyncio.Task[Any]] = set()
        # The calls that wait, by their keys; None for a call that was decided here and whose end was not reported yet.
        self._calls: dict[str, TranscriptCall | None] = {}
        self._questions: dict[str, asyncio.Task[ChatAskQuestionResult]] = {}
        self._told: list[ChatContentReceivedParams] = []
        self._made: asyncio.Task[Card | None] | None = None
        self._card: Card | None = None
        self._ended = False

    # -- tool calls

    def receive(self, received: ChatContentReceivedParams, transcript: CellTranscript) -> None:
        """Take note of `received`, the last content that the transcript holds."""
        self.take_back({call.id for call in transcript.calls if call.is_over})
        waiting = {call.key: call for call in transcript.undecided_calls}
        new = {key: call for key, call in waiting.items() if key not in self._calls}
        self._calls = {key: self._calls.get(key, call) for key, call in waiting.items()}
        self._tell(received, asks=bool(new))
        self._settle()
        for call in new.values():
            self._draw()
            self._ask(call)

    def _tell(self, received: ChatContentReceivedParams, *, asks: bool) -> None:
        """Tell the card the state of calls that ask, or have asked, for a decision."""
        content = received.content
        if not isinstance(content, ToolCallContent) or isinstance(content, ToolCallPrepareContent):
            return
        known = [other for other in self._told if _same(other, received)]
        if not (asks or known):
            return
        self._told.append(received)
        if isinstance(content, ToolCalledContent | ToolCallRejectedContent):
            self._told[:] = [other for other in self._told if not _same(other, received)]
        if self._card is not None:
            self._card.tell(received)

    def _ask(self, call: TranscriptCall) -> None:
        match self._surroundings:
            case FrontEndKind.NOTEBOOK:
                self._start(self._on_card(call))
            case FrontEndKind.TERMINAL:
                self._type(call)
            case FrontEndKind.UNATTENDED:
                # The user is asked all the same: a program in this kernel connected as a client that approves.
                self._decide(call, CallDecision(approved=False, reason="Nobody is there to approve this call."))

    async def _on_card(self, call: TranscriptCall) -> None:
        if await self._show_card() is None:
            self._type(call)

    def _type(self, call: TranscriptCall) -> None:
        if self._ended or self._calls.get(call.key) is None:
            return
        try:
            self._decide(call, terminal_approval.ask_decision(call))
        except KeyboardInterrupt:
            self._interrupt()

    def _decide(self, call: TranscriptCall, decision: CallDecision) -> None:
        self._calls[call.key] = None
        self._start(self._client.decide(call.chat or self._chat, call.id, decision))

    def _interrupt(self) -> None:
        self._ended = True
        self._stop()

    # -- questions

    async def answer(self, question: ChatAskQuestionParams, id: str) -> ChatAskQuestionResult:
        """Ask a question. `id` names who asks: its next question replaces the one before, which was answered
        elsewhere."""
        id = id or uuid.uuid4().hex
        self.take_back({id})
        task = self._questions[id] = self._start(self._answer(question))
        try:
            await asyncio.wait((task,))
        finally:
            task.cancel()
            if self._questions.get(id) is task:
                del self._questions[id]
            self._settle()
        return terminal_question.NOBODY if task.cancelled() else task.result()

    async def _answer(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        self._draw()
        if self._surroundings is FrontEndKind.UNATTENDED:
            return terminal_question.NOBODY
        if (card := await self._show_card()) is not None:
            return await card.ask(question)
        try:
            if not self._ended:
                return terminal_question.ask_answer(question)
        except KeyboardInterrupt:
            self._interrupt()
        # An answer of any kind would let the model continue; stopping the turn takes the question back.
        return await asyncio.get_running_loop().create_future()

    def take_back(self, questions: set[str]) -> None:
        for id in questions & set(self._questions):
            self._questions.pop(id).cancel()

    # -- the card

    async def _show_card(self) -> Card | None:
        """Show the card of the turn and return it once a page draws it; None where none does."""
        if self._surroundings is not FrontEndKind.NOTEBOOK or not clicks.possible():
            return None
        self._made = self._made or self._start(self._make())
        card = await asyncio.shield(self._made)
        if card is not None:
            self._settle()
        return card

    async def _make(self) -> Card | None:
        try:
            # The imports take half a second, while the answer continues.
            await asyncio.to_thread(importlib.import_module, "jupyter_eca.apps.kernel.answer.card")
            from jupyter_eca.apps.kernel.answer.card import Card

            if self._ended or Card.drawn is False:
                return None
            card = self._card = Card(self._publisher, self._chat, self, self._told)
        except Exception:  # noqa: BLE001  # no anywidget, a checkout never built, a widget manager's own fault
            return None
        self._settle()
        hearing = clicks.Hearing(card)
        # A page that has drawn one card draws them all; this one is drawn when it is scrolled into view.
        if await hearing.wait_for_page(card.opened, inf if Card.drawn else PATIENCE):
            return card
        if not hearing.is_lost:
            Card.drawn = False
        self._card = None
        card.close()
        return None

    def _settle(self) -> None:
        """Show the card while there is something to decide, and hide it afterwards."""
        if self._card is None:
            return
        waiting = [f"{call.name} waits for approval." for call in self._calls.values() if call is not None]
        if waiting or self._questions:
            self._card.show("\n".join([*(waiting or ["A question waits for an answer."]), _WITHOUT]))
        else:
            self._card.hide()

    def heed(self, method: str, params: Any) -> None:
        """Handle what a page of the card says. Raises: RemoteError, ValidationError."""
        row = METHODS.get(method)
        match row and row.parse(params):
            case ChatToolCallApproveParams() | ChatToolCallRejectParams() as decision:
                self._take_decision(method, decision)
            case ChatPromptStopParams():
                self._stop()
            case _:
                raise RemoteError(f"there is no {method!r} here", ErrorCode.METHOD_NOT_FOUND)

    def _take_decision(self, method: str, decision: ChatToolCallApproveParams | ChatToolCallRejectParams) -> None:
        for key, call in self._calls.items():
            if call is not None and (call.chat or self._chat, call.id) == (decision.chat_id, decision.tool_call_id):
                # Do this at once: the code that was approved may block the kernel before the server's message comes.
                self._calls[key] = None
                self._settle()
                self._start(self._client.notify(method, decision))
                return

    # -- the end

    def close(self) -> None:
        """Ask no more questions, and remove the card from the cell."""
        self._ended = True
        self.take_back(set(self._questions))
        if self._made is not None:
            self._made.cancel()
        if self._card is not None:
            self._card.close()

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task in the cell's context. The kernel's loop is not ours: these tasks end with the turn."""
        task = asyncio.get_running_loop().create_task(work, context=self._context.copy())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _same(first: ChatContentReceivedParams, second: ChatContentReceivedParams) -> bool:
    """Return whether both belong to the same call."""
    ids = [content.id for content in (first.content, second.content) if isinstance(content, ToolCallContent)]
    return first.chat_id == second.chat_id and len(set(ids)) == 1
