"""What is known of the commands of a line: their words, their redirections, and the parts of a script."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.approval.shell_parser import (
    ParsedCommand,
    Redirect,
    certainly_changes_nothing,
    expands,
    get_line_keys,
    parse_commands,
    split_roughly,
)
from jupyter_eca.engine.approval.shell_script import FIRST_OUTPUT, UNKNOWN, ScriptParts, divide_script

FIRST, SECOND = chr(FIRST_OUTPUT), chr(FIRST_OUTPUT + 1)


def parse(line: str) -> ParsedCommand:
    commands = parse_commands(line)
    assert commands is not None
    (command,) = commands
    return command


@pytest.mark.parametrize(
    ("line", "operator", "target", "text", "is_harmless", "writes"),
    [
        ("ls > 'a b'", ">", "a b", "> 'a b'", False, True),
        ("ls 2>> a", "2>>", "a", "2>> a", False, True),
        ("ls 2>&1", "2>&", "1", "2>&1", True, False),
        ("ls >&a", ">&", "a", ">&a", False, True),
        ("ls <&-", "<&", "-", "<&-", True, False),
        ("ls < a", "<", "a", "< a", False, False),
        ("ls <> a", "<>", "a", "<> a", False, True),
        ("ls &> /dev/null", "&>", "/dev/null", "&> /dev/null", True, False),
        ("ls > '/dev/null'", ">", "/dev/null", "> '/dev/null'", False, True),
        ("ls > 1", ">", "1", "> 1", False, True),
        ("ls >", ">", "", ">", False, True),
    ],
)
def test_a_redirection_is_known_as_it_is_written_and_whether_it_changes_a_file(
    line: str, operator: str, target: str, text: str, is_harmless: bool, writes: bool
) -> None:
    (redirect,) = parse(line).redirects
    assert (redirect.operator, redirect.target, redirect.text) == (operator, target, text)
    assert (redirect.is_harmless, redirect.writes) == (is_harmless, writes)


def test_an_operator_without_a_target_is_kept() -> None:
    command = parse("ls > > a")
    assert command.redirects == (Redirect(">", "", ""), Redirect(">", "a", "a"))
    assert parse("> a") == ParsedCommand("", (), (), (Redirect(">", "a", "a"),))


def test_a_command_is_known_with_and_without_its_quotes_and_redirections() -> None:
    command = parse("/bin/use 'a b' > c \\d")
    assert (command.command, command.program, command.args) == ("/bin/use", "use", ("a b", "d"))
    assert (command.text, command.plain_text) == ("/bin/use 'a b' \\d", "/bin/use a b d")
    assert command.whole_text == "/bin/use 'a b' \\d > c"


@pytest.mark.parametrize(
    ("line", "moves", "hides"),
    [
        ("mv a b", True, False),
        ("/bin/rm a", True, False),
        ("env ls", True, True),
        ("/usr/bin/env ls", True, True),
        ("sh", True, True),
        ("sh -x", True, True),
        ("sh a", False, False),
        ("sh -c ls", True, True),
        ("tar -I x a", True, True),
        ("tar xf a", True, False),
        ("awk x a", False, False),
        ("awk 'system(1)' a", True, True),
        ("l? a", True, True),
        ("A=1 ls", True, True),
        ("ls A=1 b*", False, False),
    ],
)
def test_a_command_may_move_folders_or_run_another_program(line: str, moves: bool, hides: bool) -> None:
    assert (parse(line).moves_folders, parse(line).hides_program) == (moves, hides)


@pytest.mark.parametrize(
    ("word", "is_expanded"),
    [
        ("a*", True),
        ("'a*'", False),
        ('"a*"', False),
        ("\\*", False),
        ("a{b", True),
        ("=ls", True),
        ("a=b", False),
        ("~", True),
    ],
)
def test_the_shell_expands_what_is_not_quoted(word: str, is_expanded: bool) -> None:
    assert expands(word) is is_expanded
    assert parse(f"ls {word}").expands is is_expanded
    assert parse(f"ls > {word}").expands is is_expanded


@pytest.mark.parametrize("word", ["if", "for", "{", "}", "!", "done", "function", "[["])
def test_a_line_with_words_of_the_language_of_the_shell_is_not_parsed(word: str) -> None:
    assert parse_commands(f"{word} x") is None
    assert parse_commands(f"ls; {word}") is None
    assert parse_commands(f"ls {word}" if word not in "{}" else "ls if") is not None


def test_a_line_of_ten_thousand_characters_is_parsed_and_no_longer_one() -> None:
    assert parse_commands(f"ls {'x' * 9_997}") is not None
    assert parse_commands(f"ls {'x' * 9_998}") is None


def test_a_line_that_only_reads_certainly_changes_nothing() -> None:
    lines = ("ls; git log", "ls; make", "make", "ls *", "", "ls $(x)")
    assert [certainly_changes_nothing(line) for line in lines] == [True, *[False] * 5]


def test_what_is_approved_of_a_line_is_its_programs_once_each_or_the_whole_line() -> None:
    keys = get_line_keys("git log; ls; git log -1")
    assert keys is not None
    assert (keys.programs, keys.line) == (("git log", "ls"), "")
    whole = get_line_keys(" ls; make ")
    assert whole is not None
    assert (whole.programs, whole.line) == ((), "ls; make")
    assert get_line_keys("cat a b") != get_line_keys("uniq a b")
    assert get_line_keys("git tag -l") != get_line_keys("git tag -l a")


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("for f in a; do use 'b c' > d; done", [("for", "f", "in", "a"), ("do", "use", "b c"), ("done",)]),
        ("(a); b && c | d & e", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("a 2>&1 b", [("a", "b")]),
        ("a $'b c' \"d e\" f\\ g", [("a", "b c", "d e", "f g")]),
        ('a "$(b)"', [("a", "$"), ("b",), ("",)]),
        ("a 'b\nc'", [("a", "b"), ("c",)]),
        ("> a", [("",)]),
        ("a < b", [("a", "b")]),
        ("", []),
    ],
)
def test_the_words_of_any_line_are_found_roughly(line: str, commands: list[tuple[str, ...]]) -> None:
    found = split_roughly(line)
    assert [(command.command, *command.args) for command in found] == commands
    assert all(command.key is None for command in found)


def test_the_redirections_that_write_are_found_roughly() -> None:
    (command,) = split_roughly("${a} >> 'b c' 2>| d &>e >&f")
    assert command.redirects == (
        Redirect(">>", "b c", "'b c'"),
        Redirect("2>|", "d", "d"),
        Redirect("&>", "e", "e"),
        Redirect(">&", "f", "f"),
    )
    assert command.words == ("${a}",)


@pytest.mark.parametrize(
    ("script", "parts"),
    [
        ("ls", ScriptParts("ls")),
        ("a $(b) `c`", ScriptParts(f"a {FIRST} {SECOND}", ("b", "c"), ("b", "c"))),
        ("a $(b $(c))", ScriptParts(f"a {SECOND}", ("c", f"b {FIRST}"), ("b $(c)",))),
        ("a \"$(b)\" '$(c)'", ScriptParts(f"a \"{FIRST}\" '$(c)'", ("b",), ("b",))),
        ("a \\$(b)", ScriptParts("a \\$(b)")),
        ("a \\`b", ScriptParts("a \\`b")),
        ("a `b", ScriptParts("a `b")),
        ("a $((1 + (2 * 3)))", ScriptParts("a 0")),
        ("a $[1 + 2] ((i = 1))", ScriptParts("a 0 ((i = 1))")),
        ("a $((b) c)", ScriptParts(f"a {FIRST}", ("(b) c",), ("(b) c",))),
        ("a ${b:-$(c)}", ScriptParts(f"a ${{b:-{FIRST}}}", ("c",), ("c",))),
        ("a ${b:-#}", ScriptParts("a ${b:-#}")),
        ('a "${b:-\'}" $(c)', ScriptParts(f'a "${{b:-\'}}" {FIRST}', ("c",), ("c",))),
        ('"${a:-${b:-\'}}" $(c)', ScriptParts(f'"${{a:-${{b:-\'}}}}" {FIRST}', ("c",), ("c",))),
        ('"${a:-b\nc}" $(d)', ScriptParts(f'"${{a:-b\nc}}" {FIRST}', ("d",), ("d",))),
        ("a ${b:-(} $(c)", ScriptParts(f"a ${{b:-(}} {FIRST}", ("c",), ("c",))),
        ("a \\x$(b)", ScriptParts(f"a \\x{FIRST}", ("b",), ("b",))),
        ("a <<<$(b)", ScriptParts(f"a <<<{FIRST}", ("b",), ("b",))),
        ("a <<XEND\nb\nXEND", ScriptParts("a \n", (), (), ("b\n",))),
        ("a $((1)) b $((2 + 3)) $(c)", ScriptParts(f"a 0 b 0 {FIRST}", ("c",), ("c",))),
        ("(a; (b)) $((1)) $(c)", ScriptParts(f"(a; (b)) 0 {FIRST}", ("c",), ("c",))),
        ("a $((1 + (2 * 3))) $(b)", ScriptParts(f"a 0 {FIRST}", ("b",), ("b",))),
        ("a $(b '$(c)') $(d)", ScriptParts(f"a {FIRST} {SECOND}", ("b '$(c)'", "d"), ("b '$(c)'", "d"))),
        ("a `$(b)", ScriptParts(f"a `{FIRST}", ("b",), ("b",))),
        ("END\na <<END\nb\nEND", ScriptParts("END\na \n", (), (), ("b\n",))),
        ("a <<END\n'$(b)'\nEND", ScriptParts("a \n", (), ("b",), ("'$(b)'\n",))),
        ("$(a) <<END\n$(b)\nEND", ScriptParts(f"{FIRST} \n", ("a",), ("a", "b"), ("$(b)\n",))),
        ("a <<END\n$(b\nEND", ScriptParts("a \n", (), ("b",), ("$(b\n",), is_certain=False)),
        ("a \"${b:-'}\" $(c) 'd'", ScriptParts(f"a \"${{b:-'}}\" {FIRST} 'd'", ("c",), ("c",))),
        ("\"${a:-${b:-'}}\" $(c) 'd'", ScriptParts(f"\"${{a:-${{b:-'}}}}\" {FIRST} 'd'", ("c",), ("c",))),
        ("a\n# b\nc", ScriptParts("a\n\nc")),
        ("a $(b) case", ScriptParts(f"a {FIRST} case", ("b",), ("b",))),
        ("a '' $(b) 'c'", ScriptParts(f"a '' {FIRST} 'c'", ("b",), ("b",))),
        ("a '$(b)", ScriptParts(f"a '{FIRST}", ("b",), ("b",))),
        ("a # b 'c\nd", ScriptParts("a \nd")),
        ("#a\nb#c", ScriptParts("\nb#c")),
        ("a;#b", ScriptParts("a;")),
        ("a \\ #b\n", ScriptParts("a \\ #b\n")),
        ("a 'b\nc' \"d\ne\" $'f\\'\ng'", ScriptParts("a 'b c' \"d e\" $'f\\' g'")),
        ("a 'b", ScriptParts("a 'b")),
        ("a <<END b\nc $(d)\nEND\ne", ScriptParts("a  b\n\ne", (), ("d",), ("c $(d)\n",))),
        ("a <<'END'\n$(d) \\$x\nEND\n", ScriptParts("a \n\n", (), (), ("$(d) \\$x\n",))),
        ("a <<\\END\n$(d)\nEND", ScriptParts("a \n", (), (), ("$(d)\n",))),
        ('a <<"E D"\nb\nE D', ScriptParts("a \n", (), (), ("b\n",))),
        ("a <<-END\n\tb\\$c\n\tEND", ScriptParts("a \n", (), (), ("\tb$c\n",))),
        ("a <<A <<B\n1\nA\n2\nB\n", ScriptParts("a  \n\n", (), (), ("1\n", "\n2\n"))),
        ("a <<END\nb\n", ScriptParts("a \nb\n")),
        ("a <<< b", ScriptParts("a <<< b")),
        ("a <<END\nit's # <<B\n$(d)\nEND", ScriptParts("a \n", (), ("d",), ("it's # <<B\n$(d)\n",))),
        ("a $(b", ScriptParts(f"a {FIRST}", ("b",), ("",), is_certain=False)),
        ("a ${b", ScriptParts("a ${b}", is_certain=False)),
        (
            "a $(case x in y) z;; esac)",
            ScriptParts(f"a {FIRST} z;; esac)", ("case x in y",), ("case x in y",), is_certain=False),
        ),
        ("a `b $(c)`", ScriptParts(f"a {FIRST}", (UNKNOWN,), ("b $(c)",))),
        ("a `b \\`c\\``", ScriptParts(f"a {FIRST}", (UNKNOWN,), ("b `c`",))),
    ],
)
def test_a_script_is_divided_into_its_text_its_commands_and_its_documents(script: str, parts: ScriptParts) -> None:
    assert divide_script(script) == parts


def test_a_script_that_is_nested_too_deeply_is_not_certain() -> None:
    assert divide_script(f"{'$(' * 20}a{')' * 20}").is_certain
    assert not divide_script(f"{'$(' * 21}a{')' * 21}").is_certain
    assert divide_script(f"$(x) {'$(' * 20}a{')' * 20}").is_certain
    assert not divide_script(f"{'$(x)' * 5} {'$(' * 21}a{')' * 21}").is_certain


def test_a_very_long_computation_may_be_a_command() -> None:
    assert divide_script(f"a $(({'1 + ' * 40}1))").output_commands == ()
    assert divide_script(f"a $(({'1 + ' * 60}1))").output_commands


def test_of_very_many_commands_the_rest_is_unknown_and_still_looked_at() -> None:
    parts = divide_script("$(a)" * 4_001)
    assert (len(parts.output_commands), len(parts.written_commands), parts.text[-1]) == (4_000, 4_001, UNKNOWN)
    assert parts.text[-2] == chr(FIRST_OUTPUT + 3_999)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("cat ab", "cat"),
        ("cat a{b,c}", None),
        ("cat 'a{b'", None),
        ("uniq a", "uniq"),
        ("uniq -c a", "uniq"),
        ("uniq a b", None),
        ("git log -1", "git log"),
        ("git -1 log", None),
        ("git", None),
        ("/bin/cat a", None),
        ("'cat' a", None),
        ("cat a > b", None),
        ("cat a 2>&1", "cat"),
    ],
)
def test_a_command_that_only_reads_is_known_by_its_program(line: str, key: str | None) -> None:
    assert parse(line).key == key
