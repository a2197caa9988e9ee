"""In which order the calls of one reply run: see the table in `engine/call_order.py`."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.effects import AskUser, RunTool
from jupyter_eca.protocol.content import RejectReason, ToolCallRejectedContent, ToolCallRunContent
from tests.engine.talk import Talk, call


def reply(*tools: str) -> Talk:
    """The model calls these tools in one reply. The ids of the calls count from 1."""
    return Talk().asks().calls(*(call(name, str(at), index=at) for at, name in enumerate(tools, start=1)))


def runs(talk: Talk) -> list[str]:
    """The calls that the last step has begun."""
    return [effect.call for effect in talk.effects if isinstance(effect, RunTool)]


def unrun(talk: Talk) -> list[tuple[str, RejectReason]]:
    return [(content.id, content.reason) for content in talk.shown(ToolCallRejectedContent)]


def waits_for(talk: Talk) -> list[tuple[str, str | None]]:
    return [(content.id, content.waits_for) for content in talk.shown(ToolCallRunContent)]


def test_reads_run_side_by_side() -> None:
    assert runs(reply("look", "look", "look")) == ["1", "2", "3"]


def test_a_read_waits_for_the_change_before_it_to_be_decided_and_to_end() -> None:
    talk = reply("act", "look")
    assert runs(talk) == []
    assert waits_for(talk) == [("1", None), ("2", "1")]
    assert runs(talk.approves("1")) == ["1"]
    assert runs(talk.ran("1")) == ["2"]


def test_a_change_waits_for_the_reads_before_it() -> None:
    talk = reply("look", "look", "act")
    assert runs(talk.approves("3")) == []
    assert waits_for(talk) == [("1", None), ("2", None), ("3", "2"), ("3", "2")]
    assert runs(talk.ran("2")) == []
    assert runs(talk.ran("1")) == ["3"]


def test_changes_run_one_after_the_other_in_the_order_of_the_reply() -> None:
    talk = reply("act", "far", "act")
    assert [runs(talk.approves(id)) for id in ("3", "2", "1")] == [[], [], ["1"]]
    assert [runs(talk.ran(id)) for id in ("1", "2")] == [["2"], ["3"]]


@pytest.mark.parametrize("later", ["look", "act", "far"])
def test_nothing_runs_after_a_change_that_was_rejected(later: str) -> None:
    talk = reply("act", later).rejects("1")
    assert runs(talk) == []
    assert unrun(talk) == [("1", RejectReason.USER), ("2", RejectReason.ORDER)]


@pytest.mark.parametrize("later", ["look", "act", "far"])
def test_nothing_runs_after_a_change_that_failed(later: str) -> None:
    talk = reply("act", later).approves("1").ran("1", error=True)
    assert runs(talk) == []
    assert unrun(talk) == [("2", RejectReason.ORDER)]


def test_an_approved_change_does_not_run_after_one_that_failed() -> None:
    talk = reply("act", "act").approves("1").approves("2").ran("1", error=True)
    assert (runs(talk), unrun(talk)) == ([], [("2", RejectReason.ORDER)])


def test_the_user_is_not_asked_about_a_change_after_one_that_a_rule_denies() -> None:
    calls = (call("act", "1", '{"how": "badly"}', 0), call("far", "2", index=1))
    talk = Talk().asks().calls(*calls)
    assert [effect for effect in talk.effects if isinstance(effect, AskUser)] == []
    assert unrun(talk) == [("1", RejectReason.CONFIG), ("2", RejectReason.ORDER)]


@pytest.mark.parametrize("later", ["look", "act"])
def test_a_read_that_failed_stops_no_other_call(later: str) -> None:
    talk = reply("look", later)
    if later == "act":
        talk.approves("2")
    begun = [*runs(talk), *runs(talk.ran("1", error=True))]
    assert begun[-1] == "2"
    assert unrun(talk) == []


def test_a_call_that_has_ended_is_in_no_way() -> None:
    talk = reply("act", "look", "act").approves("1").ran("1")
    assert runs(talk) == ["2"]
    assert runs(talk.approves("3")) == []
    assert runs(talk.ran("2")) == ["3"]
