"""Which commands a line has, and which of them may be remembered: held against real shells, and against malice."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_eca.engine.approval.shell_parser import LineKeys, get_line_keys, parse_commands

# Lines whose commands only read: an approval remembers their programs.
PROGRAMS = {
    "ls -la": ["ls"],
    "git log": ["git log"],
    "git log --oneline -5 && git status -s": ["git log", "git status"],
    "cat a.txt | grep -rn x . | wc -l": ["cat", "grep", "wc"],
    "ls\npwd\n": ["ls", "pwd"],
    "cat a |& head -n 5": ["cat", "head"],
    "ls 2>&1 >/dev/null < /dev/null | sort": ["ls", "sort"],
    "git diff --stat HEAD^ -- a/b.py": ["git diff"],
    "git show HEAD:a.py": ["git show"],
    "git stash list": ["git stash list"],
    "find . -name '*.py' -type f": ["find"],
    "echo 'a; b' \"c && d\" e\\;f": ["echo"],
    "echo a#b": ["echo"],
    "ls; ls -a": ["ls"],
    "cat a - b": ["cat"],
    "git log --format='%h %+s %%G'": ["git log"],
}

# Remembered as they stand: what they do depends on every word.
WHOLE = [
    "git push",
    "pip install pandas; npm run build || cargo test",
    "make &",
    "docker compose up -d",
    "python -m pytest -q",
    "/usr/bin/git log",
    "cd sub/folder && make",
    "cd sub && ls",
    "sudo ls",
    "env git log",
    "xargs rm",
    "sh -c 'ls'",
    "bash script.sh",
    "eval ls",
    ". ./x",
    "exec ls",
    "timeout 5 ls",
    "python -c 'x'",
    "awk 'BEGIN{system(\"ls\")}'",
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
    "ls > 5",
    "ls > -",
    "ls &> 1",
    "> file",
    "cat < file",
    "git",
    "git -c alias.log='!ls' log",
    "git log '--format=%-%G?'",
    "git -C /elsewhere log",
    "git 'log'",
    "git config alias.log '!ls'",
    "cat /etc/passwd",
    "cat ../x",
    "cat a/../../x",
    "uniq in out",
    "uniq - out",
    "uniq -c - out",
    "uniq -- - out",
    "git log '--format=%G?'",
    "git log --format=%+GG",
    "git log --format=%%%-GK",
    "git log '--pretty=format:% G?'",
]

# Never remembered: the shell makes something of them that may be something else the next time.
NEVER = [
    "",
    "   \n ; ",
    "$(which ls)",
    "`which ls`",
    "echo $(rm x)",
    'echo "$(rm x)"',
    'echo "`rm x`"',
    "echo $HOME",
    "$X ls",
    "l? x",
    "l* x",
    "ls *.py",
    "ls [ab]",
    "ls {a,b}",
    "ls ~",
    "~/ls",
    "cat =ls",
    "make > *",
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
    "find . -exec ls {} +",
    "cd ~",
]

# What was approved, and another line that must be asked about all the same: each was seen to run, or to write.
ATTACKS = [
    ("find . -name f", "find . -maxdepth 0 {-exec,touch,PWN,';'}"),
    ("find . -name f", "find . -maxdepth 0 -exec touch PWN ';'"),
    ("find . -name f", "find . -delete"),
    ("find . -name f", "find . -fprint PWN"),
    ("find . -name f", "find . -fls PWN"),
    ("find . -name f", "find . -ok touch PWN ';'"),
    ("find . -name f", "find . -files0-from=x"),
    ("git fetch", "git fetch --upload-pa='touch PWN;' ."),
    ("git ls-remote .", "git ls-remote --upload-pac='touch PWN;' ."),
    ("git log", "git log --outp=PWN"),
    ("git log", "git log --output=PWN"),
    ("git log", "git log --ext-diff -p"),
    ("git log", "git log --format=%G?"),
    ("git log", "git log --show-signature"),
    ("git diff", "git diff --output=PWN"),
    ("git diff", "git diff --ext-diff"),
    ("git diff", "git diff -OPWN"),
    ("git show", "git show --textconv"),
    ("git grep x", "git grep --open-files-in-page=touch x"),
    ("git grep x", "git grep -Otouch x"),
    ("git status", "git -c core.fsmonitor='touch PWN' status"),
    ("git status", "git --exec-path=. status"),
    ("git status", "cd x && git status"),
    ("git branch", "git branch new"),
    ("git branch", "git branch -D main"),
    ("git tag", "git tag new"),
    ("git remote -v", "git remote add x ext::touch"),
    ("git stash list", "git stash drop"),
    ("git clone a b", "git clone -u 'touch PWN' a b"),
    ("sort x", "sort -S 1k --compress-prog=touch x"),
    ("sort x", "sort -o PWN x"),
    ("sort x", "sort -oPWN x"),
    ("sort x", "sort --outpu=PWN x"),
    ("sort x", "sort -T /tmp x"),
    ("split x", "split --filter='touch PWN' x"),
    ("install a b", "install -s --strip-program=./x a b"),
    ("sqlite3 x 'select 1'", "sqlite3 x '.shell touch PWN'"),
    ("make", "make -f other.mk"),
    ("make", "make SHELL=./x"),
    ("echo x", "echo x > 5"),
    ("echo x", "echo x > -"),
    ("echo x", "echo x >5"),
    ("echo x", "echo x &> 5"),
    ("echo x", "echo x >| PWN"),
    ("echo x", "echo x <> PWN"),
    ("rm -f nothing.tmp", "rm -rf keep.txt"),
    ("cp a b", "cp x .bashrc"),
    ("tee a", "tee -a .bashrc"),
    ("dd if=a of=b", "dd if=a of=.bashrc"),
    ("curl x", "curl -o .bashrc x"),
    ("tree", "tree -o PWN"),
    ("tree", "tree -H . -R"),
    ("uniq a", "uniq a PWN"),
    ("date", "date -s 2000-01-01"),
    ("date", "date 010100002000"),
    ("file a", "file -C -m magic"),
    ("file a", "file -z a.gz"),
    ("diff a b", "diff -l a b"),
    ("rg x", "rg --pre ./x x"),
    ("tail a", "tail --pid=1 a"),
    ("wc a", "wc --files0-from=/etc/passwd"),
    ("grep x a", "grep -f /etc/passwd a"),
    ("cat a", "cat /etc/passwd"),
    ("cat a", "cat ../../etc/passwd"),
    ("cat a", "cat ~/.ssh/id_rsa"),
    ("cat a", "cat a; rm b"),
    ("cat a", "cat a | sh"),
    ("cat a", "PATH=. cat a"),
    ("cat a", "./cat a"),
    ("ls", "ls\ntouch PWN"),
    ("ls", "ls & touch PWN"),
    ("python -m pytest", "python -m pytest -p evil"),
]


def programs(line: str) -> list[str] | None:
    found = get_line_keys(line)
    return list(found.programs) if found is not None and not found.line else None


@pytest.mark.parametrize("line", PROGRAMS)
def test_a_line_of_programs_that_only_read_is_remembered_by_their_names(line: str) -> None:
    assert programs(line) == PROGRAMS[line]


@pytest.mark.parametrize("line", WHOLE)
def test_any_other_line_is_remembered_as_it_stands(line: str) -> None:
    assert get_line_keys(line) == LineKeys(line=line)


@pytest.mark.parametrize("line", NEVER)
def test_a_line_that_the_shell_may_change_is_never_remembered(line: str) -> None:
    assert get_line_keys(line) is None
    if line.strip("\n ;"):
        assert get_line_keys(f"ls; {line}") is None


@pytest.mark.parametrize(("line", "attack"), ATTACKS)
def test_an_approval_of_one_command_lets_no_other_run(line: str, attack: str) -> None:
    approved, wanted = get_line_keys(line), get_line_keys(attack)
    if approved is not None and wanted is not None:
        within = wanted.programs and set(wanted.programs) <= set(approved.programs)
        assert not within
        assert wanted.line != approved.line or not wanted.line


def test_a_command_comes_with_its_words_without_quotes() -> None:
    parsed = parse_commands("git commit -m 'a; b' 2>&1 > log | wc")
    assert parsed is not None
    commit, count = parsed
    assert (commit.command, commit.args, commit.key) == ("git", ("commit", "-m", "a; b"), None)
    assert commit.whole_text == "git commit -m 'a; b' 2>&1 > log"
    assert (count.command, count.args, count.key) == ("wc", (), "wc")


def test_a_line_that_is_not_understood_has_no_commands() -> None:
    assert parse_commands("echo $(ls)") is None


def test_a_line_that_nobody_can_read_is_not_remembered() -> None:
    assert get_line_keys(f"ls {'x' * 1_000_000}") is None


@given(st.text(max_size=60))
def test_no_line_whatever_breaks_it(line: str) -> None:
    found = get_line_keys(line)
    assert found is None or bool(found.line) is not bool(found.programs)


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
@example(pieces=["a", "=", " ", "a"])
def test_a_real_shell_runs_no_command_that_was_not_seen(shell: str, pieces: list[str]) -> None:
    line = "".join(pieces)
    seen = parse_commands(line)
    if seen is not None and not any(command.hides_program for command in seen):
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
