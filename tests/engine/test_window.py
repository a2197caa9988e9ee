"""What fills the window, from a request."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.model.context_window import BAR_SQUARES, break_down, draw_window
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart, ToolResultPart, ToolSpec, ToolUsePart
from jupyter_eca.engine.model.texts import format_context
from jupyter_eca.protocol.content import Limit, UsageContent

ASKED = "word" * 10 + format_context("a.py", "file" * 20)
REQUEST = ModelRequest(
    "a/b",
    "s" * 40,
    (
        ChatMessage("user", (TextPart(ASKED),)),
        ChatMessage("assistant", (TextPart("word" * 10), ToolUsePart("1", "grep", {}))),
        ChatMessage("user", (ToolResultPart("1", "r" * 80),)),
    ),
    (ToolSpec("grep", "t" * 100, {}),),
)


def usage(tokens: int, limit: int) -> UsageContent:
    return UsageContent(
        session_tokens=tokens,
        message_input_tokens=0,
        message_output_tokens=0,
        limit=Limit(context=limit, output=0) if limit else None,
    )


def test_every_part_of_a_request_is_counted_where_it_belongs() -> None:
    tokens = {one.name: one.tokens for one in break_down(REQUEST).categories}
    files = len(format_context("a.py", "file" * 20))
    assert tokens == {
        "System prompt": 10,
        "Tools": -(-(100 + len("grep{}")) // 4),
        "Files": -(-files // 4),
        "Messages": -(-(80 + len("grep{}")) // 4),
        "Tool results": 20,
    }


def test_what_the_vendor_counted_is_the_sum() -> None:
    parts = break_down(REQUEST, usage(1_000, 4_000))
    assert (parts.used_tokens, parts.free_tokens, parts.context_limit) == (1_000, 3_000, 4_000)
    assert sum(one.tokens for one in parts.categories) == 1_000
    text = draw_window(parts)
    assert text.startswith("About 1,000 of 4,000 tokens are used.")
    assert "| Free | 3,000 | 75% |" in text
    assert text.splitlines()[2].count("⬜") == BAR_SQUARES * 3 // 4


@given(st.integers(0, 10**7), st.integers(0, 10**6), st.text(), st.text())
def test_no_numbers_break_the_picture(tokens: int, limit: int, system: str, asked: str) -> None:
    request = ModelRequest("a/b", system, (ChatMessage("user", (TextPart(asked),)),))
    parts = break_down(request, usage(tokens, limit))
    assert len(draw_window(parts).splitlines()[2]) <= BAR_SQUARES
    assert sum(one.tokens for one in parts.categories) in {parts.used_tokens, 0}
