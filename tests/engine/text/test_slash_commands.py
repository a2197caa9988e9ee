"""The arguments of custom commands, and texts that are made of words."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.engine.text.excerpts import MAX_EXCERPT_CHARS, find_excerpt
from jupyter_eca.engine.text.slash_commands import (
    bind_arguments,
    filter_commands,
    hide_key,
    list_arguments,
    split_words,
)
from jupyter_eca.protocol.command import ChatCommand, CommandArgument


def argument(name: str, description: str | None = None, *, required: bool = False) -> CommandArgument:
    return CommandArgument(name=name, description=description, required=required)


@pytest.mark.parametrize(
    ("template", "declared", "arguments"),
    [
        ("{{a}} {{b}}", None, (argument("a", required=True), argument("b", required=True))),
        ("$2 $1 $2", None, (argument("1"), argument("2"))),
        ("$ARG2 $10", None, (argument("2"), argument("10"))),
        ("Do it", None, ()),
        ("Do $ARGS", None, (argument("args"),)),
        ("Do $ARGS $ARGUMENTS", None, (argument("args"),)),
        ("{{a}}", [{"name": "a", "description": "An a"}], (argument("a", "An a", required=True),)),
        ("{{a}}", [{"name": "a", "required": False}], (argument("a"),)),
        ("{{a}}", [{"name": "b", "description": "A b"}], (argument("a", required=True),)),
        ("$2 $1", [{"name": "x"}], (argument("x", required=True), argument("2"))),
        (
            "$1 $3",
            [{"name": "x"}, {"name": "y"}, {"name": "z"}],
            (argument("x", required=True), argument("z", required=True)),
        ),
        ("Do $ARGS", [{"name": "all", "description": "All"}], (argument("all", "All", required=True),)),
        ("Do $ARGS", [{"name": "x"}, {"name": "y"}], (argument("args"),)),
        ("$1 $ARGS", [{"name": "x"}], (argument("x", required=True), argument("args"))),
        ("{{a}} $1", ["a", {"name": ""}, {"name": 5}], (argument("1"), argument("a", required=True))),
        ("{{a}}", {"name": "a"}, (argument("a", required=True),)),
        ("{{a}}", [{"name": "a", "description": 5}], (argument("a", required=True),)),
    ],
)
def test_the_arguments_of_a_template_are_described_where_its_front_matter_describes_them(
    template: str, declared: Any, arguments: tuple[CommandArgument, ...]
) -> None:
    assert list_arguments(template, declared) == arguments


@pytest.mark.parametrize(
    ("names", "words", "values"),
    [
        (("a", "b"), ("1", "2"), {"a": "1", "b": "2"}),
        (("a", "b"), ("1", "2", "3"), {"a": "1", "b": "2 3"}),
        (("a", "b"), ("1",), {"a": "1"}),
        (("a", "b"), (), {}),
        (("a", "b"), ("b=1", "2", "3"), {"b": "1", "a": "2 3"}),
        (("a", "b", "c"), ("b=x=y", "1", "2", "3"), {"b": "x=y", "a": "1", "c": "2 3"}),
        (("a",), ("c=1", "2"), {"a": "c=1 2"}),
        (("a",), ("a=1", "2"), {"a": "1"}),
        ((), ("1",), {}),
    ],
)
def test_words_go_to_the_named_arguments_and_the_last_one_gets_the_rest(
    names: tuple[str, ...], words: tuple[str, ...], values: dict[str, str]
) -> None:
    assert bind_arguments(names, words) == values


@pytest.mark.parametrize(("text", "words"), [("a 'b c'", ("a", "b c")), ("don't  break", ("don't", "break")), ("", ())])
def test_words_are_split_as_in_a_shell(text: str, words: tuple[str, ...]) -> None:
    assert split_words(text) == words


def test_a_query_is_compared_without_its_slash_and_in_any_case() -> None:
    commands = [ChatCommand(name="b_Go", description=""), ChatCommand(name="x", description="Go on")]
    assert [command.name for command in filter_commands(commands, " /GO ")] == ["b_Go", "x"]
    assert filter_commands(commands, "/go/") == ()


def test_only_a_login_hides_what_follows_it() -> None:
    assert hide_key("/login a b c") == "/login a …"
    assert hide_key("/logins a b") == "/logins a b"


SENTENCE = f"{'a' * 100} needle {'b' * 100}"


@pytest.mark.parametrize(
    ("text", "words", "excerpt"),
    [
        ("x" * MAX_EXCERPT_CHARS, ["x"], "x" * MAX_EXCERPT_CHARS),
        (f"needle {'b' * 200}", ["needle"], f"needle {'b' * (MAX_EXCERPT_CHARS - 7)}…"),
        (f"{'a' * 200} needle", ["needle"], f"…{'a' * (MAX_EXCERPT_CHARS - 7)} needle"),
        (SENTENCE, ["needle"], f"…{SENTENCE[55 : 55 + MAX_EXCERPT_CHARS]}…"),
        (f"needle {'a' * 200} needle", ["needle"], f"needle {'a' * (MAX_EXCERPT_CHARS - 7)}…"),
        (f"needle {'a' * 200} other", ["other", "needle"], f"needle {'a' * (MAX_EXCERPT_CHARS - 7)}…"),
        (f"{'x' * 200}。y", ["x。y"], f"{'x' * MAX_EXCERPT_CHARS}…"),
        (SENTENCE, ["bbb", "needle"], f"…{SENTENCE[55 : 55 + MAX_EXCERPT_CHARS]}…"),
        ("One two.\nTwo  three. Two!", ["two", "three"], "Two three."),
        ("1. First\n> - `x` is **it**", ["it", "x"], "x is it"),
    ],
)
def test_an_excerpt_has_the_first_word_in_its_first_third_and_marks_where_it_is_cut(
    text: str, words: list[str], excerpt: str
) -> None:
    assert find_excerpt(text, words) == excerpt
