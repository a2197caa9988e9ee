"""What holds for each step of the engine, and what every vendor of models demands of the conversation in a request."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any

from jupyter_eca.engine.model.request import TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.engine.state import TitleState
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.protocol.content import ProgressContent, Role
from jupyter_eca.protocol.event import ContextAside, DocumentAside, NotesSentAside, RewordedAside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.inputs import Input
    from jupyter_eca.engine.model.request import History
    from jupyter_eca.engine.state import ChatState
    from jupyter_eca.protocol.event import Event


def assert_well_formed(history: History) -> None:
    """What every vendor accepts: turns alternate, no text is empty, each message of calls is answered by the next."""
    assert [message.role for message in history] == ["user" if i % 2 == 0 else "assistant" for i in range(len(history))]
    for message, answer in zip(history, [*history, None][1:], strict=True):
        assert message.parts
        assert all(part.text for part in message.parts if isinstance(part, TextPart))
        uses = [part.id for part in message.parts if isinstance(part, ToolUsePart)]
        if uses:
            assert answer is not None
            results = [part.id for part in answer.parts[: len(uses)] if isinstance(part, ToolResultPart)]
            assert sorted(results) == sorted(uses)
    ids = [part.id for message in history for part in message.parts if isinstance(part, ToolUsePart)]
    assert len(ids) == len(set(ids))


_KINDS: dict[str, type] = {
    "bool": bool,
    "str": str,
    "int": int,
    "TitleState": TitleState,
    "TurnStatus": TurnStatus,
    "ToolCallStatus": ToolCallStatus,
}
_OF_SYSTEM = {"usage", "metadata", "flag", "hookActionStarted", "hookActionFinished"}
_OF_MODEL = {
    *("reasonStarted", "reasonText", "reasonFinished", "toolCallPrepare", "toolCallRun", "toolCallRunning"),
    *("toolCalled", "toolCallRejected"),
}
# Shown as progress and read by the model as words of the user.
_READ_AS_USER = ContextAside | NotesSentAside | RewordedAside | DocumentAside


@cache
def _list_kinds(owner: type[Any]) -> list[tuple[str, type]]:
    """Return the fields of a dataclass whose types are simple, with these types."""
    names = {field.name: str(field.type) for field in fields(owner)}
    tuples = {name: tuple for name, kind in names.items() if kind.startswith("tuple[")}
    return [*tuples.items(), *((name, _KINDS[kind]) for name, kind in names.items() if kind in _KINDS)]


def assert_typed(value: Any) -> None:
    """Each field of a dataclass has a value of its type, as far as the name of the type says it simply."""
    for name, kind in _list_kinds(value.__class__):
        found = getattr(value, name)
        assert isinstance(found, kind), f"{name} is {found!r}"


def assert_step(before: ChatState, input: Input, after: ChatState, events: Sequence[Event]) -> None:
    """What holds for each step: the state has the types of its fields, and each event says whose it is and when."""
    assert_typed(after)
    for call in after.calls:
        assert_typed(call)
    assert len(after.indexes) <= len(after.calls)
    for event in events:
        content = event.content
        assert (event.chat, event.at) == (before.id, input.at)
        assert event.turn in {before.turn, after.turn, ""}
        if isinstance(content, ProgressContent):
            assert event.role is (Role.USER if isinstance(event.aside, _READ_AS_USER) else Role.SYSTEM)
            assert bool(content.text) == (content.state == "running")
        assert content.type not in _OF_SYSTEM or event.role is Role.SYSTEM
        assert content.type not in _OF_MODEL or event.role is Role.ASSISTANT
