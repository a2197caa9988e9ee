"""Calls that do several things: each of them is decided as a call of the tool that does only this."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.engine.approval.approval_scope import list_scopes
from jupyter_eca.engine.approval.call_parts import list_parts
from jupyter_eca.engine.approval.call_targets import find_targets
from jupyter_eca.engine.approval.policy import (
    Decision,
    Policy,
    Rule,
    assign_to_notebook,
    decide,
    is_hidden,
    is_selected,
    list_conditional_rules,
    merge_policies,
    unite_policies,
)
from jupyter_eca.engine.approval.review_time import may_run_code
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.plugins.tools.notebook_change import notebook_change
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import Cause, FileChangeDetails, ShownCell, ToolCallDetails
from jupyter_eca.protocol.notebook import (
    CellType,
    DeleteCell,
    EditCell,
    InsertCell,
    MoveCell,
    NewCell,
    NotebookCell,
    PutCell,
)

TOOL = notebook_change.spec
EDIT, DELETE = {"do": "edit", "cell": 3, "source": "x"}, {"do": "delete", "cell": 4}
BOOK = {"path": "a.ipynb"}


def shown(*cells: Any, runs: tuple[ShownCell, ...] | None = None) -> FileChangeDetails:
    return FileChangeDetails(path="a.ipynb", diff="+x", lines_added=1, lines_removed=0, cells=cells, runs=runs)


def parts(arguments: dict[str, Any], details: ToolCallDetails | None = None) -> list[tuple[str, dict[str, Any]]]:
    found = list_parts(TOOL, arguments, details)
    assert all(part.tool is TOOL.parts.get(part.kind) for part in found)
    return [(part.kind, dict(part.arguments)) for part in found]


def kinds(arguments: dict[str, Any], details: ToolCallDetails | None = None) -> list[str]:
    return [kind for kind, _ in parts(arguments, details)]


ALL = list(TOOL.parts)


def test_each_change_is_a_part_with_the_arguments_that_its_own_tool_would_get() -> None:
    assert parts({**BOOK, "changes": [EDIT, DELETE], "run": True}) == [
        ("edit", {**BOOK, "cell": 3, "source": "x"}),
        ("delete", {**BOOK, "cell": 4}),
        ("run", BOOK),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"changes": EDIT}, ["edit"]),
        ({"changes": [EDIT], "run": False}, ["edit"]),
        ({"changes": [EDIT], "run": None}, ["edit"]),
        ({"changes": [EDIT], "run": "no"}, ["edit", "run"]),
        ({"changes": [EDIT], "run": 0}, ["edit", "run"]),
        ({"run": True}, ["run"]),
        ({"preview": "12345678"}, ALL),
        ({"changes": []}, ALL),
        ({"changes": [{"do": "explode"}]}, ["explode", *ALL]),
        ({"changes": [{"cell": 3}]}, ["", *ALL]),
        ({"changes": "edit 3"}, ["", *ALL]),
    ],
)
def test_a_call_that_does_not_say_clearly_what_it_does_may_do_anything(
    arguments: dict[str, Any], expected: list[str]
) -> None:
    assert kinds(arguments) == expected


def test_what_was_previewed_counts_where_the_arguments_do_not_say_it() -> None:
    cell = NotebookCell(id="p", cell_type=CellType.CODE, source="p")
    details = shown(
        InsertCell(index=0, cell=NewCell(id="n", cell_type=CellType.MARKDOWN, source="new")),
        EditCell(cell_id="e", was="a", source="b"),
        DeleteCell(cell_id="d", was="a"),
        MoveCell(cell_id="m", index=0),
    )
    assert parts({**BOOK, "preview": "1"}, details) == [
        ("insert", {**BOOK, "preview": "1", "source": "new", "cell_type": "markdown"}),
        ("edit", {**BOOK, "preview": "1", "cell": "e", "source": "b"}),
        ("delete", {**BOOK, "preview": "1", "cell": "d"}),
        ("move", {**BOOK, "preview": "1", "cell": "m"}),
    ]
    assert kinds({"changes": [DELETE]}, details) == ["delete"]
    assert kinds({}, shown(PutCell(index=0, cell=cell))) == ["put", *ALL]


def test_the_cells_that_the_preview_shows_run_and_no_others() -> None:
    runs = (ShownCell(id="e", number=3, source="b"), ShownCell(id="f", number=4, source="c"))
    found = parts({"changes": [EDIT]}, shown(runs=runs))
    assert found[-1] == ("run", {"cells": ["e", "3", "f", "4"]})
    assert kinds({"changes": [EDIT], "run": True}, shown()) == ["edit"]


def test_a_call_with_a_preview_is_decided_by_what_the_preview_shows() -> None:
    details = shown(EditCell(cell_id="e", was="open('.eca/y')", source="open('.eca/x')"))
    targets = find_targets(TOOL, {"preview": "1"}, details=details)
    assert ([part.kind for part in targets.parts], targets.protected) == (["edit"], ".eca")


def test_a_tool_that_does_one_thing_has_no_parts() -> None:
    assert list_parts(ToolSpec("act", "", {}), {"changes": [EDIT]}) == ()


# --- how parts are decided --------------------------------------------------------------------------------------------


def verdict(policy: Policy, *changes: dict[str, Any], **more: Any) -> tuple[str, str, str | None]:
    arguments = {**BOOK, "changes": list(changes), "run": more.pop("run", False)}
    found = decide(policy, TOOL, arguments, more.pop("approved", frozenset()), **more)
    assert found.cause is not None
    return found.decision.value, found.cause.kind, found.cause.rule


ALLOW_TOOL = {"notebook_change": Rule()}
ALLOW_EDIT = {"notebook_edit_cell": Rule()}


def test_the_strictest_decision_about_a_part_counts_and_names_its_rule() -> None:
    policy = Policy(allow={**ALLOW_EDIT}, deny={"notebook_delete_cell": Rule()})
    assert verdict(policy, EDIT) == ("allow", "rule", "notebook_edit_cell")
    assert verdict(policy, EDIT, DELETE) == ("deny", "rule", "notebook_delete_cell")
    assert verdict(policy, DELETE, EDIT) == ("deny", "rule", "notebook_delete_cell")
    assert verdict(Policy(allow=ALLOW_EDIT), EDIT, DELETE) == ("ask", "default", None)
    assert verdict(Policy(ask={"notebook_delete_cell": Rule()}), EDIT, DELETE) == (
        "ask",
        "rule",
        "notebook_delete_cell",
    )
    assert verdict(Policy(ask={"notebook_delete_cell": Rule()}), DELETE, EDIT) == (
        "ask",
        "rule",
        "notebook_delete_cell",
    )


def test_a_rule_for_the_tool_allows_its_changes_and_not_a_run_of_cells() -> None:
    assert verdict(Policy(allow=ALLOW_TOOL), EDIT, DELETE) == ("allow", "rule", "notebook_change")
    assert verdict(Policy(allow=ALLOW_TOOL), EDIT, run=True) == ("ask", "default", None)
    both = {**ALLOW_TOOL, "notebook_run_cells": Rule()}
    assert verdict(Policy(allow=both), EDIT, run=True)[0] == "allow"
    assert verdict(Policy(ask=ALLOW_TOOL, allow={"eca": Rule()}), run=True) == ("ask", "rule", "notebook_change")


def test_a_rule_that_always_asks_about_a_part_asks_whatever_is_allowed() -> None:
    policy = Policy(allow={"eca": Rule()}, always_ask={"notebook_delete_cell": Rule()})
    assert verdict(policy, EDIT, trust=True) == ("allow", "rule", "eca")
    assert verdict(policy, EDIT, DELETE, trust=True) == ("ask", "always", "notebook_delete_cell")


def test_a_rule_about_a_cell_is_compared_with_the_part_that_changes_it() -> None:
    policy = Policy(allow={"eca": Rule()}, deny={"notebook_edit_cell": Rule(args_matchers={"cell": ("3",)})})
    assert verdict(policy, EDIT)[0] == "deny"
    assert verdict(policy, {**EDIT, "cell": 4}, {**DELETE, "cell": 3})[0] == "allow"


def test_a_part_whose_tool_is_switched_off_is_denied() -> None:
    tool = ToolSpec("both", "", {}, parts={"edit": TOOL.parts["edit"]})
    found = decide(Policy(by_default=Decision.ALLOW), tool, {"changes": [EDIT, DELETE]}, frozenset(), trust=True)
    assert (found.decision, found.cause) == (Decision.DENY, Cause(kind="rule", rule="disabledTools"))


def test_an_approval_for_the_session_holds_for_the_same_things_in_the_same_notebook() -> None:
    def scopes(arguments: dict[str, Any]) -> frozenset[Any]:
        return frozenset(list_scopes(TOOL, arguments, find_targets(TOOL, arguments)))

    approved = scopes({**BOOK, "changes": [EDIT, {**EDIT, "cell": 5}]})
    assert verdict(Policy(), {**EDIT, "cell": 9}, approved=approved) == ("allow", "remembered", None)
    assert verdict(Policy(), EDIT, DELETE, approved=approved)[0] == "ask"
    elsewhere = {"path": "b.ipynb", "changes": [EDIT]}
    assert decide(Policy(), TOOL, elsewhere, approved).decision is Decision.ASK
    assert len(scopes({**BOOK, "changes": [EDIT, EDIT]})) == 1
    assert len(scopes({**BOOK, "changes": [EDIT, DELETE]})) == 2


def test_a_part_that_was_approved_and_one_that_a_rule_allows_run_together() -> None:
    arguments = {**BOOK, "changes": [EDIT]}
    approved = frozenset(list_scopes(TOOL, arguments, find_targets(TOOL, arguments)))
    assert verdict(Policy(allow={"notebook_delete_cell": Rule()}), EDIT, DELETE, approved=approved)[0] == "allow"


def test_while_a_change_is_not_reviewed_edits_are_allowed_and_a_run_is_asked_about() -> None:
    policy = Policy(allow={"eca": Rule()})
    assert verdict(policy, EDIT, unseen_path="a.py")[:2] == ("allow", "rule")
    assert verdict(policy, EDIT, run=True, unseen_path="a.py")[:2] == ("ask", "unseen")


def test_only_a_part_that_runs_may_run_what_was_changed() -> None:
    edits, runs = (find_targets(TOOL, {**BOOK, "changes": [EDIT], "run": run}) for run in (False, True))
    assert (may_run_code(TOOL, edits), may_run_code(TOOL, runs)) == (False, True)


# --- whose rule it is, and which rules there are ----------------------------------------------------------------------

ACT = ToolSpec("act", "", {}, parts={"edit": ToolSpec("act_edit", "", {})})
OLD = ToolSpec("old", "", {}, replaced_by="act")
WANTED = Rule(args_matchers={"a": ("1",)})


def cause(policy: Policy, tool: ToolSpec = OLD, value: str = "1") -> Cause | None:
    return decide(policy, tool, {"a": value}, frozenset()).cause


def test_a_verdict_names_the_agent_or_the_notebook_whose_rule_decides() -> None:
    mine = Policy(deny={"old": WANTED}, by_default=Decision.DENY)
    of_agent = merge_policies(Policy(allow={"eca": WANTED}), mine, "ada")
    assert cause(of_agent) == Cause(kind="rule", rule="old", agent="ada")
    assert cause(of_agent, value="2") == Cause(kind="default", agent="ada")
    assert cause(merge_policies(Policy(), mine)) == Cause(kind="rule", rule="old")
    assert cause(merge_policies(Policy(), mine), value="2") == Cause(kind="default")
    again = merge_policies(of_agent, Policy(), "bob")
    assert cause(again, value="2") == Cause(kind="default", agent="ada")
    of_notebook = assign_to_notebook(mine, "a.ipynb")
    assert cause(of_notebook) == Cause(kind="rule", rule="old", notebook="a.ipynb")


@pytest.mark.parametrize("key", ["deny", "always_ask", "ask", "allow"])
def test_rules_of_all_kinds_are_assigned_to_an_agent_and_to_a_notebook_and_keep_their_alternatives(key: str) -> None:
    other = Rule(args_matchers={"a": ("2",)})
    policy = unite_policies(Policy.model_validate({key: {"old": WANTED}}), Policy.model_validate({key: {"old": other}}))
    for value in "12":
        for_agent = cause(merge_policies(Policy(), policy, "ada"), value=value)
        for_notebook = cause(assign_to_notebook(policy, "a.ipynb"), value=value)
        assert for_agent is not None
        assert for_notebook is not None
        assert (for_agent.agent, for_agent.rule, for_notebook.notebook) == ("ada", "old", "a.ipynb")
    default = cause(assign_to_notebook(policy, "a.ipynb"), value="3")
    assert default == Cause(kind="default")


def test_of_two_policies_all_rules_count_and_the_default_is_that_of_the_first() -> None:
    both = unite_policies(
        Policy(deny={"old": WANTED}, by_default=Decision.ALLOW), Policy(ask={"eca": Rule()}, by_default=Decision.DENY)
    )
    assert [decide(both, OLD, {"a": value}, frozenset()).decision.value for value in "12"] == ["deny", "ask"]
    assert both.by_default is Decision.ALLOW


@pytest.mark.parametrize("key", ["deny", "always_ask", "ask"])
def test_a_strict_rule_also_selects_the_tools_that_its_tool_has_replaced_and_one_that_allows_does_not(key: str) -> None:
    for selector in ("act", "eca__act"):
        found = decide(Policy.model_validate({key: {selector: Rule()}, "by_default": "allow"}), OLD, {}, frozenset())
        assert found.decision is (Decision.DENY if key == "deny" else Decision.ASK)
        assert decide(Policy(allow={selector: Rule()}), OLD, {}, frozenset()).decision is Decision.ASK


def test_a_denial_of_a_tool_also_hides_the_tools_that_it_has_replaced_and_limits_their_commands() -> None:
    assert is_hidden(Policy(deny={"act": Rule()}), OLD)
    old_shell = ToolSpec("old_shell", "", {}, approval_covers=ApprovalCoverage.COMMANDS, replaced_by="act")
    policy = Policy(deny={"act": Rule(args_matchers={"command": ("rm.*",)})}, by_default=Decision.ALLOW)
    assert cause(policy, old_shell) is not None
    found = decide(policy, old_shell, {"command": "echo $(rm x)"}, frozenset())
    assert (found.decision, found.cause) == (Decision.ASK, Cause(kind="unparsed", rule="act"))


def test_a_call_is_selected_by_a_rule_of_any_kind_for_it_or_for_one_of_its_parts() -> None:
    for key in ("deny", "always_ask", "ask", "allow"):
        policy = Policy.model_validate({key: {"act": WANTED}})
        assert [is_selected(policy, ACT, {"a": value, "changes": [EDIT]}) for value in "12"] == [True, False]
        part = Policy.model_validate({key: {"act_edit": Rule(args_matchers={"cell": ("3",)})}})
        assert [is_selected(part, ACT, {"changes": [{**EDIT, "cell": cell}]}) for cell in (3, 4)] == [True, False]
    assert not is_selected(Policy(by_default=Decision.ALLOW), ACT, {})
    assert is_selected(Policy(deny={"act": Rule()}), OLD, {})
    assert not is_selected(Policy(allow={"act": Rule()}), OLD, {})


def test_a_verdict_says_what_is_loaded_which_rule_cannot_be_applied_and_which_setting_lets_it_run() -> None:
    assert decide(Policy(), OLD, {}, frozenset(), loads="`x.png`").cause == Cause(kind="loads", loads="`x.png`")
    shell = ToolSpec("shell_command", "", {}, approval_covers=ApprovalCoverage.COMMANDS)
    policy = Policy(deny={"shell_command": Rule(args_matchers={"command": ("rm.*",)})})
    unparsed = decide(policy, shell, {"command": "echo $(ls)"}, frozenset())
    assert unparsed.cause == Cause(kind="unparsed", rule="shell_command")
    reviewed = decide(Policy(), OLD, {}, frozenset(), review=ReviewTime.NEVER)
    assert reviewed.cause == Cause(kind="review", rule="never")


def test_rules_that_depend_on_the_arguments_are_listed_with_their_kind() -> None:
    policy = Policy(
        deny={"act": WANTED, "other": WANTED},
        always_ask={"eca": Rule()},
        ask={"act_edit": Rule()},
        allow={"act": WANTED, "eca__act": Rule()},
    )
    assert list(list_conditional_rules(policy, ACT)) == [
        ("deny", "act"),
        ("alwaysAsk", "eca"),
        ("ask", "act_edit"),
        ("allow", "act"),
    ]
    assert list(list_conditional_rules(policy, OLD)) == [("deny", "act")]


def test_a_tool_of_a_client_that_asks_its_user_itself_is_asked_about_only_by_a_rule() -> None:
    theirs = ToolSpec("theirs", "", {}, client_asks=True)
    found = decide(Policy(), theirs, {}, frozenset())
    assert (found.decision, found.cause) == (Decision.ALLOW, None)
    assert decide(Policy(ask={"theirs": Rule()}), theirs, {}, frozenset()).decision is Decision.ASK
    assert decide(Policy(by_default=Decision.DENY), theirs, {}, frozenset()).decision is Decision.DENY


def test_the_approval_of_a_tool_covers_calls_with_the_same_arguments() -> None:
    tool = ToolSpec("job", "", {}, approval_covers=ApprovalCoverage.ARGUMENTS)
    approved = frozenset(list_scopes(tool, {"id": 1}, find_targets(tool, {"id": 1})))
    assert [decide(Policy(), tool, {"id": id}, approved).decision.value for id in (1, 2)] == ["allow", "ask"]
