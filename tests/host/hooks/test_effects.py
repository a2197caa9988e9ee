"""What several hooks of one moment make of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.approval.policy import CallAdjustment, Decision, Verdict
from jupyter_eca.host.hooks import HookReply, HookType, combine, format_output_and_errors, update_input

WORDS = st.text(max_size=8)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "continue": st.booleans() | st.none(),
        "stopReason": WORDS,
        "additionalContext": WORDS | st.integers(),
        "replacedPrompt": WORDS,
        "followUp": WORDS,
        "replacedOutput": WORDS | st.none(),
        "updatedInput": st.dictionaries(st.sampled_from("abc"), st.integers()) | WORDS,
        "approval": st.sampled_from(["allow", "ask", "deny", "maybe", 3, None]),
    },
)
OUTPUTS = FIELDS.map(json.dumps) | WORDS
REPLIES = st.lists(
    st.builds(HookReply, st.sampled_from(["x", "y"]), st.sampled_from([0, 0, 0, 1, 2, -9, 127]), OUTPUTS, WORDS),
    max_size=5,
)
ORDER = list(Decision)


def says(hook: str = "h", **fields: Any) -> HookReply:
    return HookReply(hook, 0, json.dumps(fields))


@given(st.sampled_from(HookType), REPLIES)
def test_whatever_hooks_say_the_strictest_decision_holds_and_the_first_stop_ends_the_chain(
    type: HookType, replies: list[HookReply]
) -> None:
    effects = combine(type, replies)
    stops = [at for at, reply in enumerate(replies) if reply.stops_turn]
    heard = replies[: stops[0] + 1] if stops else replies
    assert (effects.stopped_by is not None) == bool(stops)
    assert effects == combine(type, heard)
    denied = any(reply.blocks or reply.decision is Decision.DENY for reply in heard)
    assert (effects.decision is Decision.DENY) == denied
    assert bool(effects.denial_reason) == denied
    assert not (effects.follow_up and effects.stopped_by)
    for name, value in (effects.new_arguments or {}).items():
        values = [reply.new_arguments[name] for reply in heard if reply.new_arguments and name in reply.new_arguments]
        assert values[-1] == value


@given(st.sampled_from(HookType), REPLIES)
def test_a_hook_that_failed_has_no_say(type: HookType, replies: list[HookReply]) -> None:
    assert combine(type, replies) == combine(type, [reply for reply in replies if not reply.is_failure])


@given(st.sampled_from(Decision), REPLIES)
def test_hooks_never_make_a_decision_of_the_rules_milder(ruled: Decision, replies: list[HookReply]) -> None:
    effects = combine(HookType.PRE_TOOL_CALL, replies)
    decided = CallAdjustment(decision=effects.decision, words=effects.denial_reason).apply_to(Verdict(ruled)).decision
    assert ORDER.index(decided) == max(ORDER.index(one) for one in (ruled, effects.decision or ruled))


@given(REPLIES)
def test_the_next_hook_is_given_what_the_ones_before_it_made_of_the_prompt(replies: list[HookReply]) -> None:
    data: dict[str, Any] = {"prompt": "first"}
    for reply in replies:
        data = update_input(data, reply)
    reworded = combine(HookType.PRE_REQUEST, [reply for reply in replies if not reply.stops_turn]).new_prompt
    if not any(reply.stops_turn for reply in replies):
        assert data["prompt"] == ("first" if reworded is None else reworded)


def test_arguments_are_merged_and_the_later_hook_wins() -> None:
    replies = [says(updatedInput={"a": 1, "b": 1}), says(updatedInput={"b": 2})]
    assert combine(HookType.PRE_TOOL_CALL, replies).new_arguments == {"a": 1, "b": 2}
    assert update_input({"tool_input": {"c": 3}}, replies[0])["tool_input"] == {"a": 1, "b": 1, "c": 3}


def test_follow_ups_are_joined_and_exit_2_is_one() -> None:
    replies = [says(followUp="Run the tests."), HookReply("x", 2, "", "Then commit.\n")]
    assert combine(HookType.POST_REQUEST, replies).follow_up == "Run the tests.\n\nThen commit."
    assert combine(HookType.PRE_REQUEST, replies).follow_up == ""


@pytest.mark.parametrize(("error", "shown"), [("no\n", "no"), ("", "[Tool output hidden by hook]")])
def test_exit_2_stands_in_for_a_result(error: str, shown: str) -> None:
    assert combine(HookType.POST_TOOL_CALL, [HookReply("x", 2, "", error)]).new_output == shown


def test_an_empty_output_is_an_output() -> None:
    assert combine(HookType.POST_TOOL_CALL, [says(replacedOutput="")]).new_output == ""


@pytest.mark.parametrize("output", ["plain words", "[1, 2]", '{"continue": false', "", '{"a": 1e999}'])
def test_what_is_no_json_object_is_for_the_reader_alone(output: str) -> None:
    assert combine(HookType.PRE_REQUEST, [HookReply("x", 0, output)]) == combine(HookType.PRE_REQUEST, [])


def test_json_counts_only_when_the_program_ended_well() -> None:
    assert combine(HookType.PRE_REQUEST, [HookReply("x", 1, '{"continue": false}')]).stopped_by is None


def test_the_reader_sees_what_a_hook_wants_unless_it_hides_that() -> None:
    assert format_output_and_errors(says(additionalContext="Be brief.", updatedInput={"a": 1})) == (
        'UpdatedInput: {"a": 1}\nAdditionalContext: Be brief.',
        None,
    )
    assert format_output_and_errors(says(additionalContext="Be brief.", suppressOutput=True)) == (None, None)
    assert format_output_and_errors(HookReply("x", 0, "hello\n", "careful\n")) == ("hello", "careful")
