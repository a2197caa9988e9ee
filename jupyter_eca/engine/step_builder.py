"""Owns `StepBuilder`: the unfinished result of one step. It collects the new state, the events and the effects.

It must not know the two tables (`turn.TURNS` and `tool_call.TOOL_CALLS`) or their signals. `turn_driver` gives the
signals and carries out the moves; the functions of `tool_calls`, `reply` and `compaction_steps` write into the same
builder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.history import add_event
from jupyter_eca.engine.model.request import ModelRequest, list_offered
from jupyter_eca.engine.model.texts import READ_DOCUMENT
from jupyter_eca.protocol.content import Content, ProgressContent, Role
from jupyter_eca.protocol.event import DocumentAside, Event, Outcome

if TYPE_CHECKING:
    from jupyter_eca.engine.effects import Effect
    from jupyter_eca.engine.model.request import DocumentPart, History
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.protocol.event import Aside, Person


class StepBuilder:
    """The result of a step so far."""

    def __init__(self, state: ChatState, at: int) -> None:
        self.state = state
        """The chat after all events so far."""
        self.at = at
        """The time of the input, in milliseconds since the epoch. All events of the step get this time."""
        self.events: list[Event] = []
        """The events to store and show, in order."""
        self.effects: list[Effect] = []
        """What the host must do, in order."""

    def update(self, **fields: object) -> None:
        """Replace fields of the state."""
        self.state = replace(self.state, **fields)

    def emit(
        self,
        content: Content,
        role: Role = Role.ASSISTANT,
        aside: Aside | None = None,
        outcome: Outcome | None = None,
        turn: str | None = None,
        local: bool | None = None,
        by: Person | None = None,
    ) -> None:
        """Add an event to the chat, and add to the conversation of the model what the model must know of it.

        `aside` is what only the model reads. `outcome` says how the turn ended; only the last event of a turn has one.
        A `local` event is never read by the model. Without `turn`, the event belongs to the turn under way. With
        `turn=""` it belongs to no turn and is not local. Without `local`, an event of the turn under way is local if
        the turn is local. `by` is the person whose message or decision it is.
        """
        event = Event(
            chat=self.state.id,
            turn=self.state.turn if turn is None else turn,
            role=role,
            content=content,
            at=self.at,
            aside=aside,
            outcome=outcome,
            local=(self.state.local and turn is None) if local is None else local,
            by=by,
        )
        self.events.append(event)
        self.set_history(add_event(self.state.history, event))

    def set_history(self, history: History) -> None:
        """Replace the conversation that the model will read."""
        if history is not self.state.history:
            self.update(history=history)

    def show_document(self, document: DocumentPart) -> None:
        """Add a document for the model. The user sees only its name."""
        progress = ProgressContent(state="running", text=READ_DOCUMENT.format(document.name))
        self.emit(progress, Role.USER, aside=DocumentAside(name=document.name, base64=document.base64))

    @property
    def model_request(self) -> ModelRequest:
        """The request that would be sent to the model now."""
        setup = self.state.setup
        return ModelRequest(setup.model, setup.system, self.state.history, list_offered(setup.tools), setup.variant)
