"""What a cell adds to the reason of a failure: a line of advice, and the mark by which Lab shows buttons."""

from __future__ import annotations

from jupyter_eca.apps.kernel.answer.failure_advice import add_failure, advise
from jupyter_eca.errors import FailureKind
from jupyter_eca.protocol.content import TurnFailure

REFUSED = TurnFailure(kind=FailureKind.AUTH, model="far/m")


def test_the_mark_is_saved_beside_the_code_that_ran() -> None:
    mark = {"kind": "auth", "model": "far/m"}
    assert add_failure({"jupyter_eca": {"runs": []}}, REFUSED) == {"jupyter_eca": {"runs": [], "failure": mark}}
    assert add_failure({}, REFUSED) == {"jupyter_eca": {"failure": mark}}


def test_an_answer_that_did_not_fail_has_no_mark_and_no_advice() -> None:
    assert (add_failure({}, None), advise(None)) == ({}, "")


def test_a_failure_that_may_pass_has_no_advice_because_its_reason_says_to_ask_again() -> None:
    assert not any(advise(TurnFailure(kind=kind)) for kind in (FailureKind.OVERLOADED, FailureKind.NETWORK))
    assert "-m PROVIDER/MODEL" in advise(TurnFailure(kind=FailureKind.MODEL))
