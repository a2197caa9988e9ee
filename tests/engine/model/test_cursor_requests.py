"""What a model reads of the text around a cursor or of a selection."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.model.cursor_requests import (
    AFTER_CHARS,
    BEFORE_CHARS,
    TextSelection,
    build_completion_request,
    build_rewrite_request,
    describe_place,
    extract_insertion,
    extract_replacement,
    remove_fence,
    split_at,
)


@pytest.mark.parametrize(
    ("path", "lines", "place"),
    [("a.py", (0, 2), "a.py, lines 1 to 3"), ("a.py", None, "a.py"), (None, (0, 2), ""), (None, None, "")],
)
def test_a_place_is_a_file_with_its_lines_counted_from_one(
    path: str | None, lines: tuple[int, int] | None, place: str
) -> None:
    assert describe_place(path, lines) == place


def test_a_rewrite_is_asked_for_with_the_selection_its_place_and_the_instruction() -> None:
    request = build_rewrite_request("acme/llm", TextSelection("x = 1", "Name it.", "a.py, lines 1 to 1"))
    (message,) = request.messages
    assert (request.model, message.role, request.tools) == ("acme/llm", "user", ())
    assert message.text == ("From: a.py, lines 1 to 1\n\n<selection>\nx = 1\n</selection>\n\nInstruction: Name it.")
    assert build_rewrite_request("m", TextSelection("x", "y")).messages[0].text.startswith("<selection>\nx\n")
    assert request.system
    assert request.system != build_completion_request("m", "", "").system


def test_a_completion_is_asked_for_with_the_text_next_to_the_cursor() -> None:
    before, after = f"a{'b' * BEFORE_CHARS}", f"{'c' * AFTER_CHARS}d"
    request = build_completion_request("acme/llm", before, after)
    assert request.model == "acme/llm"
    assert request.system
    assert request.messages[0].text == f"<before>{before[1:]}</before>\n<after>{after[:-1]}</after>"


@pytest.mark.parametrize(
    ("original", "answer", "text"),
    [
        ("x", "```\ny\n```", "y"),
        ("x\n", "```\ny\n```", "y\n"),
        ("x\n", "y\n", "y\n"),
        ("x", "y\n", "y\n"),
        (" ```\nx\n```", "```\ny\n```", "```\ny\n```"),
    ],
)
def test_a_rewrite_loses_the_fence_that_only_the_model_put_around_it(original: str, answer: str, text: str) -> None:
    assert extract_replacement(original, answer) == text


@pytest.mark.parametrize(
    ("line", "character", "before"),
    [
        (0, 0, ""),
        (0, 2, "ab"),
        (0, 9, "ab"),
        (1, 0, "ab\n"),
        (1, 1, "ab\nc"),
        (-1, 1, "a"),
        (2, 0, "ab\ncd"),
        (0, -1, ""),
    ],
)
def test_a_position_outside_of_the_text_is_the_nearest_one_inside(line: int, character: int, before: str) -> None:
    assert split_at("ab\ncd", line, character) == (before, "ab\ncd"[len(before) :])


def test_lines_are_divided_at_their_ends_and_not_at_blanks() -> None:
    assert split_at("a b\ncd", 1, 1) == ("a b\nc", "d")


def test_a_completion_does_not_repeat_the_last_of_several_lines() -> None:
    assert extract_insertion("a\nb\npri", "print(1)") == "nt(1)"


@pytest.mark.parametrize(
    "text", ["```\n```x\na\n```", "```\na\n```x\nb\n```", "```\na\n```x\n```", "```\na\nb", "```\na\n````"]
)
def test_a_text_with_other_fences_than_one_around_it_stays_as_it_is(text: str) -> None:
    assert remove_fence(text) == text
