"""What a request has: the tools that are offered, and what would be sent now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jupyter_eca.engine.draft import draft_request
from jupyter_eca.engine.inputs import Gathered, NoteAdded
from jupyter_eca.engine.model.context_window import BAR_SQUARES, EMOJI, break_down, draw_window
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.engine.model.request import (
    ChatMessage,
    DocumentPart,
    ImagePart,
    ModelRequest,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolSpec,
    ToolUsePart,
    list_offered,
)
from jupyter_eca.engine.model.texts import (
    TITLE_LENGTH,
    Section,
    describe_fork,
    describe_restored,
    describe_reverted,
    describe_unknown_tool,
    format_context,
    format_notes,
    join_sections,
    make_title,
)
from jupyter_eca.protocol.content import Limit, Origin, ProgressContent, UsageContent
from jupyter_eca.protocol.event import DocumentAside
from tests.engine.talk import TOOLS, Talk, call

OLD = ToolSpec("old", "", {}, replaced_by="look")


def test_a_tool_that_another_one_replaces_is_not_offered() -> None:
    assert list_offered((OLD, *TOOLS)) == TOOLS
    text = describe_unknown_tool("gone", (OLD, *TOOLS))
    assert "look, act, far" in text
    assert "'gone'" in text
    assert "old" not in text
    assert describe_unknown_tool("gone", ()).endswith("none.")


@pytest.mark.parametrize(
    ("written", "own"),
    [
        ({"cell": 1}, {"cells": 1}),
        ({"c": 1}, {"cells": 1}),
        ({"c": 1, "cell": 2}, {"cells": 2, "c": 1}),
        ({"cells": 1, "cell": 2}, {"cells": 1, "cell": 2}),
        ({"path": 1}, {"path": 1}),
    ],
)
def test_an_argument_may_have_another_name(written: dict[str, int], own: dict[str, int]) -> None:
    tool = ToolSpec("run", "", {}, other_names={"cells": ("cell", "c")})
    before = dict(written)
    assert tool.rename_arguments(written) == own
    assert written == before


def test_only_a_tool_of_ours_is_believed_that_it_only_reads() -> None:
    tool = ToolSpec("look", "", {}, read_only_hint=True)
    assert tool.is_read_only
    assert not replace(tool, origin=Origin.MCP).is_read_only
    assert not replace(tool, read_only_hint=False).is_read_only


# --- a draft ----------------------------------------------------------------------------------------------------------

PICTURE, DOCUMENT = ImagePart("image/png", "AAAA"), DocumentPart("a.pdf", "UERG")


def test_a_draft_is_the_request_that_the_message_would_send() -> None:
    talk = Talk().asks().says("Hello.").done()
    setup = replace(talk.state.setup, system="Be brief.", tools=(OLD, *TOOLS), variant="high", compact_at=1)
    context = format_context("a.py", "x = 1")
    request = draft_request(talk.state, setup, "And?", context, (PICTURE,), (DOCUMENT,))
    assert (request.model, request.system, request.tools, request.variant) == (setup.model, "Be brief.", TOOLS, "high")
    assert request.messages[:-1] == talk.state.history
    assert set(request.messages[-1].parts) == {TextPart(f"And?{context}"), PICTURE, DOCUMENT}
    talk.begins("And?").gathers(context)
    assert draft_request(Talk().asks().says("Hello.").done().state, talk.state.setup, "And?", context).messages == (
        talk.asked()
    )


def test_without_a_message_a_draft_has_what_the_model_knows_so_far() -> None:
    talk = Talk().asks().says("Hello.").done()
    setup = replace(talk.state.setup, tools=(OLD, *TOOLS), variant="high")
    request = draft_request(talk.state, setup)
    assert (request.model, request.system, request.messages) == (setup.model, setup.system, talk.state.history)
    assert (request.tools, request.variant) == (TOOLS, "high")
    talk.feed(NoteAdded(0, "ended", "(ended)"))
    (*before, note) = draft_request(talk.state, setup).messages
    assert (tuple(before), note.role, note.text) == (talk.state.history, "user", "\n\n(ended)")


def test_no_summary_is_made_for_a_draft_however_full_the_window_is() -> None:
    talk = Talk().asks("x" * 3_000).says("Yes.", UsageDelta(990, 0, context_limit=1_000)).done()
    assert talk.state.is_summary_due
    assert draft_request(talk.state, talk.state.setup, "And?").messages[-1].text == "And?"


def test_a_document_is_shown_by_its_name() -> None:
    talk = Talk().begins()
    talk.feed(Gathered(talk.now, documents=(DOCUMENT,)))
    (shown,) = [event.content for event in talk.events if isinstance(event.aside, DocumentAside)]
    assert isinstance(shown, ProgressContent)
    assert "a.pdf" in (shown.text or "")


def test_a_turn_under_way_is_drafted_as_if_it_had_ended() -> None:
    for talk in (Talk().asks().says("Hel"), Talk().asks().calls(call("act")), Talk().begins()):
        before = talk.state
        assert draft_request(talk.state, talk.state.setup, "And?").messages[-1].text.endswith("And?")
        assert talk.state is before


# --- what fills the window --------------------------------------------------------------------------------------------


def count(*messages: ChatMessage, system: str = "", tools: tuple[ToolSpec, ...] = ()) -> dict[str, int]:
    found = break_down(ModelRequest("m", system, messages, tools))
    assert [category.name for category in found.categories] == list(EMOJI)
    assert found.used_tokens == sum(category.tokens for category in found.categories)
    return {category.name: category.tokens for category in found.categories if category.tokens}


def test_each_kind_of_part_is_counted_once_and_a_picture_not_at_all() -> None:
    context = format_context("a.py", "x" * 40)
    asked = ChatMessage("user", (TextPart(f"{'y' * 8}{context}"), PICTURE, DOCUMENT))
    assert count(asked) == {"Files": -(-len(context) // 4), "Messages": 2}
    parts = (TextPart(context), ReasoningPart("r", "z" * 4), ToolUsePart("1", "abcd", {"a": 1}))
    assert count(ChatMessage("assistant", parts)) == {"Messages": -(-(len(context) + 4 + 4 + 8) // 4)}
    assert count(ChatMessage("user", (ToolResultPart("1", "x" * 5),))) == {"Tool results": 2}
    assert count(system="x" * 9) == {"System prompt": 3}
    assert count(tools=(ToolSpec("abcd", "e" * 4, {"type": 1}),)) == {"Tools": 5}
    assert count() == {}
    twice = ChatMessage("user", (TextPart(f"{context}{context}"),))
    assert count(twice) == {"Files": -(-2 * len(context) // 4)}
    drawn = break_down(ModelRequest("m", "", ())).categories
    assert len({category.color for category in drawn} - {None}) == len({category.emoji for category in drawn}) == 5


def usage(tokens: int, limit: int | None) -> UsageContent:
    bounds = None if limit is None else Limit(context=limit, output=1)
    return UsageContent(session_tokens=tokens, message_input_tokens=1, message_output_tokens=1, limit=bounds)


def test_what_is_free_is_what_the_window_has_left_and_never_less_than_nothing() -> None:
    request = ModelRequest("m", "x" * 4, (ChatMessage("user", (TextPart("y" * 8),)),))
    for tokens, limit, free in ((30, 100, 70), (130, 100, 0), (30, None, None)):
        found = break_down(request, usage(tokens, limit))
        assert (found.used_tokens, found.free_tokens, found.context_limit) == (tokens, free, limit)
    thirds = break_down(request, usage(10, None)).categories
    assert {category.name: category.tokens for category in thirds if category.tokens} == {
        "System prompt": 3,
        "Messages": 7,
    }
    assert break_down(request, usage(0, 50)).used_tokens == 3
    assert break_down(ModelRequest("m", "", ()), usage(10, 50)).used_tokens == 10


def test_the_bar_and_the_table_have_the_shares_of_the_window() -> None:
    request = ModelRequest("m", "x" * 4, (ChatMessage("user", (TextPart("y" * 12),)),))
    sections = (Section("AGENTS.md", "a" * 3), Section("skills", "b"))
    lines = draw_window(break_down(request, usage(2_000, 8_000)), sections).splitlines()
    assert lines[0] == "About 2,000 of 8,000 tokens are used."
    assert lines[1:4] == ["", f"🟦{'🟩' * 4}{'⬜' * 15}", ""]
    thirds = break_down(ModelRequest("m", "x" * 4, ()), usage(1, 3))
    assert draw_window(thirds).splitlines()[2] == f"{'🟦' * 6}{'⬜' * 14}"
    assert lines[4:6] == ["| | | tokens | share |", "|---|---|---:|---:|"]
    assert lines[6:9] == [
        "| 🟦 | System prompt | 500 | 6% |",
        "| ↳ | AGENTS.md | 375 | 5% |",
        "| ↳ | skills | 125 | 2% |",
    ]
    assert lines[9:] == [
        "| 🟪 | Tools | 0 | 0% |",
        "| 🟨 | Files | 0 | 0% |",
        "| 🟩 | Messages | 1,500 | 19% |",
        "| 🟧 | Tool results | 0 | 0% |",
        "| ⬜ | Free | 6,000 | 75% |",
    ]
    unknown = draw_window(break_down(request, usage(2_000, None))).splitlines()
    assert unknown[0] == "About 2,000 tokens are used."
    assert (len(unknown[2]), "Free" in unknown[-1]) == (BAR_SQUARES, False)
    full = draw_window(break_down(request, usage(9_000, 3_000))).splitlines()
    assert len(full[2]) == BAR_SQUARES
    assert draw_window(break_down(ModelRequest("m", "", ())), (Section("a", ""),)).splitlines()[2] == ""


# --- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Hi", "Hi"),
        ("\n  Load the data \nthen", "Load the data"),
        ("", "New chat"),
        (" \n ", "New chat"),
        ("x" * TITLE_LENGTH, "x" * TITLE_LENGTH),
        (f"{'x' * (TITLE_LENGTH - 2)} yz", f"{'x' * (TITLE_LENGTH - 2)}…"),
        ("x" * (TITLE_LENGTH + 1), f"{'x' * (TITLE_LENGTH - 1)}…"),
        ("/notebook load the data", "load the data"),
        ("/notebook load data", "load data"),
        ("/notebook load", "/notebook load"),
        ("/notebook", "/notebook"),
    ],
)
def test_the_first_line_is_the_title_and_of_a_command_with_a_description_the_description(
    message: str, title: str
) -> None:
    assert make_title(message) == title


def test_sections_and_notes_are_put_together() -> None:
    assert join_sections([Section("a", "x"), Section("b", "y")]) == "x\n\ny"
    assert (format_notes(["a", "b"]), format_notes([])) == ("\n\na\nb", "")
    assert format_context("a.py", "x") == '\n\n<context name="a.py">\nx\n</context>'


def test_what_came_back_and_what_did_not_is_named() -> None:
    text = describe_restored(["a.py", "b.py"], [("c.py", "it is gone")], ["shell", "far"], {"b.py"})
    lines = text.splitlines()
    assert [name in line for name, line in zip(("a.py", "b.py", "c.py", "shell, far"), lines, strict=True)] == [
        True
    ] * 4
    assert "(it is gone)" in lines[2]
    assert lines[0].split(":")[0] != lines[1].split(":")[0]
    assert describe_restored([], []) == ""
    kept, gone = describe_restored(["a.py"], []), describe_restored(["a.py"], [], (), {"a.py"})
    assert len(kept) < len(gone)  # it says why the file is gone
    assert describe_restored(["a.py", "a.py"], []) == f"{kept}\n{kept}"
    assert "a.py, b.py" in describe_reverted(["a.py", "b.py"])
    assert "“B”" in describe_fork("B")
