"""How an answer looks while it grows and when it has ended."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from jupyter_eca.apps.kernel.answer.tool_details import SHOWN_CHARS
from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.protocol.chat import ChatContentReceivedParams, ChatToolCallProgressParams
from tests.apps.kernel.markdown_judges import COMMONMARK, NASTY, Page, problems

CALL: dict[str, Any] = {"id": "1", "name": "run_code", "server": "eca"}
CODE: dict[str, Any] = {"code": "x = 1\nx < 2"}
FOLDS = ("details", "summary")


def transcript(*contents: dict[str, Any], role: str = "assistant", outcome: str | None = None) -> CellTranscript:
    told = CellTranscript()
    for content in contents:
        told.add(ChatContentReceivedParams.model_validate({"chatId": "c", "role": role, "content": content}))
    if outcome:
        end = {"type": "progress", "state": "finished"}
        ended = {"chatId": "c", "role": "system", "content": end, "outcome": outcome}
        told.add(ChatContentReceivedParams.model_validate(ended))
    return told


def remarks(*texts: str) -> CellTranscript:
    return transcript(*({"type": "text", "text": text} for text in texts), role="system")


def prepare(arguments: str = "") -> dict[str, Any]:
    return {"type": "toolCallPrepare", "argumentsText": arguments, **CALL}


def run(arguments: dict[str, Any] = CODE, *, asks: bool = False) -> dict[str, Any]:
    return {"type": "toolCallRun", "arguments": arguments, "manualApproval": asks, **CALL}


def called(output: str, arguments: dict[str, Any] = CODE, *, error: bool = False) -> dict[str, Any]:
    outputs = [{"type": "text", "text": output}]
    end = {"type": "toolCalled", "arguments": arguments, "error": error, "outputs": outputs, "totalTimeMs": 1234}
    return {**end, **CALL}


def rejected(reason: str) -> dict[str, Any]:
    return {"type": "toolCallRejected", "arguments": CODE, "reason": reason, **CALL}


@pytest.mark.parametrize(
    ("contents", "state"),
    [
        ([prepare()], "… preparing"),
        ([prepare(), run(asks=True)], "… waits for your approval"),
        ([run()], "… starting"),
        ([run(), {"type": "toolCallRunning", "arguments": CODE, **CALL}], "▸ running"),
        ([run(), called("2")], "✓ done in 1.2 s"),
        ([run(), called("no", error=True)], "✗ failed in 1.2 s"),
        ([run(asks=True), rejected("user-choice")], "⊘ rejected, not run"),
        ([rejected("user-config")], "⊘ forbidden by your rules, not run"),
        ([run(), rejected("user-stop")], "⊘ stopped, not run"),
        ([run(asks=True), rejected("nobody-to-ask")], "⊘ not run: it needs approval, and nobody is there to give it"),
    ],
)
def test_a_tool_call_shows_its_state(contents: list[dict[str, Any]], state: str) -> None:
    told = transcript(*contents)
    assert told.as_text() == f"[run_code] {state}"
    assert f"run_code {state}" in Page(COMMONMARK.render(told.as_markdown())).text


def decided(content: dict[str, Any], *, locked: bool = False) -> CellTranscript:
    """A call that Ben has decided about. With `locked`, its answer is recorded."""
    told = transcript(run(asks=True))
    told.names_people = not locked
    by = {"username": "ben", "name": "Ben <b>\n*K.*"}
    received = {"chatId": "c", "role": "assistant", "content": content, "by": by}
    told.add(ChatContentReceivedParams.model_validate(received))
    return told


@pytest.mark.parametrize(
    ("content", "decision"),
    [
        (called("2"), "✓ done in 1.2 s · approved by Ben <b>"),
        ({"type": "toolCallRunning", "arguments": CODE, **CALL}, "▸ running · approved by Ben <b>"),
        (rejected("user-choice"), "⊘ rejected, not run · rejected by Ben <b>"),
        (rejected("user-stop"), "⊘ stopped, not run · approved by Ben <b>"),
    ],
)
def test_a_tool_call_says_who_has_decided_about_it_in_one_line(content: dict[str, Any], decision: str) -> None:
    told = decided(content)
    for final in (False, True):
        html = COMMONMARK.render(told.as_markdown(final=final))
        assert f"{decision} *K.*" in Page(html).text
        assert "<b>" not in html
    assert decision in told.as_text()


def test_an_answer_that_is_recorded_names_nobody() -> None:
    told = decided(called("2"), locked=True)
    assert told.as_markdown(final=True) == transcript(run(asks=True), called("2")).as_markdown(final=True)


def test_how_far_a_call_is_is_shown_in_one_line_and_not_kept() -> None:
    running = {"type": "toolCallRunning", "arguments": CODE, **CALL}
    told = transcript(run(), running)
    told.set_progress(
        ChatToolCallProgressParams(chat_id="c", id="1", text="begun\n 42%|####<b>\n", progress=2, total=7)
    )
    assert "run_code ▸ running · 2 of 7 · 42%|####<b>" in Page(COMMONMARK.render(told.as_markdown())).text
    assert "42%" not in told.as_markdown(final=True)
    assert "42%" not in told.as_text()
    told.add(ChatContentReceivedParams.model_validate({"chatId": "c", "role": "assistant", "content": called("2")}))
    assert "42%" not in told.as_markdown()


def test_code_that_waits_for_approval_says_so_and_is_folded_behind_that_since_whoever_decides_is_shown_it() -> None:
    markdown = transcript(run(asks=True)).as_markdown()
    assert markdown.startswith("<details><summary><code>run&#95;code</code> … waits for your approval</summary>")
    assert "```python\nx = 1\nx < 2\n```" in markdown


def test_a_call_that_ended_is_folded_with_its_code_and_output() -> None:
    markdown = transcript(run(), called("True")).as_markdown()
    assert markdown.startswith("<details><summary>")
    assert "```python\nx = 1\nx < 2\n```\n\n```\nTrue\n```" in markdown
    assert problems(markdown, FOLDS) == {}


def test_other_arguments_are_shown_as_json() -> None:
    assert '```json\n{\n "path": "ä.py"\n}\n```' in transcript(run({"path": "ä.py"})).as_markdown()


def test_contents_of_one_call_make_one_line() -> None:
    told = transcript(prepare('{"co'), prepare('de": ""}'), run(), called("1"))
    assert [(call.name, call.arguments, call.output) for call in told.calls] == [("run_code", CODE, "1")]


def test_only_calls_that_ask_wait() -> None:
    assert [call.id for call in transcript(run(asks=True)).undecided_calls] == ["1"]
    assert transcript(run(asks=True), called("1")).undecided_calls == transcript(run()).undecided_calls == []


def test_reasoning_is_folded_and_no_part_of_the_answer() -> None:
    told = transcript(
        {"type": "reasonStarted", "id": "r"},
        {"type": "reasonText", "id": "r", "text": "Hm "},
        {"type": "reasonText", "id": "r", "text": "<b>."},
        {"type": "reasonFinished", "id": "r", "totalTimeMs": 2500},
        {"type": "text", "text": "Yes."},
    )
    page = Page(COMMONMARK.render(told.as_markdown()), FOLDS)
    assert (page.problems, page.tags[:2]) == ([], ["details", "summary"])
    assert "Thought for 2.5 s" in page.text
    assert "Hm <b>." in page.text
    assert told.text == told.as_text() == "Yes."


def test_reasoning_without_words_is_not_shown() -> None:
    assert transcript({"type": "reasonStarted", "id": "r"}, outcome="completed").as_markdown() == ""


def test_what_the_server_says_is_quoted_and_no_part_of_the_answer() -> None:
    told = remarks("Overloaded.\nTrying <again>.")
    page = Page(COMMONMARK.render(told.as_markdown()))
    assert page.tags[:1] == ["blockquote"]
    assert page.text.strip("\n….") == "Overloaded.\nTrying <again>"
    assert (told.text, told.remark) == ("", "Overloaded.\nTrying <again>.")


def test_each_remark_stands_alone_and_the_last_one_says_why_a_turn_ended() -> None:
    told = remarks("Trying again.", "Overloaded.")
    assert (told.as_text(), told.remark) == ("Trying again.\n\nOverloaded.", "Overloaded.")


def test_the_users_own_words_are_not_repeated() -> None:
    assert transcript({"type": "text", "text": "hello"}, role="user", outcome="completed").as_markdown() == ""


def test_pieces_of_text_become_one_and_calls_stand_between() -> None:
    told = transcript({"type": "text", "text": "Let "}, {"type": "text", "text": "me."}, run(), called("1"))
    told.add(
        ChatContentReceivedParams.model_validate(
            {"chatId": "c", "role": "assistant", "content": {"type": "text", "text": "Done."}}
        )
    )
    assert told.text == "Let me.\n\nDone."
    assert [line for line in told.as_text().splitlines() if line] == ["Let me.", "[run_code] ✓ done in 1.2 s", "Done."]


def test_an_answer_that_goes_on_says_so_until_it_has_ended() -> None:
    text = {"type": "text", "text": "Hi"}
    assert transcript().as_markdown() == "…"
    assert transcript(text, run()).as_markdown().endswith("…")
    assert transcript(text, run(), called("1"), outcome="completed").as_markdown().endswith("</details>")


def test_long_output_is_cut_where_it_is_shown_but_not_in_the_record() -> None:
    told = transcript(run(), called("y" * (SHOWN_CHARS + 7)))
    assert f"{'y' * SHOWN_CHARS}\n… 7 characters more" in told.as_markdown()
    assert told.calls[0].output == "y" * (SHOWN_CHARS + 7)


@given(NASTY, NASTY)
def test_nothing_a_tool_or_model_says_leaves_its_place(one: str, other: str) -> None:
    told = transcript(
        {"type": "text", "text": one},
        {"type": "reasonStarted", "id": "r"},
        {"type": "reasonText", "id": "r", "text": other},
        {**run({"code": one, "path": other}), "name": other},
        called(other, {"code": one, "path": other}),
        {"type": "text", "text": other},
    )
    assert problems(told.as_markdown(), FOLDS) == {}


@given(NASTY, NASTY)
def test_a_servers_remark_stays_inert(one: str, other: str) -> None:
    assert problems(remarks(one, other).as_markdown()) == {}


def test_output_that_closes_its_block_stays_inside_of_it() -> None:
    output = "```\n</details>\n<script>alert(1)</script>\n"
    blocks = [token.content for token in COMMONMARK.parse(transcript(run(), called(output)).as_markdown())]
    assert f"{output}\n" in blocks


def test_a_link_of_a_tools_is_shown_as_a_remark() -> None:
    told = transcript({"type": "url", "title": "Guide", "url": "https://example.org/guide"})
    assert told.as_markdown() == "> Guide: https://example.org/guide"


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        (
            [{**run(asks=True), "cause": {"kind": "default"}}],
            "Asked: no rule matches it (<code>byDefault</code>: ask)",
        ),
        ([{**run(), "cause": {"kind": "trust"}}, called("2")], "Allowed by trust: nothing else allows it"),
        (
            [{**rejected("user-config"), "cause": {"kind": "rule", "rule": "run_code", "agent": "careful"}}],
            "Forbidden by the rule <code>run&#95;code</code> of the agent <code>careful</code> (",
        ),
    ],
)
def test_a_call_tells_what_decided_that_it_may_run_and_what_is_kept_is_the_same_under_other_rules(
    contents: list[dict[str, Any]], why: str
) -> None:
    assert f"\n\n{why}" in transcript(*contents).as_markdown()
    assert why not in transcript(*contents).as_markdown(final=True)


def test_a_plan_ends_with_the_words_that_carry_it_out() -> None:
    answer: dict[str, Any] = {"type": "text", "text": "1. Set x to 2."}
    end: dict[str, Any] = {"type": "progress", "state": "finished", "plan": True}
    for outcome, told in (("completed", True), ("failed", False)):
        plan = transcript(answer)
        content = {"chatId": "c", "role": "system", "content": end, "outcome": outcome}
        plan.add(ChatContentReceivedParams.model_validate(content))
        assert ("> Nothing was changed yet. `%eca go` carries out the plan" in plan.as_markdown(final=True)) is told
        assert ("`%eca go`" in plan.as_text()) is told
