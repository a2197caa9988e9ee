"""Which commands a line has, and which of them may be remembered: held against real shells, and against malice."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_eca.engine.approval.shell_parser import ParsedCommand, list_approval_keys, parse_commands

KEYS = {
    "ls -la": ["ls"],
    "git log": ["git log"],
    "git log --oneline -5 && git push": ["git log", "git push"],
    "pip install pandas; npm run build || cargo test": ["pip install", "npm run build", "cargo test"],
    "cat a.txt | grep x | wc -l": ["cat", "grep", "wc"],
    "make &": ["make"],
    "ls\npwd\n": ["ls", "pwd"],
    "cat a |& head": ["cat", "head"],
    "ls 2>&1 >/dev/null < /dev/null | sort": ["ls", "sort"],
    "docker compose up -d": ["docker compose up"],
    "docker ps": ["docker ps"],
    "uv pip install x": ["uv pip install"],
    "gh pr list": ["gh pr list"],
    "python -m pytest -q": ["python -m pytest"],
    "/usr/bin/git log": ["/usr/bin/git log"],
    "cd sub/folder && make": ["cd", "make"],
    "echo 'a; b' \"c && d\" e\\;f": ["echo"],
    "grep '$HOME `x` (y)' file": ["grep"],
    "echo a#b": ["echo"],
}

# Never remembered: any of these might run something else the next time, or something that was not told.
HOSTILE = [
    "",
    "   \n ; ",
    "sudo ls",
    "env git log",
    "xargs rm",
    "sh -c 'ls'",
    "/bin/sh -c ls",
    "bash script.sh",
    "eval ls",
    ". ./x",
    "source x",
    "exec ls",
    "command ls",
    "nohup ls",
    "timeout 5 ls",
    "ssh host ls",
    "python -c 'x'",
    "python script.py",
    "python -m timeit x",
    "node -e x",
    "awk 'BEGIN{system(\"ls\")}'",
    "sed -n 1e\\ ls file",
    "$(which ls)",
    "`which ls`",
    "echo $(rm x)",
    'echo "$(rm x)"',
    'echo "`rm x`"',
    "echo $HOME",
    "$X ls",
    "l? x",
    "l* x",
    "~/ls",
    "./ls",
    "sub/ls",
    "'ls'",
    'l"s"',
    "l\\s",
    "PATH=/tmp ls",
    "ls > file",
    "ls >> file",
    "ls >| file",
    "ls &> file",
    "ls >& file",
    "ls 2>file",
    "ls >",
    "> file",
    "cat < file",
    "cat <<EOF\nrm x\nEOF",
    "cat <<< x",
    "diff <(ls) x",
    "(ls)",
    "{ ls; }",
    "if ls",
    "while ls",
    "! ls",
    "[ -f x ]",
    "f() ls",
    "echo # it's\nrm x '",
    "ls #",
    "ls \\\nx",
    "ls 'open",
    'ls "open',
    "ls \\",
    "ls\0x",
    "ls\x0bx",
    "ls\u00a0x",
    "ls\rx",
    "git",
    "git -c alias.log='!ls' log",
    "git -C /elsewhere log",
    "git 'log'",
    "git config alias.log '!ls'",
    "git rebase -x ls",
    "git grep --open-files-in-pager=ls x",
    "git fetch --upload-pack='ls'",
    "npm exec ls",
    "npx ls",
    "uv run ls",
    "docker run x ls",
    "docker compose exec x ls",
    "find . -exec ls {} +",
    "find . -delete",
    "cd",
    "cd /",
    "cd ..",
    "cd a/../..",
    "cd ~",
    "cd -",
    "cd {..,}",
    "export PATH=x",
    "alias ls=rm",
    "trap ls EXIT",
]


@pytest.mark.parametrize("line", KEYS)
def test_each_command_of_a_line_has_a_key_that_names_what_it_does(line: str) -> None:
    assert list(list_approval_keys(line)) == KEYS[line]


@pytest.mark.parametrize("line", HOSTILE)
def test_what_could_run_something_else_is_never_remembered(line: str) -> None:
    assert None in list_approval_keys(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_a_harmless_command_beside_it_makes_it_no_better(line: str) -> None:
    if line.strip("\n ;"):
        assert None in list_approval_keys(f"ls; {line}")


def test_a_command_comes_with_its_words_without_quotes() -> None:
    assert parse_commands("git commit -m 'a; b' | wc") == (
        ParsedCommand("git", ("commit", "-m", "a; b"), "git commit"),
        ParsedCommand("wc", (), "wc"),
    )


def test_a_line_that_is_not_understood_has_no_commands() -> None:
    assert parse_commands("echo $(ls)") is None
    assert list_approval_keys("echo $(ls)") == (None,)


def test_a_line_that_nobody_can_read_is_not_remembered() -> None:
    assert list_approval_keys(f"ls {'x' * 1_000_000}") == (None,)


@given(st.text(max_size=60))
def test_no_line_whatever_breaks_it_and_none_is_without_a_key(line: str) -> None:
    assert list_approval_keys(line)


# `a` and `b` tell that they were run; the rest is what could make a shell end a word where we do not.
PIECES = [
    "a",
    "b",
    " ",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    "'",
    '"',
    "\\",
    "#",
    ">",
    "<",
    "2",
    "-",
    "=",
    "\t",
    "{",
    "}",
    "!",
]
TELLING = 'a() { echo a >>"$TOLD"; }; b() { echo b >>"$TOLD"; }; set -f'


@pytest.mark.parametrize("shell", ["sh", "bash"])
@settings(max_examples=150, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=12))
@example(pieces=["!", " ", "a"])
@example(pieces=["{", " ", "a", ";", "}"])
def test_a_real_shell_runs_no_command_that_was_not_seen(shell: str, pieces: list[str]) -> None:
    line = "".join(pieces)
    seen = parse_commands(line)
    if seen is not None:
        assert ran(shell, line) <= {command.command for command in seen}


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_real_shells_tell_what_they_run(shell: str) -> None:
    assert ran(shell, "a; b &") == {"a", "b"}
    assert ran(shell, "a ';' b") == {"a"}


def ran(shell: str, line: str) -> set[str]:
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as told:
        subprocess.run(
            [shutil.which(shell) or shell, "-c", f"{TELLING}\n{line}\nwait"],
            cwd=folder,
            env={"PATH": "/nowhere", "TOLD": told.name},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
        )
        return set(Path(told.name).read_text().split())
