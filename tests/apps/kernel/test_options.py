"""The parser of what stands after `%eca` and `%%eca`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.apps.kernel.options import COMMANDS, HELP, CellQuestion, LineCommand, Misuse, parse


@pytest.mark.parametrize(
    ("line", "body", "expected"),
    [
        ("what is x?", None, CellQuestion("what is x?")),
        ("", "what is x?\nand y?\n", CellQuestion("what is x?\nand y?")),
        ("briefly:", "\nwhat is x?\n", CellQuestion("briefly:\nwhat is x?")),
        ("", "  indented\n\n    more\n", CellQuestion("  indented\n\n    more")),
        ("-m scripted/t hello", None, CellQuestion("hello", model="scripted/t")),
        ("-b plan hello", None, CellQuestion("hello", agent="plan")),
        ("-b mine hello", None, CellQuestion("hello", agent="mine")),
        ("-v high hello", None, CellQuestion("hello", variant="high")),
        ("-n hello", None, CellQuestion("hello", new=True)),
        ("-n  -b agent  -m a/b  hello  you -> x", None, CellQuestion("hello  you", "a/b", "agent", True, "x")),
        ("-m a/b -> x", "hello", CellQuestion("hello", "a/b", name="x")),
        ("hello -n", None, CellQuestion("hello -n")),
        ("hello ->answer", None, CellQuestion("hello", name="answer")),
        ("what does def f() -> int: mean?", None, CellQuestion("what does def f() -> int: mean?")),
        ("is x->y valid C?", None, CellQuestion("is x->y valid C?")),
        ("", "what is\nf() -> x", CellQuestion("what is\nf() -> x")),
    ],
)
def test_a_question_is_taken_apart(line: str, body: str | None, expected: CellQuestion) -> None:
    assert parse(line, body) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", LineCommand("help")),
        ("  ", LineCommand("help")),
        ("help", LineCommand("help")),
        ("status", LineCommand("status")),
        (" models ", LineCommand("models")),
        ("use", LineCommand("use")),
        ("use scripted/t", LineCommand("use", "scripted/t")),
        ("new", LineCommand("new")),
        ("stop", LineCommand("stop")),
        ("cost", LineCommand("cost")),
        ("doctor", LineCommand("doctor")),
    ],
)
def test_one_word_of_the_list_is_a_command(line: str, expected: LineCommand) -> None:
    assert parse(line) == expected


@pytest.mark.parametrize(
    "line", ["help me with pandas", "use the force", "models?", "new ideas", "stop that", "Status", "cost of this"]
)
def test_more_words_than_a_command_takes_are_a_question(line: str) -> None:
    assert parse(line) == CellQuestion(line)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("docter", "doctor"), ("hlp", "help"), ("modles", "models"), ("model", "models"), ("dif", "diff")],
)
def test_a_mistyped_command_is_not_sent_to_the_model(word: str, meant: str) -> None:
    parsed = parse(word)
    assert isinstance(parsed, Misuse)
    assert f"Did you mean `%eca {meant}`?" in parsed.message
    assert parse("", word) == CellQuestion(word)


@pytest.mark.parametrize("word", ["hello", "why", "continue", "look", "models?", "summary", "docter please"])
def test_a_word_that_is_like_no_command_is_a_question(word: str) -> None:
    assert parse(word) == CellQuestion(word)


def test_go_is_the_command_of_the_chat_which_says_so_where_there_is_no_plan() -> None:
    assert parse("go") == CellQuestion("/go")
    assert parse("go on") == CellQuestion("go on")
    assert parse("", "go") == CellQuestion("go")


def test_a_command_in_a_body_is_a_question() -> None:
    assert parse("", "status") == parse("status", "") == CellQuestion("status")


@pytest.mark.parametrize(
    ("line", "body", "says"),
    [
        ("-m", None, "`-m` needs a value"),
        ("-n -b", None, "`-b` needs a value"),
        ("-v", None, "`-v` needs a value"),
        ("-x hello", None, "`-x` is not an option"),
        ("--help", None, "see `%eca help`"),
        ("hello -> 1x", None, "`1x` cannot be the name of a variable"),
        ("hello -> class", None, "`class` cannot be the name of a variable"),
        ("-m a/b", None, "There is no question"),
        ("-> x", None, "There is no question"),
        ("", "", "There is no question"),
        ("-n", "\n  \n", "There is no question"),
    ],
)
def test_misuse_says_what_to_write_instead(line: str, body: str | None, says: str) -> None:
    parsed = parse(line, body)
    assert isinstance(parsed, Misuse)
    assert says in parsed.message


@given(st.text(), st.none() | st.text())
def test_any_words_are_understood_or_refused(line: str, body: str | None) -> None:
    parse(line, body)


def test_help_names_every_command_and_option() -> None:
    assert all(f"`%eca {name}`" in HELP for name in COMMANDS)
    assert all(option in HELP for option in ("-m MODEL", "-b plan", "-v VARIANT", "-n", "-> name"))


@pytest.mark.parametrize(
    ("message", "name"),
    [("/costs", "costs"), ("/resume 2", "resume"), ("/docs:ask\nx", "docs:ask"), ("/data/x is full", ""), ("a /b", "")],
)
def test_a_message_that_begins_like_a_command_may_be_one(message: str, name: str) -> None:
    asked = parse("", message)
    assert isinstance(asked, CellQuestion)
    assert asked.command == name


def test_the_help_lists_go_which_the_chat_answers() -> None:
    assert "| `%eca go` | carry out the plan of the last answer |" in HELP
