"""Owns the part of a step that advances the tool calls of a reply: it emits their events and adds their effects.

It must not give signals to the turn: `turn_driver` does. Its neighbours are `tool_call`, which has the table of a
call's states, `approval/policy`, which decides whether a call may run, and `call_order`, which decides when.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine import call_order
from jupyter_eca.engine.approval.approval_scope import list_scopes
from jupyter_eca.engine.approval.call_targets import find_targets
from jupyter_eca.engine.approval.policy import Decision, Policy, asks_each_time, decide
from jupyter_eca.engine.approval.reason import describe_cause
from jupyter_eca.engine.effects import AskUser, CancelTool, RefuseCall, RunTool
from jupyter_eca.engine.model.history import add_event
from jupyter_eca.engine.model.proposals import describe_proposal
from jupyter_eca.engine.model.texts import (
    NOT_JSON,
    PARTS_LEFT_OUT,
    REJECTED,
    STOPPED_CALL,
    TOOL_CHANGED,
    describe_unknown_tool,
)
from jupyter_eca.engine.tool_call import (
    NO_ADJUSTMENT,
    TOOL_CALLS,
    ToolCall,
    ToolCallMove,
    ToolCallSignal,
    ToolCallStatus,
    parse_arguments,
)
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import (
    Cause,
    FileChangeDetails,
    ImageContent,
    MovePart,
    ProgressContent,
    RejectReason,
    Role,
    TaskDetails,
    TextContent,
    TextOutput,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
)
from jupyter_eca.protocol.event import FetchedRuleAside, RejectionAside, ResultImageAside, SignatureAside

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.approval_scope import ApprovalScope
    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.policy import Verdict
    from jupyter_eca.engine.inputs import CallReady, ModelFinished, ToolFinished
    from jupyter_eca.engine.model.delta import ToolCallDelta
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.engine.step_builder import StepBuilder
    from jupyter_eca.protocol.content import ChangePart, ToolCallDetails
    from jupyter_eca.protocol.event import Aside


def add_call_delta(builder: StepBuilder, delta: ToolCallDelta) -> None:
    """Add a piece of a tool call that the model is writing. The first piece begins the call."""
    state = builder.state
    if delta.index not in state.indexes:
        id = delta.id if _is_usable_id(state, delta.id) else _make_id(state, delta.index)
        tool = next((tool for tool in state.setup.tools if tool.name == delta.name), None)
        state = replace(
            state,
            calls=(*state.calls, ToolCall(id, delta.name, tool, will_likely_ask=_will_likely_ask(state, tool, id))),
            indexes=(*state.indexes, delta.index),
            call_ids=state.call_ids | {id},
        )
    position = state.indexes.index(delta.index)
    call = state.calls[position]
    signature = delta.signature or call.signature
    call = replace(call, arguments_text=call.arguments_text + delta.arguments_text, signature=signature)
    builder.state = replace(state, calls=(*state.calls[:position], call, *state.calls[position + 1 :]))
    builder.emit(
        ToolCallPrepareContent(
            **call.build_common_fields(), arguments_text=delta.arguments_text, manual_approval=call.will_likely_ask
        )
    )


def _will_likely_ask(state: ChatState, tool: ToolSpec | None, id: str) -> bool:
    """Return whether a call without arguments would need approval. The real arguments may lead to another decision."""
    return tool is not None and _reach_verdict(state, tool, id, {}, None).decision is Decision.ASK


def _reach_verdict(
    state: ChatState,
    tool: ToolSpec,
    id: str,
    arguments: dict[str, Any],
    targets: CallTargets | None,
    loads: str = "",
    review: ReviewTime = ReviewTime.BEFORE,
    unseen_path: str = "",
    *,
    is_sandboxed: bool = False,
    ignores_approvals: bool = False,
) -> Verdict:
    """Return whether a call runs, needs approval or is denied, with the reason.

    For a call that is replayed from a lock file, the verdict is already known. With `ignores_approvals`, approvals for
    the session do not count. See `decide` for the other parameters.
    """
    if (verdict := state.setup.verdicts.get(id)) is not None:
        return verdict
    return decide(
        state.setup.policy or Policy(),
        tool,
        arguments,
        frozenset() if ignores_approvals else state.approved_scopes,
        trust=state.trust,
        targets=targets,
        loads=loads,
        review=review,
        unseen_path=unseen_path,
        is_sandboxed=is_sandboxed,
    )


def _reach_final_verdict(state: ChatState, call: ToolCall, tool: ToolSpec) -> Verdict:
    """Return the verdict on a call with its final arguments, by the current rules, approvals and hooks."""
    # A call that only reads cannot run edited code, so it may run before edits are reviewed.
    unseen_path = "" if call.is_read_only else _find_unseen_path(state, call)
    verdict = _reach_verdict(
        state,
        tool,
        call.id,
        call.arguments,
        call.targets,
        call.loads,
        call.review,
        unseen_path,
        is_sandboxed=call.is_sandboxed,
        ignores_approvals=call.leaves_sandbox,
    )
    return call.adjustment.apply_to(verdict)


def _find_unseen_path(state: ChatState, call: ToolCall) -> str:
    """Return a path that was changed without approval and is not reviewed yet; "" for none. It may also be one that an
    earlier call of the same reply will change before this call runs. Such an earlier call has the cause `review`, which
    means that only the setting `review` lets it run without approval."""
    earlier = state.calls[: next(index for index, other in enumerate(state.calls) if other.id == call.id)]
    changed = (
        other.details.path
        for other in earlier
        if other.cause and other.cause.kind == "review" and isinstance(other.details, FileChangeDetails)
    )
    return next(changed, call.unseen_path)


def _is_usable_id(state: ChatState, id: str) -> bool:
    """Return whether the vendor's id of a call can be used in the chat. Some servers repeat ids or leave them out. An
    id that looks like one of `_make_id` cannot be used either."""
    return bool(id) and id.isprintable() and id not in state.call_ids and not id.startswith(f"{state.turn}-")


def _make_id(state: ChatState, index: int) -> str:
    """Return an id that no call of the chat has ever had.

    A turn may have the same id as an earlier turn that a client has removed. An approval of a call of the removed turn
    may still arrive, and must not approve the new call.
    """
    id = f"{state.turn}-{state.request}-{index}"
    again = (f"{id}-{number}" for number in count(2))
    return next(candidate for candidate in chain((id,), again) if candidate not in state.call_ids)


def predict_decision(state: ChatState, call: ToolCall, arguments: dict[str, Any]) -> Decision:
    """Return what the approval rules would decide about a call with these arguments, without the hooks. A call of a
    tool that does not exist is denied."""
    return Decision.DENY if call.tool is None else _reach_verdict(state, call.tool, call.id, arguments, None).decision


def attach_details(builder: StepBuilder, finished: ModelFinished) -> None:
    """Add to each call of the reply its preview, the changes by hooks, the files that it names, and when its changes
    are reviewed."""
    calls = tuple(
        replace(
            call,
            details=finished.details.get(call.id),
            adjustment=finished.adjustments.get(call.id, NO_ADJUSTMENT),
            targets=finished.targets.get(call.id),
            review=finished.reviews.get(call.id, ReviewTime.BEFORE),
            unseen_path=finished.unseen_path,
        )
        for call in builder.state.calls
    )
    builder.update(calls=calls)


def decide_all(builder: StepBuilder) -> None:
    """Decide for every call of the reply whether it runs, needs approval or is denied.

    All calls are announced before the first one ends, because vendors want the calls of a reply in one message and the
    results in the next.
    """
    before, history = len(builder.events), builder.state.history
    # Decide first. Then put the announcements before all other new events, and compute the conversation again.
    for call in builder.state.calls:
        _decide_call(builder, call)
    decided = sorted(builder.events[before:], key=lambda event: not isinstance(event.content, ToolCallRunContent))
    builder.events[before:] = decided
    builder.set_history(reduce(add_event, decided, history))


# The signal that a call gets for each decision about it.
_DECISION_SIGNALS = {
    Decision.ALLOW: ToolCallSignal.ALLOW,
    Decision.ASK: ToolCallSignal.ASK,
    Decision.DENY: ToolCallSignal.DENY,
}


def _decide_call(builder: StepBuilder, call: ToolCall) -> None:
    """Decide about one call of the reply, and give it the signal for the decision."""
    arguments = parse_arguments(call.arguments_text)
    if call.tool is None:
        # The model sees what it wrote, so that it can send the same arguments to the right tool.
        unknown = replace(call, arguments=arguments or {})
        _fail_call(builder, unknown, describe_unknown_tool(call.name, builder.state.setup.tools))
    elif arguments is None:
        _fail_call(builder, call, NOT_JSON)
    else:
        arguments = arguments if call.adjustment.arguments is None else call.adjustment.arguments
        verdict = _reach_final_verdict(builder.state, replace(call, arguments=arguments), call.tool)
        prepared = replace(call, arguments=arguments, cause=verdict.cause)
        if call.adjustment.failure and verdict.decision is not Decision.DENY:
            # The preview has found that the call cannot succeed. A denied call stays denied.
            _fail_call(builder, prepared, call.adjustment.failure)
            return
        if (
            builder.state.setup.plan_mode
            and not prepared.is_allowed_when_planning
            and verdict.decision is not Decision.DENY
        ):
            words = describe_proposal(call.id, call.name, call.details)
            # No rule has decided. Otherwise the card would say which one allows or asks about the call.
            proposal = replace(prepared, cause=None)
            give_signal(builder, proposal, ToolCallSignal.DENY, reason=RejectReason.PLAN, words=words)
            return
        words = _describe_denial(verdict)
        if verdict.decision is not Decision.DENY and _must_skip(builder.state, call):
            # The user is not asked about a call that will not run.
            give_signal(builder, prepared, ToolCallSignal.DENY, reason=RejectReason.ORDER)
        else:
            give_signal(builder, prepared, _DECISION_SIGNALS[verdict.decision], reason=verdict.reason, words=words)
        if verdict.cause is not None and verdict.cause.kind == "changed":
            # The user has approved the tool for the session, but its server has changed it since then.
            text = TOOL_CHANGED.format(tool=call.tool.name, server=call.tool.server)
            builder.emit(TextContent(text=text), Role.SYSTEM)


def decide_outside_call(builder: StepBuilder, call: ToolCall, ready: CallReady) -> None:
    """Decide about a call of an outside agent, and give it the signal for the decision. If the agent runs the call
    without asking, there is nothing to decide, and the cause of the call says so."""
    if call.tool is None or ready.failure:
        _fail_call(builder, call, ready.failure)
        return
    if ready.is_unasked:
        cause = Cause(kind="unasked", agent=call.tool.agent) if call.tool.agent else None
        unasked = replace(call, cause=cause)
        give_signal(builder, unasked, ToolCallSignal.ALLOW)
        return
    verdict = _reach_final_verdict(builder.state, call, call.tool)
    words = _describe_denial(verdict)
    if ready.is_approved and verdict.decision is Decision.ASK and not verdict.needs_approval_each_time:
        # The user has already approved what the agent described. A second question about the same action is not needed.
        give_signal(builder, replace(call, approved=True), ToolCallSignal.ALLOW)
        return
    decided = replace(call, cause=verdict.cause)
    give_signal(builder, decided, _DECISION_SIGNALS[verdict.decision], reason=verdict.reason, words=words)


def start_ready_calls(builder: StepBuilder) -> None:
    """Start the queued calls that have no earlier call in their way. Skip the calls after a failed change."""
    for id in [call.id for call in builder.state.calls]:
        call = builder.state.get_call(id)
        if call.status not in {ToolCallStatus.WAITING, ToolCallStatus.QUEUED}:
            continue
        if _must_skip(builder.state, call):
            give_signal(builder, call, ToolCallSignal.SKIP, reason=RejectReason.ORDER)
        elif call.status is ToolCallStatus.QUEUED and call_order.find_blocker(builder.state.calls, call) is None:
            give_signal(builder, call, ToolCallSignal.START)


def _must_skip(state: ChatState, call: ToolCall) -> bool:
    """Return whether a call must not run because an earlier change failed or was rejected.

    A call that is replayed from a lock file is never skipped, because it ran when it was recorded. A call in plan mode
    is never skipped either, because calls change nothing there.
    """
    return (
        not state.setup.plan_mode
        and call.id not in state.setup.verdicts
        and call_order.follows_failed_change(state.calls, call)
    )


def _fail_call(builder: StepBuilder, call: ToolCall, text: str) -> None:
    """End a call that cannot be tried, with `text` as its result."""
    call = _apply_signal(builder, replace(call, error=True), ToolCallSignal.FAIL)[0]
    _announce(builder, call)
    _show_result(builder, call, text, error=True, details=call.details)


def approve_call(
    builder: StepBuilder, call: ToolCall, *, remember: bool, narrowed: FileChangeDetails | None = None
) -> None:
    """Approve a waiting call. With `remember`, approve also the other waiting calls that the approval covers. With
    `narrowed`, only this part of its change is approved.

    The approved calls are queued; `start_ready_calls` starts them.
    """
    give_signal(builder, replace(call, approved=True, details=narrowed or call.details), ToolCallSignal.APPROVE)
    if remember:
        builder.update(approved_scopes=builder.state.approved_scopes.union(_list_session_scopes(call)))
        _approve_allowed(builder)


def _list_session_scopes(call: ToolCall) -> tuple[ApprovalScope, ...]:
    """Return the scopes that "approve for this session" remembers for a call. The button with these words shows the
    same scopes. For a call that needs approval each time, there are none."""
    if call.tool is None or asks_each_time(call.cause) or call.leaves_sandbox:
        return ()
    return list_scopes(call.tool, call.arguments, call.targets or find_targets(call.tool, call.arguments))


def _approve_allowed(builder: StepBuilder) -> None:
    """Approve the waiting calls that the current rules and approvals allow."""
    for call in builder.state.calls:
        if call.status is ToolCallStatus.WAITING and call.tool is not None:
            verdict = _reach_final_verdict(builder.state, call, call.tool)
            if verdict.decision is Decision.ALLOW:
                # `approved` stays False: the user has approved another call, and not this one. So this call does not
                # show that the user has seen the changes that were made without approval.
                give_signal(builder, replace(call, cause=verdict.cause), ToolCallSignal.APPROVE)


def apply_policy(builder: StepBuilder, policy: Policy) -> bool:
    """Replace the approval rules. The calls that have not begun to run are decided again: those that the new rules deny
    are rejected, whoever has approved them. Those that ran only because of a rule, and that no rule allows any more,
    need approval. Waiting calls that the new rules allow are approved. Return whether a call was rejected.

    The approved calls are queued; `start_ready_calls` starts them.
    """
    builder.update(setup=replace(builder.state.setup, policy=policy))
    has_rejected = _reject_denied(builder)
    _ask_about_queued(builder)
    _approve_allowed(builder)
    return has_rejected


def change_trust(builder: StepBuilder, *, trust: bool) -> None:
    """Switch trust on or off. When it is switched off, the calls that it has allowed and that have not begun to run
    need approval."""
    builder.update(trust=trust)
    _ask_about_queued(builder)


def _ask_about_queued(builder: StepBuilder) -> None:
    """Ask the user about the queued calls that nothing allows any more. A call that the user has approved itself stays
    queued."""
    for call in builder.state.calls:
        if call.status is ToolCallStatus.QUEUED and call.tool is not None and not call.approved:
            verdict = _reach_final_verdict(builder.state, call, call.tool)
            if verdict.decision is Decision.ASK:
                give_signal(builder, replace(call, cause=verdict.cause), ToolCallSignal.ASK)


def _reject_denied(builder: StepBuilder) -> bool:
    """Reject the calls that have not begun to run and that the current rules deny. Return whether there were any."""
    denied: list[tuple[ToolCall, Verdict]] = []
    for call in builder.state.calls:
        if call.status in {ToolCallStatus.WAITING, ToolCallStatus.QUEUED} and call.tool is not None:
            verdict = _reach_final_verdict(builder.state, call, call.tool)
            if verdict.decision is Decision.DENY:
                denied.append((replace(call, cause=verdict.cause), verdict))
    for call, verdict in denied:
        give_signal(builder, call, ToolCallSignal.DENY, reason=verdict.reason, words=_describe_denial(verdict))
    return bool(denied)


def _describe_denial(verdict: Verdict) -> str:
    """Return what the model reads about a verdict besides the reason; if it denies the call, with the rule."""
    if verdict.decision is not Decision.DENY or verdict.cause is None:
        return verdict.words
    return f"{verdict.words} ({describe_cause(verdict.decision, verdict.cause)}.)".strip()


def finish_call(builder: StepBuilder, call: ToolCall, finished: ToolFinished) -> None:
    """End a call whose tool has ended, and show its result."""
    was_stopping = call.status is ToolCallStatus.STOPPING
    if finished.tools is not None:
        builder.update(setup=replace(builder.state.setup, tools=finished.tools))
    error = finished.error or was_stopping
    call = _apply_signal(builder, replace(call, error=error), ToolCallSignal.FINISH)[0]
    text = f"{STOPPED_CALL}\n{finished.text}".strip() if was_stopping else finished.text
    if call.is_narrowed and not error:
        text = f"{_describe_left_out(call)}\n\n{text}"
    details = finished.details or call.details
    # An aside has what the user does not see of an event: here, that the result is the text of a rule of the user.
    aside = FetchedRuleAside(id=finished.fetched_rule) if finished.fetched_rule and not error else None
    _show_result(builder, call, text, error=error, details=details, whole=finished.whole_length, aside=aside)
    for image in finished.images:
        picture = ImageContent(media_type=image.media_type, base64=image.base64)
        builder.emit(picture, aside=ResultImageAside(call=call.id, name=image.name), local=_is_local(call))
    for document in finished.documents:
        builder.show_document(document)
    for link in finished.links:
        builder.emit(link)


def _describe_left_out(call: ToolCall) -> str:
    """Return what the model reads about the parts of its change that the user left out."""
    details = call.details
    if not isinstance(details, FileChangeDetails):
        return ""
    left_out = details.left_out or ()
    parts = [_describe_part(part) for index, part in enumerate(details.parts or ()) if index in left_out]
    return PARTS_LEFT_OUT.format(count=len(parts), all=len(details.parts or ()), parts="\n---\n".join(parts))


def _describe_part(part: ChangePart | MovePart) -> str:
    """Return one part of a change as text for the model: its new text, or which cell it moves."""
    if isinstance(part, MovePart):
        return f"the move of the cell [{part.cell_id}]"
    text = part.text.strip("\n") or "(a deletion)"
    return f"in the cell [{part.cell_id}]:\n{text}" if part.cell_id else text


def show_progress(builder: StepBuilder, call: ToolCall, details: ToolCallDetails) -> None:
    """Show the progress of a running call. ECA has no content for progress, so `toolCallRunning` is sent again.

    Raises: IllegalSignal when the call is not running any more.
    """
    if call.status is not ToolCallStatus.RUNNING:
        raise IllegalSignal(f"the tool call {call.id} does not run")
    call = replace(call, details=details)
    builder.update(calls=tuple(call if other.id == call.id else other for other in builder.state.calls))
    builder.emit(ToolCallRunningContent(**call.build_common_fields(), arguments=call.arguments), by=call.by)


def give_signal(
    builder: StepBuilder,
    call: ToolCall,
    signal: ToolCallSignal,
    *,
    reason: RejectReason = RejectReason.USER,
    words: str = "",
) -> None:
    """Give a signal to a call, and carry out the moves that the table answers with.

    It cannot carry out the end of a call that has a result: see `finish_call` and `_fail_call`. `reason` and `words`
    are for a rejection: why the call does not run, and what the user, a rule or a hook tells the model about it.
    """
    call, moves = _apply_signal(builder, call, signal)
    for move in moves:
        match move:
            case ToolCallMove.ANNOUNCE:
                _announce(builder, call)
            case ToolCallMove.QUEUE:
                if blocker := call_order.find_blocker(builder.state.calls, call):
                    _show_waiting_for(builder, call, blocker)
            case ToolCallMove.STARTED:
                builder.emit(ToolCallRunningContent(**call.build_common_fields(), arguments=call.arguments), by=call.by)
                builder.emit(ProgressContent(state="running", text="Calling a tool"), Role.SYSTEM)
            case ToolCallMove.RUN:
                if call.tool is not None:
                    builder.effects.append(RunTool(call.id, call.tool, call.arguments))
            case ToolCallMove.ASK_USER:
                builder.effects.append(AskUser(call.id))
                builder.emit(ProgressContent(state="running", text="Waiting for approval"), Role.SYSTEM)
            case ToolCallMove.CANCEL:
                builder.effects.append(CancelTool(call.id))
            case ToolCallMove.CALLED:
                pass  # `finish_call` and `_fail_call` show the result
            case ToolCallMove.REJECTED:
                cause = call.cause if reason is RejectReason.CONFIG else None
                content = ToolCallRejectedContent(
                    **call.build_common_fields(), arguments=call.arguments, reason=reason, cause=cause
                )
                text = f"{REJECTED[reason]} {words}".strip()
                aside = RejectionAside(text=text, words=words.strip())
                builder.emit(content, aside=aside, local=_is_local(call), by=call.by)
                if call.outside:
                    builder.effects.append(RefuseCall(call.id, text))


def _apply_signal(
    builder: StepBuilder, call: ToolCall, signal: ToolCallSignal
) -> tuple[ToolCall, tuple[ToolCallMove, ...]]:
    """Put the call with its next status into the state. Return the call with this status, and the moves to carry out.

    Raises: IllegalSignal.
    """
    status, moves = TOOL_CALLS.look_up(call.status, signal)
    started = builder.at if ToolCallMove.RUN in moves else call.started_at
    call = replace(call, status=status, started_at=started)
    builder.update(calls=tuple(call if other.id == call.id else other for other in builder.state.calls))
    return call, moves


def _announce(builder: StepBuilder, call: ToolCall) -> None:
    """Show a call with its complete arguments, and what an approval for the session would cover."""
    asks = call.status is ToolCallStatus.WAITING
    scopes = _list_session_scopes(call) if asks else ()
    blocker = None if call.has_ended else call_order.find_blocker(builder.state.calls, call)
    content = ToolCallRunContent(
        **call.build_common_fields(),
        arguments=call.arguments,
        manual_approval=asks,
        cause=call.cause,
        remembers=tuple(scope.as_text() for scope in scopes) or None,
        waits_for=blocker and blocker.id,
    )
    # The vendor's signature of the call, which no user sees, is sent back with the call.
    aside = SignatureAside(signature=call.signature) if call.signature else None
    builder.emit(content, aside=aside, local=_is_local(call))


def _is_local(call: ToolCall) -> bool | None:
    """Return True if no model of ours reads the call, because an outside agent has made it; else None, see
    `StepBuilder.emit`. Vendors want the result of a call directly after the call, but an outside agent may write more
    text before the result."""
    return True if call.outside else None


def _show_waiting_for(builder: StepBuilder, call: ToolCall, blocker: ToolCall) -> None:
    """Show that a call is approved and waits for an earlier call."""
    content = ToolCallRunContent(
        **call.build_common_fields(), arguments=call.arguments, manual_approval=False, waits_for=blocker.id
    )
    builder.emit(content, by=call.by)


def _show_result(
    builder: StepBuilder,
    call: ToolCall,
    text: str,
    *,
    error: bool,
    details: ToolCallDetails | None,
    whole: int | None = None,
    aside: Aside | None = None,
) -> None:
    """Show the result of a call. If it is a list of tasks, the list replaces the tasks of the chat.

    `error` says whether the call failed. `whole` is the length in characters of the whole text, if `text` was cut.
    `aside` is what the result means to the model besides its text.
    """
    if isinstance(details, TaskDetails) and not error:
        builder.update(tasks=details.tasks)
    builder.emit(
        ToolCalledContent(
            **replace(call, details=details).build_common_fields(),
            arguments=call.arguments,
            error=error,
            outputs=(TextOutput(text=text),),
            total_time_ms=builder.at - call.started_at if call.started_at else 0,
            whole=whole,
        ),
        aside=aside,
        local=_is_local(call),
        by=call.by,
    )
