"""Agents: the built-in ones, the user's own, and those written as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, find_problems, locate_problem, read_config, resolve
from jupyter_eca.engine.approval.policy import Decision, decide
from jupyter_eca.engine.model.request import ToolSpec
from tests.config.files import globally, trusting, write

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.config import Agent

LOOK = ToolSpec("grep", "", {})
WRITE = ToolSpec("write_file", "", {})
PREVIEW = ToolSpec("preview_file_change", "", {})
THEIRS = ToolSpec("search", "", {}, server="github")


def config(**given: Any) -> Config:
    return Config.model_validate(given)


def has(one: Agent, tool: ToolSpec, *, reads: bool = False) -> bool:
    return one.has_tool(tool, only_reads=reads)


@pytest.mark.parametrize("name", ["", "code", "agent", "build"])
def test_todays_default_agent_answers_to_its_older_names(name: str) -> None:
    assert resolve(config()).get_agent(name).name == "code"


def test_an_unknown_name_is_the_default_agent_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert resolve(config(defaultAgent="plan")).get_agent("nobody").name == "plan"
    assert "there is no agent 'nobody'" in caplog.text


def test_an_unknown_default_is_the_agent_that_is_always_there() -> None:
    assert resolve(config(defaultAgent="nobody")).get_agent().name == "code"


def test_plan_has_no_tool_that_changes_anything_and_keeps_the_preview() -> None:
    plan = resolve(config(toolCall={"approval": {"byDefault": "allow"}})).get_agent("plan")
    assert not has(plan, WRITE)
    assert has(plan, LOOK, reads=True)
    assert plan.has_tool(PREVIEW, only_reads=True, agents=frozenset({"plan"}))
    assert not resolve(config()).get_agent("code").has_tool(PREVIEW, only_reads=True, agents=frozenset({"plan"}))


def test_an_agent_that_inherits_from_plan_only_looks_too() -> None:
    mine = resolve(config(agent={"mine": {"inherit": "plan", "prompt": "Be kind."}})).get_agent("mine")
    assert (mine.kind, mine.prompt, mine.looks_only) == ("plan", "Be kind.", True)
    assert not has(mine, WRITE)


@pytest.mark.parametrize("selector", ["write_file", "eca__write_file", "eca"])
def test_a_disabled_tool_is_nobodys(selector: str) -> None:
    assert not has(resolve(config(disabledTools=[selector])).get_agent(), WRITE)


def test_a_tool_disabled_for_one_agent_is_there_for_the_others() -> None:
    given = config(agent={"code": {"disabledTools": ["github"]}})
    assert not has(resolve(given).get_agent("code"), THEIRS)
    assert has(resolve(given).get_agent("plan"), THEIRS, reads=True)


def test_a_bare_name_disables_no_tool_of_a_server() -> None:
    assert has(resolve(config(disabledTools=["search", "github__other"])).get_agent(), THEIRS)


@pytest.mark.parametrize("name", ["search", "github__search"])
def test_a_servers_tool_is_disabled_by_both_names_however_it_is_called(name: str) -> None:
    tool = ToolSpec(name, "", {}, server="github")
    assert not has(resolve(config(disabledTools=["github__search"])).get_agent(), tool)


def test_an_agents_rules_go_over_the_global_ones() -> None:
    given = config(
        toolCall={"approval": {"allow": {"grep": {}}, "byDefault": "ask"}},
        agent={"mine": {"toolCall": {"approval": {"deny": {"github": {}}, "byDefault": "allow"}}}},
    )
    policy = resolve(given).get_agent("mine").policy
    assert decide(policy, THEIRS, {}, frozenset()).decision is Decision.DENY
    assert decide(policy, WRITE, {}, frozenset()).decision is Decision.ALLOW
    assert "grep" in policy.allow
    assert decide(resolve(given).get_agent().policy, WRITE, {}, frozenset()).decision is Decision.ASK


def test_what_an_agent_does_not_say_comes_from_the_one_it_inherits_from() -> None:
    given = config(
        agent={
            "base": {
                "defaultModel": "a/b",
                "variant": "low",
                "maxSteps": 5,
                "disabledTools": ["grep"],
                "mode": "subagent",
            },
            "mine": {"inherit": "base", "variant": "high", "disabledTools": ["write_file"]},
        }
    )
    mine = resolve(given).get_agent("mine")
    assert (mine.default_model, mine.variant, mine.max_steps) == ("a/b", "high", 5)
    assert set(mine.disabled_tools) == {"grep", "write_file"}


def test_a_circle_of_agents_ends() -> None:
    given = config(agent={"a": {"inherit": "b", "prompt": "A"}, "b": {"inherit": "a", "variant": "low"}})
    a, b = (resolve(given).get_agent(name) for name in ("a", "b"))
    assert (a.prompt, a.variant, b.prompt) == ("A", "low", "A")


def test_an_agent_that_inherits_from_nobody_known_stands_alone(caplog: pytest.LogCaptureFixture) -> None:
    assert resolve(config(agent={"a": {"inherit": "gone", "prompt": "A"}})).get_agent("a").prompt == "A"
    assert "inherits from 'gone'" in caplog.text


def test_a_user_chooses_among_primary_agents_and_sees_the_default_first() -> None:
    given = config(defaultAgent="mine", agent={"mine": {}, "helper": {"mode": "subagent"}, "both": {"mode": "both"}})
    assert resolve(given).list_selectable() == ("mine", "code", "plan", "tutor", "both")
    assert "helper" in resolve(given).agents


def test_a_built_in_agent_may_be_changed() -> None:
    plan = resolve(config(agent={"plan": {"systemPrompt": "Plan.", "defaultModel": "a/b"}})).get_agent("plan")
    assert (plan.prompt, plan.default_model, plan.looks_only) == ("Plan.", "a/b", True)


# Markdown -----------------------------------------------------------------------------------------------------------

REVIEWER = """---
mode: subagent
description: Reviews changes
model: openai/gpt
variant: high
steps: 7
tools:
  byDefault: ask
  deny:
    - github__search
  allow: [grep]
