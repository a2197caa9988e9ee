"""A subagent in a cell: under the call that spawned it, and its questions in plain sight."""

from __future__ import annotations

from typing import Any

from jupyter_eca.apps.kernel.answer.transcript import CellTranscript
from jupyter_eca.protocol.chat import ChatContentReceivedParams
from tests.apps.kernel.markdown_judges import problems

DETAILS: dict[str, Any] = {"type": "subagent", "agentName": "explorer", "step": 1, "subagentChatId": "subagent-1"}
SPAWN: dict[str, Any] = {"id": "1", "name": "spawn_agent", "server": "eca", "details": DETAILS}
# Of another chat, and of the same id.
GREP: dict[str, Any] = {"id": "1", "name": "grep", "server": "eca"}
END: dict[str, Any] = {"type": "progress", "state": "finished"}


def told(*contents: tuple[str, dict[str, Any]]) -> CellTranscript:
    """Each with the chat it is of."""
    transcript = CellTranscript()
    for chat, content in contents:
        within = {"parentChatId": "c"} if chat != "c" else {}
        more = {"outcome": "completed"} if content is END else {}
        params = {"chatId": chat, "role": "assistant", "content": content, **within, **more}
        transcript.add(ChatContentReceivedParams.model_validate(params))
    return transcript


def running(of: dict[str, Any] = SPAWN) -> dict[str, Any]:
    return {"type": "toolCallRunning", "arguments": {}, **of}


def run(of: dict[str, Any] = GREP, *, asks: bool) -> dict[str, Any]:
    return {"type": "toolCallRun", "arguments": {"pattern": "x"}, "manualApproval": asks, **of}


def called(of: dict[str, Any], text: str) -> dict[str, Any]:
    outputs = [{"type": "text", "text": text}]
    return {"type": "toolCalled", "arguments": {}, "error": False, "outputs": outputs, "totalTimeMs": 200, **of}


def test_what_a_subagent_calls_is_folded_under_its_call() -> None:
    words = {"type": "text", "text": "I look."}
    shown = told(("c", running()), ("subagent-1", words), ("subagent-1", running(GREP)))
    markdown = shown.as_markdown()
    assert markdown.startswith("<details><summary><code>spawn&#95;agent</code> <code>explorer</code> step 1 ▸ running")
    assert "- <code>grep</code> ▸ running" in markdown
    assert shown.text == ""
    assert problems(markdown, ("details", "summary")) == {}


def test_a_question_of_a_subagent_is_not_folded_away_and_names_its_chat() -> None:
    shown = told(("c", running()), ("subagent-1", run(asks=True)))
    (call,) = shown.undecided_calls
    assert (call.chat, call.id, call.key) == ("subagent-1", "1", "subagent-1-1")
    _, _, behind = shown.as_markdown().partition("</details>")
    assert "<code>grep</code> … waits for your approval" in behind


def test_the_end_of_a_subagent_is_not_the_end_of_the_answer() -> None:
    shown = told(("c", running()), ("subagent-1", END))
    assert shown.outcome is None
    ended = told(("c", running()), ("subagent-1", END), ("c", called(SPAWN, "Found.")), ("c", END))
    assert str(ended.outcome) == "completed"
    assert "Found." in ended.as_markdown(final=True)


def test_a_picture_that_a_subagents_code_shows_on_the_page_is_not_shown_again_by_the_result_of_the_subagent() -> None:
    ran = called({"id": "1", "name": "run_code", "server": "eca"}, "[picture 1]") | {"arguments": {"code": "plot()"}}
    picture = {"type": "image", "mediaType": "image/png", "base64": "AAAA"}
    shown = told(
        ("c", running()), ("subagent-1", ran), ("subagent-1", picture), ("c", called(SPAWN, "Found.")), ("c", picture)
    )
    assert [image.base64 for image in shown.pictures] == ["AAAA"]
    shown.shown_code = {"plot()"}
    assert shown.pictures == []
