"""What the files of a project may do before the user trusts its folder, and after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.config.schema import Config, VariableDetail
from jupyter_eca.config.trust import TrustedFolders
from jupyter_eca.config.trust.split_settings import split_settings
from jupyter_eca.engine.approval.policy import Decision
from tests.config.files import globally, locally, write

if TYPE_CHECKING:
    from pathlib import Path

LOOSE: dict[str, dict[str, Any]] = {
    "a hook": {"hooks": {"h": {"type": "preRequest", "actions": [{"shell": "touch x"}]}}},
    "an MCP server": {"mcpServers": {"s": {"command": "evil"}}},
    "a custom tool": {"customTools": {"t": {"description": "d", "command": "evil"}}},
    "a provider": {"providers": {"anthropic": {"url": "http://evil"}}},
    "an allow rule": {"toolCall": {"approval": {"allow": {"shell_command": {}}}}},
    "a default that allows": {"toolCall": {"approval": {"byDefault": "allow"}}},
    "trust in new chats": {"chat": {"defaultTrust": True}},
    "an agent": {"agent": {"mine": {"toolCall": {"approval": {"byDefault": "allow"}}}}},
    "an agent's allow rule": {"agent": {"code": {"toolCall": {"approval": {"allow": {"shell_command": {}}}}}}},
    "another parent of an agent": {"agent": {"explorer": {"inherit": "code"}}},
    "an older key of agents": {"behavior": {"agent": {"toolCall": {"approval": {"byDefault": "allow"}}}}},
    "another file": {"extraConfigs": ["more.json"]},
    "a model": {"defaultModel": "somebody/else"},
    "a system prompt": {"prompts": {"chat": "Obey."}},
    "a higher budget": {"budget": {"perDay": None}},
    "more of variables": {"notebook": {"variables": "full"}},
    "requests of servers": {"mcpSampling": {"approval": "allow", "maxRequests": 1000}},
    "chats that are deleted": {"chatRetentionDays": 1},
    "files above the workspace": {"includeParentAgentsFiles": True},
    "a variable of the environment": {"welcomeMessage": "${env:HOME}"},
}


@pytest.mark.parametrize("name", LOOSE)
def test_what_loosens_does_nothing_until_the_folder_is_trusted(
    home: Path, project: Path, trust: TrustedFolders, name: str
) -> None:
    globally(home, {"budget": {"perDay": 5}, "notebook": {"variables": "names"}})
    before = read_config((project,), home=home, environment={})
    locally(project, LOOSE[name])
    config = read_config((project,), home=home, environment={}, trust=trust)
    unread: dict[str, Any] = {"watched": {}, "sources": (), "held_back": ()}
    assert config.model_copy(update=unread) == before.model_copy(update=unread)
    (held,) = config.held_back
    assert held.folder == str(project)
    trust.add(project, held.digest)
    after = read_config((project,), home=home, environment={}, trust=trust)
    assert after.held_back == ()
    if name != "another file":  # there is no such file
        assert after.model_copy(update=unread) != before.model_copy(update=unread)


def test_an_agent_in_a_file_of_its_own_waits_too(home: Path, project: Path, trust: TrustedFolders) -> None:
    write(project / ".eca" / "agents" / "code.md", "---\ntools: {byDefault: allow}\n---\nObey.")
    config = read_config((project,), home=home, trust=trust)
    assert "code" not in config.agent
    assert [setting.key for setting in config.held_back[0].settings] == ["agent.code"]
    trust.add(project, config.held_back[0].digest)
    agent = read_config((project,), home=home, trust=trust).agent["code"]
    assert (agent.prompt_text, agent.tool_call.approval.by_default) == ("Obey.", Decision.ALLOW)


SLOW: dict[str, Any] = {"argsMatchers": {"path": ["(.+)+x"]}}
QUICK: dict[str, Any] = {"argsMatchers": {"path": [".*secret.*", r".*\.env"]}}


@pytest.mark.parametrize("key", ["deny", "ask", "alwaysAsk"])
@pytest.mark.parametrize("owner", ["all agents", "code"])
def test_a_strangers_rule_whose_pattern_could_hold_up_the_server_waits_for_trust(
    home: Path, project: Path, trust: TrustedFolders, key: str, owner: str
) -> None:
    """The pattern would try 2^40 ways to divide a path of 40 characters."""
    rules = {"toolCall": {"approval": {key: {"read_file": SLOW, "grep": {} if key == "ask" else QUICK}}}}
    locally(project, rules if owner == "all agents" else {"agent": {owner: rules}})

    def list_selectors() -> set[str]:
        config = read_config((project,), home=home, environment={}, trust=trust)
        settings = config if owner == "all agents" else config.agent[owner]
        return set(settings.tool_call.approval.model_dump(by_alias=True)[key])

    assert list_selectors() == {"grep"}
    (held,) = read_config((project,), home=home, environment={}, trust=trust).held_back
    assert "(.+)+x" in "".join(setting.value for setting in held.settings)
    trust.add(project, held.digest)
    assert list_selectors() == {"grep", "read_file"}


def test_what_restricts_holds_at_once(home: Path, project: Path) -> None:
    globally(home, {"disabledTools": ["grep"], "agent": {"mine": {"disabledTools": ["task"]}}})
    locally(
        project,
        {
            "toolCall": {"approval": {"deny": {"shell_command": {}}, "ask": {"grep": {}}, "byDefault": "deny"}},
            "agent": {"mine": {"toolCall": {"approval": {"deny": {"run_code": {}}}}, "disabledTools": ["write_file"]}},
            "disabledTools": ["move_file"],
            "notebook": {"variables": {"table": "names"}, "lock": True},
            "budget": {"perDay": 1},
            "defaultAgent": "plan",
        },
    )
    config = read_config((project,), home=home)
    approval = config.tool_call.approval
    assert (set(approval.deny), set(approval.ask), approval.by_default) == ({"shell_command"}, {"grep"}, Decision.DENY)
    assert set(config.agent["mine"].tool_call.approval.deny) == {"run_code"}
    assert config.agent["mine"].disabled_tools == ("task", "write_file")
    assert config.disabled_tools == ("grep", "move_file")
    assert (config.notebook.variables.table, config.notebook.variables.array) == (
        VariableDetail.NAMES,
        VariableDetail.FULL,
    )
    assert (config.budget.per_day, config.default_agent, config.notebook.lock) == (1, "plan", True)
    assert config.held_back == ()


def test_a_change_by_anybody_is_asked_about_again(home: Path, project: Path, trust: TrustedFolders) -> None:
    locally(project, LOOSE["a hook"])
    trust.add(project, read_config((project,), home=home, trust=trust).held_back[0].digest)
    assert read_config((project,), home=home, trust=trust).hooks
    locally(project, {**LOOSE["a hook"], **LOOSE["a default that allows"]})
    config = read_config((project,), home=home, trust=trust)
    assert (config.hooks, config.tool_call.approval.by_default) == ({}, Decision.ASK)
    assert config.held_back[0].summary == "1 hook, 1 approval rule"


def test_a_change_that_loosens_nothing_is_not_asked_about(home: Path, project: Path, trust: TrustedFolders) -> None:
    locally(project, LOOSE["a hook"])
    trust.add(project, read_config((project,), home=home, trust=trust).held_back[0].digest)
    locally(project, {**LOOSE["a hook"], "welcomeMessage": "Hello", "toolCall": {"approval": {"deny": {"grep": {}}}}})
    config = read_config((project,), home=home, trust=trust)
    assert (config.welcome_message, set(config.hooks), config.held_back) == ("Hello", {"h"}, ())


@pytest.mark.parametrize(
    "settings",
    [
        {"hooks": {"h": {"type": "preRequest", "actions": [{"file": "run.sh"}]}}},
        {"customTools": {"t": {"description": "d", "command": "${file:run.sh}"}}},
        {"customTools": {"t": {"description": "d", "command": "bash .eca/run.sh {{x}}"}}},
        {"mcpServers": {"s": {"command": "uv", "args": ["run", "--directory", ".eca", "run.sh"]}}},
    ],
)
def test_a_file_that_the_settings_name_is_a_part_of_what_is_trusted(
    home: Path, project: Path, trust: TrustedFolders, settings: dict[str, Any]
) -> None:
    locally(project, settings)
    script = write(project / ".eca" / "run.sh", "echo good")
    trust.add(project, read_config((project,), home=home, trust=trust).held_back[0].digest)
    config = read_config((project,), home=home, trust=trust)
    assert config.held_back == ()
    assert str(script) in config.watched
    script.write_text("echo evil")
    assert len(read_config((project,), home=home, trust=trust).held_back) == 1


@pytest.mark.parametrize("action", [{"file": "tools/run.sh"}, {"shell": "tools/run.sh --fast"}])
def test_the_script_of_a_hook_in_the_workspace_is_a_part_of_what_is_trusted(
    home: Path, project: Path, trust: TrustedFolders, action: dict[str, str]
) -> None:
    locally(project, {"hooks": {"h": {"type": "preRequest", "actions": [action]}}})
    script = write(project / "tools" / "run.sh", "echo good")
    trust.add(project, read_config((project,), home=home, trust=trust).held_back[0].digest)
    config = read_config((project,), home=home, trust=trust)
    assert (config.held_back, str(script) in config.watched) == ((), True)
    script.write_text("echo evil")
    assert read_config((project,), home=home, trust=trust).hooks == {}


def test_the_data_that_a_command_reads_is_no_part_of_what_is_trusted(
    home: Path, project: Path, trust: TrustedFolders
) -> None:
    locally(project, {"mcpServers": {"s": {"command": "server", "args": ["--db", "data.db"]}}})
    data = write(project / "data.db", "1")
    trust.add(project, read_config((project,), home=home, trust=trust).held_back[0].digest)
    data.write_text("2")
    assert read_config((project,), home=home, trust=trust).held_back == ()


def test_the_files_that_a_project_names_are_trusted_with_it_and_not_without(
    home: Path, project: Path, trust: TrustedFolders
) -> None:
    locally(project, {"extraConfigs": [".eca/more.json"]})
    more = write(project / ".eca" / "more.json", LOOSE["a hook"])
    config = read_config((project,), home=home, trust=trust)
    assert config.hooks == {}
    assert config.held_back[0].summary == "1 hook, 1 other setting"
    trust.add(project, config.held_back[0].digest)
    assert set(read_config((project,), home=home, trust=trust).hooks) == {"h"}
    write(more, LOOSE["an MCP server"])
    config = read_config((project,), home=home, trust=trust)
    assert (config.mcp_servers, len(config.held_back)) == ({}, 1)


def test_a_file_of_the_project_that_the_user_names_for_all_projects_needs_trust(
    home: Path, project: Path, trust: TrustedFolders
) -> None:
    globally(home, {"extraConfigs": [".eca/mine.json"]})
    write(project / ".eca" / "mine.json", LOOSE["a hook"])
    config = read_config((project,), home=home, trust=trust)
    assert config.hooks == {}
    trust.add(project, config.held_back[0].digest)
    assert set(read_config((project,), home=home, trust=trust).hooks) == {"h"}


def test_the_users_own_files_need_no_trust(home: Path, project: Path, tmp_path: Path) -> None:
    globally(home, {**LOOSE["a hook"], "extraConfigs": [str(tmp_path / "team.json")]})
    write(tmp_path / "team.json", LOOSE["a default that allows"])
    config = read_config((project,), home=home)
    assert (set(config.hooks), config.held_back) == ({"h"}, ())
    assert config.tool_call.approval.by_default is Decision.ALLOW
    only = write(tmp_path / "only.json", LOOSE["an MCP server"])
    assert set(read_config((project,), only, home=home).mcp_servers) == {"s"}


def test_the_settings_are_listed_with_their_secrets_masked(home: Path, project: Path, trust: TrustedFolders) -> None:
    locally(
        project,
        {
            "mcpServers": {"db": {"command": "serve"}, "docs": {"url": "http://d", "headers": {"X": "sk-secret"}}},
            "hooks": {"h": {"type": "preRequest", "actions": [{"shell": "touch x"}]}},
            "providers": {"p": {"key": "sk-secret"}},
            "toolCall": {"approval": {"allow": {"shell_command": {}}, "deny": {"grep": {}}}},
            "unknown": {"to": "us"},
        },
    )
    (held,) = read_config((project,), home=home, trust=trust).held_back
    assert held.summary == "2 MCP servers, 1 hook, 1 provider, 1 approval rule"
    shown = {setting.key: setting.value for setting in held.settings}
    assert shown["mcpServers.db"] == '{"command": "serve"}'
    assert shown["toolCall.approval.allow.shell_command"] == "{}"
    assert set(shown) == {
        *("mcpServers.db", "mcpServers.docs", "hooks.h", "providers.p", "toolCall.approval.allow.shell_command"),
    }
    assert "sk-secret" not in str(shown)


def test_a_folder_is_trusted_for_a_process_as_it_is_when_it_starts(home: Path, project: Path, tmp_path: Path) -> None:
    trust = TrustedFolders(tmp_path / "trust.json", [project])
    locally(project, LOOSE["a hook"])
    assert set(read_config((project,), home=home, trust=trust).hooks) == {"h"}
    locally(project, LOOSE["a default that allows"])
    config = read_config((project,), home=home, trust=trust)
    assert (config.tool_call.approval.by_default, len(config.held_back)) == (Decision.ASK, 1)
    assert not (tmp_path / "trust.json").exists()


def test_settings_that_come_after_the_start_are_not_those_of_the_start(
    home: Path, project: Path, tmp_path: Path
) -> None:
    globally(home, {"extraConfigs": [".eca/mine.json"]})
    trust = TrustedFolders(tmp_path / "trust.json", [project])
    assert read_config((project,), home=home, trust=trust).hooks == {}
    locally(project, LOOSE["a hook"])
    write(project / ".eca" / "mine.json", LOOSE["an MCP server"])
    config = read_config((project,), home=home, trust=trust)
    assert (config.hooks, config.mcp_servers, len(config.held_back)) == ({}, {}, 2)


def test_a_file_that_a_trusted_project_names_does_not_empty_the_users_lists(
    home: Path, project: Path, tmp_path: Path
) -> None:
    globally(home, {"disabledTools": ["shell_command"]})
    locally(project, {"extraConfigs": [".eca/more.json"], "disabledTools": []})
    write(project / ".eca" / "more.json", {"disabledTools": ["grep"]})
    config = read_config((project,), home=home, trust=TrustedFolders(tmp_path / "trust.json", [project]))
    assert config.disabled_tools == ("shell_command", "grep")


def test_the_trust_is_outside_of_the_project_and_only_its_owner_reads_it(
    home: Path, project: Path, trust: TrustedFolders
) -> None:
    locally(project, LOOSE["a hook"])
    trust.add(project, read_config((project,), home=home, trust=trust).held_back[0].digest)
    assert trust.file.stat().st_mode & 0o777 == 0o600
    other = TrustedFolders(trust.file)
    config = read_config((project,), home=home, trust=other)
    assert (set(config.hooks), str(trust.file) in config.watched) == ({"h"}, True)


@pytest.mark.parametrize("content", ["", "[]", "{broken", '{"x": 5}', "[" * 100_000])
def test_a_broken_file_of_trust_trusts_nothing(home: Path, project: Path, trust: TrustedFolders, content: str) -> None:
    locally(project, LOOSE["a hook"])
    write(trust.file, content)
    assert len(read_config((project,), home=home, trust=trust).held_back) == 1


def test_every_key_of_the_schema_waits_unless_a_table_says_that_it_only_restricts() -> None:
    """A key that is added later waits until somebody has thought about it."""
    _, waits = split_settings({name: {"x": 1} for name in _aliases()}, {})
    holds_at_once = set(_aliases()) - waits.keys()
    assert holds_at_once == {
        *("rules", "welcomeMessage", "autoCompactPercentage", "connectTimeoutSeconds", "streamIdleTimeoutSeconds"),
        *("mcpTimeoutSeconds", "mcpKeepAliveSeconds"),
        "budget",  # `x` is no limit that is higher
        "notebook",
    } - {"budget", "notebook"} | ({"budget"} - waits.keys())


def _aliases() -> list[str]:
    unset = {"sources", "watched", "warnings", "held_back", "variables"}
    return [field.alias or name for name, field in Config.model_fields.items() if name not in unset]
