"""`step`: what one chat becomes when something happens to it.

    step(state, input) -> (state, events, effects)

A chat is a value, `ChatState`. Something happens to it: the user asks, a piece of the model's answer comes, a tool
ends. That is the input. `step` answers with the chat as it is then, with events (facts to store and to show) and with
effects (what somebody must do now). It does nothing itself: it awaits nothing, reads no clock and makes no ids. The
time and the fresh ids are in the input, the work is in the effects. So the same inputs always give the same chat, and
a test needs no model, no disk and no waiting.

An example. The user says "Hi", and the model says "Hello".

| input | events | effects | status after it |
|---|---|---|---|
| `Prompted(message="Hi")` | the text "Hi" by the user, the title "Hi" | `Gather` | gathering |
| `Gathered()` | progress "Waiting for the model" | `CallModel(1, ...)` | streaming |
| `Streamed(1, TextDelta("Hello"))` | progress "Generating", the text "Hello" | | streaming |
| `ModelFinished(1)` | progress finished, outcome completed | | idle |

The host runs each effect as a task and feeds what comes of it back as the next input: `CallModel` gives `Streamed` and
`ModelFinished`, `RunTool` gives `ToolFinished`, `AskUser` gives `Approved` or `Rejected`. A stop is an input like any
other. While "Hello" streams, `Stopped` gives the effect `CancelModel(1)`, the text "Stopped." and the end of the turn.
What the cancelled call still says then has the number of a request that nobody listens to, and changes nothing.

Three things decide what a step does, from the bottom up:

1. The tables `turn.TURNS` and `tool_call.TOOL_CALLS` say which signal means what in which status, and which moves
   follow. A signal without a row raises `IllegalSignal`; the state that was given still stands.
2. `tool_calls`, `reply` and `compaction_steps` know what a move or an input says. They write it into a `StepBuilder`.
3. `TurnDriver` gives the signals and carries out the moves. `step` picks the function that an input is for.

The events are also all that the model remembers: `model.history.remember` folds them into its conversation, in a live
turn and after a restart alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from jupyter_eca.engine import inputs, reply, tool_calls
from jupyter_eca.engine.effects import Effect
from jupyter_eca.engine.state import ChatState
from jupyter_eca.engine.step_builder import StepBuilder
from jupyter_eca.engine.tool_call import ToolCallSignal
from jupyter_eca.engine.turn import TURNS, TurnSignal
from jupyter_eca.engine.turn_driver import TurnDriver
from jupyter_eca.protocol.content import Role
from jupyter_eca.protocol.event import Event

if TYPE_CHECKING:
    from jupyter_eca.engine.inputs import Input

Step = tuple[ChatState, tuple[Event, ...], tuple[Effect, ...]]


def step(state: ChatState, input: Input) -> Step:
    """Return what the chat becomes.

    Raises: IllegalSignal when the input means nothing now; the state before still stands.
    """
    builder = StepBuilder(state, input.at)
    driver = TurnDriver(builder)
    match input:
        case (
            inputs.Prompted()
            | inputs.CallRequested()
            | inputs.Gathered()
            | inputs.CommandEnded()
            | inputs.CompactionRequested()
            | inputs.Steered()
            | inputs.TrustChanged()
            | inputs.PolicyChanged()
            | inputs.FactAdded()
            | inputs.NoteAdded()
            | inputs.HookReported()
            | inputs.CostAdded()
            | inputs.Stopped()
        ):
            _take_from_user(driver, input)
        case inputs.Streamed() | inputs.ModelFinished() | inputs.ModelFailed():
            if driver.listens_to(input.request):
                _take_from_model(driver, input)
        case inputs.WaitEnded(request=request):
            driver.end_wait(request)
        case inputs.ToolFinished() | inputs.Approved() | inputs.Rejected() | inputs.CallProgressed():
            _take_about_call(driver, input)
        case _:
            assert_never(input)
    driver.show_notes()
    return builder.state, tuple(builder.events), tuple(builder.effects)


def _take_from_user(
    driver: TurnDriver,
    input: inputs.Prompted
    | inputs.CallRequested
    | inputs.Gathered
    | inputs.CommandEnded
    | inputs.CompactionRequested
    | inputs.Steered
    | inputs.TrustChanged
    | inputs.PolicyChanged
    | inputs.FactAdded
    | inputs.NoteAdded
    | inputs.HookReported
    | inputs.CostAdded
    | inputs.Stopped,
) -> None:
    """Take what comes from the user, or from the shell in the user's name."""
    builder = driver.builder
    match input:
        case inputs.Prompted():
            driver.begin_prompt(input)
        case inputs.CallRequested():
            driver.begin_call(input)
        case inputs.Gathered():
            driver.add_gathered(input)
        case inputs.CommandEnded(text=text, failed=failed, withdrawn=unsaid):
            driver.end_command(text, failed=failed, unsaid=unsaid)
        case inputs.CompactionRequested(focus=focus):
            driver.compact(focus)
        case inputs.Steered():
            driver.steer(input)
        case inputs.TrustChanged(trust=trust):
            builder.update(trust=trust)
        case inputs.PolicyChanged(policy=policy):
            tool_calls.apply_policy(builder, policy)
        case inputs.FactAdded(content=content):
            builder.emit(content, Role.SYSTEM, turn="")
        case inputs.NoteAdded():
            builder.update(unshown=(*builder.state.unshown, input))
        case inputs.HookReported(content=content):
            driver.show_hook(content)
        case inputs.CostAdded():
            reply.add_cost(builder, input)
        case inputs.Stopped():
            driver.stop()


def _take_from_model(driver: TurnDriver, input: inputs.Streamed | inputs.ModelFinished | inputs.ModelFailed) -> None:
    """Take what the model says to the request under way."""
    if driver.state.summary_under_way is not None:
        driver.take_summary(input)
        return
    match input:
        case inputs.Streamed(delta=delta):
            reply.add(driver.builder, delta)
        case inputs.ModelFinished(details=details, adjusted=adjusted, targets=targets):
            tool_calls.describe(driver.builder, details, adjusted, targets)
            driver.complete_reply()
        case inputs.ModelFailed():
            driver.fail(input)


def _take_about_call(
    driver: TurnDriver, input: inputs.ToolFinished | inputs.Approved | inputs.Rejected | inputs.CallProgressed
) -> None:
    """Take what happens to one tool call of the reply under way."""
    builder = driver.builder
    call = builder.state.get_call(input.call)
    match input:
        case inputs.ToolFinished():
            tool_calls.finish(builder, call, input)
            driver.stop() if input.stops else driver.settle()
        case inputs.CallProgressed(details=details):
            tool_calls.show_progress(builder, call, details)
        case inputs.Approved(remember=remember):
            tool_calls.approve(builder, call, remember=remember)
        case inputs.Rejected(reason=reason, words=words):
            tool_calls.signal(builder, call, ToolCallSignal.REJECT, reason=reason, words=words)
            driver.settle()


def accepts(state: ChatState, signal: TurnSignal) -> bool:
    """Return whether a signal means anything to the chat now."""
    return TURNS.accepts(state.status, signal)
