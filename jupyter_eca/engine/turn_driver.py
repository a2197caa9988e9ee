"""Owns `TurnDriver`, which gives signals to the table `turn.TURNS` and carries out the moves that follow.

It must not know the parts of a reply or of a summary: its neighbours `reply`, `tool_calls` and `compaction_steps` do,
and write into the same `StepBuilder`. `step` decides which method handles an input.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING

from jupyter_eca.engine import compaction_steps, reply, tool_calls
from jupyter_eca.engine.effects import CallModel, CancelGathering, CancelModel, CancelWait, Gather, MakeTitle, Wait
from jupyter_eca.engine.inputs import RefusalReason
from jupyter_eca.engine.model.chat_title import build_title_request
from jupyter_eca.engine.model.history import has_media, has_unanswered_words, is_unanswered
from jupyter_eca.engine.model.retry import plan_retry
from jupyter_eca.engine.model.texts import (
    AGENT_SAID_NOTHING,
    EXHAUSTED,
    FAILURES,
    MEDIA_LEFT_OUT,
    NOT_SENT_AGAIN,
    NOTHING_SAID,
    PAUSED_TOO_OFTEN,
    READ_NOTES,
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
from jupyter_eca.engine.state import TitleState
from jupyter_eca.engine.tool_call import NO_ADJUSTMENT, ToolCall, ToolCallSignal
from jupyter_eca.engine.turn import TURNS, TurnMove, TurnSignal, TurnStatus
from jupyter_eca.protocol.content import (
    Content,
    FlagContent,
    ImageContent,
    MetadataContent,
    ProgressContent,
    RatingContent,
    RejectReason,
    Role,
    TextContent,
    TurnFailure,
)
from jupyter_eca.protocol.event import (
    BeginningAside,
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
    from jupyter_eca.engine.approval.policy import Policy
    from jupyter_eca.engine.inputs import (
        CallRequested,
        CommandEnded,
        CostAdded,
        Gathered,
        ModelFailed,
        Prompted,
        Steered,
    )
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.engine.step_builder import StepBuilder
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.protocol.event import Person

# How a turn ends after each of the moves that end it.
_OUTCOMES = {
    TurnMove.COMPLETE: Outcome.COMPLETED,
    TurnMove.FAILED: Outcome.FAILED,
    TurnMove.STOPPED: Outcome.STOPPED,
}

# What the model reads in the next turn, if a turn ended before the model had answered.
_UNANSWERED = {Outcome.STOPPED: UNANSWERED_STOPPED, Outcome.FAILED: UNANSWERED_FAILED}


class TurnDriver:
    """Carries out what one step does to the turn of a chat. Each step makes a new driver.

    Several methods look a signal up in the table before they change anything. So an illegal input raises IllegalSignal
    and changes nothing.
    """

    def __init__(self, builder: StepBuilder) -> None:
        self.builder = builder

    @property
    def state(self) -> ChatState:
        """The chat with all that this step has changed so far."""
        return self.builder.state

    def is_current_request(self, request: int) -> bool:
        """Return whether this model call is under way. A cancelled call may still send pieces, which do not count."""
        return self.state.status in {TurnStatus.STREAMING, TurnStatus.COMPACTING} and self.state.request == request

    def give_signal(self, signal: TurnSignal) -> None:
        """Give a signal to the turn, and carry out the moves that the table answers with.

        Raises: IllegalSignal when the table has no row for the signal.
        """
        status, moves = TURNS.look_up(self.state.status, signal)
        self.builder.update(status=status)
        for move in moves:
            self._carry_out(move)

    def _carry_out(self, move: TurnMove) -> None:
        """Do the work of one move."""
        effects = self.builder.effects
        match move:
            case TurnMove.GATHER:
                effects.append(Gather())
            case TurnMove.CANCEL_GATHERING:
                effects.append(CancelGathering())
            case TurnMove.KEEP_STEER:
                pass  # `steer` stores the message
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
                self._end_turn(_OUTCOMES[move])

    # -- a turn begins

    def begin_prompt_turn(self, prompted: Prompted) -> None:
        """Begin a turn with a prompt or a command."""
        signal = TurnSignal.COMMAND if prompted.local else TurnSignal.PROMPT
        TURNS.look_up(self.state.status, signal)
        self.builder.state = replace(self.state.begin_turn(prompted.turn, prompted.setup), local=prompted.local)
        if prompted.model_text:
            aside = BeginningAside(text=prompted.model_text)
            self.builder.emit(TextContent(text=prompted.message), Role.SYSTEM, aside=aside)
        else:
            self._show_prompt(prompted.message, prompted.content_id, prompted.contexts, prompted.by)
        self.give_signal(signal)

    def begin_call_turn(self, requested: CallRequested) -> None:
        """Begin a turn that consists of one tool call by a program of the user."""
        TURNS.look_up(self.state.status, TurnSignal.CALL)
        call = ToolCall(requested.call, requested.tool.name, requested.tool, arguments_text=requested.arguments_text)
        adjustment = requested.adjustment or NO_ADJUSTMENT
        call = replace(call, details=requested.details, adjustment=adjustment, targets=requested.targets)
        call = replace(call, unseen_path=requested.unseen_path)
        begun = self.state.begin_turn(requested.turn, requested.setup)
        self.builder.state = replace(begun, calls=(call,), indexes=(), call_ids=begun.call_ids | {call.id})
        self._show_prompt(requested.message, requested.content_id)
        for content in requested.hook_contents:
            self.builder.emit(content, Role.SYSTEM)
        self.give_signal(TurnSignal.CALL)
        self.advance_turn()

    def _show_prompt(
        self, message: str, content_id: str, contexts: tuple[ChatContext, ...] = (), by: Person | None = None
    ) -> None:
        """Show the prompt. The first prompt of a chat also gives the chat its title."""
        needs_title = not self.state.history and not self.state.local
        text = TextContent(text=message, content_id=content_id, contexts=contexts or None)
        self.builder.emit(text, Role.USER, by=by)
        if needs_title:
            self.builder.emit(MetadataContent(title=make_title(message)), Role.SYSTEM)
            self.builder.update(title=TitleState.FROM_PROMPT)

    # -- before the model is called

    def add_gathered(self, gathered: Gathered) -> None:
        """Add the contexts to the prompt. Then call the model, or make a summary first if the window is too full."""
        TURNS.look_up(self.state.status, TurnSignal.READY)
        builder = self.builder
        if gathered.setup is not None:
            builder.update(setup=gathered.setup)
        if gathered.not_replayed:
            builder.emit(ProgressContent(state="running", text=gathered.not_replayed, not_replayed=True), Role.SYSTEM)
        if gathered.files_note:
            builder.emit(ProgressContent(state="running", text=gathered.files_note), Role.SYSTEM)
        if gathered.reworded is not None:
            progress = ProgressContent(state="running", text=REWORDED)
            builder.emit(progress, Role.USER, aside=RewordedAside(text=gathered.reworded))
        self._add_contexts(gathered)
        self.give_signal(TurnSignal.FULL if self.state.is_summary_due else TurnSignal.READY)

    def _add_contexts(self, message: Gathered | Steered) -> None:
        """Add the contexts of a message, as they were read, to the conversation after the message."""
        if message.context:
            progress = ProgressContent(state="running", text="Read what was pointed at")
            self.builder.emit(progress, Role.USER, aside=ContextAside(text=message.context))
        for image in message.images:
            self.builder.emit(ImageContent(media_type=image.media_type, base64=image.base64), Role.USER)
        for document in message.documents:
            self.builder.show_document(document)

    def end_command(self, ended: CommandEnded) -> None:
        """Show the result of a command and end its turn."""
        signal = TurnSignal.REFUSED if ended.failed else TurnSignal.CARRIED_OUT
        TURNS.look_up(self.state.status, signal)
        failure = TurnFailure(kind=ended.kind) if ended.kind else None
        text = TextContent(text=ended.text, failure=failure)
        self.builder.emit(text, Role.SYSTEM, aside=WithdrawnAside() if ended.withdrawn else None)
        self.give_signal(signal)

    def compact(self, focus: str) -> None:
        """Make a summary that a command requests. `focus` is what it must contain above all, in the user's words."""
        TURNS.look_up(self.state.status, TurnSignal.COMPACT)
        self.give_signal(compaction_steps.begin_summary(self.builder, focus))

    # -- inputs that may come at any time

    def add_cost(self, spent: CostAdded) -> None:
        """Add and show a cost. If the turn has already ended, the cost belongs to no turn."""
        under_way = TURNS.accepts(self.state.status, TurnSignal.STOP)
        reply.add_cost(self.builder, spent, turn=None if under_way else "")

    def add_fact(self, content: FlagContent | RatingContent | MetadataContent | TextContent) -> None:
        """Show a content that belongs to no turn."""
        self.builder.emit(content, Role.SYSTEM, turn="")
        if isinstance(content, MetadataContent):
            self.builder.update(title=TitleState.SETTLED)

    def show_hook(self, content: Content) -> None:
        """Show what a hook does. If the turn has already ended, the content belongs to no turn."""
        under_way = TURNS.accepts(self.state.status, TurnSignal.STOP)
        self.builder.emit(content, Role.SYSTEM, turn=None if under_way else "")

    def steer(self, steered: Steered) -> None:
        """Store a message of the user for the model's next step. An empty message drops the stored ones."""
        self.give_signal(TurnSignal.STEER)
        self.builder.update(steers=(*self.state.steers, steered) if steered.message else ())

    def stop(self) -> None:
        """Stop the turn. It ends when all of its tool calls have ended."""
        self.give_signal(TurnSignal.STOP)
        self.advance_turn()

    def show_notes(self) -> None:
        """Show the notes that were not yet shown, and keep them for the model's next request."""
        # Not while the model is writing: a note would split its sentence, or its code.
        if self.state.status is TurnStatus.STREAMING and self.state.reply_begun:
            return
        for note in self.state.unshown_notes:
            self.builder.emit(TextContent(text=note.text), Role.SYSTEM, aside=NoteAside(text=note.model_text), turn="")
            self.builder.update(notes=(*self.state.notes, note.model_text))
        if self.state.unshown_notes:
            self.builder.update(unshown_notes=())

    # -- calling the model

    def _call_model(self) -> None:
        """Send the conversation to the model, with the notes and messages that it has not read yet."""
        self._send_notes()
        self._send_steers()
        self.builder.update(request=self.state.request + 1, calls=(), indexes=(), reply_begun=False, paused=False)
        waiting = f"Waiting for {self.state.setup.title or 'the model'}"
        self.builder.emit(ProgressContent(state="running", text=waiting), Role.SYSTEM)
        self.builder.effects.append(CallModel(self.state.request, self.builder.model_request))

    def _send_notes(self) -> None:
        """Add the notes to the conversation, because the model is about to be called."""
        # The earlier reply has ended. While a reply has begun, `show_notes` does nothing.
        self.builder.update(reply_begun=False)
        self.show_notes()
        if notes := self.state.notes:
            self.builder.update(notes=(), sent_notes=(*self.state.sent_notes, *notes))
            progress = ProgressContent(state="running", text=READ_NOTES)
            self.builder.emit(progress, Role.USER, aside=NotesSentAside(text=format_notes(notes)))

    def _send_steers(self) -> None:
        """Add the stored messages of `steer` to the conversation. Messages of one person that follow each other become
        one message. Their contexts follow it."""
        stored = self.state.steers
        if stored:
            self.builder.update(steers=())
        for by, group in groupby(stored, key=lambda steer: steer.by):
            steers = tuple(group)
            text = "\n".join(steer.message for steer in steers)
            contexts = tuple(context for steer in steers for context in steer.contexts)
            content = TextContent(text=text, content_id=steers[0].content_id, contexts=contexts or None)
            self.builder.emit(content, Role.USER, by=by)
            for steer in steers:
                self._add_contexts(steer)

    # -- the model's reply ends

    def complete_reply(self) -> None:
        """Continue the turn when a reply has ended: run its tool calls, request the rest of the reply, or end the
        turn."""
        reply.close_reasoning(self.builder)
        # All calls of an outside agent have ended when its reply ends.
        if any(not call.has_ended for call in self.state.calls):
            self.give_signal(TurnSignal.CALLS)
            self.advance_turn()
            return
        if self.state.setup.outside and self.state.steers:
            # An outside agent reads the user's messages when its reply has ended, and replies once more.
            self.give_signal(TurnSignal.PAUSED)
            return
        if self.state.resumes_reply:
            self.builder.update(pauses=self.state.pauses + 1)
            self.give_signal(TurnSignal.PAUSED)
            return
        if self.state.paused:
            self.builder.emit(TextContent(text=PAUSED_TOO_OFTEN), Role.SYSTEM)
        elif not (self.state.reply_begun or self.state.pauses):
            text = AGENT_SAID_NOTHING if self.state.setup.outside else NOTHING_SAID
            self.builder.emit(TextContent(text=text), Role.SYSTEM)
        self.give_signal(TurnSignal.ANSWER)

    def handle_summary_input(self, input: compaction_steps.ModelInput) -> None:
        """Handle an input from the model that writes a summary."""
        if (signal := compaction_steps.handle_model_input(self.builder, input)) is not None:
            self.give_signal(signal)

    def handle_failure(self, failed: ModelFailed) -> None:
        """Continue the turn after a failed model call: shorten the request, repeat it later, or end the turn."""
        if failed.is_too_long and (signal := compaction_steps.shorten_request(self.builder)) is not None:
            self.give_signal(signal)
            return
        if failed.refuses_images and not self.state.reply_begun and has_media(self.state.history):
            text = TextContent(text=MEDIA_LEFT_OUT.format(failed.message))
            self.builder.emit(text, Role.SYSTEM, aside=ImagesRefusedAside())
            self.give_signal(TurnSignal.PRUNED)
            return
        last = self.state.retry
        # A request is not repeated after a part of its reply was shown: the user would see that part twice.
        retry = None if self.state.reply_begun else plan_retry(failed.failure, last)
        if retry is not None:
            self.builder.update(retry=retry)
            self.give_signal(TurnSignal.RETRY)
            return
        reply.close_reasoning(self.builder)
        text = f"{failed.message} {RETRIED.format(last.attempt + 1)}" if last else failed.message
        text = TOO_LONG.format(text) if failed.is_too_long else text
        failure = TurnFailure(kind=failed.kind, model=self.state.setup.model)
        if failed.refusal_reason is None or not is_unanswered(self.state.history):
            self.builder.emit(TextContent(text=text, failure=failure), Role.SYSTEM)
        else:
            # In the first step the model has not answered the user's message. In later steps it has not answered
            # results of tools, and the message stays.
            text = NOT_SENT_AGAIN.format(text) if self.state.steps == 1 else text
            aside = RefusedAside(results=failed.refusal_reason is RefusalReason.CONTENT)
            self.builder.emit(TextContent(text=text, failure=failure), Role.SYSTEM, aside=aside)
            # The refused message leaves the conversation with the notes in it. So they are sent again.
            self.builder.update(notes=(*self.state.sent_notes, *self.state.notes), sent_notes=())
        self.give_signal(TurnSignal.FAIL)

    def _wait(self) -> None:
        """Show why the request is repeated and in how many seconds. Wait until then, or until the user must see a
        smaller number of seconds."""
        if retry := self.state.retry:
            reason = retry.failure.label or FAILURES[retry.failure.kind]
            text = RETRYING.format(
                what=reason, seconds=ceil(retry.seconds_left), attempt=retry.attempt, limit=retry.limit
            )
            self.builder.emit(ProgressContent(state="running", text=text), Role.SYSTEM)
            self.builder.effects.append(Wait(self.state.request, retry.next_wait_seconds))

    def end_wait(self, request: int) -> None:
        """Continue after a wait: show how many seconds are left, or repeat the request.

        The end of a wait for an earlier request changes nothing.
        """
        TURNS.look_up(self.state.status, TurnSignal.DUE)
        if (retry := self.state.retry) and request == self.state.request:
            remaining = retry.seconds_left - retry.next_wait_seconds
            self.builder.update(retry=replace(retry, seconds_left=remaining))
            self.give_signal(TurnSignal.TICK if remaining > 0 else TurnSignal.DUE)

    # -- the turn continues, or ends

    def change_policy(self, policy: Policy) -> None:
        """Replace the approval rules, and go on with the calls that they allow or deny now."""
        if tool_calls.apply_policy(self.builder, policy):
            self.advance_turn()
        else:
            tool_calls.start_ready_calls(self.builder)

    def advance_turn(self) -> None:
        """Start the tool calls that are ready. If all calls of the reply have ended, call the model or end the turn."""
        tool_calls.start_ready_calls(self.builder)
        if not all(call.has_ended for call in self.state.calls):
            return
        limit = self.state.setup.max_steps
        if limit and self.state.steps >= limit and TURNS.accepts(self.state.status, TurnSignal.EXHAUSTED):
            self.builder.emit(TextContent(text=EXHAUSTED.format(limit)), Role.SYSTEM)
            self.give_signal(TurnSignal.EXHAUSTED)
        elif TURNS.accepts(self.state.status, TurnSignal.SETTLED):
            full = self.state.status is TurnStatus.ACTING and self.state.is_summary_due
            self.give_signal(TurnSignal.FULL if full else TurnSignal.SETTLED)

    def _stop_calls(self) -> None:
        """Stop all tool calls that have not ended."""
        reply.close_reasoning(self.builder)
        for call in self.state.calls:
            if not call.has_ended:
                tool_calls.give_signal(self.builder, call, ToolCallSignal.STOP, reason=RejectReason.STOP)

    def _end_turn(self, outcome: Outcome) -> None:
        """Emit the event that ends the turn, and reset what belongs to the turn."""
        if outcome is Outcome.STOPPED:
            self.builder.emit(TextContent(text=STOPPED), Role.SYSTEM)
        if outcome is Outcome.COMPLETED and not self.state.local:
            self.builder.update(ended_in_plan=self.state.setup.ends_in_plan)
            self._request_title()
        finished = ProgressContent(state="finished", plan=self.state.ended_in_plan or None)
        aside = None
        if outcome is not Outcome.COMPLETED and not self.state.local and has_unanswered_words(self.state.history):
            aside = UnansweredAside(text=_UNANSWERED[outcome])
        self.builder.emit(finished, Role.SYSTEM, aside=aside, outcome=outcome)
        # Messages of `steer` that the model has not read are dropped with their turn, as ECA's `chat/promptSteer` says.
        self.builder.update(local=False, steers=(), summary_under_way=None)

    def _request_title(self) -> None:
        """Ask a model for the title of the chat, if the model has just answered for the first time."""
        setup = self.state.setup
        if self.state.title is TitleState.FROM_PROMPT and self.state.steps and setup.title_model:
            request = build_title_request(setup.title_model, setup.title_prompt, self.state.history)
            self.builder.update(title=TitleState.REQUESTED)
            self.builder.effects.append(MakeTitle(request))
