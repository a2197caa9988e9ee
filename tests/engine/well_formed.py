"""What every vendor of models demands of the conversation in a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.engine.model.request import TextPart, ToolResultPart, ToolUsePart

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import History


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
