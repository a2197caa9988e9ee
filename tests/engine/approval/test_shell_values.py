"""The values that a word of a shell may have, from the variables of a line."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.approval.shell_expansion import Variables
from jupyter_eca.engine.approval.shell_script import UNKNOWN, divide_script

# A word that stands for this is not known before the line runs.
U = UNKNOWN
LONG = f"-{'y' * 5_000}"


def expand(word: str, *assigned: str, line: str = "") -> list[str]:
    """Return the values of a word, after commands of which each may assign something. The words of a command have
    blanks between them, and the values none."""
    variables = Variables(divide_script(f"{line} {word}"), {"A": "x"})
    for command in assigned:
        variables.assign(tuple(command.split(" ")))
    return variables.expand_word(divide_script(word).text)


@pytest.mark.parametrize(
    ("word", "values"),
    [
        ("a$A.b", ["ax.b"]),
        ("\\$A", ["\\$A"]),
        ("'$A'", ["'x'"]),
        ("'$1'", ["'$1'"]),
        ("'${A:-$1}'", ["'x'"]),
        ('"$A"', ['"x"']),
        ('"$1"', [f'"{U}"']),
        ("\"$'$A'\"", ["\"$'x'\""]),
        ("\"'$A'\"", ["\"'x'\""]),
        ("'\"$A\"'", ["'\"x\"'"]),
        ("'$'$A", ["'$'x"]),
        ("$'a\\tb'", ["'a\tb'"]),
        ("$RANDOM", ["0"]),
        ("${#A}", ["0"]),
        ("${A:-b}c", ["xc", "bc"]),
        ("${B:-b}", ["b"]),
        ("${A:+b}", ["", "b"]),
        ("${A?}", ["x"]),
        ("${A:?}", ["x"]),
        ("${A:-}", ["x", ""]),
        ("${A+b}", ["", "b"]),
        ("${1:-b}", [U, "b"]),
        ("$PWD/a", ["./a"]),
    ],
)
def test_a_word_has_the_values_of_its_variables(word: str, values: list[str]) -> None:
    assert expand(word) == values


@pytest.mark.parametrize(
    ("word", "assigned", "values"),
    [
        ("$B", ("B=1",), ["1"]),
        ("$B", ("B=1", "B=2", "B=1"), ["1", "2"]),
        ("$B", ("env B=1 C=2",), ["1"]),
        ("$B", ("B+=1",), [U]),
        ("$B", ("for B in 1 2",), ["1", "2"]),
        ("$B", ("select B in 1 2",), ["1", "2"]),
        ("$B", ("for B",), [U]),
        ("$B", ("for B of 1",), [U]),
        ("$A", ("for",), ["x"]),
        ("$A", ("for A",), ["x", U]),
        ("$REPLY", ("REPLY=x",), [U]),
        ("$A", ("cp A in 1",), ["x"]),
        ("$A", ("for B in A",), ["x"]),
        ("$B", tuple(f"B={number}" for number in range(50)), [str(number) for number in range(50)]),
        ("$B", tuple(f"B={number}" for number in range(51)), [U]),
        # The combinations of several variables are as many as one may have.
        ("$B$C", (*(f"B={number}" for number in range(10)), *(f"C={number}" for number in range(6))), [U]),
        ("$B$B$B$B$B$B", ("B=1", "B=2"), [U]),
        (f"$B{LONG}", ("B=1",), [f"1{LONG}"]),
        (f"$B{LONG}", ("B=1", "B=2"), [U]),
        (f"$B{LONG[:-2]}", ("B=1", "B=2"), [f"1{LONG[:-2]}", f"2{LONG[:-2]}"]),
        # `IFS`, at which the shell splits values outside of quotes.
        ("$B", ("IFS=:", "B=1:2"), ["1:2", "1", "2"]),
        ("${B}", ("IFS=:", "B=1:2"), ["1:2", "1", "2"]),
        ('"$B"', ("IFS=:", "B=1:2"), ['"1:2"']),
        ('"${B}"', ("IFS=:", "B=1:2"), ['"1:2"']),
        ("'$B'", ("IFS=:", "B=1:2"), ["'1:2'"]),
        ("'\"$B\"'", ("IFS=:", "B=1:2"), ["'\"1:2\"'"]),
        ("\"'$B'\"", ("IFS=:", "B=1:2"), ["\"'1:2'\""]),
        ("\"$'$B'\"", ("IFS=:", "B=1:2"), ["\"$'1:2'\""]),
        ("$B", ("IFS=X", "B=1X2"), ["1X2", "1", "2"]),
        ("$B", ("IFS=:", "IFS=;", "B=1X2"), ["1X2"]),
        ("$B", ("IFS=\\n\\t", "B=1n2t3"), ["1n2t3"]),
        ("$B", ("IFS=$'\\n'", "B=1n2"), ["1n2"]),
        ("$B", ("IFS=", "B=1:2"), ["1:2"]),
    ],
)
def test_a_word_has_all_values_that_are_assigned(word: str, assigned: tuple[str, ...], values: list[str]) -> None:
    assert expand(word, *assigned) == values


@pytest.mark.parametrize(
    ("line", "word", "values"),
    [
        ("((A = 1))", "$A", ["x", "0"]),
        ("((b = 1))", "$b", ["0"]),
        ("read A", "$A", ["x", U]),
        ("printf 'a' -v A", "$A", ["x", U]),
        ("declare -n A", "$A", ["x", U]),
        ("A=(1 2)", "$A", ["x", U]),
        ("A[0]=1", "$A", ["x", U]),
        ("eval 'A=1'", "$A", ["x", U]),
        ("trap 'A+=1' EXIT", "$A", ["x", U]),
        ("read A; eval B=1", "$A", ["x", U]),
        ("echo A", "$A", ["x"]),
    ],
)
def test_what_sets_a_variable_in_another_way_makes_it_unknown_besides(line: str, word: str, values: list[str]) -> None:
    assert expand(word, line=line) == values


def test_a_line_within_the_line_knows_the_variables_that_have_one_value() -> None:
    variables = Variables(divide_script(""), {"A": "x"})
    for word in ("B=1", "C=1", "C=2"):
        variables.assign((word,))
    assert variables.export() == {"A": "x", "PWD": ".", "OLDPWD": ".", "B": "1", "C": U}


@pytest.mark.parametrize(
    ("command", "values"),
    [
        ("pwd", ["."]),
        ("git rev-parse --show-toplevel", ["."]),
        ("nproc", ["0"]),
        ("id -g", ["0"]),
        ("uname -a", ["0"]),
        ("git rev-parse --short HEAD", ["0"]),
        ("git merge-base a b", ["0"]),
        ("mktemp -d", ["/tmp/x"]),  # noqa: S108  # it is only a name
        ("date", ["0"]),
        ("date +%Y-%m-%d", ["0-0-0"]),
        ("date -u '+%H h'", ["0 h"]),
        ("date +%Z", [U]),
        ("date +%-Z", [U]),
        ("date +%n", [U]),
        ("date +%t", [U]),
        ("date +50%", [U]),
        ("date -f a", [U]),
        ("basename a/b.c", ["b.c"]),
        ("basename a/b.c/ .c", ["b"]),
        ("basename .c .c", [".c"]),
        ("basename a/bX/", ["bX"]),
        ("basename a $1", [U]),
        ("basename $A.c .c", ["x"]),
        ("dirname a/b/", ["a"]),
        ("dirname a", ["."]),
        ("dirname $1/a", [U]),
        ("dirname '$A/b'", ["x"]),
        ("cat a", [U]),
        ("pwd; cat a", [U]),
        ("pwd | cat", [U]),
        ("", [U]),
    ],
)
def test_some_commands_print_what_is_known_before_they_run(command: str, values: list[str]) -> None:
    assert expand(f"$({command})") == values


@pytest.mark.parametrize("line", ["pwd() { x; };", "function pwd { x; };", "alias pwd=x;"])
def test_where_a_name_may_have_another_meaning_nothing_is_known(line: str) -> None:
    assert expand("$(pwd)", line=line) == [U]


@pytest.mark.parametrize(
    ("value", "operation", "values"),
    [
        ("a.b.c", "%.*", ["a.b"]),
        ("a.b.c", "%%.*", ["a"]),
        ("a.b.c", "#*.", ["b.c"]),
        ("a.b.c", "##*.", ["c"]),
        ("a.b.c", "%.x", ["a.b.c"]),
        ("a.b.c", "#x", ["a.b.c"]),
        ("*.csv", "%.csv", ["*"]),
        ("*.csv", "%.x", ["*.csv*"]),
        ("a/*.csv", "##*/", ["*.csv"]),
        ("a/*.csv", "#a", [U]),
        ("y" * 200, "%y", ["y" * 199]),
        ("y" * 201, "%y", [U]),
        ("a", f"%{'y' * 30}", ["a"]),
        ("a", f"%{'y' * 31}", [U]),
        ("a.b.c", "%%*.*", [""]),
        ("a.b.c", "%*.*.*", [U]),
        ("a", "%$1", [U]),
    ],
)
def test_the_beginning_or_the_end_of_a_value_is_removed(value: str, operation: str, values: list[str]) -> None:
    assert expand(f"${{B{operation}}}", f"B={value}") == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("\\101", ["'A'"]),
        ("\\501", ["'A'"]),
        ("\\x41", ["'A'"]),
        ("\\u0041", ["'A'"]),
        ("\\U00000041", ["'A'"]),
        ("\\n\\t\\r\\q\\\\", ["'\n\t\rq\\'"]),
        ("\\cA", [U]),
        ("\\U110000", [U]),
        ("\\U10ffff", [U]),
        ("\\xe9", [U]),
        ("\\x7f", ["'\x7f'"]),
        ("a\\'b", [U]),
    ],
)
def test_escapes_in_quotes_are_decoded(text: str, values: list[str]) -> None:
    assert expand(f"$'{text}'") == values
