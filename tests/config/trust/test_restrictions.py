"""All denials hold together, whichever files have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config, resolve
from jupyter_eca.config.approval_rules import list_rules
from jupyter_eca.config.mcp_servers import ConfigSources
from jupyter_eca.config.trust import TrustedFolders
from jupyter_eca.engine.approval.policy import Decision, decide
from jupyter_eca.engine.model.request import ToolSpec
from tests.config.files import globally, locally

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.config import Config

SHELL = ToolSpec("shell_command", "", {})


def decision(config: Config, command: str, agent: str = "") -> Decision:
    return decide(resolve(config).get_agent(agent).policy, SHELL, {"command": command}, frozenset()).decision


def approval(**rules: Any) -> dict[str, Any]:
    return {"toolCall": {"approval": rules}}


@pytest.mark.parametrize("is_trusted", [False, True])
@pytest.mark.parametrize("kind", ["deny", "ask"])
def test_a_projects_narrower_rule_does_not_replace_the_users_own(
    home: Path, project: Path, tmp_path: Path, kind: str, *, is_trusted: bool
) -> None:
    trust = TrustedFolders(tmp_path / "trust.json", [project] if is_trusted else [])
    globally(home, approval(**{kind: {"shell_command": {}}}))
    narrow = {"shell_command": {"argsMatchers": {"command": ["nothing"]}}}
    locally(project, approval(**{kind: narrow}, allow={"shell_command": {}}, byDefault="allow"))
    config = read_config((project,), home=home, trust=trust)
    assert decision(config, "rm -rf /") == kind


def test_both_rules_hold_where_both_are_narrow(home: Path, project: Path, trust: TrustedFolders) -> None:
    globally(home, approval(deny={"shell_command": {"argsMatchers": {"command": ["rm.*"]}}}))
    locally(project, approval(deny={"shell_command": {"argsMatchers": {"timeout": ["9"]}}}))
    config = read_config((project,), home=home, trust=trust)
    assert [decision(config, "rm x"), decision(config, "ls")] == [Decision.DENY, Decision.ASK]
    policy = resolve(config).get_agent("plan").policy
    assert decide(policy, SHELL, {"command": "ls", "timeout": 9}, frozenset()).decision is Decision.DENY


def test_an_agents_denials_of_two_files_hold_together(home: Path, project: Path) -> None:
    globally(home, {"agent": {"code": approval(deny={"shell_command": {"argsMatchers": {"command": ["rm.*"]}}})}})
    locally(project, {"agent": {"code": approval(deny={"shell_command": {"argsMatchers": {"command": ["mv.*"]}}})}})
    config = read_config((project,), home=home)
    assert [decision(config, word, "code") for word in ("rm x", "mv x", "ls")] == ["deny", "deny", "ask"]


@pytest.mark.parametrize("matchers", ["argsMatchers", "args_matchers"])
def test_a_projects_narrow_question_does_not_replace_the_users_wide_one(
    home: Path, project: Path, trust: TrustedFolders, matchers: str
) -> None:
    globally(home, approval(ask={"shell_command": {}}, byDefault="allow"))
    narrow = approval(ask={"shell_command": {matchers: {"command": ["nothing"]}}})
    locally(project, {"agent": {"code": narrow}})
    config = read_config((project,), home=home, trust=trust)
    assert decision(config, "rm -rf /", "code") is Decision.ASK


def test_a_default_that_denies_is_not_lifted_by_a_project_that_is_trusted(
    home: Path, project: Path, tmp_path: Path
) -> None:
    globally(home, approval(byDefault="deny"))
    locally(project, approval(byDefault="allow"))
    config = read_config((project,), home=home, trust=TrustedFolders(tmp_path / "trust.json", [project]))
    assert config.tool_call.approval.by_default is Decision.DENY


def test_each_of_the_rules_is_listed_with_its_file(home: Path, project: Path) -> None:
    theirs = globally(home, approval(deny={"shell_command": {"argsMatchers": {"command": ["rm.*"]}}}))
    locally(project, approval(deny={"shell_command": {"argsMatchers": {"command": ["mv.*"]}}}))
    config = read_config((project,), home=home)
    rules = [
        rule
        for rule in list_rules(config, ConfigSources.from_config(config, (project,), home))
        if rule.decision == "deny"
    ]
    assert [(rule.args_matchers, rule.files) for rule in rules] == [
        ({"command": ("rm.*",)}, (str(theirs),)),
        ({"command": ("mv.*",)}, (".eca/config.json",)),
    ]
