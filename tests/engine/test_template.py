"""Arguments in a shell line, as bash itself reads the line."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.engine.text.shell_template import ArgumentPlace, HereDocument, Part, fill, parse

BASH = shutil.which("bash") or ""
SHOW = "printf '<%s>' "
# Each shows its argument between angle brackets, and nothing else.
TEMPLATES = [
    f"{SHOW}{{{{x}}}}",
    f'{SHOW}"{{{{ x }}}}"',
    f"{SHOW}'{{{{x}}}}'",
    f"{SHOW}$'{{{{x}}}}'",
    f"# a comment, don't\n{SHOW}{{{{x}}}} # and 'another",
    f'v="$(printf %s. "{{{{x}}}}")"; {SHOW}"${{v%.}}"',
    f"{SHOW}\"$(printf %s {{{{x}}}}; printf .)\" | sed '$s/\\.>$/>/'",
    f"read -r -d '' v << 'Mjz9q5s8' || true\n{{{{x}}}}\nMjz9q5s8\n{SHOW}\"$v\"",
    f"read -r -d '' v << Mjz9q5s8 || true\n{{{{x}}}}\nMjz9q5s8\n{SHOW}\"$v\"",
    f"a=1; (: $((a + 1)) `true` ${{a}} ; {SHOW}{{{{x}}}})",
    f"cat <<-A >/dev/null; {SHOW}{{{{x}}}}\n\ttext 'with\n\tA\n",
    f"cat <<< {{{{x}}}} >/dev/null; {SHOW}{{{{x}}}}",
]
VALUES = [
    "plain",
    "two words",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "$(touch pwned) `touch pwned` ${HOME} $HOME",
    "a\\' ; touch pwned #",
    "\\",
    "line\nMjz9q5s9\nline",
    "-n !! * ~ {a,b} é",
    "'\"$`\\\"'",
]


@pytest.mark.skipif(not BASH, reason="there is no bash")
@pytest.mark.parametrize("template", TEMPLATES)
def test_an_argument_is_text_wherever_its_place_is(template: str, tmp_path: Any) -> None:
    parts = parse(template, ["x"])
    for value in VALUES:
        line = fill(parts, {"x": value})
        done = subprocess.run([BASH, "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout.rstrip("\n"), done.stderr) == (f"<{value}>", ""), line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "template",
    [
        "echo `cat {{x}}`",
        'echo "`cat {{x}}`"',
        "(case a in a) echo {{x}};; esac)",
        "echo $(({{x}} + 1))",
        "echo ${a:-{{x}}}",
        "echo ${{x}}",
        "echo # {{x}}",
        "echo ${a:-'}'} {{x}}",
        "echo `echo \\`date\\`` {{x}}",
        'echo "$(case a in a) echo {{x}};; esac)"',
        "cat << E'O'F\n{{x}}\nEOF",
        "cat << {{x}}\na\n",
        "cat << EOF\n{{x}}",
        "cat << EOF\n${a:-{{x}}}\nEOF",
        "cat << EOF\n$(echo (a) {{x}})\nEOF\n",
        "cat << EOF\n`{{x}}`\nEOF\n",
    ],
)
def test_a_place_where_nothing_is_only_text_is_refused_with_its_line(template: str) -> None:
    with pytest.raises(ValueError, match=r"line \d of the command"):
        parse(f"true\n{template}", ["x"])


def test_a_document_that_an_argument_would_end_is_refused() -> None:
    for body in ("{{x}}", "E{{x}}"):
        parts = parse(f"cat << 'EOF'\n{body}\nEOF\n", ["x"])
        with pytest.raises(ValueError, match="no line of an argument may be 'EOF'"):
            fill(parts, {"x": "a\nEOF\ntouch pwned" if body == "{{x}}" else "OF\ntouch pwned"})


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "f "),
        (3, "f 3"),
        (True, "f true"),
        (["a b", "c"], "f 'a b' c"),
        ({"a": 1}, "f '{\"a\": 1}'"),
        ("", "f ''"),
    ],
)
def test_values_that_are_no_text_are_words_or_json(value: Any, line: str) -> None:
    assert fill(parse("f {{x}}", ["x"]), {"x": value}) == line


def test_braces_that_are_no_arguments_are_the_commands_own() -> None:
    command = "docker ps --format '{{.Names}}' {{other}} `a` ${b:-'c'}"
    assert fill(parse(command, ["x"]), {"x": "y", "other": "z"}) == command


def test_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        fill(parse("f {{x}}", ["x"]), {"x": "a\0b"})


@given(st.lists(st.sampled_from(["{{x}}", *"{}x \n'\"\\$`()#<E-"])).map("".join))
def test_a_command_is_read_to_its_end_or_refused(command: str) -> None:
    def written(part: Part) -> str:
        match part:
            case str():
                return part
            case ArgumentPlace():
                return "{{x}}"
            case HereDocument():
                return "".join(map(written, part.parts))

    try:
        parts = parse(command, ["x"])
    except ValueError:
        return
    assert "".join(map(written, parts)) == command


@pytest.mark.parametrize(
    ("template", "value", "line"),
    [
        # Each place has its own quotes.
        ("f {{x}}", "a b", "f 'a b'"),
        ("f {{ x }}{{x}}", "a", "f aa"),
        ("f '{{x}}'", "it's", "f 'it'\\''s'"),
        ('f "{{x}}"', '$a "b" `c` \\', 'f "\\$a \\"b\\" \\`c\\` \\\\"'),
        ("f $'{{x}}'", "it's \\n", "f $'it\\'s \\\\n'"),
        ('f "$\'{{x}}"', "a'b", "f \"$'a'b\""),
        ('f "a\\"{{x}}"', "`", 'f "a\\"\\`"'),
        ("f 'a\\'{{x}}", "b c", "f 'a\\''b c'"),
        ("f \\'{{x}}", "b c", "f \\''b c'"),
        ("f $'a\\'{{x}}'", "b", "f $'a\\'b'"),
        # Constructs that are only passed.
        ("f $((1)) ${a} $(b) `c` {{x}}", "d", "f $((1)) ${a} $(b) `c` d"),
        ('f "$(g {{x}})"', "a b", "f \"$(g 'a b')\""),
        ('f "${a}`b`$((1))" {{x}}', "c d", "f \"${a}`b`$((1))\" 'c d'"),
        ("(f {{x}}); (g)", "a b", "(f 'a b'); (g)"),
        ("f a#b {{x}} # it's", "c d", "f a#b 'c d' # it's"),
        ("f;# it's\ng {{x}}", "c d", "f;# it's\ng 'c d'"),
        ("# it's\ng {{x}}", "c d", "# it's\ng 'c d'"),
        ("f <<< {{x}}", "a b", "f <<< 'a b'"),
        ("f < {{x}} > b", "a b", "f < 'a b' > b"),
        ("f#b {{x}}", "c d", "f#b 'c d'"),
        ("aX#b {{x}}", "c d", "aX#b 'c d'"),
        ("f <<<{{x}}", "a b", "f <<<'a b'"),
        ("f $(()) {{x}}", "a b", "f $(()) 'a b'"),
        ("f $((1)){{x}}${a}{{x}}$(b){{x}}", "c", "f $((1))c${a}c$(b)c"),
        ("f $'a' {{x}}", "b c", "f $'a' 'b c'"),
        ("f $'ab{{x}}c' {{x}}", "d e", "f $'abd ec' 'd e'"),
        ("f $'a\\'{{x}}'", "b c", "f $'a\\'b c'"),
        ("f 'ab{{x}}c' {{x}}", "d e", "f 'abd ec' 'd e'"),
        ("echo case; (f {{x}})", "a b", "echo case; (f 'a b')"),
        ("(f {{x}}); case a in b) g;; esac", "a b", "(f 'a b'); case a in b) g;; esac"),
        # Here documents.
        ("f <<END\n{{x}}\nEND\ng {{x}}", "$a 'b'", "f <<END\n\\$a 'b'\nEND\ng '$a '\"'\"'b'\"'\"''"),
        ("f <<'END'\n{{x}}\nEND", "$a `b`", "f <<'END'\n$a `b`\nEND"),
        ('f <<"END"\n{{x}}\nEND', "$a", 'f <<"END"\n$a\nEND'),
        ("f <<\\END\n{{x}}\nEND", "$a", "f <<\\END\n$a\nEND"),
        ("f <<-END\n\t{{x}}\n\tEND\n", "`", "f <<-END\n\t\\`\n\tEND\n"),
        ("f <<A <<'B'\n{{x}}\nA\n{{x}}\nB\n", "$", "f <<A <<'B'\n\\$\nA\n$\nB\n"),
        ("f <<END\n${a} $(b) `c` \\$ {{x}}\nEND", "d", "f <<END\n${a} $(b) `c` \\$ d\nEND"),
        ("f <<'END'\n`(' {{x}}\nEND", "d", "f <<'END'\n`(' d\nEND"),
        ("f <<END\n$a {{x}}\nEND", "d", "f <<END\n$a d\nEND"),
        ("# a\nf {{x}}\n", "b c", "# a\nf 'b c'\n"),
        ("f <<XEND\n{{x}}\nXEND", "$", "f <<XEND\n\\$\nXEND"),
        ("f <<END\n\tEND\n{{x}}\nEND", "$", "f <<END\n\tEND\n\\$\nEND"),
        ("END\nf <<END\n{{x}}\nEND", "$", "END\nf <<END\n\\$\nEND"),
        ("f <<END\n$() \\` {{x}}\nEND", "a", "f <<END\n$() \\` a\nEND"),
        ("f <<'END'\n\\{{x}}\nEND", "a", "f <<'END'\n\\a\nEND"),
        ("f <<END; g {{x}}\na\nEND", "b c", "f <<END; g 'b c'\na\nEND"),
    ],
)
def test_an_argument_is_quoted_for_what_is_around_its_place(template: str, value: str, line: str) -> None:
    assert fill(parse(template, ["x"]), {"x": value}) == line


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("f <<END\n{{x}}\nEND", "a\nEND"),
        ("f <<END\nEN\\\n{{x}}\nEND", "D"),
        ("f <<-END\n{{x}}\nEND", "\tEND"),
    ],
)
def test_no_argument_ends_the_document_that_it_is_in(template: str, value: str) -> None:
    with pytest.raises(ValueError, match="END"):
        fill(parse(template, ["x"]), {"x": value})
    assert fill(parse(template, ["x"]), {"x": f"{value}S"})


def test_a_line_with_tabs_ends_only_a_document_that_ignores_them() -> None:
    assert fill(parse("f <<END\n{{x}}\nEND", ["x"]), {"x": "\tEND"})
    assert fill(parse("f <<-END\n{{x}}\nEND", ["x"]), {"x": " END\nXEND"})


@pytest.mark.parametrize(
    ("template", "line"), [("f\n\ng `{{x}}`", 3), ("\ng `{{x}}`", 2), ("f `{{x}}`", 1), ("f <<END\n{{x}}\n", 2)]
)
def test_an_error_names_the_line_of_the_construct(template: str, line: int) -> None:
    with pytest.raises(ValueError, match=rf"\(line {line} of"):
        parse(template, ["x"])


def test_a_place_knows_its_line_and_a_place_without_a_value_is_empty() -> None:
    parts = parse("f\n{{x}} {{y}} {{z}}", ["x", "y"])
    places = [part for part in parts if isinstance(part, ArgumentPlace)]
    assert [(place.name, place.line) for place in places] == [("x", 2), ("y", 2)]
    assert fill(parts, {"x": "a"}) == "f\na  {{z}}"


def test_a_list_of_values_is_several_words_outside_of_quotes_only() -> None:
    assert fill(parse("f {{x}} '{{x}}'", ["x"]), {"x": ["a b", "é", 1]}) == "f 'a b' 'é' 1 '[\"a b\", \"é\", 1]'"
