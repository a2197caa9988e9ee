"""One step in the making: what the moves of a turn say and ask for."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from jupyter_eca.engine import compaction_steps, reply, tool_calls
from jupyter_eca.engine.effects import CallModel, CancelGathering, CancelModel, CancelWait, Effect, Gather, Wait
from jupyter_eca.engine.model.history import remember
from jupyter_eca.engine.model.request import ModelRequest
from jupyter_eca.engine.model.retry import planned
from jupyter_eca.engine.model.texts import (
    EXHAUSTED,
    FAILURES,
    NO_IMAGES,
    NOTED,
    NOTHING_SAID,
    PAUSED,
    READ,
    RETRIED,
    RETRYING,
    REWORDED,
    STOPPED,
    TOO_LONG,
    UNSAID,
    document_text,
    noted_text,
    title_of,
)
from jupyter_eca.engine.tool_call import AS_IT_IS, ToolCall, ToolCallSignal
from jupyter_eca.engine.turn import TURNS, TurnMove, TurnSignal, TurnStatus
from jupyter_eca.protocol.content import (
    Content,
    ImageContent,
    MetadataContent,
    ProgressContent,
    RejectReason,
    Role,
    TextContent,
)
from jupyter_eca.protocol.event import Event, Outcome

if TYPE_CHECKING:
    from jupyter_eca.engine.inputs import Asked, Gathered, ModelFailed, Prompted, Steered
    from jupyter_eca.engine.model.request import DocumentPart, History
    from jupyter_eca.engine.state import ChatState

_OUTCOMES = {
    TurnMove.COMPLETE: Outcome.COMPLETED,
    TurnMove.FAILED: Outcome.FAILED,
    TurnMove.STOPPED: Outcome.STOPPED,
}


class Walk:
    def __init__(self, state: ChatState, at: int) -> None:
        self.state = state
        self.at = at
        self.events: list[Event] = []
        self.effects: list[Effect] = []

    def listens_to(self, request: int) -> bool:
        return self.state.status in {TurnStatus.STREAMING, TurnStatus.COMPACTING} and self.state.request == request

    def emit(
        self,
        content: Content,
        role: Role = Role.ASSISTANT,
        aside: str = "",
        outcome: Outcome | None = None,
        turn: str | None = None,
        local: bool | None = None,
    ) -> None:
        """`turn` is the one under way, "" for a fact beside the turns, which a local one has no part in; `local` holds
        for the turn if it is not said."""
        event = Event(
            chat=self.state.id,
            turn=self.state.turn if turn is None else turn,
            role=role,
            content=content,
            at=self.at,
            aside=aside,
            outcome=outcome,
            local=(self.state.local and turn is None) if local is None else local,
        )
        self.events.append(event)
        self.recall(remember(self.state.history, event))

    def recall(self, history: History) -> None:
        if history is not self.state.history:
            self.state = replace(self.state, history=history)

    def show(self, document: DocumentPart) -> None:
        """To the model; the reader is told its name."""
        progress = ProgressContent(state="running", text=READ.format(document.name))
        self.emit(progress, Role.USER, aside=document_text(document))

    def signal(self, signal: TurnSignal) -> None:
        status, moves = TURNS.take(self.state.status, signal)
        self.state = replace(self.state, status=status)
        for move in moves:
            self._move(move)

    def _move(self, move: TurnMove) -> None:
        match move:
            case TurnMove.GATHER:
                self.effects.append(Gather())
            case TurnMove.CANCEL_GATHERING:
                self.effects.append(CancelGathering())
            case TurnMove.NOTE:
                pass  # `steer` has the words
            case TurnMove.CALL_MODEL:
                self._call_model()
            case TurnMove.CANCEL_MODEL:
                self.effects.append(CancelModel(self.state.request))
            case TurnMove.WAIT:
                self._wait()
            case TurnMove.CANCEL_WAIT:
                self.effects.append(CancelWait(self.state.request))
            case TurnMove.REPEAT:
                self._ask()
            case TurnMove.SUMMARISE:
                compaction_steps.ask(self)
            case TurnMove.DECIDE:
                tool_calls.decide_all(self)
            case TurnMove.STOP_CALLS:
                self._stop_calls()
            case TurnMove.COMPLETE | TurnMove.FAILED | TurnMove.STOPPED:
                self._end(_OUTCOMES[move])

    def prompt(self, prompted: Prompted) -> None:
        begin = TurnSignal.COMMAND if prompted.local else TurnSignal.PROMPT
        TURNS.take(self.state.status, begin)
        self.state = replace(self.state.begun(prompted.turn, prompted.setup), local=prompted.local)
        self._say(prompted.message, prompted.content_id)
        self.signal(begin)

    def _say(self, message: str, content_id: str) -> None:
        """What a turn begins with."""
        first = not self.state.history and not self.state.local
        self.emit(TextContent(text=message, content_id=content_id), Role.USER)
        if first:
            self.emit(MetadataContent(title=title_of(message)), Role.SYSTEM)

    def asked(self, asked: Asked) -> None:
        TURNS.take(self.state.status, TurnSignal.CALL)
        call = ToolCall(asked.call, asked.tool.name, asked.tool, arguments_text=asked.arguments_text)
        begun = self.state.begun(asked.turn, asked.setup)
        ids = begun.call_ids | {call.id}
        call = replace(call, details=asked.details, adjusted=asked.adjusted or AS_IT_IS)
        self.state = replace(begun, calls=(call,), indexes=(), call_ids=ids)
        self._say(asked.message, asked.content_id)
        for content in asked.said:
            self.emit(content, Role.SYSTEM)
        self.signal(TurnSignal.CALL)
        self.settle()

    def gathered(self, gathered: Gathered) -> None:
        TURNS.take(self.state.status, TurnSignal.READY)
        if gathered.setup is not None:
            self.state = replace(self.state, setup=gathered.setup)
        if gathered.note:
            self.emit(ProgressContent(state="running", text=gathered.note), Role.SYSTEM)
        if gathered.reworded is not None:
            self.emit(ProgressContent(state="running", text=REWORDED), Role.USER, aside=gathered.reworded)
        if gathered.context:
            progress = ProgressContent(state="running", text="Read what was pointed at")
            self.emit(progress, Role.USER, aside=gathered.context)
        for image in gathered.images:
            self.emit(ImageContent(media_type=image.media_type, base64=image.base64), Role.USER)
        for document in gathered.documents:
            self.show(document)
        self.signal(TurnSignal.FULL if compaction_steps.is_due(self.state) else TurnSignal.READY)

    def answered(self, text: str, *, failed: bool, unsaid: bool = False) -> None:
        signal = TurnSignal.REFUSED if failed else TurnSignal.CARRIED_OUT
        TURNS.take(self.state.status, signal)
        self.emit(TextContent(text=text), Role.SYSTEM, aside=UNSAID if unsaid else "")
        self.signal(signal)

    def hooked(self, content: Content) -> None:
        """A hook that was ended with the turn tells of it beside the turns."""
        under_way = TURNS.accepts(self.state.status, TurnSignal.STOP)
        self.emit(content, Role.SYSTEM, turn=None if under_way else "")

    def stop(self) -> None:
        self.signal(TurnSignal.STOP)
        self.settle()

    def steer(self, steered: Steered) -> None:
        self.signal(TurnSignal.STEER)
        self.state = replace(self.state, steers=(*self.state.steers, steered) if steered.message else ())

    def _call_model(self) -> None:
        self.state = replace(self.state, steps=self.state.steps + 1, retry=None)
        self._ask()

    def _ask(self) -> None:
        self._tell_notes()
        self._tell_steers()
        self.state = replace(self.state, request=self.state.request + 1, calls=(), indexes=())
        self.state = replace(self.state, said=False, paused=False)
        self.emit(ProgressContent(state="running", text="Waiting for the model"), Role.SYSTEM)
        self.effects.append(CallModel(self.state.request, self.request))

    @property
    def request(self) -> ModelRequest:
        """What the model would be sent now."""
        setup = self.state.setup
        return ModelRequest(setup.model, setup.system, self.state.history, setup.tools, setup.variant)

    def show_notes(self) -> None:
        """Not in the middle of what the model says: a line there would tear its sentence, or its code."""
        if self.state.status is TurnStatus.STREAMING and self.state.said:
            return
        for note in self.state.unshown:
            self.emit(TextContent(text=note.text), Role.SYSTEM, aside=note.words, turn="")
            self.state = replace(self.state, notes=(*self.state.notes, note.words))
        self.state = replace(self.state, unshown=()) if self.state.unshown else self.state

    def _tell_notes(self) -> None:
        """To the model, with what it is told anyway."""
        self.state = replace(self.state, said=False)
        self.show_notes()
        if notes := self.state.notes:
            self.state = replace(self.state, notes=())
            progress = ProgressContent(state="running", text=NOTED)
            self.emit(progress, Role.USER, aside=noted_text(notes))

    def _tell_steers(self) -> None:
        """Several are one message: the model reads them at once."""
        if steers := self.state.steers:
            self.state = replace(self.state, steers=())
            text = "\n".join(steer.message for steer in steers)
            self.emit(TextContent(text=text, content_id=steers[0].content_id), Role.USER)

    def _stop_calls(self) -> None:
        reply.close_reasoning(self)
        for call in self.state.calls:
            if not call.terminal:
                tool_calls.signal(self, call, ToolCallSignal.STOP, reason=RejectReason.STOP)

    def _end(self, outcome: Outcome) -> None:
        """Words that the model was not told are dropped with the turn they were for (ECA 1.2, `chat/promptSteer`)."""
        if outcome is Outcome.STOPPED:
            self.emit(TextContent(text=STOPPED), Role.SYSTEM)
        if outcome is Outcome.COMPLETED and not self.state.local:
            self.state = replace(self.state, planned=self.state.setup.plans)
        finished = ProgressContent(state="finished", plan=self.state.planned or None)
        self.emit(finished, Role.SYSTEM, outcome=outcome)
        self.state = replace(self.state, local=False, steers=(), summing=None)

    def reply_complete(self) -> None:
        reply.close_reasoning(self)
        if self.state.calls:
            self.signal(TurnSignal.CALLS)
            self.settle()
            return
        if self.state.goes_on:
            self.state = replace(self.state, pauses=self.state.pauses + 1)
            self.signal(TurnSignal.PAUSED)
            return
        if self.state.paused:
            self.emit(TextContent(text=PAUSED), Role.SYSTEM)
        elif not (self.state.said or self.state.pauses):
            self.emit(TextContent(text=NOTHING_SAID), Role.SYSTEM)
        self.signal(TurnSignal.ANSWER)

    def fail(self, failed: ModelFailed) -> None:
        """A request is repeated only while nothing of its answer was shown."""
        if failed.overflow and compaction_steps.make_room(self):
            return
        last = self.state.retry
        retry = None if self.state.said else planned(failed.failure, last)
        if retry is not None:
            self.state = replace(self.state, retry=retry)
            self.signal(TurnSignal.RETRY)
            return
        reply.close_reasoning(self)
        text = f"{failed.message} {RETRIED.format(last.attempt + 1)}" if last else failed.message
        text = TOO_LONG.format(text) if failed.overflow else text
        self.emit(TextContent(text=text), Role.SYSTEM, aside=NO_IMAGES if failed.images else "")
        self.signal(TurnSignal.FAIL)

    def _wait(self) -> None:
        if retry := self.state.retry:
            what = retry.failure.label or FAILURES[retry.failure.kind]
            text = RETRYING.format(what=what, seconds=ceil(retry.left), attempt=retry.attempt, limit=retry.limit)
            self.emit(ProgressContent(state="running", text=text), Role.SYSTEM)
            self.effects.append(Wait(self.state.request, retry.pause))

    def waited(self, request: int) -> None:
        TURNS.take(self.state.status, TurnSignal.DUE)
        if (retry := self.state.retry) and request == self.state.request:
            left = retry.left - retry.pause
            self.state = replace(self.state, retry=replace(retry, left=left))
            self.signal(TurnSignal.TICK if left > 0 else TurnSignal.DUE)

    def settle(self) -> None:
        """Go on, or end, when nothing of this reply is left to wait for."""
        if not all(call.terminal for call in self.state.calls):
            return
        limit = self.state.setup.max_steps
        if limit and self.state.steps >= limit and TURNS.accepts(self.state.status, TurnSignal.EXHAUSTED):
            self.emit(TextContent(text=EXHAUSTED.format(limit)), Role.SYSTEM)
            self.signal(TurnSignal.EXHAUSTED)
        elif TURNS.accepts(self.state.status, TurnSignal.SETTLED):
            full = self.state.status is TurnStatus.ACTING and compaction_steps.is_due(self.state)
            self.signal(TurnSignal.FULL if full else TurnSignal.SETTLED)
