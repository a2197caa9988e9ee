"""Which paths are protected, by their names or because the settings of this machine name them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jupyter_eca.engine.approval.approval_scope import ApprovalScope, ScopeKind, is_same_tool, list_scopes
from jupyter_eca.engine.approval.call_targets import CallTargets, find_targets, names_notebook
from jupyter_eca.engine.approval.path_resolver import BY_TEXT, PathResolver, guess_paths, list_texts
from jupyter_eca.engine.approval.policy import Decision, asks_each_time
from jupyter_eca.engine.approval.protected_paths import (
    expand_braces,
    find_protected_name,
    is_matched_by_pattern,
    is_protected,
    is_protected_by_pattern,
    list_protected_names,
)
from jupyter_eca.engine.approval.reason import add_warning, describe_cause, describe_warning
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.protocol.content import Cause, FileChangeDetails, Origin, RunCellsDetails, ShownCell
from jupyter_eca.protocol.notebook import EditCell, InsertCell, NewCell


@pytest.mark.parametrize(
    ("path", "protected"),
    [
        (".eca", True),
        (".eca/a/b", True),
        ("a/.git/hooks/x", True),
        ("a\\.git\\config", True),
        ("./AGENTS.md", True),
        ("AGENTS.md/", True),
        ("AGENTS.md/a", False),
        ("a/.config/git/x", True),
        (".config/gita/x", False),
        (".config/a/git", False),
        (".config/./git/x", True),
        ("git/config", False),
        (".github/copilot-instructions.md", True),
        (".github/workflows/ci.yml", False),
        ("copilot-instructions.md", False),
        (".ECA. /x", True),
        (".eca:stream/x", True),
        ("\uff0eeca/x", True),
        (".e\u200dca/x", True),
        ("", False),
        ("/", False),
        (".", False),
    ],
)
def test_a_path_is_protected_by_the_names_in_it(path: str, protected: bool) -> None:
    assert is_protected(path) is protected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("cp x .eca/config .git/x", {".eca", ".git"}),
        ("x.git .gitignore a-.eca (.eca) '.eca'", {".eca"}),
        ("see .config/git now", {".config/git"}),
        (".eca-x .eca.bak .eca_x", set[str]()),
        ("", set[str]()),
    ],
)
def test_protected_names_are_found_in_a_text(text: str, names: set[str]) -> None:
    assert list_protected_names(text) == names
    assert (find_protected_name(text) in names) if names else find_protected_name(text) == ""


@pytest.mark.parametrize(
    ("word", "any_name", "protected"),
    [
        (".e*", True, True),
        (".e*/x", True, True),
        ("a/.e?a", True, True),
        (".e[a-d]a", True, True),
        (".e[!x]a", True, True),
        (".e[[:lower:]]a", True, True),
        (".e{b,c}a", True, True),
        (".'e'*", True, True),
        ("*", True, False),
        ("**", True, False),
        ("*eca", True, False),
        ("*.md", True, True),
        ("*.md", False, False),
        ("AGENTS.*", False, True),
        ("agent?.md", True, True),
        (".y*", True, False),
        ("?eca", True, False),
        ("a" * 1001, True, True),
    ],
)
def test_a_pattern_is_protected_if_it_may_become_a_protected_name(word: str, any_name: bool, protected: bool) -> None:
    assert is_protected_by_pattern(word, any_name=any_name) is protected


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/t/f*", "/t/found", True),
        ("/T/F*", "/t/found", True),
        ("/t/FOUND/*", "/t/found", True),
        ("/t/f[a-z]und", "/T/found", True),
        ("/t", "/t/found", False),
        ("/t/x*", "/t/found", False),
        ("/*/found", "/t/found", False),
        ("/?/found", "/t/found", True),
    ],
)
def test_a_pattern_matches_a_path_or_one_below_it(pattern: str, path: str, matches: bool) -> None:
    assert is_matched_by_pattern(pattern, path) is matches


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("a", ["a"]),
        ("a{b,c}d", ["abd", "acd"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("a{b,{c,d}}", ["ab", "ac", "ad"]),
        ("a{1..3}", ["a*"]),
        ("a{b}", ["a*"]),
        ("{}{", ["*{"]),
        ("{a,b}" * 7, [".*"]),
        ("{" * 101, [".*"]),
    ],
)
def test_braces_become_several_words_but_not_too_many(word: str, words: list[str]) -> None:
    assert sorted(set(expand_braces(word))) == sorted(words)


# --- this machine -----------------------------------------------------------------------------------------------------

RESOLVER = PathResolver(
    machine_paths=("/m/Found",), machine_parents=("/m",), project_paths=("/p/run.sh",), project_parents=("/p",)
)


@pytest.mark.parametrize(
    ("form", "protected", "as_folder", "moved"),
    [
        ("/m/found", True, True, True),
        ("/M/FOUND/x", True, True, True),
        ("/m/foundling", False, False, False),
        ("/m", False, True, True),
        ("/M", False, True, True),
        ("/p/run.sh", True, True, True),
        ("/p", False, False, True),
        ("/", False, False, False),
        ("a/.eca", True, True, True),
    ],
)
def test_a_file_of_the_settings_is_protected_and_its_folder_where_it_may_be_moved(
    form: str, protected: bool, as_folder: bool, moved: bool
) -> None:
    assert RESOLVER.is_protected(form) is protected
    assert RESOLVER.is_protected_or_parent(form, moves=False) is as_folder
    assert RESOLVER.is_protected_or_parent(form, moves=True) is moved
    assert RESOLVER.is_protected_or_parent(form) is moved


@pytest.mark.parametrize(
    ("form", "may"),
    [
        (".", True),
        ("/m", True),
        ("/M/", True),
        ("/p", True),
        ("/", True),
        ("/m/foun", False),
        ("a", False),
        (".eca", True),
    ],
)
def test_a_folder_may_contain_what_is_protected(form: str, may: bool) -> None:
    assert RESOLVER.may_contain_protected(form) is may


def test_a_pattern_is_compared_with_the_files_of_the_machine_and_not_of_the_project() -> None:
    assert [RESOLVER.may_become_protected(form) for form in ("/m/f*", "/p/*.sh", "/m/x*")] == [True, False, False]


def test_texts_are_found_at_any_depth_and_paths_among_them() -> None:
    value: Any = {"a": ["b", ("c", {"d": 5})], "e": None}
    assert list(list_texts(value)) == ["a", "b", "c", "d", "e"]
    assert list(list_texts(5)) == []
    paths = ["x", " ", "", "a\nb", "a\x00b", "y" * 4096, "z" * 4097, "file:///a%20b", "FILE:c"]
    assert list(guess_paths(paths)) == ["x", "y" * 4096, "file:///a%20b", "/a b", "FILE:c", "c"]


# --- the targets of a call --------------------------------------------------------------------------------------------

SHELL = ToolSpec("shell_command", "", {}, approval_covers=ApprovalCoverage.COMMANDS, paths=("working_directory",))
WRITE = ToolSpec("write_file", "", {}, paths=("path", "other"))
RUN = ToolSpec("run_code", "", {}, approval_covers=ApprovalCoverage.NOTEBOOK, paths=("path",), code=("code",))
THEIRS = ToolSpec("theirs", "", {}, server="away", origin=Origin.MCP)
CUSTOM = ToolSpec("mine", "", {}, definition="sh -c", paths=("path",))


def test_the_paths_of_our_tools_are_those_that_they_declare_and_of_others_any_text() -> None:
    arguments = {"path": "a/../b", "other": "", "text": "c"}
    assert find_targets(WRITE, arguments).paths == {"path": ("b",)}
    assert find_targets(THEIRS, {"x": ["a", "a", "b"], "n": 5}).paths == {"x": ("a", "b")}
    assert find_targets(WRITE, {"path": ["file:a"]}).paths == {"path": ("file:a",)}
    assert find_targets(CUSTOM, {"path": "file:a"}).paths == {"path": ("file:a", "a")}


def test_a_command_runs_in_the_folder_of_the_workspace_that_is_not_the_first_one() -> None:
    def elsewhere(path: str, folder: str) -> tuple[str, ...]:
        return (f"/w/{folder}{path}",)

    resolver = PathResolver(elsewhere)
    assert find_targets(SHELL, {"command": "ls"}, resolver).paths == {"working_directory": ("/w/",)}
    assert find_targets(SHELL, {"command": "ls", "working_directory": "a"}, resolver).paths == {
        "working_directory": ("/w/a",)
    }
    assert find_targets(SHELL, {"command": "ls"}).paths == {}
    assert find_targets(WRITE, {}, resolver).paths == {}


def test_a_tool_of_notebooks_uses_the_notebook_of_the_prompt_unless_it_names_one() -> None:
    assert find_targets(RUN, {"code": "1"}, notebook="a.ipynb").paths == {"path": ("a.ipynb",)}
    assert find_targets(RUN, {"code": "1", "path": " "}, notebook="a.ipynb").paths == {"path": ("a.ipynb",)}
    assert find_targets(RUN, {"code": "1", "path": "b.ipynb"}, notebook="a.ipynb").paths == {"path": ("b.ipynb",)}
    assert [names_notebook({"path": path}) for path in ("a", " ", None)] == [True, False, False]
    assert not names_notebook({})


SHOWN_RUN = RunCellsDetails(path="a.ipynb", cells=(ShownCell(number=1, id="x", source="open('.eca/x')"),))


def change(*cells: Any, runs: tuple[ShownCell, ...] | None = None) -> FileChangeDetails:
    return FileChangeDetails(path="a.ipynb", diff="", lines_added=1, lines_removed=0, cells=cells, runs=runs)


@pytest.mark.parametrize(
    ("tool", "arguments", "details", "protected"),
    [
        (WRITE, {"path": "a/.eca/x"}, None, "a/.eca/x"),
        (WRITE, {"path": "a", "other": "/m/found"}, None, "/m/found"),
        (WRITE, {"path": "/p"}, None, "/p"),
        (WRITE, {"path": "a"}, None, ""),
        (replace(WRITE, read_only_hint=True), {"path": ".eca"}, None, ""),
        (replace(WRITE, changes=("/m/found",)), {}, None, "/m/found"),
        (SHELL, {"command": "ls", "working_directory": "/m"}, None, ""),
        (SHELL, {"command": "ls", "working_directory": ".eca"}, None, ".eca"),
        (SHELL, {"command": "use found", "working_directory": "/m"}, None, "found"),
        (RUN, {"code": "open('.eca/x')"}, None, ".eca"),
        (RUN, {"code": ["a", "open('/m/found')"]}, None, "/m/found"),
        (RUN, {"code": "open('./found')", "path": "/m/a.ipynb"}, None, "./found"),
        (RUN, {"code": "open('./found')", "path": "/x/a.ipynb"}, None, ""),
        (RUN, {"text": "open('.eca/x')"}, None, ""),
        (RUN, {}, SHOWN_RUN, ".eca"),
        (RUN, {}, change(InsertCell(index=0, cell=NewCell(id="n", source="open('.eca/x')"))), ".eca"),
        (RUN, {}, change(EditCell(cell_id="n", was="x", source="open('.eca/x')")), ".eca"),
        (RUN, {}, change(EditCell(cell_id="n", was="open('.eca/y')", source="open('.eca/x')")), ""),
        (RUN, {}, change(EditCell(cell_id="n", was="x", source="y"), runs=SHOWN_RUN.cells), ".eca"),
        (RUN, {}, change(), ""),
        (THEIRS, {"code": "a\nopen('.eca/x')"}, None, ".eca"),
        (THEIRS, {"Code": "a\nopen('.eca/x')"}, None, ".eca"),
        (THEIRS, {"text": "a\nopen('.eca/x')"}, None, ""),
        (THEIRS, {"text": "open('.eca/x')"}, None, ".eca"),
        (THEIRS, {"text": "/m"}, None, "/m"),
        (CUSTOM, {"path": "a", "code": "open('.eca/x')"}, None, ".eca"),
    ],
)
def test_a_call_that_may_change_a_protected_path_names_it(
    tool: ToolSpec, arguments: dict[str, Any], details: Any, protected: str
) -> None:
    assert find_targets(tool, arguments, RESOLVER, details=details).protected == protected


def test_a_path_that_is_written_relative_starts_in_the_workspace() -> None:
    resolver = PathResolver(machine_paths=("found",))
    assert find_targets(replace(WRITE, changes=("found",)), {}, resolver).protected == "found"
    assert find_targets(RUN, {"code": "open('./found')"}, resolver).protected == "./found"
    elsewhere = {"code": "open('./found')", "path": "/x/a.ipynb"}
    assert find_targets(RUN, elsewhere, resolver).protected == "./found"


def test_what_the_arguments_name_is_kept_for_tools_whose_approval_depends_on_it() -> None:
    exactly = replace(THEIRS, approval_covers=ApprovalCoverage.ARGUMENTS)
    assert find_targets(exactly, {"b": 1, "a": "x"}).named == ('a "x"', "b 1")
    assert find_targets(THEIRS, {"b": 1, "path": "n/a"}).named == ("any b", "path in n/")
    assert find_targets(WRITE, {"path": "n/a"}).named == ("path in n/",)
    assert find_targets(replace(WRITE, read_only_hint=True), {"path": "n/a"}).named == ()
    assert find_targets(SHELL, {"command": "ls"}).named == ()


# --- what an approval covers, in words --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "text"),
    [
        (ApprovalScope("eca__x", "x", kind=ScopeKind.NOTEBOOK), "x in this kernel"),
        (ApprovalScope("eca__x", "x", kind=ScopeKind.NOTEBOOK, value="a.ipynb"), "x in a.ipynb"),
        (ApprovalScope("eca__x", "x", kind=ScopeKind.LINE, value="ls", folder="."), "ls"),
        (ApprovalScope("eca__x", "x", kind=ScopeKind.LINE, value="ls"), "ls"),
        (ApprovalScope("eca__x", "x", kind=ScopeKind.PROGRAM, value="ls", folder="a"), "ls (in a/)"),
    ],
)
def test_the_button_says_what_the_approval_covers(scope: ApprovalScope, text: str) -> None:
    assert scope.as_text() == text


def test_a_tool_is_the_same_as_long_as_its_server_its_name_and_its_definition_are() -> None:
    assert is_same_tool(THEIRS, replace(THEIRS, summary="x"))
    changes: tuple[dict[str, Any], ...] = (
        {"name": "x"},
        {"server": "x"},
        {"origin": Origin.SERVER},
        {"description": "x"},
        {"parameters": {"x": 1}},
        {"definition": "x"},
    )
    assert not any(is_same_tool(THEIRS, replace(THEIRS, **change)) for change in changes)
    assert is_same_tool(WRITE, replace(WRITE, description="Lists other agents now."))
    assert not is_same_tool(CUSTOM, replace(CUSTOM, definition="bash -c"))
    named = replace(THEIRS, name="away__theirs")
    assert list_scopes(named, {}, CallTargets())[0].tool == list_scopes(THEIRS, {}, CallTargets())[0].tool


def test_an_approval_covers_nothing_if_what_it_would_cover_is_not_known() -> None:
    move = ToolSpec("move", "", {}, approval_covers=ApprovalCoverage.FOLDER, paths=("source", "destination"))
    assert list_scopes(move, {"source": "a/x"}, find_targets(move, {"source": "a/x"})) == ()
    (scope,) = list_scopes(RUN, {"code": "1"}, CallTargets())
    assert scope.as_text() == "run_code in this kernel"


def test_a_part_that_is_a_command_is_approved_for_its_line() -> None:
    both = ToolSpec("both", "", {}, parts={"run": SHELL})
    arguments = {"changes": [{"do": "run"}], "command": "make"}
    scopes = list_scopes(both, arguments, find_targets(both, arguments))
    assert [scope.as_text() for scope in scopes] == ["make"]


def test_half_a_character_in_the_description_of_a_tool_breaks_no_approval() -> None:
    assert not is_same_tool(THEIRS, replace(THEIRS, description="\ud83d"))


def test_the_parameters_of_a_tool_are_compared_whatever_their_order_is() -> None:
    one, other = (replace(THEIRS, parameters=dict(pairs)) for pairs in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)]))
    assert is_same_tool(one, other)


# --- why --------------------------------------------------------------------------------------------------------------

WARNINGS = {
    "protected": ("path", "a.py"),
    "loads": ("loads", "`x.png` from example.org"),
    "unparsed": ("rule", "act"),
    "always": ("rule", "act"),
    "unseen": ("path", "a.py"),
    "repository": ("path", "diff.external"),
    "changed": ("rule", "act"),
}


@pytest.mark.parametrize("kind", WARNINGS)
def test_a_call_that_asks_for_a_special_reason_warns_the_user(kind: str) -> None:
    name, value = WARNINGS[kind]
    cause = Cause.model_validate({"kind": kind, name: value})
    warning = describe_warning(cause)
    assert warning
    assert value in warning or kind == "changed"
    assert add_warning("Acts", cause) == f"{warning}: Acts"
    assert describe_cause(Decision.ASK, cause).lower().endswith(f" {warning.lower()}")
    assert asks_each_time(cause) is (kind != "changed")


@pytest.mark.parametrize("kind", ["rule", "remembered", "trust", "default", "review", "sandbox", "unasked"])
def test_a_call_that_runs_warns_of_nothing(kind: str) -> None:
    cause = Cause.model_validate({"kind": kind})
    assert (describe_warning(cause), add_warning("Acts", cause), asks_each_time(cause)) == ("", "Acts", False)
    assert describe_cause(Decision.ALLOW, cause)
    assert (add_warning("Acts", None), describe_cause(Decision.ASK, None), asks_each_time(None)) == ("Acts", "", False)


def test_a_reason_names_the_rule_and_whose_it_is() -> None:
    cause = Cause(kind="rule", rule="act")
    texts = [describe_cause(decision, cause) for decision in Decision]
    assert len(set(texts)) == 3
    assert all(
        "`act`" in text and f"`toolCall.approval.{decision}`" in text
        for text, decision in zip(texts, Decision, strict=True)
    )
    of_agent = describe_cause(Decision.DENY, Cause(kind="rule", rule="act", agent="ada"))
    of_notebook = describe_cause(Decision.DENY, Cause(kind="rule", rule="act", agent="ada", notebook="a.ipynb"))
    assert ("`ada`" in of_agent, "`a.ipynb`" in of_agent, "toolCall" in of_agent) == (True, False, True)
    assert ("`ada`" in of_notebook, "`a.ipynb`" in of_notebook, "toolCall" in of_notebook) == (False, True, False)
    by_default = describe_cause(Decision.DENY, Cause(kind="default", agent="ada"))
    assert ("`ada`" in by_default, "byDefault" in by_default, "deny" in by_default) == (True, True, True)
    would_ask = describe_cause(Decision.ALLOW, Cause(kind="trust", rule="act", agent="ada"))
    assert ("`act`" in would_ask, "`ada`" in would_ask) == (True, True)
    assert "`None`" not in describe_cause(Decision.ALLOW, Cause(kind="trust"))
    assert "Bob" in describe_cause(Decision.ALLOW, Cause(kind="unasked", agent="Bob"))
    assert "after" in describe_cause(Decision.ALLOW, Cause(kind="review", rule="after"))


def test_without_a_resolver_a_path_is_normalized_as_a_text() -> None:
    assert BY_TEXT.resolve("../a", "b/c") == ("b/a",)
    assert BY_TEXT.find_git_program("a") == ""
