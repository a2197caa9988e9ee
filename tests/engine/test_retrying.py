"""A request that failed is repeated as if it had never been: when, how often, and what is shown meanwhile."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.effects import CallModel, CancelWait, Wait
from jupyter_eca.engine.model.retry import (
    MAX_RETRIES,
    MAX_RETRIES_BY_KIND,
    MAX_WAIT_SECONDS,
    Failure,
    Retry,
    plan_retry,
)
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import FailureKind, IllegalSignal
from jupyter_eca.protocol.content import ProgressContent
from jupyter_eca.protocol.event import Outcome
from tests.engine.talk import Talk, call

BUSY = Failure(FailureKind.OVERLOADED)
SOON = Failure(FailureKind.RATE_LIMITED, retry_after=2)

failures = st.builds(
    Failure,
    st.sampled_from(FailureKind),
    retry_after=st.none() | st.floats(0, 90),
    jitter=st.floats(0, 1),
    limit=st.integers(0, 12),
)


def progress(talk: Talk) -> list[str]:
    return [text for content in talk.shown(ProgressContent) if (text := content.text or "") and "again" in text]


def all_waits(failure: Failure) -> list[float]:
    waits: list[float] = []
    last = plan_retry(failure, None)
    while last is not None:
        waits.append(last.seconds_left)
        last = plan_retry(failure, last)
    return waits


def test_a_request_that_failed_before_it_said_anything_is_repeated() -> None:
    talk = Talk().asks("Hi")
    asked = talk.asked()
    talk.fails(failure=SOON).waits().waits()
    assert talk.asked() == asked
    talk.says("Hello").done()
    assert (talk.words(), talk.outcomes()) == ("Hello", [Outcome.COMPLETED])


def test_the_countdown_is_shown() -> None:
    talk = Talk().asks().fails(failure=SOON).waits().waits().fails(failure=BUSY)
    assert progress(talk) == [
        "Rate limited; trying again in 2 s (1 of 10)",
        "Rate limited; trying again in 1 s (1 of 10)",
        "Overloaded; trying again in 1 s (2 of 10)",
    ]


def test_a_failure_goes_by_the_name_that_the_configuration_gives_it() -> None:
    talk = Talk().asks().fails(failure=Failure(label="Warming up", retry_after=1))
    assert progress(talk) == ["Warming up; trying again in 1 s (1 of 10)"]


@pytest.mark.parametrize("spoken", ["text", "call"])
def test_nothing_is_repeated_once_something_of_it_was_shown(spoken: str) -> None:
    talk = Talk().asks().says("He" if spoken == "text" else call("look")).fails(failure=SOON)
    assert talk.outcomes() == [Outcome.FAILED]


def test_a_failure_that_does_not_pass_ends_the_turn_at_once() -> None:
    talk = Talk().asks().fails("No credit.")
    assert (talk.outcomes(), progress(talk)) == ([Outcome.FAILED], [])


def test_the_reader_is_told_how_often_it_was_tried() -> None:
    once = Failure(limit=1, retry_after=0)
    talk = Talk().asks().fails(failure=once).waits().fails("It is down.", failure=once)
    assert talk.shown(ProgressContent)[-1].state == "finished"
    assert "It is down. It was tried 2 times." in [getattr(e.content, "text", "") for e in talk.events]


def test_a_stop_ends_the_wait_and_the_turn() -> None:
    talk = Talk().asks().fails(failure=SOON).stops()
    assert talk.effects == (CancelWait(1),)
    assert talk.outcomes() == [Outcome.STOPPED]
    with pytest.raises(IllegalSignal):
        talk.waits()


def test_what_a_failed_request_says_afterwards_is_not_heard() -> None:
    talk = Talk().asks().fails(failure=SOON).says("Late")
    assert (talk.words(), talk.state.status) == ("", TurnStatus.WAITING)


def test_words_that_come_while_waiting_are_told_with_the_repetition() -> None:
    talk = Talk().asks("Hi").fails(failure=Failure(retry_after=0)).steers("Be quick").waits()
    assert talk.asked()[-1].text == "HiBe quick"


def test_a_repetition_is_not_a_step_of_the_agent() -> None:
    talk = Talk().asks(max_steps=1).fails(failure=Failure(retry_after=0)).waits().says("Hello").done()
    assert talk.outcomes() == [Outcome.COMPLETED]
    assert talk.state.steps == 1


def test_each_request_of_a_turn_has_all_its_repetitions() -> None:
    now = Failure(retry_after=0)
    talk = Talk().asks().fails(failure=now).waits().calls(call("look")).ran("1").fails(failure=now)
    assert progress(talk)[-1].endswith("(1 of 10)")
    assert talk.state.steps == 2


@pytest.mark.parametrize(("kind", "times"), [(FailureKind.OVERLOADED, MAX_RETRIES), *MAX_RETRIES_BY_KIND.items()])
def test_each_kind_is_tried_so_often_and_no_more(kind: FailureKind, times: int) -> None:
    assert len(all_waits(Failure(kind, jitter=1.0))) == times


def test_waits_double_up_to_the_longest() -> None:
    assert all_waits(Failure(jitter=1.0)) == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert all_waits(Failure(jitter=1.0, max_wait=0.5)) == [0.5] * 10
    assert all_waits(Failure(jitter=0.0, max_wait=8)) == [0.5, 1, 2, 4, 4, 4, 4, 4, 4, 4]


def test_a_server_that_wants_to_be_left_alone_for_long_is_not_waited_for() -> None:
    assert plan_retry(Failure(retry_after=MAX_WAIT_SECONDS + 1), None) is None
    for seconds in (0.0, 0.5, MAX_WAIT_SECONDS):
        planned = plan_retry(Failure(retry_after=seconds), None)
        assert planned is not None
        assert planned.seconds_left == seconds


@given(failures)
def test_no_wait_is_shorter_than_the_server_said_or_longer_than_allowed(failure: Failure) -> None:
    for wait in all_waits(failure):
        assert (failure.retry_after or 0) <= wait <= failure.max_wait


@given(failures)
def test_every_wait_ends_and_the_countdown_only_goes_down(failure: Failure) -> None:
    talk = Talk().asks().fails(failure=failure)
    shown: list[float] = []
    waited = 0.0
    while (retry := talk.state.retry) and talk.state.status is TurnStatus.WAITING:
        (wait,) = talk.effects
        assert isinstance(wait, Wait)
        waited += wait.seconds
        shown.append(retry.seconds_left)
        talk.waits()
        assert len(shown) < 30
    assert all(later < earlier for earlier, later in pairwise(shown))
    if shown:
        assert isinstance(talk.effects[0], CallModel)
        assert waited == pytest.approx(shown[0])  # pyright: ignore[reportUnknownMemberType]  # untyped in pytest


def test_the_last_ten_seconds_are_counted_one_by_one() -> None:
    left, counted = 23.4, list[float]()
    while left > 0:
        counted.append(left)
        left -= Retry(1, 10, left, BUSY).next_wait_seconds
    assert counted == [23.4, 20, 15, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
