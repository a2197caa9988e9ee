"""Where a command line may work, and which of the files that it names it may change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jupyter_eca.engine.approval.call_targets import find_targets
from jupyter_eca.engine.approval.code_targets import find_protected_in_code
from jupyter_eca.engine.approval.line_targets import find_protected_in_line
from jupyter_eca.engine.approval.path_resolver import PathResolver, resolve_by_text
from jupyter_eca.engine.approval.policy import Decision, Policy, decide
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.protocol.content import Origin

# One file of the machine is protected, and one of the project.
RESOLVER = PathResolver(machine_paths=("/t/found",), project_paths=("/w/run.sh",))
# Here, the folders that they are in are known too.
WITH_PARENTS = replace(RESOLVER, machine_parents=("/t",), project_parents=("/w",))
SHELL = ToolSpec("shell_command", "", {}, approval_covers=ApprovalCoverage.COMMANDS, paths=("working_directory",))


def find(line: str, folder: str = "", **more: Any) -> str:
    return find_protected_in_line(line, folder, RESOLVER, **more)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        # A word is a path, or has one after an option or a separator.
        ("cp h /t/found", "/t/found"),
        ("cp h /T/Found", "/T/Found"),
        ("cp h /t/x/../found", "/t/x/../found"),
        ("cp h /t/found/x", "/t/found/x"),
        ("use --file=/t/found", "/t/found"),
        ("use -o/t/found", "/t/found"),
        ("use -so/t/found", "/t/found"),
        ("use a:/t/found", "/t/found"),
        ("use @/t/found,b", "/t/found"),
        ("use 'file:/t/f%6fund'", "/t/found"),
        # The folder that a line enters, or that an option names.
        ("cd /t && use found", "found"),
        ("cd /; use t/found", "t/found"),
        ("cd /x; cd ../t; use found", "found"),
        ("cd -P /t; use found", "found"),
        ("pushd /t; use found", "found"),
        ("pushd /t x; use found", "found"),
        ("cd /t; use -ofound", "found"),
        ("chdir /t; use found", "found"),
        ("git -C /t mv a found", "found"),
        ("make -C/t found", "found"),
        ("tar --directory=/t -x found", "found"),
        ("tar --directory /t -x found", "found"),
        ("npm --prefix /t x found", "found"),
        ("env -C /t use found", "found"),
        ("use --work-tree=/t found", "found"),
        ("use --chdir=/t found", "found"),
        ("use --cwd /t found", "found"),
        # What the shell expands.
        ("use /t/fo*", "/t/fo*"),
        ("use /t/f?und", "/t/f?und"),
        ("use /t/{a,found}", "/t/{a,found}"),
        ("use /?/found", "/?/found"),
        ("use .e*/x", ".e*/x"),
        ("use *.md", "*.md"),
        # Redirections.
        ("ls > /t/found", "/t/found"),
        ("ls >> /t/found", "/t/found"),
        ("ls >| /t/found", "/t/found"),
        ("ls 2> /t/found", "/t/found"),
        ("ls &> /t/found", "/t/found"),
        ("cat <> /t/found", "/t/found"),
        # Texts that a program runs as a line.
        ("sh -c 'use /t/found'", "/t/found"),
        ("sh -c 'cd /t; use found'", "found"),
        ("su -c 'use /t/found x'", "/t/found"),
        ("echo 'cd /t; use found' | sh", "found"),
        ("echo 'cd /t; use found' | sh -s", "found"),
        ("bash -c 'sh -c \"cd /t; use found\"'", "found"),
        # git.
        ("git config alias.x y", ".git/config"),
        ("git -c a=b config x y", ".git/config"),
        ("git config --add x y", ".git/config"),
    ],
)
def test_a_line_that_may_change_a_protected_path_names_it(line: str, path: str) -> None:
    assert find(line) == path


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("mv x /t", "/t"),
        ("touch /t", "/t"),
        ("cd /t; ls", "/t"),
        ("mv /w x", "/w"),
        ("mv /W x", "/W"),
        ("sudo mv /w x", "/w"),
        ("touch /w", ""),
        ("touch /w/run.sh", "/w/run.sh"),
        ("touch /w/x", ""),
        ("ls > /w/run.sh", "/w/run.sh"),
    ],
)
def test_a_folder_with_protected_files_is_not_moved_or_replaced(line: str, path: str) -> None:
    assert find_protected_in_line(line, "", WITH_PARENTS) == path


@pytest.mark.parametrize(
    "line",
    [
        *(
            "cd /t; cat found",
            "grep x < /t/found",
            "use /t/foundling",
            "use /t/fo",
            "cp h t/found",
        ),
        *(
            "cd /t; use x",
            "cd x; use found",
            "use found; cd /t",
            "git -C x mv a found",
            "use -C/t",
            "make --directory=/u found",
        ),
        *(
            "touch /w",
            "use /w/x",
            "use /w/*.sh",
            "ls > /dev/null",
            "ls 2>&1",
            "use *",
            "echo '/t/found x'",
            "awk '/t/found x'",
        ),
        *("git config --get x", "git config --get-all x", "git config --list", "git config -l", "git commit config"),
        *("git -p commit config", "use /t-x/found", "use -x/t-y/found", "git status", "use config"),
    ],
)
def test_a_line_that_only_reads_or_changes_something_else_names_nothing(line: str) -> None:
    assert find(line) == ""


@pytest.mark.parametrize(
    "line",
    [
        # Files that another program gets, of which nobody knows the names.
        *(
            "ls | xargs rm",
            "env -u A xargs rm",
            "env cd a cd b cd c cd d cd e cd f cd g; use x",
            "ls | xargs -n 1 rm",
            "ls | xargs -n1 rm",
            "ls | xargs -0 -I {} cp x {}",
            "ls | xargs -r rm",
        ),
        *(
            "ls | sudo xargs rm",
            "ls | parallel rm",
            "fd x -x rm",
            "fd x -X rm",
            "fdfind x --exec rm",
            "fd --exec-batch=rm",
        ),
        *(
            "find . -delete",
            "find '(' -name x ')' -delete",
            "find . -name x -delete",
            "find . -exec rm {} +",
            "find . -execdir rm {} +",
            "find . -ok rm {} +",
        ),
        *("find -delete", "find / -delete", "find /t -delete", "find . -name x -o -name '*.pyc' -delete"),
        *("find . -not -name '*.pyc' -delete", "find . ! -name '*.pyc' -delete", "find . -name '*.pyc' , -delete"),
        *(
            "find . '(' -name x ')' -delete",
            "find $1 -delete",
            "find . -fprint $1",
            "find . -fprintf $1 x",
            "find . -fls $1",
        ),
        # Words and folders that nobody knows.
        *(
            "use $1",
            "ls > $1",
            "cd $1; use x",
            "cd $1; ls > x",
            "use -C $1 x",
            "env use $1",
            "sudo -u a use $1",
            "if use $1; then x; fi",
        ),
        *(
            "A=1 use $1",
            "timeout 5 use $1",
            "time use $1",
            "{ use $1; }",
            "! use $1",
            "while use $1; do x; done",
            "cd $1; use ./x",
        ),
        *("sh -c 'use $1'", "sudo sh -c 'use $1'", "cat list | sh -c 'use $1'", "CDPATH=/t; cd found; use x"),
    ],
)
def test_a_line_that_may_change_files_of_unknown_names_is_asked_about(line: str) -> None:
    assert find(line)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "ls | xargs cat",
            "echo xargs rm",
            "env -u A xargs cat",
            "ls | xargs -n 1 cat",
            "ls | xargs -I {} grep x {}",
            "ls | xargs",
            "fd x",
            "fd x -t f",
        ),
        *("find . -name x", "find /u -delete", "find . -name '*.pyc' -delete", "find . -iname '*.log' -exec rm {} +"),
        *(
            "find . -exec cat {} +",
            "find . -name '*.a' -o -name '*.log' -delete",
            "find . -fprint x",
            "find /u /v -delete",
        ),
        *("echo $1", "cat $1", "grep x $1 > y", "cd $1", "cd $1; ls", "cd $1; cat x > /u/y", "pushd $1", "test $1"),
        *(
            "env cat $1",
            "timeout 5 cat $1",
            "sudo timeout 5 cat $1",
            "/bin/cat $1",
            "ls | xargs -n 1 -P 2 cat",
            "ls | xargs -0 -r cat",
            "time cat $1",
            "if test $1; then x; fi",
            "[ $1 ]",
            "cd $1; ls > ~/x",
        ),
    ],
)
def test_a_program_that_writes_to_no_argument_may_get_unknown_ones(line: str) -> None:
    assert find(line) == ""


def test_in_the_code_of_a_cell_an_unknown_word_may_be_a_variable_of_python() -> None:
    assert find("use $x", counts_unknown=False) == ""
    assert find("sh -c 'use $x'", counts_unknown=False) == ""
    assert find("echo $(use $x)", counts_unknown=False) == ""
    assert find("use $x /t/found", counts_unknown=False) == "/t/found"


def test_a_line_starts_in_the_folder_of_its_call() -> None:
    assert (find("use found", "/t"), find("use found", "/u")) == ("found", "")
    assert (find("use ../t/found", "/u"), find("use found", "$(cat list)")) == ("../t/found", "")


def test_without_a_folder_a_line_enters_the_home_folder() -> None:
    resolver = PathResolver(machine_paths=("~/found",))
    for line in ("cd; use found", "cd -P; use found", "cd ~; use found"):
        assert find_protected_in_line(line, "/u", resolver) == "found"


def test_the_user_sees_what_is_unknown_as_dots() -> None:
    assert find("use a $(cat list)/b") == "…/b"
    assert "…" in find("find $1 -delete")


@pytest.mark.parametrize("line", ["use x; " * 30 + "cd a; " * 30 + "use y", f"{'cd a; ' * 30}use y"])
def test_a_line_that_may_be_in_too_many_folders_is_asked_about_without_a_look_at_all_of_them(line: str) -> None:
    assert find(line.replace("cd a", "cd a; cd b; cd ../c"))


# --- code -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("open('/t/found', 'w')", "/t/found"),
        ('open("found", "w")', ""),
        ('open("./found", "w")', "./found"),
        ("x = 'it\\'s'; open('/t/found')", "/t/found"),
        ("x = \"'\"; open('/t/found')", "/t/found"),
        ("x = /t/found", ""),
        ("open('/t/x')", ""),
        ("!cp h /t/found", "/t/found"),
        ("files = !cp h /t/found", "/t/found"),
        ("%sx cp h /t/found", "/t/found"),
        ("%system cp h /t/found", "/t/found"),
        ("x = 1\n!cd /t; use found", "found"),
        ("%%bash\ncd /t\ndo found", "found"),
        (" %%sh -e\ncd /t\ndo found", "found"),
        ("%%bash\nx=$1\ndo $x", "$1"),
        ("!use $x", ""),
        ("# !cp h /t/foundling", ""),
        ("%time cp h x", ""),
        ("open('.git/config')", ".git"),
    ],
)
def test_code_names_a_protected_path_in_a_text_or_in_a_line_of_a_shell(code: str, path: str) -> None:
    found = find_protected_in_code(code, ("", "/t"), RESOLVER)
    assert found == "" if not path else found
    assert found == path or not path.startswith("/")
    assert find_protected_in_code("open('run.sh')", ("/w",), RESOLVER) == "run.sh"


# --- git that runs programs -------------------------------------------------------------------------------------------


def test_a_tool_that_runs_no_command_lines_calls_no_git() -> None:
    resolver = PathResolver(find_git_program=lambda _: "diff.external")
    theirs = ToolSpec("theirs", "", {}, server="away", origin=Origin.MCP)
    assert find_targets(theirs, {"command": "git diff"}, resolver).git_program == ""


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("git diff", [""]),
        ("cd -P a; git diff", ["", "a"]),
        ("git --git-dir=a=b diff", ["", "a=b"]),
        ("git -C a -C b diff; ls", ["", "a", "b", "a/b"]),
        ("ls", []),
    ],
)
def test_a_repository_is_looked_for_where_the_line_starts_and_in_each_folder_that_it_names(
    line: str, places: list[str]
) -> None:
    seen: list[str] = []

    def note(place: str) -> str:
        seen.append(place)
        return ""

    find_targets(SHELL, {"command": line}, PathResolver(find_git_program=note))
    assert seen == places


def test_a_line_with_very_many_folders_is_looked_at_to_an_end_and_asked_about() -> None:
    line = "".join(f"cd a{number}; " for number in range(60)) + "git diff"
    seen: list[str] = []

    def note(place: str) -> str:
        seen.append(place)
        return ""

    assert find_targets(SHELL, {"command": line}, PathResolver(find_git_program=note)).protected
    assert 0 < len(seen) <= 100


def program(line: str, folder: str = "") -> str:
    """The setting that makes git run a program, where the repository in `/repo` has one."""

    def find_program(place: str) -> str:
        return "diff.external" if resolve_by_text(place, "") == ("/repo",) else ""

    arguments = {"command": line, **({"working_directory": folder} if folder else {})}
    return find_targets(SHELL, arguments, PathResolver(find_git_program=find_program)).git_program


@pytest.mark.parametrize(
    ("line", "folder", "runs"),
    [
        ("git diff", "/repo", True),
        ("git diff", "/", False),
        ("git diff", "", False),
        ("git commit", "/repo", False),
        ("git -c a=b log", "/repo", True),
        ("/usr/bin/git status", "/repo", True),
        ("env git show", "/repo", True),
        ("ls; git diff", "/repo", True),
        ("diff a b", "/repo", False),
        ("cd /repo; git diff", "", True),
        ("cd repo; git diff", "/", True),
        ("cd -P repo && git diff", "/", True),
        ("pushd /repo; git diff", "", True),
        ("cd /; cd repo; git diff", "", True),
        ("git -C /repo diff", "", True),
        ("git -C repo diff", "/", True),
        ("git --work-tree /repo diff", "", True),
        ("git --git-dir=/repo diff", "", True),
        ("git --output=/repo diff", "", False),
        ("git diff /repo", "", False),
        ("for x in a; do git diff; done", "/repo", True),
        ("echo $(git log)", "/repo", True),
    ],
)
def test_git_that_reads_in_a_repository_that_runs_a_program_is_asked_about(line: str, folder: str, runs: bool) -> None:
    assert program(line, folder) == ("diff.external" if runs else "")


@pytest.mark.parametrize(
    ("trust", "sandboxed", "asks"), [(False, False, True), (True, False, False), (False, True, False)]
)
def test_trust_and_a_sandbox_let_git_run_the_program_of_a_repository(trust: bool, sandboxed: bool, asks: bool) -> None:
    targets = find_targets(SHELL, {"command": "git diff"}, PathResolver(find_git_program=lambda _: "diff.external"))
    verdict = decide(
        Policy(by_default=Decision.ALLOW),
        SHELL,
        {"command": "git diff"},
        frozenset(),
        targets=targets,
        trust=trust,
        is_sandboxed=sandboxed,
    )
    assert (verdict.decision is Decision.ASK) is asks
    assert verdict.cause is not None
    assert not asks or (verdict.cause.kind, verdict.cause.path) == ("repository", "diff.external")
