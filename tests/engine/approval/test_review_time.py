"""When the user decides about a change: the table of the setting `review`, and what it must never loosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.approval.approval_scope import list_scopes
from jupyter_eca.engine.approval.call_targets import CallTargets, find_targets
from jupyter_eca.engine.approval.policy import CallAdjustment, Decision, Policy, Rule, decide
from jupyter_eca.engine.approval.review_time import ReviewSituation, choose_review_time, may_run_code
from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.plugins.tools.cell_edits import (
    notebook_delete_cell,
    notebook_edit_cell,
    notebook_insert_cell,
    notebook_move_cell,
)
from jupyter_eca.plugins.tools.files import edit_file, move_file, write_file
from jupyter_eca.plugins.tools.kernel import run_code
from jupyter_eca.plugins.tools.notebook import notebook_run_cells
from jupyter_eca.plugins.tools.notebook_change import notebook_change
from jupyter_eca.plugins.tools.notebook_create import notebook_create
from jupyter_eca.plugins.tools.shell import bg_job, shell_command
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import FileChangeDetails, Origin

if TYPE_CHECKING:
    from jupyter_eca.plugins.tools.base import NativeTool

BEFORE, AFTER, NEVER = ReviewTime
SHOWN = FileChangeDetails(path="a.py", diff="+x", lines_added=1, lines_removed=0)
INSIDE = CallTargets({"path": ("a.py", "/srv/demo/a.py")})


def choose(
    setting: ReviewTime = AFTER,
    tool: ToolSpec = edit_file.spec,
    targets: CallTargets | None = INSIDE,
    details: Any = SHOWN,
    *,
    shown: bool = True,
    subagent: bool = False,
    kept: bool = True,
) -> ReviewTime:
    return choose_review_time(ReviewSituation(setting, shown, subagent), tool, targets, details, can_be_undone=kept)


def at(*forms: str) -> CallTargets:
    return CallTargets({"path": forms})


@pytest.mark.parametrize("setting", list(ReviewTime))
@pytest.mark.parametrize("tool", [notebook_insert_cell, notebook_edit_cell, notebook_move_cell, write_file, edit_file])
def test_an_edit_of_a_cell_or_a_file_is_reviewed_when_the_user_wants_it(setting: ReviewTime, tool: NativeTool) -> None:
    assert choose(setting, tool.spec) is setting


@pytest.mark.parametrize("setting", [AFTER, NEVER])
@pytest.mark.parametrize(
    "situation",
    [
        # The client cannot show hunks, or the prompt came from one that cannot (ECA editor, AHP, MCP, REST).
        {"shown": False},
        {"subagent": True},
        {"kept": False},
        # What the call changes is not known, or is nothing.
        {"details": None},
        {"details": SHOWN.model_copy(update={"diff": ""})},
        {"targets": None},
        {"targets": CallTargets()},
        # A cell that loads something as soon as it is shown.
        {"details": SHOWN.model_copy(update={"loads": "`x.png` from example.org"})},
        # A file that decides what may run, outside of the workspace, hidden, or that programs run when they start.
        {"targets": CallTargets({"path": ("link", "/srv/demo/.eca/config.json")}, protected=".eca/config.json")},
        {"targets": at("/etc/passwd")},
        {"targets": at("C:/Windows/x")},
        {"targets": at("c:/windows/x")},
        {"targets": at(".github/workflows/ci.yml", "/srv/demo/.github/workflows/ci.yml")},
        {"targets": at("sub/.env", "/srv/demo/sub/.env")},
        {"targets": at("sitecustomize.py", "/srv/demo/sitecustomize.py")},
        {"targets": at("Jupyter_Server_Config.py", "/srv/demo/Jupyter_Server_Config.py")},
        {"targets": at("lib/evil.pth", "/srv/demo/lib/evil.pth")},
        {"targets": CallTargets({"path": ("a.py", "/srv/demo/a.py"), "other": ("/elsewhere/b.py",)})},
        # Tools that run, delete or move something, and tools of others with the same names.
        {"tool": shell_command.spec},
        {"tool": run_code.spec},
        {"tool": notebook_run_cells.spec},
        {"tool": notebook_delete_cell.spec},
        {"tool": notebook_create.spec},
        {"tool": move_file.spec},
        {"tool": ToolSpec("edit_file", "", {}, server="away", origin=Origin.MCP, revertible=True)},
        {"tool": ToolSpec("edit_file", "", {}, definition="sed -i", revertible=True)},
    ],
)
def test_everything_else_is_reviewed_before_it_runs(setting: ReviewTime, situation: dict[str, Any]) -> None:
    assert choose(setting, **situation) is BEFORE


@pytest.mark.parametrize(
    ("kinds", "tool", "expected"),
    [
        (["edit"], notebook_change.spec, AFTER),
        (["edit", "insert", "move"], notebook_change.spec, AFTER),
        (["edit", "delete"], notebook_change.spec, BEFORE),
        (["delete"], notebook_change.spec, BEFORE),
        (["edit"], ToolSpec("both", "", {}, parts={"insert": notebook_insert_cell.spec}), BEFORE),
    ],
)
def test_a_call_of_several_changes_is_reviewed_afterwards_if_each_of_them_can_be_undone(
    kinds: list[str], tool: ToolSpec, expected: ReviewTime
) -> None:
    found = find_targets(tool, {"path": "a.ipynb", "changes": [{"do": kind} for kind in kinds]})
    assert choose(AFTER, tool, replace(found, paths=INSIDE.paths)) is expected


def verdict(policy: Policy, tool: ToolSpec = edit_file.spec, review: ReviewTime = AFTER, **more: Any) -> str:
    found = decide(policy, tool, {"path": "a.py"}, more.pop("remembered", frozenset()), review=review, **more)
    return f"{found.decision} {found.cause.kind if found.cause else ''}"


EDIT = {"edit_file": Rule()}


@pytest.mark.parametrize("review", [AFTER, NEVER])
def test_the_setting_counts_only_where_no_rule_decides(review: ReviewTime) -> None:
    assert verdict(Policy(), review=review) == "allow review"
    assert verdict(Policy(), review=BEFORE) == "ask default"
    assert verdict(Policy(allow=EDIT), review=review) == "allow rule"
    assert verdict(Policy(ask=EDIT), review=review) == "ask rule"
    assert verdict(Policy(deny=EDIT), review=review) == "deny rule"
    assert verdict(Policy(ask={"eca": Rule()}), review=review) == "ask rule"
    assert verdict(Policy(by_default=Decision.DENY), review=review) == "deny default"
    assert verdict(Policy(), review=review, trust=True) == "allow trust"
    assert verdict(Policy(), review=review, loads="x") == "ask loads"
    protected = CallTargets(protected="AGENTS.md")
    assert verdict(Policy(), review=review, targets=protected) == "ask protected"


def test_a_hook_that_asks_is_asked_about_whatever_the_setting_is() -> None:
    allowed = decide(Policy(), edit_file.spec, {}, frozenset(), review=NEVER)
    assert CallAdjustment(decision=Decision.ASK).apply_to(allowed).decision is Decision.ASK


RUNS = (shell_command, run_code, notebook_run_cells, move_file)
OTHERS = ToolSpec("work", "", {}, server="away", origin=Origin.MCP, read_only_hint=True)


@pytest.mark.parametrize("tool", [*(tool.spec for tool in RUNS), OTHERS, ToolSpec("make", "", {}, definition="make")])
def test_what_may_run_an_unseen_change_is_asked_about_though_a_rule_or_an_approval_allows_it(tool: ToolSpec) -> None:
    policy = Policy(allow={tool.name: Rule(), "away": Rule()})
    arguments = {"command": "make test"}
    assert decide(policy, tool, arguments, frozenset()).decision is Decision.ALLOW
    asked = decide(policy, tool, arguments, frozenset(), unseen_path="a.py")
    assert (asked.decision, asked.needs_approval_each_time) == (Decision.ASK, True)
    remembered = frozenset(list_scopes(tool, arguments, find_targets(tool, arguments)))
    allowed = Decision.ALLOW if remembered else Decision.ASK
    assert decide(Policy(), tool, arguments, remembered).decision is allowed
    assert decide(Policy(), tool, arguments, remembered, unseen_path="a.py").decision is Decision.ASK
    assert decide(
        Policy(by_default=Decision.ALLOW), tool, arguments, frozenset(), unseen_path="a.py"
    ).needs_approval_each_time
    # Denials stay denials, and trust is a decision of the user to be asked nothing.
    assert decide(Policy(by_default=Decision.DENY), tool, {}, frozenset(), unseen_path="a").decision is Decision.DENY
    assert decide(policy, tool, arguments, frozenset(), unseen_path="a", trust=True).decision is Decision.ALLOW


def test_what_runs_nothing_of_the_workspace_needs_no_question_for_it() -> None:
    for tool in (ToolSpec("spawn_agent", "", {}), bg_job.spec, ToolSpec("read_file", "", {}, read_only_hint=True)):
        assert not may_run_code(tool, None)
    assert may_run_code(ToolSpec("bg_job", "", {}, definition="make"), None)
    assert may_run_code(ToolSpec("bg_job", "", {}, server="away", origin=Origin.MCP), None)


def test_more_edits_may_follow_an_unseen_change() -> None:
    assert verdict(Policy(), unseen_path="a.py") == "allow review"
    assert verdict(Policy(allow=EDIT), unseen_path="a.py") == "allow rule"
