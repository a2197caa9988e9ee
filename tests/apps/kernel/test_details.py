"""What a tool call would do, or did, as a reader of the cell sees it."""

from __future__ import annotations

import base64
import html
from typing import Any

import pytest
from hypothesis import given

from jupyter_eca.apps.kernel.answer.pictures import MAX_BASE64, MAX_PICTURES, as_bundles
from jupyter_eca.apps.kernel.answer.screen import TerminalScreen
from jupyter_eca.apps.kernel.answer.terminal_approval import ask_decision
from jupyter_eca.apps.kernel.answer.tool_details import SHOWN_LINES
from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.protocol.chat import ChatContentReceivedParams
from tests.apps.kernel.markdown_judges import COMMONMARK, NASTY, Page, problems
from tests.apps.kernel.test_transcript import FOLDS, called, run, transcript

DIFF = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
CHANGE: dict[str, Any] = {"type": "fileChange", "path": "a.py", "diff": DIFF, "linesAdded": 1, "linesRemoved": 1}
LONG_DIFF = DIFF + "\n".join(f" line {n}" for n in range(2 * SHOWN_LINES))
WRITE = {"path": "a.py", "content": "x = 2\n"}
SHELL: dict[str, Any] = {"type": "shellCommand", "commands": [{"command": "rm", "args": ["-r", "a b"]}]}
PIXEL = base64.b64encode(b"a pixel").decode()


def answer_with(monkeypatch: pytest.MonkeyPatch, answer: str) -> list[str]:
    """Type the answer to every question. The questions are in the list that is returned."""
    asked: list[str] = []

    def read(prompt: str) -> str:
        asked.append(prompt)
        return answer

    monkeypatch.setattr("builtins.input", read)
    return asked


def plan(*statuses: str) -> dict[str, Any]:
    tasks = [{"id": str(n), "subject": f"Step {n}", "status": status} for n, status in enumerate(statuses, 1)]
    summary = {"done": 0, "inProgress": 0, "pending": 0, "total": len(tasks)}
    return {"type": "task", "tasks": tasks, "summary": summary}


def image(data: str = PIXEL, media: str = "image/png") -> dict[str, Any]:
    return {"type": "image", "mediaType": media, "base64": data}


def test_a_change_that_waits_is_shown_as_a_diff_and_not_as_the_arguments_that_say_the_same() -> None:
    markdown = transcript({**run(WRITE, asks=True), "details": CHANGE}).as_markdown()
    assert "<code>a&#46;py</code> +1 −1 … waits" in markdown  # noqa: RUF001  # a minus sign
    assert f"```diff\n{DIFF}```" in markdown
    assert markdown.startswith("<details><summary>")
    assert problems(markdown, FOLDS) == {}
    assert "json" not in markdown


def test_a_change_that_was_made_is_folded_and_knows_its_diff_from_before() -> None:
    markdown = transcript({**run(WRITE), "details": CHANGE}, called("Created a.py", WRITE)).as_markdown()
    assert markdown.startswith("<details><summary>")
    assert "-x = 1\n+x = 2" in markdown
    assert problems(markdown, FOLDS) == {}


def test_a_long_diff_is_cut_at_a_line() -> None:
    diff = "".join(f"+line {n}\n" for n in range(SHOWN_LINES + 5))
    markdown = transcript({**run(WRITE, asks=True), "details": {**CHANGE, "diff": diff}}).as_markdown()
    assert f"+line {SHOWN_LINES - 1}\n… 5 lines more\n```" in markdown


def test_a_command_is_shown_as_it_was_written_with_its_other_arguments() -> None:
    arguments = {"command": "rm -r 'a b' # gone", "timeout": 5}
    markdown = transcript({**run(arguments, asks=True), "details": {**SHELL, "background": True}}).as_markdown()
    assert "```sh\nrm -r 'a b' # gone\n# in the background\n```" in markdown
    assert '```json\n{\n "timeout": 5\n}\n```' in markdown


def test_a_command_of_another_servers_tool_is_put_together() -> None:
    assert "```sh\nrm -r 'a b'\n```" in transcript({**run({"line": 1}, asks=True), "details": SHELL}).as_markdown()


