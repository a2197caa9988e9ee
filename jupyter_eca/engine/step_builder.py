"""`StepBuilder`: the result of one step while it is being made, which is the new state, the events and the effects.

It must not know the two tables, nor what a signal means: `turn_driver` gives signals and knows their moves. The
functions of `tool_calls`, `reply` and `compaction_steps` write into a builder and lie between the two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.history import remember
from jupyter_eca.engine.model.request import ModelRequest
from jupyter_eca.engine.model.texts import READ
from jupyter_eca.protocol.content import Content, ProgressContent, Role
from jupyter_eca.protocol.event import DocumentAside, Event, Outcome

if TYPE_CHECKING:
    from jupyter_eca.engine.effects import Effect
    from jupyter_eca.engine.model.request import DocumentPart, History
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.protocol.event import Aside


class StepBuilder:
    """What a step has come to so far."""

    def __init__(self, state: ChatState, at: int) -> None:
        self.state = state
        """The chat as it is after what was emitted so far."""
        self.at = at
        """The time of the input, in milliseconds since the epoch. All events of the step have it."""
        self.events: list[Event] = []
        """What is stored and shown, in order."""
        self.effects: list[Effect] = []
        """What the shell must do, in order."""

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
    ) -> None:
        """Add an event, and remember what it means to the model.

        `turn` is the turn under way unless it is named; "" is for a fact beside the turns, which is never local.
        Without `local` an event of the turn is local if the turn is.
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
        )
        self.events.append(event)
        self.set_history(remember(self.state.history, event))

    def set_history(self, history: History) -> None:
        """Replace what the model remembers."""
        if history is not self.state.history:
            self.update(history=history)

    def show_document(self, document: DocumentPart) -> None:
        """Give the model a document. The reader is shown its name."""
        progress = ProgressContent(state="running", text=READ.format(document.name))
        self.emit(progress, Role.USER, aside=DocumentAside(name=document.name, base64=document.base64))

    @property
    def model_request(self) -> ModelRequest:
        """What the model would be sent now."""
        setup = self.state.setup
        return ModelRequest(setup.model, setup.system, self.state.history, setup.tools, setup.variant)