---

Review the changes.
"""


def test_an_agent_may_be_written_as_markdown(home: Path, project: Path) -> None:
    write(project / ".eca" / "agents" / "reviewer.md", REVIEWER)
    found = resolve(read_config((project,), home=home, trust=trusting(project))).get_agent("reviewer")
    assert (found.mode, found.default_model, found.variant, found.max_steps) == ("subagent", "openai/gpt", "high", 7)
    assert (found.description, found.prompt) == ("Reviews changes", "Review the changes.")
    assert decide(found.policy, THEIRS, {}, frozenset()).decision is Decision.DENY


def test_markdown_without_front_matter_is_a_prompt(home: Path) -> None:
    write(home / "eca" / "agents" / "poet.md", "Answer in rhyme.\n\n---\nAlways.")
    assert resolve(read_config((), home=home)).get_agent("poet").prompt == "Answer in rhyme.\n\n---\nAlways."


def test_the_configuration_wins_over_markdown_of_the_same_place(home: Path) -> None:
    write(home / "eca" / "agents" / "poet.md", "---\nvariant: low\n---\nRhyme.")
    globally(home, {"agent": {"poet": {"variant": "high"}}})
    found = resolve(read_config((), home=home)).get_agent("poet")
    assert (found.variant, found.prompt) == ("high", "Rhyme.")


@pytest.mark.parametrize(
    "front", ["a: [", "- list", "mode: nonsense", "steps: -1", "description: {a: b}", "x: !!python/object:os.system {}"]
)
def test_a_bad_markdown_agent_is_left_out_with_a_warning_and_costs_no_other(home: Path, front: str) -> None:
    bad = write(home / "eca" / "agents" / "bad.md", f"---\n{front}\n---\nHello")
    write(home / "eca" / "agents" / "good.md", "Good.")
    found = read_config((), home=home)
    assert set(found.agent) == {"good"}
    assert len(found.warnings) == 1
    assert str(bad) in found.warnings[0]


def test_what_an_agent_names_and_nobody_has_is_told_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / ".eca" / "agents").mkdir(parents=True)
    written = tmp_path / ".eca" / "agents" / "Odd.md"
    written.write_text("---\nmode: subagent\nmodel: nowhere/x\n---\nBe odd.")
    file = tmp_path / ".eca" / "config.json"
    file.write_text('{"disabledTools": ["gone"],\n "agent": {"even": {\n  "disabledTools": ["gone"]}}}')
    made = read_config((tmp_path,), home=tmp_path / "home", trust=trusting(tmp_path))
    found = {
        problem.word: locate_problem(problem, made.sources)
        for problem in find_problems(resolve(made), {"grep"}, {"scripted"})
    }
    assert found == {"nowhere/x": f"{written}:3: ", "gone": f"{file}:3: "}
    file.unlink()
    assert [locate_problem(problem, made.sources) for problem in find_problems(resolve(made), {"grep"}, {"scripted"})][
        1:
    ] == [""]
