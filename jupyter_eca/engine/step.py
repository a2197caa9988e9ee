"""Owns `step`, the pure function that decides everything a chat does. Its neighbour `host` runs the effects.

    step(state, input) -> (state, events, effects)

**The idea.** A chat is a value, `ChatState`. When something happens to the chat, the host describes it as an input: the
user sends a prompt, a piece of the model's reply arrives, a tool ends. `step` takes the state and the input, and
returns three things:

- the new state of the chat;
- events: facts to store and to show to the clients;
- effects: work that the host must do now, such as calling the model or running a tool.

`step` itself must not do any of this work. It does not wait, read a clock, generate ids or open files. The time and
new ids come in with the input, and work goes out as effects. So the same inputs always give the same chat, and a test
of the engine needs no model, no disk and no waiting.

**An example.** The user writes "Hi", and the model answers "Hello".

| input | events | effects | status of the turn afterwards |
|---|---|---|---|
| `Prompted(message="Hi")` | the user's text "Hi", the title "Hi" | `Gather()` | gathering |
| `Gathered()` | progress "Waiting for the model" | `CallModel(1, ...)` | streaming |
| `Streamed(1, TextDelta("Hello"))` | progress "Generating", the model's text "Hello" | | streaming |
| `ModelFinished(1)` | progress "finished" with the outcome "completed" | | idle |

The host runs each effect as a task, and feeds the result to `step` as a later input. `Gather` leads to `Gathered`,
`CallModel` to `Streamed` and `ModelFinished`, `RunTool` to `ToolFinished`, `AskUser` to `Approved` or `Rejected`.

**Outside agents.** Another program may answer in the place of a model. It calls tools during its reply, so each of its
calls comes with inputs of its own, `CallBegun` and `CallReady`, while the turn goes on streaming.

**Stop is an input like any other.** If the user presses Stop while "Hello" streams, the input `Stopped` gives the
effect `CancelModel(1)`, the text "Stopped." and the event that ends the turn. The cancelled call may still send pieces
for a moment. They have the number of a request that is no longer the current one, so `step` ignores them.

**Where to look.** The decisions are made in three layers, from the bottom up:

1. The tables `turn.TURNS` and `tool_call.TOOL_CALLS` say which signals are legal in each status, which status is next,
   and which moves follow. An illegal signal raises `IllegalSignal`, and the old state stays valid.
2. `tool_calls`, `reply` and `compaction_steps` turn moves and inputs into events, effects and changes of the state.
   They write these into a `StepBuilder`.
3. `TurnDriver` gives the signals and carries out the moves. `step` chooses the function that handles an input.

The model's memory is computed from the events too: `model.history.add_event` adds each event to the conversation that
the model will read. A restart uses the same function, so it restores exactly the same conversation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from jupyter_eca.engine import inputs, reply, tool_calls
from jupyter_eca.engine.chat import outside_calls
from jupyter_eca.engine.effects import Effect
from jupyter_eca.engine.state import ChatState
from jupyter_eca.engine.step_builder import StepBuilder
from jupyter_eca.engine.tool_call import ToolCallSignal
from jupyter_eca.engine.turn_driver import TurnDriver
from jupyter_eca.protocol.event import Event

if TYPE_CHECKING:
    from jupyter_eca.engine.inputs import Input

Step = tuple[ChatState, tuple[Event, ...], tuple[Effect, ...]]


def step(state: ChatState, input: Input) -> Step:
    """Return the new state of the chat, the events to store and show, and the effects to run.

    Raises: IllegalSignal when the input is not legal in the current status. The old state stays valid.
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
            _handle_user_input(driver, input)
        case (
            inputs.Streamed() | inputs.CallBegun() | inputs.CallReady() | inputs.ModelFinished() | inputs.ModelFailed()
        ):
            if driver.is_current_request(input.request):
                _handle_model_input(driver, input)
        case inputs.WaitEnded(request=request):
            driver.end_wait(request)
        case inputs.ToolFinished() | inputs.Approved() | inputs.Rejected() | inputs.CallProgressed():
            _handle_call_input(driver, input)
        case _:
            assert_never(input)
    # A note waits while the model is writing. So each step tries to show the notes that wait.
    driver.show_notes()
    return builder.state, tuple(builder.events), tuple(builder.effects)


def _handle_user_input(
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
    """Handle an input from the user, or from the host on the user's behalf."""
    builder = driver.builder
    match input:
        case inputs.Prompted():
            driver.begin_prompt_turn(input)
        case inputs.CallRequested():
            driver.begin_call_turn(input)
        case inputs.Gathered():
            driver.add_gathered(input)
        case inputs.CommandEnded():
            driver.end_command(input)
        case inputs.CompactionRequested(focus=focus):
            driver.compact(focus)
        case inputs.Steered():
            driver.steer(input)
        case inputs.TrustChanged(trust=trust):
            tool_calls.change_trust(builder, trust=trust)
        case inputs.PolicyChanged(policy=policy):
            driver.change_policy(policy)
        case inputs.FactAdded(content=content):
            driver.add_fact(content)
        case inputs.NoteAdded():
            builder.update(unshown_notes=(*builder.state.unshown_notes, input))
        case inputs.HookReported(content=content):
            driver.show_hook(content)
        case inputs.CostAdded():
            driver.add_cost(input)
        case inputs.Stopped():
            driver.stop()


def _handle_model_input(
    driver: TurnDriver,
    input: inputs.Streamed | inputs.CallBegun | inputs.CallReady | inputs.ModelFinished | inputs.ModelFailed,
) -> None:
    """Handle an input from the model call under way, or from the outside agent that replies in the model's place."""
    match input:
        case inputs.CallBegun():
            outside_calls.begin_call(driver.builder, input)
            return
        case inputs.CallReady():
            outside_calls.decide_call(driver.builder, input)
            return
        case _:
            pass
    if driver.state.summary_under_way is not None:
        driver.handle_summary_input(input)
        return
    match input:
        case inputs.Streamed(delta=delta):
            reply.add_delta(driver.builder, delta)
        case inputs.ModelFinished():
            if driver.state.calls:
                tool_calls.attach_details(driver.builder, input)
            driver.complete_reply()
        case inputs.ModelFailed():
            driver.handle_failure(input)


def _handle_call_input(
    driver: TurnDriver, input: inputs.ToolFinished | inputs.Approved | inputs.Rejected | inputs.CallProgressed
) -> None:
    """Handle an input about one tool call of the reply under way."""
    builder = driver.builder
    call = builder.state.get_call(input.call)
    match input:
        case inputs.ToolFinished():
            tool_calls.finish_call(builder, call, input)
            driver.stop() if input.stops_turn else driver.advance_turn()
        case inputs.CallProgressed(details=details):
            tool_calls.show_progress(builder, call, details)
        case inputs.Approved(remember=remember, narrowed=narrowed, by=by):
            tool_calls.approve_call(builder, replace(call, by=by), remember=remember, narrowed=narrowed)
            tool_calls.start_ready_calls(builder)
        case inputs.Rejected(reason=reason, words=words, by=by):
            call = replace(call, by=by)
            tool_calls.give_signal(builder, call, ToolCallSignal.REJECT, reason=reason, words=words)
            driver.advance_turn()
