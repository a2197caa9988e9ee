"""The title of a chat in the answer of a model."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.model.chat_title import build_title_request, read_title
from jupyter_eca.engine.model.request import ChatMessage, TextPart, ToolUsePart


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Merge loses rows", "Merge loses rows"),
        ('\n## "Merge loses rows."\nAnd more', "Merge loses rows"),
        ("**合并丢失行**", "合并丢失行"),
        ("نمی\u200cشود", "نمی\u200cشود"),
        ("safe\u202egpj.exe", "safegpj.exe"),
        ("red\x1b[31m \x07 bell", "red [31m bell"),
        ("…", ""),
        ("word " * 30, ""),
    ],
)
def test_a_title_is_one_line_of_plain_text(written: str, title: str) -> None:
    assert read_title(written) == title


def message(role: str, text: str) -> ChatMessage:
    return ChatMessage(role, (TextPart(text),) if text else (ToolUsePart("1", "look", {}),))


def test_a_title_is_asked_for_with_the_beginnings_of_the_first_message_and_of_the_last_answer() -> None:
    history = (
        message("user", f"Why?{'q' * 2_000}"),
        message("assistant", "I look."),
        message("user", "More?"),
        message("assistant", f"So.{'a' * 2_000}"),
        message("assistant", ""),
    )
    request = build_title_request("acme/llm", "", history)
    (asked,) = request.messages
    assert (request.model, asked.role) == ("acme/llm", "user")
    assert asked.text == f"<message>\nWhy?{'q' * 1_196}\n</message>\n\n<answer>\nSo.{'a' * 797}\n</answer>"
    assert request.system
    assert build_title_request("acme/llm", "In French.", history).system == "In French."
    assert build_title_request("m", "", ()).messages[0].text == "<message>\n\n</message>\n\n<answer>\n\n</answer>"


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("x" * 80, "x" * 80),
        ("x" * 81, ""),
        ("“Loses rows”.", "Loses rows"),
        ("`df.merge`: why...", "df.merge`: why.."),
        ("###  Rows", "Rows"),
        ("#rows", "#rows"),
        ("a\tb\u00adc\ud800\ue000d", "a bcd"),
        ("", ""),
    ],
)
def test_a_title_has_no_marks_around_it_and_nothing_invisible_in_it(written: str, title: str) -> None:
    assert read_title(written) == title
