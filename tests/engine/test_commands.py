"""Commands and what is done at the cursor, as words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.chat.export import make_file_name
from jupyter_eca.engine.model.cursor_requests import extract_insertion, extract_replacement, remove_fence, split_at
from jupyter_eca.engine.text.slash_commands import (
    CommandCall,
    expand_template,
    filter_commands,
    find_mixed_line,
    guess_command,
    hide_key,
    list_arguments,
    parse_command,
)
from jupyter_eca.host.commands.dispatch import find_native, list_native
from jupyter_eca.protocol.command import ChatCommand


@pytest.mark.parametrize(
    ("message", "called"),
    [
        ("/help", CommandCall("help")),
        ("  /model scripted/test ", CommandCall("model", "scripted/test", ("scripted/test",))),
        ('/export "my chat.md"', CommandCall("export", '"my chat.md"', ("my chat.md",))),
        ("/review don't break it", CommandCall("review", "don't break it", ("don't", "break", "it"))),
        ("/docs:ask what is\nthis", CommandCall("docs:ask", "what is\nthis", ("what", "is", "this"))),
        ("/mnt", CommandCall("mnt")),
        ("/srv/ada/x.csv", None),
        ("/srv/ada has two files", None),
        ("/", None),
        ("/ help", None),
        ("//help", None),
        ("/1", None),
        ("/a:b:c", None),
        ("1/2", None),
        ("", None),
        ("what does /help do?", None),
    ],
)
def test_a_command_is_a_slash_and_a_name_and_a_path_is_none(message: str, called: CommandCall | None) -> None:
    assert parse_command(message) == called


@given(st.text())
def test_no_text_behind_a_name_breaks_a_command(text: str) -> None:
    called = parse_command(f"/export {text}")
    assert called is not None
    assert (called.name, called.text) == ("export", text.strip())


def test_every_native_command_that_is_listed_can_be_run_and_no_other() -> None:
    assert sorted(one.name for one in list_native()) == sorted(find_native())


@pytest.mark.parametrize(
    ("query", "names"),
    [("cost", ["costs"]), ("/COST", ["costs"]), ("sign in", ["login"]), ("zzz", []), ("", list(find_native()))],
)
def test_a_query_is_looked_for_in_names_and_descriptions(query: str, names: list[str]) -> None:
    assert [one.name for one in filter_commands(list_native(), query)] == names


def test_a_query_finds_an_exact_name_then_a_prefix_a_word_a_part_and_letters_in_order() -> None:
    named = ["compact", "gallop", "cargo", "let-go", "goals", "go", "undo"]
    commands = [ChatCommand(name=name, description="goes back" if name == "undo" else "") for name in named]
    found = [command.name for command in filter_commands(commands, "/Go")]
    assert found == ["go", "goals", "let-go", "cargo", "gallop", "undo"]


@pytest.mark.parametrize(
    ("name", "wanted"), [("cost", "costs"), ("modle", "model"), ("mnt", ""), ("opt", ""), ("home", ""), ("data", "")]
)
def test_a_slip_of_the_finger_is_told_from_a_folder(name: str, wanted: str) -> None:
    assert guess_command(name, [one.name for one in list_native()]) == wanted


def test_a_key_typed_behind_login_is_not_kept() -> None:
    assert hide_key("/login anthropic sk-secret") == "/login anthropic …"
    assert [hide_key(kept) for kept in ("/login anthropic", "log me in: a b")] == ["/login anthropic", "log me in: a b"]


@pytest.mark.parametrize(
    ("template", "text", "prompt"),
    [
        ("Review $ARGS now", "a.py b.py", "Review a.py b.py now"),
        ("From $1 to $2.", "here 'over there'", "From here to over there."),
        ("$1 and $2", "one", "one and "),
        ("Say {{word}} to {{name}}.", "hi", "Say hi to ."),
        ("Say {{word}} to {{ name }}", "hi Ada Lovelace", "Say hi to Ada Lovelace"),
        ("Say {{word}} to {{name}}", "name=Ada hi", "Say hi to Ada"),
        ("{{word}}{{word}}", "ho", "hoho"),
        ("Review the code.\n", "carefully", "Review the code.\n\ncarefully"),
        ("Review the code.", "", "Review the code."),
        ("It costs $100 or $ARGSX", "", "It costs $100 or $ARGSX"),
        ("$1 $ARGS", "$2 {{x}}", "$2 $2 {{x}}"),
        ("Review $ARGUMENTS, not $ARGUMENTSX", "a b", "Review a b, not $ARGUMENTSX"),
        ("$ARG2 before $ARG1", "a b", "b before a"),
    ],
)
def test_a_custom_command_is_filled_in_with_what_was_typed(template: str, text: str, prompt: str) -> None:
    called = parse_command(f"/custom {text}")
    assert called is not None
    assert expand_template(template, called) == prompt


def test_the_places_of_a_template_are_its_arguments() -> None:
    assert [one.name for one in list_arguments("{{b}} $2 $1 {{a}} {{b}} $ARGS")] == ["1", "2", "b", "a", "args"]


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("$1\n{{a}}", 2),
        ("$1 {{a}}\n\n", 1),
        ("\n$1 {{a}}", 2),
        ("{{a}}\n\n$ARGS $1", 3),
        ("$1 $ARGS\n$2", 0),
        ("{{a}} {{b}}", 0),
        ("", 0),
    ],
)
def test_places_by_name_and_by_position_in_one_template_are_told_by_line(template: str, line: int) -> None:
    assert find_mixed_line(template) == line


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("```\na\n```", "a"),
        ("```py\na\n\nb\n```\n", "a\n\nb"),
        ("````md\n```\na\n```\n````", "```\na\n```"),
        ("```\n```", ""),
        ("```", "```"),
        ("``\na\n``", "``\na\n``"),
        ("See:\n```\na\n```", "See:\n```\na\n```"),
        ("```a``` b\nc\n```", "```a``` b\nc\n```"),
        ("", ""),
    ],
)
def test_only_a_single_fence_around_everything_is_taken_off(answer: str, text: str) -> None:
    assert remove_fence(answer) == text


@given(st.text(alphabet="a`\n "), st.text(alphabet="a`\n "))
def test_a_rewrite_keeps_the_line_break_at_the_end_of_a_selection(original: str, answer: str) -> None:
    assert not original.endswith("\n") or extract_replacement(original, answer).endswith("\n")


@given(st.text(), st.integers(-2, 40), st.integers(-2, 40))
def test_a_document_is_split_at_any_position_without_loss(text: str, line: int, character: int) -> None:
    before, after = split_at(text, line, character)
    assert before + after == text
    assert line >= len(text.split("\n")) or before.count("\n") == max(line, 0)


@pytest.mark.parametrize(
    ("before", "answer", "text"),
    [
        ("import os\npri", "pri" + "nt(1)", "nt(1)"),
        ("import os\npri", "nt(1)", "nt(1)"),
        ("x = 1\n    ", "    y = 2", "    y = 2"),
        ("x", "\n \n", ""),
        ("", "```py\nx\n```", "x"),
    ],
)
def test_a_completion_does_not_say_the_line_again(before: str, answer: str, text: str) -> None:
    assert extract_insertion(before, answer) == text


@pytest.mark.parametrize(
    ("title", "name"), [("Load the data!", "load-the-data.md"), ("../../etc", "etc.md"), ("…", "chat.md")]
)
def test_a_title_makes_a_plain_file_name(title: str, name: str) -> None:
    assert make_file_name(title) == name