@pytest.mark.parametrize(
    ("arguments", "details", "words"),
    [
        (WRITE, CHANGE, "a.py (+1 -1)\n" + DIFF.rstrip()),
        ({"command": "rm -r x"}, SHELL, "rm -r x"),
        ({"code": "x = 1"}, None, "x = 1"),
        ({"path": "ä"}, None, '{\n "path": "ä"\n}'),
        ({"command": "other"}, {**SHELL, "line": "curl x | sh  > y"}, "curl x | sh  > y"),
        ({"command": "echo \x1b[8m; rm x\r\u202e"}, SHELL, r"echo \u001b[8m; rm x\u000d\u202e"),
        ({"code": "x = 1", "path": "b.ipynb"}, None, 'x = 1\n{\n "path": "b.ipynb"\n}'),
        ({"command": "ls", "timeout": 5}, SHELL, 'ls\n{\n "timeout": 5\n}'),
        ({"command": "ls\n\n\n\n\n\n\nrm x"}, SHELL, "ls\n... 6 empty lines ...\nrm x"),
        (WRITE, {**CHANGE, "diff": LONG_DIFF}, f"a.py (+1 -1)\n{LONG_DIFF}"),
    ],
)
def test_who_types_reads_what_would_happen_before_the_question(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], details: dict[str, Any] | None, words: str
) -> None:
    asked = answer_with(monkeypatch, "y")
    (call,) = transcript({**run(arguments, asks=True), "details": details}).undecided_calls
    assert ask_decision(call).approved
    assert asked[0].startswith(f"\nrun_code wants to run:\n{words}\nRun it? ")


@pytest.mark.parametrize(
    ("remembers", "hint"),
    [
        (["git status"], "[y]es, yes for this [s]ession (git status), [n]o"),
        (["ls \x1b[8m\u202ex"], r"[y]es, yes for this [s]ession (ls \u001b[8m\u202ex), [n]o"),
    ],
)
def test_who_types_reads_what_an_approval_for_the_session_means(
    monkeypatch: pytest.MonkeyPatch, remembers: list[str], hint: str
) -> None:
    asked = answer_with(monkeypatch, "s")
    (call,) = transcript({**run(asks=True), "remembers": remembers}).undecided_calls
    decision = ask_decision(call)
    assert hint in asked[0]
    assert (decision.approved, decision.session) == (True, True)


