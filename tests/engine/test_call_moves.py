"""Where a call goes from each status: the rows of `tool_call.TOOL_CALLS`, from outside."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.tool_call import ToolCallStatus as Status
from tests.engine.talk import Talk, call

PREPARED = "toolCallPrepare"
ANNOUNCED = [PREPARED, "toolCallRun"]
RAN = [*ANNOUNCED, "toolCallRunning"]


def reply(*names: str) -> Talk:
    return Talk().asks().calls(*(call(name, str(at), index=at) for at, name in enumerate(names, start=1)))


def queued() -> Talk:
    """A call runs, the second waits for an answer, and the third is approved and waits for the others."""
    return reply("look", "act", "act").approves("3")


QUEUED = [*ANNOUNCED, "toolCallRun"]
ENDED = "toolCallRejected"


@pytest.mark.parametrize(
    ("talk", "statuses", "lives"),
    [
        (reply("look", "none"), [Status.RUNNING, Status.CALLED], [RAN, [*ANNOUNCED, "toolCalled"]]),
        (reply("look", "look").ran("1"), [Status.CALLED, Status.RUNNING], [[*RAN, "toolCalled"], RAN]),
        (queued(), [Status.RUNNING, Status.WAITING, Status.QUEUED], [RAN, ANNOUNCED, QUEUED]),
        (
            queued().rejects("2"),
            [Status.RUNNING, Status.REJECTED, Status.REJECTED],
            [RAN, [*ANNOUNCED, ENDED], [*QUEUED, ENDED]],
        ),
        (
            reply("look", "act", "act").rejects("2"),
            [Status.RUNNING, Status.REJECTED, Status.REJECTED],
            [RAN, [*ANNOUNCED, ENDED], [*ANNOUNCED, ENDED]],
        ),
        (
            queued().stops(),
            [Status.STOPPING, Status.REJECTED, Status.REJECTED],
            [RAN, [*ANNOUNCED, ENDED], [*QUEUED, ENDED]],
        ),
        (reply("look", "look").stops().stops(), [Status.STOPPING, Status.STOPPING], [RAN, RAN]),
        (reply("look", "look").stops().ran("2"), [Status.STOPPING, Status.CALLED], [RAN, [*RAN, "toolCalled"]]),
        (Talk().asks().says(call("look")).stops(), [Status.REJECTED], [[PREPARED, ENDED]]),
    ],
)
def test_a_call_goes_on_or_ends_like_this(talk: Talk, statuses: list[Status], lives: list[list[str]]) -> None:
    assert [item.status for item in talk.state.calls] == statuses
    assert [talk.life(item.id) for item in talk.state.calls] == lives
