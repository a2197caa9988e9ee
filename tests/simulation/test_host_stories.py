"""Stories of a host with random seeds keep all rules, and a broken rule is noticed. 6 by default, 2,000 more
with NIGHTLY=1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.tool_call import TOOL_CALLS, ToolCallMove, ToolCallSignal, ToolCallStatus
from jupyter_eca.fronts.eca import projection
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.protocol.content import Role, TextContent
from tests.simulation.__main__ import find_host_failures

if TYPE_CHECKING:
    from jupyter_eca.protocol.event import Event

# A story that breaks off leaves work that was about to begin.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SAMPLE, NIGHTLY, BLOCK = 6, 2_000, 20
# Stories that have failed once.
FAILED_ONCE = (2030,)


def test_stories_of_some_seeds_keep_all_rules() -> None:
    assert find_host_failures(0, SAMPLE) == []


@pytest.mark.parametrize("seed", FAILED_ONCE)
def test_a_story_that_has_failed_once_keeps_all_rules(seed: int) -> None:
    assert find_host_failures(seed, 1) == []


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(SAMPLE, SAMPLE + NIGHTLY, BLOCK))
def test_stories_of_many_seeds_keep_all_rules(first: int) -> None:
    assert find_host_failures(first, BLOCK) == []


def test_a_call_that_runs_without_a_question_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = (ToolCallStatus.QUEUED, (ToolCallMove.ANNOUNCE,))
    monkeypatch.setitem(TOOL_CALLS.rows, (ToolCallStatus.PREPARING, ToolCallSignal.ASK), row)
    assert find_host_failures(0, 3)


def test_contents_of_another_chat_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    make_content = projection.make_content

    def mix_up(event: Event, _chat: str, **more: Any) -> Any:
        return make_content(event, "ada", **more)

    monkeypatch.setattr(projection, "make_content", mix_up)
    assert find_host_failures(0, 3)


def test_an_answer_that_is_not_stored_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Tables.write

    def forget(tables: Tables, events: list[Event], *more: Any, **options: Any) -> Any:
        return write(tables, [_forget_answer(event) for event in events], *more, **options)

    monkeypatch.setattr(Tables, "write", forget)
    # Seeds in which the disk refuses to store while an answer is shown.
    assert find_host_failures(5, 3)


def _forget_answer(event: Event) -> Event:
    is_answer = isinstance(event.content, TextContent) and event.role is Role.ASSISTANT
    return event.model_copy(update={"content": TextContent(text="?")}) if is_answer else event
