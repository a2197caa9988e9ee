"""The rules: which one wins, what it selects, what its patterns match."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from jupyter_eca.engine.approval.approval_scope import ApprovalScope, list_scopes
from jupyter_eca.engine.approval.call_targets import CallTargets, find_targets
from jupyter_eca.engine.approval.policy import (
    Decision,
    Policy,
    Rule,
    decide,
    is_hidden,
    merge_policies,
)
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.plugins.tools.shell import bg_job
from jupyter_eca.protocol.content import Origin

OURS = ToolSpec("shell", "", {})
THEIRS = ToolSpec("shell_2", "", {}, server="away", origin=Origin.MCP)
NAMESAKE = ToolSpec("shell", "", {}, server="away", origin=Origin.MCP)
NOTHING: frozenset[ApprovalScope] = frozenset()


def rules(**matchers: str) -> dict[str, Rule]:
    return {"shell": Rule(args_matchers={name: (pattern,) for name, pattern in matchers.items()})}


def allowed(arguments: dict[str, Any], **matchers: str) -> bool:
    """Whether a rule with these patterns matches."""
    return decide(Policy(allow=rules(**matchers)), OURS, arguments, NOTHING).decision is Decision.ALLOW


@pytest.mark.parametrize(("deny", "remembered", "ask", "allow"), list(product([True, False], repeat=4)))
def test_deny_wins_over_remembered_over_ask_over_allow_over_the_default(
    deny: bool, remembered: bool, ask: bool, allow: bool
) -> None:
    rule = rules()
    for by_default in Decision:
        policy = Policy(
            deny=rule if deny else {}, ask=rule if ask else {}, allow=rule if allow else {}, by_default=by_default
        )
        expected = (
            (deny, Decision.DENY),
            (remembered, Decision.ALLOW),
            (ask, Decision.ASK),
            (allow, Decision.ALLOW),
            (True, by_default),
        )
        first = next(decision for applies, decision in expected if applies)
        assert (
            decide(policy, OURS, {}, frozenset(list_scopes(OURS, {}, CallTargets()) if remembered else ())).decision
            is first
        )


def test_without_rules_everything_asks() -> None:
    assert decide(Policy(), OURS, {}, NOTHING).decision is Decision.ASK


@pytest.mark.parametrize(
    ("selector", "tool", "selected"),
    [
        ("eca", OURS, True),
        ("eca__shell", OURS, True),
        ("shell", OURS, True),
        ("shel", OURS, False),
        ("SHELL", OURS, False),
        ("eca__", OURS, False),
        ("away", THEIRS, True),
        ("away__shell_2", THEIRS, True),
        ("shell_2", THEIRS, False),
        ("shell", NAMESAKE, False),
        ("eca", NAMESAKE, False),
        ("eca__shell", NAMESAKE, False),
    ],
)
def test_a_selector_is_a_server_or_a_tool_of_a_server_or_a_native_name(
    selector: str, tool: ToolSpec, selected: bool
) -> None:
    assert (decide(Policy(deny={selector: Rule()}), tool, {}, NOTHING).decision is Decision.DENY) is selected


def test_what_is_remembered_of_one_server_is_not_of_another() -> None:
    assert decide(Policy(), NAMESAKE, {}, remember(OURS, {})).decision is Decision.ASK


def test_a_pattern_must_match_the_whole_argument() -> None:
    assert allowed({"command": "ls"}, command="ls")
    assert not allowed({"command": "ls; rm -rf /"}, command="ls")
    assert not allowed({"command": "false || ls"}, command="ls")


def test_a_dot_matches_line_ends_so_that_a_denied_command_cannot_hide_behind_one() -> None:
    assert allowed({"command": "x\nrm -rf /\n"}, command=".*rm.*")
    assert not allowed({"command": "ls\n"}, command="ls")


def test_every_named_argument_must_match() -> None:
    assert allowed({"a": "1", "b": "2"}, a="1", b="2")
    assert not allowed({"a": "1", "b": "3"}, a="1", b="2")


def test_one_of_several_patterns_is_enough() -> None:
    policy = Policy(allow={"shell": Rule(args_matchers={"a": ("1", "2")})})
    assert [decide(policy, OURS, {"a": a}, NOTHING).decision.value for a in "123"] == ["allow", "allow", "ask"]


def test_an_argument_that_is_missing_is_empty() -> None:
    assert allowed({}, command="")
    assert not allowed({}, command=".+")


@pytest.mark.parametrize(
    ("value", "pattern"), [(5, "5"), (True, "True"), (None, "None"), (["rm", "-rf"], r".*\brm\b.*")]
)
def test_an_argument_of_another_type_is_matched_as_text(value: object, pattern: str) -> None:
    assert allowed({"command": value}, command=pattern)


def test_other_arguments_do_not_matter() -> None:
    assert allowed({"a": "1", "b": object()}, a="1")


@pytest.mark.parametrize("pattern", ["[", "(?P<a>", "*", "a{99999999999}", "(" * 2000 + ")" * 2000])
def test_a_pattern_that_is_none_is_named(pattern: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Rule.model_validate({"argsMatchers": {"command": [pattern]}})
    (error,) = caught.value.errors()
    assert error["loc"] == ("argsMatchers",)
    assert repr(pattern) in error["msg"]


def test_a_tool_that_is_always_denied_is_hidden() -> None:
    assert is_hidden(Policy(deny={"away": Rule()}), THEIRS)
    assert not is_hidden(Policy(deny={"away": Rule()}), OURS)


def test_a_tool_that_is_denied_for_some_arguments_is_not_hidden() -> None:
    assert not is_hidden(Policy(deny=rules(command="rm.*")), OURS)


def test_a_tool_that_only_the_default_denies_is_not_hidden_from_what_was_allowed() -> None:
    assert not is_hidden(Policy(by_default=Decision.DENY, allow=rules()), OURS)


# --- what is remembered -----------------------------------------------------------------------------------------------

SHELL = ToolSpec("shell_command", "", {}, approval_covers=ApprovalCoverage.COMMANDS, paths=("working_directory",))
WRITE = ToolSpec("write_file", "", {}, approval_covers=ApprovalCoverage.FOLDER, paths=("path",))
MOVE = ToolSpec("move_file", "", {}, approval_covers=ApprovalCoverage.FOLDER, paths=("source", "destination"))
RUN = ToolSpec("run_code", "", {}, approval_covers=ApprovalCoverage.NOTEBOOK, code=("code",))
READ = ToolSpec("read_file", "", {}, paths=("path",), read_only_hint=True)


def remember(tool: ToolSpec, *calls: dict[str, Any], notebook: str = "") -> frozenset[ApprovalScope]:
    """What is remembered once these were approved for the session."""
    return frozenset(
        scope for call in calls for scope in list_scopes(tool, call, find_targets(tool, call, notebook=notebook))
    )


def after(*lines: str) -> frozenset[ApprovalScope]:
    return remember(SHELL, *({"command": line} for line in lines))


def texts(tool: ToolSpec, call: dict[str, Any], notebook: str = "") -> list[str]:
    return sorted(scope.as_text() for scope in remember(tool, call, notebook=notebook))


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("git log --oneline", Decision.ALLOW),
        ("git log && ls", Decision.ALLOW),
        ("git push", Decision.ASK),
        ("git log && git push", Decision.ASK),
        ("git log > file", Decision.ASK),
        ("ls $(git push)", Decision.ASK),
        ("", Decision.ASK),
    ],
)
def test_a_line_is_allowed_when_every_command_of_it_was_remembered(line: str, decision: Decision) -> None:
    assert decide(Policy(), SHELL, {"command": line}, after("git log", "ls -la")).decision is decision


def test_a_line_with_a_program_that_may_do_more_is_remembered_as_a_whole() -> None:
    line = "sudo ls; git log"
    assert decide(Policy(), SHELL, {"command": line}, after(line)).decision is Decision.ALLOW
    assert decide(Policy(), SHELL, {"command": "git log"}, after(line)).decision is Decision.ASK
    assert decide(Policy(), SHELL, {"command": "sudo ls"}, after(line)).decision is Decision.ASK


def test_a_command_is_remembered_for_the_folder_where_it_runs() -> None:
    remembered = remember(SHELL, {"command": "make"}, {"command": "ls", "working_directory": "sub/"})
    there = {"working_directory": "./sub"}
    assert decide(Policy(), SHELL, {"command": "make"}, remembered).decision is Decision.ALLOW
    assert decide(Policy(), SHELL, {"command": "make", **there}, remembered).decision is Decision.ASK
    assert decide(Policy(), SHELL, {"command": "ls", **there}, remembered).decision is Decision.ALLOW
    assert decide(Policy(), SHELL, {"command": "ls"}, remembered).decision is Decision.ASK


def test_a_command_line_of_another_server_is_not_what_was_remembered() -> None:
    theirs = replace(SHELL, server="away", origin=Origin.MCP)
    assert decide(Policy(), theirs, {"command": "git log"}, after("git log")).decision is Decision.ASK


@pytest.mark.parametrize("arguments", [{}, {"command": None}, {"command": 5}, {"command": ["git", "log"]}])
def test_a_command_that_is_no_text_is_asked_about(arguments: dict[str, Any]) -> None:
    assert decide(Policy(), SHELL, arguments, after("git log")).decision is Decision.ASK


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("notes/b.txt", Decision.ALLOW),
        ("./notes//b.txt", Decision.ALLOW),
        ("a.txt", Decision.ASK),
        ("other/a.txt", Decision.ASK),
        ("notes/below/a.txt", Decision.ASK),
        ("notes/../a.txt", Decision.ASK),
        ("notes", Decision.ASK),
    ],
)
def test_a_file_tool_is_remembered_for_the_folder_of_the_file(path: str, decision: Decision) -> None:
    remembered = remember(WRITE, {"path": "notes/a.txt"})
    assert decide(Policy(), WRITE, {"path": path}, remembered).decision is decision


def test_a_move_is_remembered_for_both_folders() -> None:
    remembered = remember(MOVE, {"source": "a/x", "destination": "b/x"})
    assert decide(Policy(), MOVE, {"source": "a/y", "destination": "b/z"}, remembered).decision is Decision.ALLOW
    assert decide(Policy(), MOVE, {"source": "b/y", "destination": "a/z"}, remembered).decision is Decision.ASK
    assert decide(Policy(), MOVE, {"source": "a/y"}, remembered).decision is Decision.ASK


def test_code_is_remembered_for_the_notebook_of_the_prompt() -> None:
    remembered = remember(RUN, {"code": "1"}, notebook="sales.ipynb")
    there, elsewhere = (find_targets(RUN, {"code": "2"}, notebook=name) for name in ("sales.ipynb", "wide.ipynb"))
    assert decide(Policy(), RUN, {"code": "2"}, remembered, targets=there).decision is Decision.ALLOW
    assert decide(Policy(), RUN, {"code": "2"}, remembered, targets=elsewhere).decision is Decision.ASK


@pytest.mark.parametrize(
    ("tool", "call", "text"),
    [
        (SHELL, {"command": "git status -s"}, "git status"),
        (SHELL, {"command": "rm -rf build"}, "rm -rf build"),
        (SHELL, {"command": "make", "working_directory": "sub"}, "make (in sub/)"),
        (WRITE, {"path": "notes/a.txt"}, "write_file in notes/"),
        (WRITE, {"path": "a.txt"}, "write_file in the top folder"),
        (MOVE, {"source": "a/x", "destination": "b/x"}, "move_file in a/ and b/"),
        (RUN, {"code": "1"}, "run_code in sales.ipynb"),
        (THEIRS, {}, "shell_2 without arguments"),
        (THEIRS, {"path": "notes/a.txt", "content": "x"}, "shell_2 (any content, path in notes/)"),
        (THEIRS, {"filePath": "a.txt"}, "shell_2 (filePath in the top folder)"),
        (THEIRS, {"path": "/etc/my file"}, "shell_2 (path in /etc/)"),
        (THEIRS, {"path": "my notes/a.txt"}, 'shell_2 (path in "my notes/")'),
        (
            THEIRS,
            {"files": [{"name": "a/x"}, {"name": "a/y"}, {"name": "b/z"}]},
            "shell_2 (files.name in a/, files.name in b/)",
        ),
        (THEIRS, {"uri": "file:///etc/%68osts"}, "shell_2 (uri in /etc/)"),
        (THEIRS, {"url": "https://Example.org/a?b"}, "shell_2 (url at https://example.org)"),
        (THEIRS, {"page": "http://localhost:80"}, "shell_2 (page at http://localhost:80)"),
        (THEIRS, {"url": "https://a.org@evil.org/"}, 'shell_2 (url "https://a.org@evil.org/")'),
        (THEIRS, {"command": "ls", "args": ["-l", "x"]}, 'shell_2 (args ["-l", "x"], command "ls")'),
        (THEIRS, {"python_code": "print(1)"}, 'shell_2 (python_code "print(1)")'),
        (THEIRS, {"query": "SELECT 1"}, 'shell_2 (query "SELECT 1")'),
        (THEIRS, {"query": "what is new", "limit": 5}, "shell_2 (any query)"),
        (THEIRS, {"limit": 5}, "shell_2 (any limit)"),
        (THEIRS, {"to": "Ada", "text": "Either / or"}, 'shell_2 (any text, to "Ada")'),
        (THEIRS, {"message_id": "5", "id": 5, "all": False}, 'shell_2 (all false, any id, message_id "5")'),
        (THEIRS, {"body": "a@b.org, evil.org/x"}, "shell_2 (any body with a@b.org and evil.org)"),
        (THEIRS, {"body": '<a href="//evil.org">'}, "shell_2 (any body with //evil.org)"),
        (THEIRS, {"url": "https://a.org/?u=https%3A//b.org"}, "shell_2 (url at https://a.org and https://b.org)"),
        (THEIRS, {"files": {"b.txt": "x"}, "to": []}, 'shell_2 (files."b.txt" "x", to [])'),
        (bg_job.spec, {"action": "kill", "job_id": "job-1"}, 'bg_job (action "kill", job_id "job-1")'),
        (READ, {"path": "notes/a.txt"}, "every call of read_file"),
    ],
)
def test_what_is_remembered_is_said_in_words(tool: ToolSpec, call: dict[str, Any], text: str) -> None:
    assert texts(tool, call, "sales.ipynb") == [text]


NAMED = {"path": "notes/a.txt", "url": "https://a.org/b", "text": "One."}


@pytest.mark.parametrize(
    "other",
    [
        {**NAMED, "to": "a.txt"},
        {**NAMED, "files": {"a.txt": "x"}},
        {**NAMED, "note": ""},
        {**NAMED, "text": "see https://b.org"},
        {**NAMED, "count": "2"},
        {**NAMED, "all": False},
        {**NAMED, "more": {"path": "notes/a.txt"}},
        {"path": "src/a.txt", "url": "https://a.org/b"},
        {"path": "notes/below/a.txt", "url": "https://a.org/b"},
        {"path": "notes/a.txt", "url": "http://a.org/b"},
        {"path": "notes/a.txt", "url": "https://a.org:8443/b"},
        {"path": "notes/a.txt", "url": "https://a.org\\@b.org/"},
        {"path": "notes/a.txt, url at https://a.org"},
        {"path": "notes/a.txt"},
        {"path": ["notes/a.txt", "b.txt"], "url": "https://a.org/b"},
        {"path": "notes/a.txt", "url": "https://a.org/b", "command": "rm x"},
        {},
    ],
)
def test_an_approval_of_a_servers_tool_holds_for_nothing_that_its_arguments_did_not_name(other: dict[str, Any]) -> None:
    remembered = remember(THEIRS, NAMED)
    same = {"path": "notes/c.txt", "url": "https://a.org/d", "text": "Is this x.py, v1.2 or a/b.c?\nNo.", "depth": 2}
    assert decide(Policy(), THEIRS, same, remembered).decision is Decision.ALLOW
    assert decide(Policy(), THEIRS, other, remembered).decision is Decision.ASK


def test_a_tool_that_its_server_has_changed_is_asked_about_again() -> None:
    remembered = remember(THEIRS, {})
    assert decide(Policy(), THEIRS, {}, remembered).decision is Decision.ALLOW
    for changed in (replace(THEIRS, description="Now it is evil."), replace(THEIRS, parameters={"type": "object"})):
        verdict = decide(Policy(), changed, {}, remembered)
        assert verdict.decision is Decision.ASK
        assert verdict.cause is not None
        assert verdict.cause.kind == "changed"


# --- what changes what may run ----------------------------------------------------------------------------------------

PROTECTED = [
    (WRITE, {"path": ".eca/config.json"}),
    (WRITE, {"path": "notes/../.eca/config.json"}),
    (WRITE, {"path": "sub/.ECA/agents/code.md"}),
    (WRITE, {"path": ".mcp.json"}),
    (WRITE, {"path": "agents.MD"}),
    (WRITE, {"path": "deep/CLAUDE.md"}),
    (WRITE, {"path": ".git/hooks/pre-commit"}),
    (WRITE, {"path": ".vscode/tasks.json"}),
    (WRITE, {"path": ".agents/skills/x/SKILL.md"}),
    (WRITE, {"path": "/srv/me/.config/eca/config.json"}),
    (WRITE, {"path": ".e\u200cca/config.json"}),
    (WRITE, {"path": ".eca./config.json"}),
    (MOVE, {"source": "x", "destination": ".eca/config.json"}),
    (MOVE, {"source": ".eca", "destination": "x"}),
    (replace(THEIRS, read_only_hint=True), {"anything": {"deep": [".eca/config.json"]}}),
    (THEIRS, {"uri": "file:///srv/demo/%2Eeca/config.json"}),
    (RUN, {"code": "open('.eca/config.json', 'w').write('{}')"}),
    (RUN, {"code": "Path('~/.config/eca').expanduser()"}),
    (RUN, {"code": "open(root / 'AGENTS.md', 'a')"}),
    (SHELL, {"command": "echo {} > .eca/config.json"}),
    (SHELL, {"command": "echo x>.eca/config.json"}),
    (SHELL, {"command": "cat x >> AGENTS.md"}),
    (SHELL, {"command": "tee .mcp.json"}),
    (SHELL, {"command": "cp x '.e'ca/config.json"}),
    (SHELL, {"command": "cp x .e?a/config.json"}),
    (SHELL, {"command": "cp x .e{c,k}a/config.json"}),
    (SHELL, {"command": "cp x .ec*"}),
    (SHELL, {"command": "curl -o.eca/config.json http://x"}),
    (SHELL, {"command": "curl --output=.eca/config.json http://x"}),
    (SHELL, {"command": "cd .eca && cp ../x config.json"}),
    (SHELL, {"command": "cp x config.json", "working_directory": ".eca"}),
    (SHELL, {"command": 'python -c \'open(".eca/config.json", "w")\''}),
    (SHELL, {"command": "cat > .eca/config.json <<EOF\n{}\nEOF"}),
    (SHELL, {"command": 'echo $(date) > ".eca"/config.json'}),
    (SHELL, {"command": "git config core.fsmonitor ./x"}),
    (SHELL, {"command": "cp x ~/.config/eca/config.json"}),
    (SHELL, {"command": "sort -o AGENTS.md x"}),
    (SHELL, {"command": "curl -so.eca/config.json http://x"}),
    (SHELL, {"command": "tee .e{c,{x,y}}a/config.json"}),
    (SHELL, {"command": "tee {.ec,x}a/config.json"}),
    (SHELL, {"command": "tee .'e'{c,d}a/config.json"}),
    (SHELL, {"command": "tee .e{a..f}a/config.json"}),
    (SHELL, {"command": "cp x .zshenv"}),
    (SHELL, {"command": "echo x >> ~/.ssh/authorized_keys"}),
    (WRITE, {"path": ".gitconfig"}),
    (WRITE, {"path": ".config/git/config"}),
    (WRITE, {"path": ".husky/pre-commit"}),
    (WRITE, {"path": "opencode.json"}),
    (WRITE, {"path": ".eca::$INDEX_ALLOCATION/config.json"}),
    (WRITE, {"path": "AGENTS.md::$DATA"}),
    (THEIRS, {"command": "echo x > .eca/config.json"}),
    (THEIRS, {"input": {"line": "cp x .git/hooks/pre-commit"}}),
    (THEIRS, {"code": "import os\nopen('.eca/config.json', 'w')"}),
    (replace(THEIRS, server="eca", origin=Origin.NATIVE, definition="sh -c"), {"what": "cp x .eca/config.json"}),
]


@pytest.mark.parametrize(("tool", "call"), PROTECTED)
def test_what_changes_what_may_run_is_asked_about_whatever_allows_it(tool: ToolSpec, call: dict[str, Any]) -> None:
    everything = Policy(allow={"eca": Rule(), "away": Rule()}, by_default=Decision.ALLOW)
    verdict = decide(everything, tool, call, remember(tool, call), trust=True)
    assert verdict.decision is Decision.ASK
    assert verdict.cause is not None
    assert verdict.cause.kind == "protected"
    assert verdict.cause.path


@pytest.mark.parametrize(("tool", "call"), PROTECTED)
def test_a_denial_wins_over_the_question_about_what_may_run(tool: ToolSpec, call: dict[str, Any]) -> None:
    assert decide(Policy(by_default=Decision.DENY), tool, call, NOTHING).decision is Decision.DENY


@pytest.mark.parametrize(
    ("tool", "call"),
    [
        (READ, {"path": ".eca/config.json"}),
        (WRITE, {"path": "notes/eca.md", "content": "Look into .eca/config.json"}),
        (WRITE, {"path": "my.eca.lock"}),
        (WRITE, {"path": ".gitignore"}),
        (WRITE, {"path": "my-agents.md"}),
        (THEIRS, {"text": "Look into\n.eca/config.json"}),
        (THEIRS, {"query": "how do agents work"}),
        (RUN, {"code": "import git; git.clone('https://example.org/a.git'); df.eca; open('.gitignore')"}),
        (SHELL, {"command": "cat AGENTS.md"}),
        (SHELL, {"command": "git diff .eca/config.json"}),
        (SHELL, {"command": "ls -la .git 2>/dev/null | head"}),
        (SHELL, {"command": "git commit -m config"}),
        (SHELL, {"command": "git config --get user.name"}),
        (SHELL, {"command": "rm *"}),
        (SHELL, {"command": "pytest tests/*.py"}),
    ],
)
def test_what_cannot_change_what_may_run_is_decided_as_ever(tool: ToolSpec, call: dict[str, Any]) -> None:
    everything = Policy(by_default=Decision.ALLOW)
    assert decide(everything, tool, call, NOTHING).decision is Decision.ALLOW


# --- what patterns are compared with ----------------------------------------------------------------------------------


def allow_lines(*patterns: str) -> Policy:
    return Policy(allow={"shell_command": Rule(args_matchers={"command": patterns})})


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("git status", Decision.ALLOW),
        ("git status -s | wc -l", Decision.ALLOW),
        ("git status 2>&1", Decision.ALLOW),
        ("git status; rm x", Decision.ASK),
        ("git status && rm x", Decision.ASK),
        ("git status | sh", Decision.ASK),
        ("git status\nrm x", Decision.ASK),
        ("git status & rm x", Decision.ASK),
        ("git status $(rm x)", Decision.ASK),
        ("git status `rm x`", Decision.ASK),
        ("git status > x", Decision.ASK),
        ("git status 2> x", Decision.ASK),
        ("git status <(rm x)", Decision.ASK),
    ],
)
def test_each_command_of_a_line_must_match_a_rule_that_allows(line: str, decision: Decision) -> None:
    assert decide(allow_lines("git status.*", "wc.*"), SHELL, {"command": line}, NOTHING).decision is decision


@pytest.mark.parametrize("line", ["make test > log 2>&1", "echo $(date)", "a && b | c", "x\ny"])
def test_a_pattern_for_one_line_allows_that_line_alone(line: str) -> None:
    policy = allow_lines(re.escape(line))
    assert decide(policy, SHELL, {"command": line}, NOTHING).decision is Decision.ALLOW
    assert decide(policy, SHELL, {"command": f"{line}; rm x"}, NOTHING).decision is Decision.ASK


@pytest.mark.parametrize(
    "line",
    [
        "rm x",
        "ls; rm x",
        "ls | rm x",
        "'rm' x",
        'r"m" x',
        "r\\m x",
        "/bin/rm x",
        "ls\nrm x",
        "ls && rm x > y",
        "rm >y x",
    ],
)
def test_one_denied_command_denies_the_line(line: str) -> None:
    policy = Policy(deny={"shell_command": Rule(args_matchers={"command": ("rm.*",)})}, by_default=Decision.ALLOW)
    assert decide(policy, SHELL, {"command": line}, NOTHING).decision is Decision.DENY


@pytest.mark.parametrize(
    "line",
    [
        *("x=$(rm y)", "if true; then rm y; fi", "(rm y)", "echo `rm y`"),
        *("command rm y", "/usr/bin/env rm y", "A=1 rm y", "r?m y", "{rm,y}", "ls | xargs rm", "ls; sudo rm y"),
        *("sh -c 'rm y'", "bash -xc 'rm y'", "find . -exec rm y +", "timeout 5 rm y"),
        *("flock x rm y", "ionice rm y", "taskset 1 rm y", "chrt 1 rm y", "strace rm y", "script -c 'rm y' log"),
        *("su -c 'rm y'", "chroot . rm y", "unshare rm y", "setarch rm y", "pkexec rm y", "trap 'rm y' EXIT"),
        *("git -c alias.x='!rm y' x", "git rebase -x 'rm y'", "git bisect run rm y", "git submodule foreach 'rm y'"),
        *("awk 'BEGIN{system(\"rm y\")}'", "sed -n '1e rm y' f", "sed 's/a/b/;e rm y' f", "tar cf x y -I 'rm y'"),
        *("tar cf x y --checkpoint=1 --checkpoint-action=exec='rm y'", "rsync -e 'rm y' a b:c"),
        *("awk '{print | \"rm y\"}' f", "awk 'BEGIN{\"rm y\" | getline}'", "git -c core.pager='rm y' log"),
        *("printf 'rm y' | sh", "echo rm y | bash -s", "ssh h rm y"),
        # The words of zsh before a command.
        *("noglob rm y", "nocorrect rm y", "- rm y", "repeat 2 rm y"),
        *("echo rm y | at now", "batch < f", "crontab f", "chronic rm y", "ifne rm y", "cpulimit -- rm y"),
        *("tmux new 'rm y'", "screen -dm rm y", "xterm -e rm y", "socat - EXEC:'rm y'", "ip netns exec x rm y"),
        *("tini -- rm y", "gosu x rm y", "faketime x rm y", "/lib64/ld-linux-x86-64.so.2 /bin/rm y", "run-parts d"),
        *("hash -p /bin/rm ls; ls y", "mapfile -C 'rm y' -c 1 a", "enable -f ./x.so x", "compgen -C 'rm y'"),
        *("git grep -O'rm' x", "git grep --open-files-in-page=rm x", "git fetch --upload-pack='rm y' ."),
        *("git push --receive-p='rm y' .", "git fetch ext::'rm y'", "git --exec-path=. x", "git -c include.path=x log"),
        *(
            "git -c core.gitProxy=rm fetch",
            "git -c merge.x.driver='rm y' merge b",
            "git -c tar.x.command='rm y' archive",
        ),
        *("git -c interactive.diffFilter='rm y' add -p", "git -c submodule.x.update='!rm y' submodule update"),
        *(
            "git -c gpg.ssh.program=x log",
            "git -c uploadpack.packObjectsHook='rm y' fetch",
            "git -cdiff.x.textconv=rm log",
        ),
        *("tar cf x y --use-compress-prog='rm y'", "tar xf x --to-comm='rm y'", "tar -cIrm -f x y", "tar xf x -F rm"),
        *("sort --compress-prog rm y", "split --filter='rm y' x", "zip x y -T -TT 'rm y'", "rg --pre rm x"),
        *("sqlite3 x '.shell rm y'", "scp -S ./x a b:c", "man -P 'rm y' x", "less '+!rm y' f", "vim -c '!rm y' f"),
        *("vi '+!rm y' f", "awk '{print |& c}' f", "awk '{print $1 | c}' f", "sed '1e' f", "sed 's/x/rm y/e' f"),
    ],
)
def test_a_line_that_cannot_be_parsed_is_asked_about_where_a_command_is_denied(line: str) -> None:
    """Neither is it told which program runs when another one starts it."""
    policy = Policy(deny={"shell_command": Rule(args_matchers={"command": ("rm.*",)})}, by_default=Decision.ALLOW)
    verdict = decide(policy, SHELL, {"command": line}, NOTHING, trust=True)
    assert verdict.decision is Decision.ASK
    assert verdict.cause is not None
    # What a program is given by `xargs` and `find` may also be what decides what may run.
    assert verdict.cause.kind == ("protected" if line in {"ls | xargs rm", "find . -exec rm y +"} else "unparsed")


@pytest.mark.parametrize(
    "line",
    [
        *("ls *.py", "bash build.sh", "find . -name rm", "make CC=gcc", "git rm y", "source .venv/bin/activate"),
        *("git -c user.name=me commit -m 'rm y'", "awk -F '|' '{print $1}' f", "sed -n 's/e /x/p' f", "sed -e 1d f"),
        *("tar xzf x.tgz -C out", "rsync -av a b", "git clean -fdx", "uv run pytest"),
        *("git push -u origin main", "git -c color.ui=never log --oneline", "git grep -n x", "git log -p"),
        *("awk '$1 || $2 {print}' f", "sed 's/e/x/g' f", "sed '/e/d' f", "sed p e"),
        *("sort -k 2 f", "split -l 10 f", "zip -r x.zip y", "rg -n x", "sqlite3 x 'select 1'", "scp a b:c", "less f"),
        *("echo - x", "tar --exclude=x -cf a b", "tar -czf a b", "hash -r", "enable", "mapfile -t a"),
    ],
)
def test_any_other_line_runs_where_a_command_is_denied(line: str) -> None:
    policy = Policy(deny={"shell_command": Rule(args_matchers={"command": ("rm.*",)})}, by_default=Decision.ALLOW)
    assert decide(policy, SHELL, {"command": line}, NOTHING).decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("notes/a", Decision.ALLOW),
        ("./notes/a", Decision.ALLOW),
        ("notes/../secret", Decision.ASK),
        ("notes/../notes/a", Decision.ALLOW),
        ("notes/../../a", Decision.ASK),
    ],
)
def test_a_rule_for_a_path_is_compared_with_where_the_path_leads(path: str, decision: Decision) -> None:
    policy = Policy(
        allow={"write_file": Rule(args_matchers={"path": ("notes/.*",)})},
        deny={"read_file": Rule(args_matchers={"path": ("notes/.*",)})},
    )
    assert decide(policy, WRITE, {"path": path}, NOTHING).decision is decision


def test_dots_in_an_argument_of_a_server_do_not_lead_out_of_what_a_rule_allows() -> None:
    policy = Policy(allow={"away": Rule(args_matchers={"where": ("notes/.*", "https://.*")})})
    decided = [
        decide(policy, THEIRS, {"where": where}, NOTHING).decision.value
        for where in ("notes/a", "notes/../a", "https://example.org/a")
    ]
    assert decided == ["allow", "ask", "allow"]


# --- trust, and agents ------------------------------------------------------------------------------------------------


def test_trust_turns_ask_into_allow_and_lifts_no_deny() -> None:
    assert decide(Policy(), OURS, {}, NOTHING, trust=True).decision is Decision.ALLOW
    assert decide(Policy(ask=rules()), OURS, {}, NOTHING, trust=True).decision is Decision.ALLOW
    assert decide(Policy(deny=rules()), OURS, {}, NOTHING, trust=True).decision is Decision.DENY
    assert decide(Policy(by_default=Decision.DENY), OURS, {}, NOTHING, trust=True).decision is Decision.DENY


def test_an_agent_adds_its_rules_to_those_for_everybody() -> None:
    both = merge_policies(Policy(deny=rules(command="rm.*")), Policy(allow=rules(), by_default=Decision.DENY))
    assert decide(both, OURS, {"command": "ls"}, NOTHING).decision is Decision.ALLOW
    assert decide(both, OURS, {"command": "rm x"}, NOTHING).decision is Decision.DENY
    assert decide(both, THEIRS, {}, NOTHING).decision is Decision.DENY


def test_an_agent_that_says_no_default_keeps_the_one_for_everybody() -> None:
    assert merge_policies(Policy(by_default=Decision.DENY), Policy()).by_default is Decision.DENY
    assert merge_policies(Policy(by_default=Decision.DENY), Policy(by_default=Decision.ASK)).by_default is Decision.ASK


def test_of_two_denials_of_one_tool_each_counts() -> None:
    both = merge_policies(Policy(deny=rules(command="rm.*")), Policy(deny=rules(command="mv.*")))
    decided = [decide(both, OURS, {"command": line}, NOTHING).decision.value for line in ("rm x", "mv x y", "ls")]
    assert decided == ["deny", "deny", "ask"]
    assert not is_hidden(both, OURS)
    assert is_hidden(merge_policies(both, Policy(deny=rules())), OURS)


def test_an_agent_asks_and_allows_by_its_own_rule_for_the_same_selector() -> None:
    both = merge_policies(Policy(allow=rules()), Policy(allow=rules(command="ls")))
    assert [decide(both, OURS, {"command": line}, NOTHING).decision.value for line in ("ls", "rm")] == ["allow", "ask"]


# What always asks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize("allow", [False, True])
@pytest.mark.parametrize("sandboxed", [False, True])
def test_a_call_that_a_rule_always_asks_about_is_asked_about_whatever_else_allows_it(
    trust: bool, remembered: bool, allow: bool, sandboxed: bool
) -> None:
    policy = Policy(always_ask=rules(), allow=rules() if allow else {}, by_default=Decision.ALLOW)
    approved = remember(OURS, {}) if remembered else NOTHING
    verdict = decide(policy, OURS, {}, approved, trust=trust, is_sandboxed=sandboxed)
    assert (verdict.decision, verdict.needs_approval_each_time) == (Decision.ASK, True)
    assert verdict.cause is not None
    assert (verdict.cause.kind, verdict.cause.rule) == ("always", "shell")


def test_a_denied_call_stays_denied_although_a_rule_always_asks_about_it() -> None:
    assert decide(Policy(deny=rules(), always_ask=rules()), OURS, {}, NOTHING).decision is Decision.DENY


def test_an_agent_adds_to_what_always_asks_and_takes_nothing_from_it() -> None:
    shared = Policy(always_ask=rules(command="rm .*"))
    merged = merge_policies(shared, Policy(always_ask=rules(command="mv .*"), allow=rules()), "mine")
    for command, decision in (("rm x", Decision.ASK), ("mv x y", Decision.ASK), ("ls", Decision.ALLOW)):
        assert decide(merged, OURS, {"command": command}, NOTHING, trust=True).decision is decision, command
