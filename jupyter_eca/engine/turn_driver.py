"""`TurnDriver`: gives signals to the table `turn.TURNS`, and carries out the moves that the table answers with.

It must not know what a reply or a summary is made of: `reply`, `tool_calls` and `compaction_steps` write that into the
same `StepBuilder`. `step` decides which of these functions an input is for.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from jupyter_eca.engine import compaction_steps, reply, tool_calls
from jupyter_eca.engine.effects import CallModel, CancelGathering, CancelModel, CancelWait, Gather, Wait
from jupyter_eca.engine.inputs import Refused
from jupyter_eca.engine.model.history import has_media, has_unanswered_words, is_unanswered
from jupyter_eca.engine.model.retry import plan_retry
from jupyter_eca.engine.model.texts import (
    EXHAUSTED,
    FAILURES,
    MEDIA_LEFT_OUT,
    NOT_SENT_AGAIN,
    NOTED,
    NOTHING_SAID,
    PAUSED,
    RETRIED,
    RETRYING,
    REWORDED,
    STOPPED,
    TOO_LONG,
    UNANSWERED_FAILED,
    UNANSWERED_STOPPED,
    format_notes,
    make_title,
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
from jupyter_eca.protocol.event import (
    ContextAside,
    ImagesRefusedAside,
    NoteAside,
    NotesSentAside,
    Outcome,
    RefusedAside,
    RewordedAside,
    UnansweredAside,
    WithdrawnAside,
)

if TYPE_CHECKING:
    from jupyter_eca.engine.inputs import CallRequested, Gathered, ModelFailed, Prompted, Steered
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.engine.step_builder import StepBuilder

_OUTCOMES = {
    TurnMove.COMPLETE: Outcome.COMPLETED,
    TurnMove.FAILED: Outcome.FAILED,
    TurnMove.STOPPED: Outcome.STOPPED,
}

_UNANSWERED = {Outcome.STOPPED: UNANSWERED_STOPPED, Outcome.FAILED: UNANSWERED_FAILED}


class TurnDriver:
    """Moves the turn of one chat on, within one step."""

    def __init__(self, builder: StepBuilder) -> None:
        self.builder = builder

    @property
    def state(self) -> ChatState:
        """The chat as it is after what this step has done so far."""
        return self.builder.state

    def listens_to(self, request: int) -> bool:
        """Whether what this model call says still counts. A call that was cancelled may go on for a while."""
        return self.state.status in {TurnStatus.STREAMING, TurnStatus.COMPACTING} and self.state.request == request

    def signal(self, signal: TurnSignal) -> None:
        """Raises: IllegalSignal when the table has no row for it."""
        status, moves = TURNS.take(self.state.status, signal)
        self.builder.update(status=status)
        for move in moves:
            self._move(move)

    def _move(self, move: TurnMove) -> None:
        effects = self.builder.effects
        match move:
            case TurnMove.GATHER:
                effects.append(Gather())
            case TurnMove.CANCEL_GATHERING:
                effects.append(CancelGathering())
            case TurnMove.NOTE:
                pass  # `steer` has the words
            case TurnMove.CALL_MODEL:
                self.builder.update(steps=self.state.steps + 1, retry=None, sent_notes=())
                self._call_model()
            case TurnMove.CANCEL_MODEL:
                effects.append(CancelModel(self.state.request))
            case TurnMove.WAIT:
                self._wait()
            case TurnMove.CANCEL_WAIT:
                effects.append(CancelWait(self.state.request))
            case TurnMove.REPEAT:
                self._call_model()
            case TurnMove.SUMMARISE:
                compaction_steps.request_summary(self.builder)
            case TurnMove.DECIDE:
                tool_calls.decide_all(self.builder)
            case TurnMove.STOP_CALLS:
                self._stop_calls()
            case TurnMove.COMPLETE | TurnMove.FAILED | TurnMove.STOPPED:
                self._end(_OUTCOMES[move])

    # -- a turn begins

    def begin_prompt(self, prompted: Prompted) -> None:
        """Begin a turn with what the user said, or with a command."""
        begin = TurnSignal.COMMAND if prompted.local else TurnSignal.PROMPT
        TURNS.take(self.state.status, begin)
        self.builder.state = replace(self.state.begin(prompted.turn, prompted.setup), local=prompted.local)
        self._show_prompt(prompted.message, prompted.content_id)
        self.signal(begin)

    def begin_call(self, requested: CallRequested) -> None:
        """Begin a turn that is one tool call, made by a program of the user's."""
        TURNS.take(self.state.status, TurnSignal.CALL)
        call = ToolCall(requested.call, requested.tool.name, requested.tool, arguments_text=requested.arguments_text)
        adjusted = requested.adjusted or AS_IT_IS
        call = replace(call, details=requested.details, adjusted=adjusted, targets=requested.targets)
        begun = self.state.begin(requested.turn, requested.setup)
        self.builder.state = replace(begun, calls=(call,), indexes=(), call_ids=begun.call_ids | {call.id})
        self._show_prompt(requested.message, requested.content_id)
        for content in requested.hook_contents:
            self.builder.emit(content, Role.SYSTEM)
        self.signal(TurnSignal.CALL)
        self.settle()

    def _show_prompt(self, message: str, content_id: str) -> None:
        first = not self.state.history and not self.state.local
        self.builder.emit(TextContent(text=message, content_id=content_id), Role.USER)
        if first:
            self.builder.emit(MetadataContent(title=make_title(message)), Role.SYSTEM)

    # -- before the model is called

    def add_gathered(self, gathered: Gathered) -> None:
        """Put what was read beside the prompt, then call the model, or make room for the call first."""
        TURNS.take(self.state.status, TurnSignal.READY)
        builder = self.builder
        if gathered.setup is not None:
            builder.update(setup=gathered.setup)
        if gathered.note:
            builder.emit(ProgressContent(state="running", text=gathered.note), Role.SYSTEM)
        if gathered.reworded is not None:
            progress = ProgressContent(state="running", text=REWORDED)
            builder.emit(progress, Role.USER, aside=RewordedAside(text=gathered.reworded))
        if gathered.context:
            progress = ProgressContent(state="running", text="Read what was pointed at")
            builder.emit(progress, Role.USER, aside=ContextAside(text=gathered.context))
        for image in gathered.images:
            builder.emit(ImageContent(media_type=image.media_type, base64=image.base64), Role.USER)
        for document in gathered.documents:
            builder.show_document(document)
        self.signal(TurnSignal.FULL if compaction_steps.is_due(self.state) else TurnSignal.READY)

    def end_command(self, text: str, *, failed: bool, unsaid: bool = False) -> None:
        """Show what came of a command, and end its turn."""
        signal = TurnSignal.REFUSED if failed else TurnSignal.CARRIED_OUT
        TURNS.take(self.state.status, signal)
        self.builder.emit(TextContent(text=text), Role.SYSTEM, aside=WithdrawnAside() if unsaid else None)
        self.signal(signal)

    def compact(self, focus: str) -> None:
        """Make a summary because a command asks for one."""
        TURNS.take(self.state.status, TurnSignal.COMPACT)
        self.signal(compaction_steps.begin(self.builder, focus))

    # -- what comes from outside at any time

    def show_hook(self, content: Content) -> None:
        """Show what a hook does. A hook that was ended with its turn is shown beside the turns."""
        under_way = TURNS.accepts(self.state.status, TurnSignal.STOP)
        self.builder.emit(content, Role.SYSTEM, turn=None if under_way else "")

    def steer(self, steered: Steered) -> None:
        """Keep words for the model's next step."""
        self.signal(TurnSignal.STEER)
        self.builder.update(steers=(*self.state.steers, steered) if steered.message else ())

    def stop(self) -> None:
        """Stop the turn. It ends when all its calls have ended."""
        self.signal(TurnSignal.STOP)
        self.settle()

    def show_notes(self) -> None:
        """Show the reader what happened beside the turns, and keep it for the model."""
        # Not in the middle of what the model says: a line there would tear its sentence, or its code.
        if self.state.status is TurnStatus.STREAMING and self.state.said:
            return
        for note in self.state.unshown:
            self.builder.emit(TextContent(text=note.text), Role.SYSTEM, aside=NoteAside(text=note.model_text), turn="")
            self.builder.update(notes=(*self.state.notes, note.model_text))
        if self.state.unshown:
            self.builder.update(unshown=())

    # -- calling the model

    def _call_model(self) -> None:
        self._send_notes()
        self._send_steers()
        self.builder.update(request=self.state.request + 1, calls=(), indexes=(), said=False, paused=False)
        self.builder.emit(ProgressContent(state="running", text="Waiting for the model"), Role.SYSTEM)
        self.builder.effects.append(CallModel(self.state.request, self.builder.model_request))

    def _send_notes(self) -> None:
        """Tell the model what happened beside the turns, now that it is called anyway."""
        self.builder.update(said=False)
        self.show_notes()
        if notes := self.state.notes:
            self.builder.update(notes=(), sent_notes=(*self.state.sent_notes, *notes))
            progress = ProgressContent(state="running", text=NOTED)
            self.builder.emit(progress, Role.USER, aside=NotesSentAside(text=format_notes(notes)))

    def _send_steers(self) -> None:
        """Tell the model the words of `steer`. Several are one message, since it reads them at once."""
        if steers := self.state.steers:
            self.builder.update(steers=())
            text = "\n".join(steer.message for steer in steers)
            self.builder.emit(TextContent(text=text, content_id=steers[0].content_id), Role.USER)

    # -- the model's reply ends

    def complete_reply(self) -> None:
        """Go on to the calls of the reply, to the rest of it, or to the end of the turn."""
        reply.close_reasoning(self.builder)
        if self.state.calls:
            self.signal(TurnSignal.CALLS)
            self.settle()
            return
        if self.state.resumes_reply:
            self.builder.update(pauses=self.state.pauses + 1)
            self.signal(TurnSignal.PAUSED)
            return
        if self.state.paused:
            self.builder.emit(TextContent(text=PAUSED), Role.SYSTEM)
        elif not (self.state.said or self.state.pauses):
            self.builder.emit(TextContent(text=NOTHING_SAID), Role.SYSTEM)
        self.signal(TurnSignal.ANSWER)

    def take_summary(self, input: compaction_steps.ModelInput) -> None:
        """Take what the model says to the request for a summary."""
        if (signal := compaction_steps.take(self.builder, input)) is not None:
            self.signal(signal)

    def fail(self, failed: ModelFailed) -> None:
        """Make the request shorter, repeat it later, or end the turn."""
        if failed.overflow and (signal := compaction_steps.make_room(self.builder)) is not None:
            self.signal(signal)
            return
        if failed.images and not self.state.said and has_media(self.state.history):
            text = TextContent(text=MEDIA_LEFT_OUT.format(failed.message))
            self.builder.emit(text, Role.SYSTEM, aside=ImagesRefusedAside())
            self.signal(TurnSignal.PRUNED)
            return
        last = self.state.retry
        # A request is repeated only while nothing of its answer was shown.
        retry = None if self.state.said else plan_retry(failed.failure, last)
        if retry is not None:
            self.builder.update(retry=retry)
            self.signal(TurnSignal.RETRY)
            return
        reply.close_reasoning(self.builder)
        text = f"{failed.message} {RETRIED.format(last.attempt + 1)}" if last else failed.message
        text = TOO_LONG.format(text) if failed.overflow else text
        if failed.refused is None or not is_unanswered(self.state.history):
            self.builder.emit(TextContent(text=text), Role.SYSTEM)
        else:
            text = NOT_SENT_AGAIN.format(text) if self.state.steps == 1 else text
            aside = RefusedAside(results=failed.refused is Refused.CONTENT)
            self.builder.emit(TextContent(text=text), Role.SYSTEM, aside=aside)
            self.builder.update(notes=(*self.state.sent_notes, *self.state.notes), sent_notes=())
        self.signal(TurnSignal.FAIL)

    def _wait(self) -> None:
        if retry := self.state.retry:
            reason = retry.failure.label or FAILURES[retry.failure.kind]
            text = RETRYING.format(what=reason, seconds=ceil(retry.left), attempt=retry.attempt, limit=retry.limit)
            self.builder.emit(ProgressContent(state="running", text=text), Role.SYSTEM)
            self.builder.effects.append(Wait(self.state.request, retry.pause))

    def end_wait(self, request: int) -> None:
        """Show how much longer it takes, or repeat the request. The wait of an earlier request changes nothing."""
        TURNS.take(self.state.status, TurnSignal.DUE)
        if (retry := self.state.retry) and request == self.state.request:
            remaining = retry.left - retry.pause
            self.builder.update(retry=replace(retry, left=remaining))
            self.signal(TurnSignal.TICK if remaining > 0 else TurnSignal.DUE)

    # -- the turn goes on, or ends

    def settle(self) -> None:
        """Start the calls whose turn it is. Go on, or end the turn, when no call of this reply is left to wait for."""
        tool_calls.advance(self.builder)
        if not all(call.terminal for call in self.state.calls):
            return
        limit = self.state.setup.max_steps
        if limit and self.state.steps >= limit and TURNS.accepts(self.state.status, TurnSignal.EXHAUSTED):
            self.builder.emit(TextContent(text=EXHAUSTED.format(limit)), Role.SYSTEM)
            self.signal(TurnSignal.EXHAUSTED)
        elif TURNS.accepts(self.state.status, TurnSignal.SETTLED):
            full = self.state.status is TurnStatus.ACTING and compaction_steps.is_due(self.state)
            self.signal(TurnSignal.FULL if full else TurnSignal.SETTLED)

    def _stop_calls(self) -> None:
        reply.close_reasoning(self.builder)
        for call in self.state.calls:
            if not call.terminal:
                tool_calls.signal(self.builder, call, ToolCallSignal.STOP, reason=RejectReason.STOP)

    def _end(self, outcome: Outcome) -> None:
        if outcome is Outcome.STOPPED:
            self.builder.emit(TextContent(text=STOPPED), Role.SYSTEM)
        if outcome is Outcome.COMPLETED and not self.state.local:
            self.builder.update(planned=self.state.setup.plans)
        finished = ProgressContent(state="finished", plan=self.state.planned or None)
        aside = None
        if outcome is not Outcome.COMPLETED and not self.state.local and has_unanswered_words(self.state.history):
            aside = UnansweredAside(text=_UNANSWERED[outcome])
        self.builder.emit(finished, Role.SYSTEM, aside=aside, outcome=outcome)
        # Words that the model was not told are dropped with the turn they were for (ECA 1.2, `chat/promptSteer`).
        self.builder.update(local=False, steers=(), summary_under_way=None)