@pytest.mark.parametrize("answer", ["s", "session"])
def test_an_approval_for_the_session_that_is_not_offered_approves_nothing(
    monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    asked = answer_with(monkeypatch, answer)
    (call,) = transcript(run(asks=True)).undecided_calls
    assert not ask_decision(call).approved
    assert "[y]es, [n]o" in asked[0]


def test_the_name_of_a_tool_cannot_look_like_lines_of_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer_with(monkeypatch, "n")
    (call,) = transcript({**run({}, asks=True), "name": "ls\x1b[8m wants to run:\nls"}).undecided_calls
    ask_decision(call)
    assert asked[0].startswith("\nls\\u001b[8m wants to run: ls wants to run:\n")


def test_a_terminal_obeys_nothing_of_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    TerminalScreen().draw(transcript({"type": "text", "text": "Hello \x1b[8m\x1b]52;c;eA==\x07 you"}))
    assert capsys.readouterr().out == "Hello [8m]52;c;eA== you"


def test_a_cell_names_what_a_command_hides() -> None:
    shell = {**run({"command": "ls \u202e\u200bx"}, asks=True), "name": "shell\u202e", "details": SHELL}
    markdown = transcript(shell).as_markdown()
    assert "```sh\nls \\u202e\\u200bx\n```" in markdown
    assert "\u202e" not in markdown


def test_structured_results_are_folded_inside_of_the_call() -> None:
    jsons = {"type": "jsonOutputs", "jsons": ['{"rows": [1, 2]}', "no JSON"]}
    markdown = transcript(run(), {**called("text"), "details": jsons}, outcome="completed").as_markdown()
    assert "<details><summary>JSON</summary>\n\n```json\n{\n" in markdown
    assert "no JSON" in markdown
    assert Page(COMMONMARK.render(markdown), FOLDS).tags.count("details") == 2


def test_the_plan_is_one_checklist_at_the_end_however_often_it_was_changed() -> None:
    first = {**called("1"), "details": plan("pending", "pending")}
    second = {**called("2"), "id": "2", "details": plan("done", "in-progress", "pending")}
    told = transcript(first, second, {"type": "text", "text": "On it."}, outcome="completed")
    assert told.as_markdown().endswith("On it.\n\n- [x] Step 1\n- [ ] **Step 2**\n- [ ] Step 3")
    assert told.as_markdown().count("Step 1") == 1
    assert told.as_text().endswith("[x] Step 1\n[>] Step 2\n[ ] Step 3")


def test_a_subagent_says_who_it_is_and_how_far() -> None:
    details = {"type": "subagent", "agentName": "explorer", "step": 3, "maxSteps": 9}
    assert "<code>explorer</code> step 3 of 9 …" in transcript({**run(), "details": details}).as_markdown()


def test_a_flag_is_a_line_of_its_own() -> None:
    told = transcript({"type": "flag", "text": "here\n# it is", "contentId": "1"}, outcome="completed")
    assert told.as_markdown() == "⚑ here # it is"


def test_a_picture_of_a_tool_is_displayed_and_one_of_the_users_is_not() -> None:
    told = transcript(image(), outcome="completed")
    assert list(as_bundles(told.pictures)) == [{"image/png": PIXEL, "text/plain": "[image/png]"}]
    assert told.as_text() == "[image/png, 0.0 kB]"
    mine = CellTranscript()
    mine.add(ChatContentReceivedParams.model_validate({"chatId": "c", "role": "user", "content": image()}))
    assert mine.pictures == []


@pytest.mark.parametrize(
    "bad",
    [
        image('"><script>'),
        image(""),
        image(media="image/svg+xml"),
        image(media="text/html"),
        image("A" * MAX_BASE64 * 2),
    ],
    ids=["no base64", "empty", "svg", "html", "huge"],
)
def test_a_picture_that_could_do_harm_is_only_named(bad: dict[str, Any]) -> None:
    assert list(as_bundles(transcript(bad).pictures)) == []


def test_there_is_an_end_to_many_pictures() -> None:
    assert len(list(as_bundles(transcript(*[image()] * 9).pictures))) == MAX_PICTURES


def test_a_commands_answer_is_shown_as_it_is_formatted_and_is_the_answer() -> None:
    told = CellTranscript("costs")
    table = {"type": "text", "text": "| a | b |\n|---|---|\n| 1 | 2 |"}
    told.add(ChatContentReceivedParams.model_validate({"chatId": "c", "role": "system", "content": table}))
    assert told.as_markdown() == told.text == table["text"]


def test_a_long_answer_of_a_command_is_folded_behind_its_first_paragraph() -> None:
    told = CellTranscript("config")
    text = "It holds:\n\n" + "- one\n" * SHOWN_LINES
    content = {"type": "text", "text": text}
    told.add(ChatContentReceivedParams.model_validate({"chatId": "c", "role": "system", "content": content}))
    assert told.as_markdown().startswith("It holds:\n\n<details><summary><code>&#47;config</code></summary>\n\n- one\n")


@given(NASTY, NASTY)
def test_nothing_in_details_leaves_its_place(one: str, other: str) -> None:
    change = {**CHANGE, "path": one, "diff": other}
    tasks = plan("pending", "in-progress")
    tasks["tasks"][0]["subject"], tasks["tasks"][1]["subject"] = one, other
    agent = {"type": "subagent", "agentName": one, "step": 1}
    told = transcript(
        {**run({"path": one}, asks=True), "details": change},
        {**run({"command": other}), "id": "2", "details": {**SHELL, "commands": [{"command": one}]}},
        {**called(one), "id": "3", "details": {"type": "jsonOutputs", "jsons": [one, other]}},
        {**called(one), "id": "4", "details": tasks},
        {**run(), "id": "5", "details": agent},
        {"type": "flag", "text": other, "contentId": "1"},
        image(other, one),
        outcome="completed",
    )
    assert problems(told.as_markdown(), FOLDS) == {}


@given(NASTY)
def test_a_long_answer_of_a_command_stays_inert(text: str) -> None:
    told = CellTranscript("x")
    content = {"type": "text", "text": text + "\n\n" + "- one\n" * SHOWN_LINES + text}
    told.add(ChatContentReceivedParams.model_validate({"chatId": "c", "role": "system", "content": content}))
    assert problems(told.as_markdown(), FOLDS) == {}


def test_the_line_of_a_command_that_waits_says_which_command_it_is() -> None:
    line = f"rm -rf precious\necho {'x' * 200}"
    call = {**run({"command": line}, asks=True), "details": {**SHELL, "line": line}}
    head = html.unescape(transcript(call).as_markdown().split("</summary>")[0])
    assert "<code>rm -rf precious ⏎ echo xxx" in head
    assert "x…</code> … waits for your approval" in head
