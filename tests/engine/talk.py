"""One chat, fed by hand: each method is something that happens to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.policy import Policy, Rule
from jupyter_eca.engine.effects import CallModel, Effect
from jupyter_eca.engine.model.delta import Delta, TextDelta, ToolCallDelta
from jupyter_eca.engine.model.request import ChatMessage, ImagePart, TextPart, ToolSpec
from jupyter_eca.engine.step import ChatState, step
from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.content import Content, Origin, ReasonTextContent, RejectReason, Role, TextContent
from tests.engine.well_formed import assert_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.engine.inputs import Input
    from jupyter_eca.engine.model.retry import Failure
    from jupyter_eca.protocol.event import Event, Outcome

RAN = ["toolCallPrepare", "toolCallRun", "toolCallRunning", "toolCalled"]
LOOK = ToolSpec("look", "Look at something.", {}, summary="Looking at {what}", read_only_hint=True)
ACT = ToolSpec("act", "Do something.", {})
FAR = ToolSpec("far", "Do something elsewhere.", {}, server="away", origin=Origin.MCP)
TOOLS = (LOOK, ACT, FAR)
POLICY = Policy(allow={"look": Rule()}, deny={"act": Rule(args_matchers={"how": ("badly",)})})

T = TypeVar("T", bound=Content)


@dataclass
class Talk:
    """`effects` are those of the last thing that happened, `events` all so far."""

    state: ChatState = field(default_factory=lambda: ChatState("chat"))
    events: list[Event] = field(default_factory=list["Event"])
    effects: tuple[Effect, ...] = ()
    now: int = 1000
    turns: int = 0

    def feed(self, what: Input) -> Talk:
        """Raises: IllegalSignal."""
        before = self.state
        self.state, events, self.effects = step(before, what)
        assert_step(before, what, self.state, events)
        self.events += events
        self.now += 10
        return self

    def asks(self, message: str = "Hi", context: str = "", max_steps: int = 0) -> Talk:
        return self.begins(message, max_steps=max_steps).gathers(context)

    def begins(self, message: str = "Hi", *, local: bool = False, max_steps: int = 0) -> Talk:
        self.turns += 1
        setup = inputs.Setup("maker/model", "Be kind.", TOOLS, POLICY, max_steps=max_steps, compact_at=75)
        return self.feed(inputs.Prompted(self.now, f"t{self.turns}", message, f"c{self.turns}", setup, local))

    def is_called(self, tool: ToolSpec, arguments: str = "{}", message: str = "somebody calls") -> Talk:
        """By a program of the user's own."""
        self.turns += 1
        setup = inputs.Setup("", tools=(tool,), policy=POLICY)
        turn, number = f"t{self.turns}", self.turns
        return self.feed(
            inputs.CallRequested(self.now, turn, message, f"c{number}", setup, f"x{number}", tool, arguments)
        )

    def gathers(self, context: str = "", images: tuple[ImagePart, ...] = ()) -> Talk:
        return self.feed(inputs.Gathered(self.now, context, images))

    def answers(self, text: str = "Done.", *, failed: bool = False) -> Talk:
        return self.feed(inputs.CommandEnded(self.now, text, failed))

    def steers(self, message: str) -> Talk:
        return self.feed(inputs.Steered(self.now, message, f"s{self.now}"))

    def says(self, *said: Delta | str) -> Talk:
        for delta in said:
            piece = TextDelta(delta) if isinstance(delta, str) else delta
            self.feed(inputs.Streamed(self.now, self.state.request, piece))
        return self

    def done(self) -> Talk:
        return self.feed(inputs.ModelFinished(self.now, self.state.request))

    def fails(
        self, message: str = "The model is gone. Ask again.", failure: Failure | None = None, *, overflow: bool = False
    ) -> Talk:
        failed = inputs.ModelFailed(self.now, self.state.request, message, is_too_long=overflow, failure=failure)
        return self.feed(failed)

    def compacts(self, focus: str = "") -> Talk:
        return self.feed(inputs.CompactionRequested(self.now, focus))

    def waits(self) -> Talk:
        return self.feed(inputs.WaitEnded(self.now, self.state.request))

    def calls(self, *calls: ToolCallDelta) -> Talk:
        """The model ends its reply with these calls."""
        return self.says(*calls).done()

    def approves(self, call: str, *, remember: bool = False) -> Talk:
        return self.feed(inputs.Approved(self.now, call, remember))

    def rejects(self, call: str, words: str = "", reason: RejectReason = RejectReason.USER) -> Talk:
        return self.feed(inputs.Rejected(self.now, call, reason, words))

    def changes_rules(self, policy: Policy) -> Talk:
        return self.feed(inputs.PolicyChanged(self.now, policy))

    def ran(
        self, call: str, text: str = "It worked.", *, error: bool = False, images: tuple[ImagePart, ...] = ()
    ) -> Talk:
        return self.feed(inputs.ToolFinished(self.now, call, text, error, images=images))

    def stops(self) -> Talk:
        return self.feed(inputs.Stopped(self.now))

    # -- what can be seen of it

    def shown(self, kind: type[T]) -> list[T]:
        return [event.content for event in self.events if isinstance(event.content, kind)]

    def words(self, role: Role = Role.ASSISTANT) -> str:
        events = [event for event in self.events if event.role is role]
        return "".join(event.content.text for event in events if isinstance(event.content, TextContent))

    def thoughts(self) -> str:
        return "".join(content.text for content in self.shown(ReasonTextContent))

    def kinds(self, turn: str = "") -> list[str]:
        """What is shown, in order, without the progress between it."""
        kinds = [event.content.type for event in self.events if not turn or event.turn == turn]
        return [kind for kind in kinds if kind != "progress"]

    def life(self, call: str) -> list[str]:
        """The contents of one call."""
        return [event.content.type for event in self.events if getattr(event.content, "id", None) == call]

    def outcomes(self) -> list[Outcome]:
        return [event.outcome for event in self.events if event.outcome is not None]

    def asked(self) -> tuple[ChatMessage, ...]:
        """What the model is asked now."""
        (call,) = [effect for effect in self.effects if isinstance(effect, CallModel)]
        return call.request.messages


def call(name: str, id: str = "1", arguments: str = "{}", index: int = 0) -> ToolCallDelta:
    return ToolCallDelta(index, id, name, arguments)


def user(*texts: str) -> ChatMessage:
    return ChatMessage("user", tuple(map(TextPart, texts)))


def refused(talk: Talk, happens: Callable[[], object]) -> bool:
    before, shown = repr(talk.state), len(talk.events)
    with pytest.raises(IllegalSignal):
        happens()
    return (repr(talk.state), len(talk.events)) == (before, shown)
