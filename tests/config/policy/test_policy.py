"""The administrator's policy: whatever a user, a project, a client or a variable writes, it only takes away."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, read_config, resolve
from jupyter_eca.config.policy import sources
from jupyter_eca.config.policy.document import Feature
from jupyter_eca.config.policy.sources import SERVER_VARIABLE, VARIABLE
from jupyter_eca.engine.approval.policy import Decision, decide
from jupyter_eca.engine.model.request import ToolSpec
from tests.config.files import globally, locally, trusting, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Json = dict[str, Any]

SHELL = ToolSpec("shell_command", "", {})
CONTACT = "Ask it@uni.example."


def by_user(home: Path, project: Path, settings: Json) -> Config:
    globally(home, settings)
    return read_config((project,), home=home, environment=ENVIRONMENT)


def by_project(home: Path, project: Path, settings: Json) -> Config:
    locally(project, settings)
    return read_config((project,), home=home, environment=ENVIRONMENT, trust=trusting(project))


def by_client(home: Path, project: Path, settings: Json) -> Config:
    return read_config((project,), home=home, environment=ENVIRONMENT, client=settings)


def by_pure_client(home: Path, project: Path, settings: Json) -> Config:
    return read_config((project,), home=home, environment=ENVIRONMENT, client={**settings, "pureConfig": True})


def by_variable(home: Path, project: Path, settings: Json) -> Config:
    return read_config((project,), home=home, environment={**ENVIRONMENT, "ECA_CONFIG": json.dumps(settings)})


def by_file_of_the_command_line(home: Path, project: Path, settings: Json) -> Config:
    file = write(project / "other.json", settings)
    return read_config((project,), only=file, home=home, environment=ENVIRONMENT)


def by_extra_file(home: Path, project: Path, settings: Json) -> Config:
    extra = write(home / "eca" / "more.json", settings)
    return by_user(home, project, {"extraConfigs": [str(extra)]})


WAYS = (by_user, by_project, by_client, by_pure_client, by_variable, by_file_of_the_command_line, by_extra_file)

ENVIRONMENT: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _environment(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    project.mkdir()
    ENVIRONMENT.clear()
    monkeypatch.setattr(sources, "SYSTEM_FOLDERS", (home / "system",))


def rule(config: Config, agent: str, command: str, *, trust: bool = False) -> Decision:
    return decide(
        resolve(config).get_agent(agent).policy, SHELL, {"command": command}, frozenset(), trust=trust
    ).decision


def read(key: str) -> Callable[[Config], Any]:
    """Reads a value: `a.b` is that of the key `b` in `a`."""

    def find(config: Config) -> Any:
        value: Any = config.model_dump(mode="json", by_alias=True)
        for name in key.split("."):
            value = value[name]
        return value

    return find


ALLOWING: Json = {"toolCall": {"approval": {"allow": {"shell_command": {}}, "byDefault": "allow"}}}
NEVER: Json = {"argsMatchers": {"command": ["(?!)"]}}

# A policy, an attempt to loosen it, what is then looked at, and what it must be.
TRIES: dict[str, tuple[Json, Json, Callable[[Config], Any], Any]] = {
    "a locked value": (
        {"locked": {"notebook": {"variables": {"table": "schema"}}}},
        {"notebook": {"variables": "full"}},
        read("notebook.variables.table"),
        "schema",
    ),
    "a locked database": (
        {"locked": {"store": {"url": "postgresql://ada@db.example/eca"}}},
        {"store": {"url": "postgresql://ada@evil.example/eca"}},
        lambda config: config.store.url and config.store.url.get_secret_value(),
        "postgresql://ada@db.example/eca",
    ),
    "a locked list": (
        {"locked": {"disabledTools": ["run_code"]}},
        {"disabledTools": []},
        read("disabledTools"),
        ["run_code"],
    ),
    "a locked address": (
        {"locked": {"providers": {"house": {"url": "https://house.example/v1", "api": "openai-chat"}}}},
        {"providers": {"house": {"url": "https://evil.example/v1", "key": "sk-users-own"}}},
        lambda config: (config.providers["house"].url, config.providers["house"].read_key()),
        ("https://house.example/v1", ""),
    ),
    "the mode of an outside agent": (
        {"locked": {"acpAgents": {"claude": {"mode": "default"}}}},
        {"acpAgents": {"claude": {"mode": "bypassPermissions"}}},
        read("acpAgents.claude.mode"),
        "default",
    ),
    "an agent that is not named": (
        {"allow": {"agents": ["tutor"]}},
        {"defaultAgent": "code", "agent": {"tutor": {"systemPrompt": "Solve it."}, "mine": {"inherit": "code"}}},
        lambda config: (
            [name for name in ("code", "mine", "plan", "tutor") if resolve(config).get_agent(name).name == name],
            resolve(config).get_agent("code").prompt.split(" beside")[0],
        ),
        (["tutor"], "You are a tutor"),
    ),
    "an agent of the policy itself": (
        {"allow": {"agents": ["lab-*"]}, "locked": {"agent": {"lab-1": {"inherit": "tutor", "systemPrompt": "Ask."}}}},
        {"agent": {"lab-1": {"inherit": "code"}, "lab-2": {"inherit": "code"}}},
        lambda config: (resolve(config).list_selectable(), resolve(config).get_agent("code").prompt),
        (("lab-1",), "Ask."),
    ),
    "a policy that names no agent that exists": (
        {"allow": {"agents": ["no-such"]}},
        {"defaultAgent": "code"},
        lambda config: resolve(config).list_selectable(),
        ("tutor",),
    ),
    "the modes of all outside agents": (
        {"features": {"agentModes": "force-off"}},
        {"acpAgents": {"claude": {"command": "claude", "mode": "bypassPermissions"}}},
        lambda config: resolve(config).agents["claude"].outside.mode,  # pyright: ignore[reportOptionalMemberAccess]
        "",
    ),
    "a budget without a limit": (
        {"limits": {"budget": {"perDay": 2}}},
        {"budget": {"perDay": None}},
        read("budget.perDay"),
        2.0,
    ),
    "a higher budget": ({"limits": {"budget": {"perDay": 2}}}, {"budget": {"perDay": 50}}, read("budget.perDay"), 2.0),
    "a price of nothing": (
        {"limits": {"budget": {"perDay": 2}}},
        {"providers": {"anthropic": {"models": {"claude-opus-5": {"cost": {"input": 0, "output": 0}}}}}},
        lambda config: config.providers["anthropic"].models["claude-opus-5"].cost,
        None,
    ),
    "chats that are kept for ever": (
        {"limits": {"chatRetentionDays": 30}},
        {"chatRetentionDays": 0},
        read("chatRetentionDays"),
        30,
    ),
    "more requests of servers": (
        {"limits": {"samplingRequests": 3}},
        {"mcpSampling": {"maxRequests": 300}},
        read("mcpSampling.maxRequests"),
        3,
    ),
    "a denied tool": (
        {"approval": {"deny": {"shell_command": {}}}},
        {"toolCall": {"approval": {"deny": {"shell_command": NEVER}, "allow": {"shell_command": {}}}}},
        lambda config: rule(config, "code", "ls", trust=True),
        Decision.DENY,
    ),
    "a denied tool of an agent": (
        {"approval": {"deny": {"shell_command": {}}}},
        {"agent": {"mine": {"toolCall": {"approval": {"deny": {"shell_command": NEVER}, "byDefault": "allow"}}}}},
        lambda config: rule(config, "mine", "ls", trust=True),
        Decision.DENY,
    ),
    "a tool that always asks": (
        {"approval": {"alwaysAsk": {"shell_command": {}}}},
        {"toolCall": {"approval": {"alwaysAsk": {"shell_command": NEVER}, "allow": {"shell_command": {}}}}},
        lambda config: rule(config, "code", "ls", trust=True),
        Decision.ASK,
    ),
    "the default": ({"approval": {"byDefault": "ask"}}, ALLOWING, read("toolCall.approval.byDefault"), "ask"),
    "the default of an agent": (
        {"approval": {"byDefault": "deny"}},
        {"agent": {"mine": {"toolCall": {"approval": {"byDefault": "allow"}}}}},
        lambda config: rule(config, "mine", "ls"),
        Decision.DENY,
    ),
    "rules that allow": (
        {"features": {"allowRules": "force-off"}},
        {**ALLOWING, "agent": {"mine": ALLOWING}, "toolCall": {"approval": {"allow": {"shell_command": {}}}}},
        lambda config: rule(config, "code", "ls"),
        Decision.ASK,
    ),
    "trust": (
        {"features": {"trust": "force-off"}},
        {"chat": {"defaultTrust": True}},
        read("chat.defaultTrust"),
        False,
    ),
    "no sandbox": (
        {"features": {"sandbox": "force-on"}},
        {"toolCall": {"sandbox": {"mode": "off"}}},
        read("toolCall.sandbox.mode"),
        "ask",
    ),
    "a sandbox for kernels that is off": (
        {"features": {"sandbox": "force-off"}},
        {"toolCall": {"sandbox": {"kernels": True}}},
        read("toolCall.sandbox.kernels"),
        False,
    ),
    "a sandbox for kernels that is locked": (
        {"locked": {"toolCall": {"sandbox": {"kernels": True}}}},
        {"toolCall": {"sandbox": {"kernels": False}}},
        read("toolCall.sandbox.kernels"),
        True,
    ),
    "keys that are kept": (
        {"locked": {"keptVariables": []}},
        {"keptVariables": ["OPENAI_API_KEY"]},
        read("keptVariables"),
        [],
    ),
    "hooks": (
        {"features": {"hooks": "force-off"}},
        {"hooks": {"mine": {"type": "preRequest", "actions": [{"shell": "true"}]}}},
        read("hooks"),
        {},
    ),
    "a hook that is not allowed": (
        {"allow": {"hooks": ["black *"]}},
        {"hooks": {"mine": {"type": "preRequest", "actions": [{"shell": "black x"}, {"shell": "curl evil"}]}}},
        read("hooks"),
        {},
    ),
    "custom tools": (
        {"deny": {"customTools": ["curl*"]}},
        {"customTools": {"mine": {"command": "curl x", "description": "", "schema": {"properties": {}}}}},
        read("customTools"),
        {},
    ),
    "outside agents": (
        {"allow": {"outsideAgents": ["claude *"]}},
        {"acpAgents": {"mine": {"command": "evil"}}},
        lambda config: "mine" in resolve(config).agents,
        False,
    ),
    "custom tools under the name of the field": (
        {"features": {"customTools": "force-off"}},
        {"custom_tools": {"mine": {"command": "curl x", "description": "", "schema": {"properties": {}}}}},
        read("customTools"),
        {},
    ),
    "the default of an agent under the name of the field": (
        {"approval": {"byDefault": "deny"}},
        {"agent": {"mine": {"tool_call": {"approval": {"by_default": "allow"}}}}},
        lambda config: rule(config, "mine", "ls"),
        Decision.DENY,
    ),
    "rules of an agent that allow, under the name of the field": (
        {"features": {"allowRules": "force-off"}},
        {"agent": {"mine": {"tool_call": {"approval": {"allow": {"shell_command": {}}}}}}},
        lambda config: rule(config, "mine", "ls"),
        Decision.ASK,
    ),
    "the mode of an outside agent under the name of the field": (
        {"features": {"agentModes": "force-off"}},
        {"acp_agents": {"mine": {"command": "mine", "mode": "bypassPermissions"}}},
        lambda config: "mine" in resolve(config).agents,
        False,
    ),
    "the policy itself": (
        {"features": {"trust": "force-off"}},
        {"policy": {"documents": []}, "env": {VARIABLE: "{}", SERVER_VARIABLE: "{}"}},
        lambda config: bool(config.policy.find_feature_refusal(Feature.TRUST)),
        True,
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TRIES)
def test_nothing_of_the_user_loosens_the_policy(
    name: str, way: Callable[[Path, Path, Json], Config], home: Path, project: Path
) -> None:
    policy, attempt, look, expected = TRIES[name]
    ENVIRONMENT[VARIABLE] = json.dumps(policy)
    assert look(way(home, project, attempt)) == expected


def test_a_setting_that_is_not_used_is_told_with_whom_to_ask(home: Path, project: Path) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps({"contact": CONTACT, "locked": {"defaultModel": "house/good"}})
    config = by_user(home, project, {"defaultModel": "other/best"})
    assert config.default_model == "house/good"
    (warning,) = config.warnings
    assert "`defaultModel`" in warning
    assert warning.endswith(CONTACT)
    assert config.policy.locked["defaultModel"].endswith(CONTACT)


def test_rules_that_allow_and_are_not_used_are_told(home: Path, project: Path) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps({"contact": CONTACT, "features": {"allowRules": "force-off"}})
    assert by_user(home, project, {}).warnings == ()
    (warning,) = by_user(home, project, ALLOWING).warnings
    assert warning.endswith(CONTACT)


def test_a_default_model_that_is_not_allowed_is_told(home: Path, project: Path) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps({"contact": CONTACT, "allow": {"providers": ["house"]}})
    (warning,) = by_user(home, project, {"defaultModel": "other/best"}).warnings
    assert warning.startswith("Your `defaultModel` is not used.")
    assert warning.endswith(CONTACT)


def test_a_key_of_the_policy_comes_from_its_environment_and_is_shown_nowhere(home: Path, project: Path) -> None:
    house = {"api": "openai-chat", "url": "https://house.example/v1", "key": "${env:HOUSE_KEY}"}
    ENVIRONMENT.update({VARIABLE: json.dumps({"locked": {"providers": {"house": house}}}), "HOUSE_KEY": "sk-house"})
    config = by_client(home, project, {"env": {"HOUSE_KEY": "sk-other"}, "providers": {"house": {"key": "sk-own"}}})
    assert config.providers["house"].read_key() == "sk-house"
    assert "sk-house" not in config.model_dump_json() + str(config.warnings) + repr(config)


def test_what_is_stricter_than_the_policy_counts(home: Path, project: Path) -> None:
    policy = {"limits": {"budget": {"perDay": 2}, "chatRetentionDays": 30}, "approval": {"byDefault": "ask"}}
    ENVIRONMENT[VARIABLE] = json.dumps(policy)
    config = by_user(
        home,
        project,
        {"budget": {"perDay": 1}, "chatRetentionDays": 7, "toolCall": {"approval": {"byDefault": "deny"}}},
    )
    assert (config.budget.per_day, config.chat_retention_days) == (1.0, 7)
    assert config.tool_call.approval.by_default is Decision.DENY
    assert config.warnings == ()


def test_all_documents_hold_and_none_loosens_another(home: Path, project: Path) -> None:
    write(home / "system" / sources.FILE_NAME, {"limits": {"budget": {"perDay": 2}}})
    named = write(home / "named.json", {"limits": {"budget": {"perDay": 5}}, "features": {"trust": "force-off"}})
    ENVIRONMENT.update({VARIABLE: str(named), SERVER_VARIABLE: json.dumps({"features": {"hooks": "force-off"}})})
    config = by_user(home, project, {"budget": {"perDay": 9}})
    assert config.budget.per_day == 2.0
    assert config.policy.find_feature_refusal(Feature.TRUST)
    assert config.policy.find_feature_refusal(Feature.HOOKS)
    assert len(config.policy.names) == 3


@pytest.mark.parametrize(
    "written",
    [
        "{",
        "[]",
        '{"offlin": true}',
        '{"locked": {"nothingLikeThis": 1}}',
        '{"locked": {"toolCall": {"approval": {}}}}',
        '{"features": {"hooks": "force-on"}}',
        '{"limits": {"chatRetentionDays": 7}, "limits": {}}',
        '{"approval": {"deny": {"*": {}}}}',
        '{"allow": {"urls": ["*.good.example"]}}',
        '{"features": {"hooks": "off"}}',
        '{"limits": {"budget": {"perDay": -1}}}',
        '{"approval": {"deny": {"shell_command": {"argsMatchers": {"command": ["("]}}}}}',
        "/no/such/file.json",
    ],
)
def test_with_a_broken_policy_everything_is_off_that_asks_or_leaves_the_machine_and_it_is_told(
    written: str, home: Path, project: Path
) -> None:
    ENVIRONMENT[VARIABLE] = written
    config = by_user(home, project, ALLOWING)
    assert rule(config, "code", "ls", trust=True) is Decision.DENY
    assert decide(config.tool_call.approval, ToolSpec("read_file", "", {}), {}, frozenset()).decision is Decision.ALLOW
    policy = config.policy
    assert policy.find_url_refusal("https://api.anthropic.com")
    assert not policy.find_url_refusal("http://127.0.0.1:11434")
    assert policy.find_mcp_server_refusal(("npx", "server"), None)
    assert policy.find_outside_agent_refusal(("claude",))
    assert policy.find_feature_refusal(Feature.TYPED_KEYS)
    sentence = config.warnings[0]
    assert "has an error" in sentence
    assert VARIABLE in sentence or written in sentence
    assert sentence in policy.find_feature_refusal(Feature.TRUST)


LOCKED_SANDBOX = '{"locked": {"toolCall": {"sandbox": {"kernels": true, "network": false}}}'


@pytest.mark.parametrize(
    ("written", "may_ask"),
    [
        (LOCKED_SANDBOX, True),
        (LOCKED_SANDBOX + ', "offlin": true}', True),
        (LOCKED_SANDBOX.encode() + b', "contact": "\xff"}', True),
        ("/no/such/file.json", True),
        ('{"offlin": true}', False),
    ],
)
def test_a_broken_policy_that_may_ask_for_kernels_in_the_sandbox_gets_the_narrowest_one_and_says_so(
    written: str | bytes, may_ask: bool, home: Path, project: Path
) -> None:
    file = home / "policy.json"
    if isinstance(written, bytes):
        file.write_bytes(written)
    ENVIRONMENT[VARIABLE] = str(file) if isinstance(written, bytes) else written
    own = {"kernels": False, "network": True, "writable": ["~/data"]}
    config = by_user(home, project, {"toolCall": {"sandbox": own}})
    sandbox = config.tool_call.sandbox
    expected = (True, False, ()) if may_ask else (False, True, ("~/data",))
    assert (sandbox.kernels, sandbox.network, sandbox.writable) == expected
    assert ("toolCall.sandbox.kernels" in config.policy.locked) == may_ask
    assert any("Kernels start in the sandbox" in warning for warning in config.warnings) == may_ask


def test_a_policy_file_that_changes_is_noticed(home: Path, project: Path) -> None:
    config = by_user(home, project, {})
    assert str(home / "system" / sources.FILE_NAME) in config.watched


def test_settings_of_a_project_are_not_even_asked_about_where_the_policy_forbids_them(
    home: Path, project: Path
) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps({"contact": CONTACT, "features": {"projectSettings": "force-off"}})
    config = by_project(
        home, project, ALLOWING | {"toolCall": {"approval": {"deny": {"grep": {}}, "allow": {"x": {}}}}}
    )
    assert config.held_back == ()
    assert "x" not in config.tool_call.approval.allow
    assert "grep" in config.tool_call.approval.deny
    assert any(str(project) in warning and warning.endswith(CONTACT) for warning in config.warnings)


@pytest.mark.parametrize(
    ("policy", "url", "allowed"),
    [
        ({"offline": True}, "http://localhost:1234/v1", True),
        ({"offline": True}, "https://api.openai.com/v1", False),
        ({"offline": True, "allow": {"urls": ["https://house.example/*"]}}, "https://house.example/v1", True),
        ({"offline": True, "allow": {"urls": ["https://house.example/*"]}}, "https://house.example.evil/v1", False),
        ({"allow": {"urls": ["https://house.example/*"]}}, "https://other.example/v1", False),
        ({"deny": {"urls": ["*other*"]}}, "https://other.example/v1", False),
        ({"allow": {"urls": ["https://*.good.example/*"]}}, "https://a.good.example/v1", True),
        ({"allow": {"urls": ["https://*.good.example/*"]}}, "https://evil.example/a.good.example/v1", False),
        ({"allow": {"urls": ["https://*.good.example/*"]}}, "https://evil.example?a.good.example/v1", False),
        ({"allow": {"urls": ["https://*.good.example/*"]}}, "https://evil.example#a.good.example/v1", False),
        ({"allow": {"urls": ["https://api.good.example"]}}, "https://api.good.example/", True),
        ({"deny": {"urls": ["https://other.example/*"]}}, "HTTPS://Other.Example/v1", False),
        ({"deny": {"urls": ["https://other.example/*"]}}, "https://other.example:443/v1", False),
        ({"deny": {"urls": ["https://other.example/*"]}}, "https://me@other.example/v1", False),
        ({"deny": {"urls": ["https://other.example/*"]}}, "https://other.example./v1", False),
        ({"deny": {"urls": ["https://other.example/*"]}}, "https://other.example?v1", False),
        ({"allow": {"urls": ["https://house.example*"]}}, "https://house.example:x@other.example/v1", False),
        ({"allow": {"urls": ["https://house.example:8443/*"]}}, "https://house.example:8443/v1", True),
        # Programs read these addresses in different ways: for some, the host is the other one.
        ({"offline": True}, "http://evil.example\\@localhost/", False),
        ({"offline": True}, "http://evil.example\\.localhost/", False),
        ({"offline": True}, "http://evil.example%5c.localhost/", False),
        ({"offline": True}, "http://evil.example%2f.localhost/", False),
        ({"offline": True}, "http://evil.example\t.localhost/", False),
        ({"offline": True}, "http://evil.example\n@localhost/", False),
        ({"offline": True}, "ftp://localhost/", False),
        ({"offline": True}, "//localhost/", False),
        ({"offline": True}, "http://evil.example#@localhost/", False),
        ({"offline": True}, "http://localhost:80@evil.example/", False),
        ({"offline": True}, "http://127.0.0.1.evil.example/", False),
        ({"offline": True}, "http://localhost/", True),
        ({"offline": True}, "http://[::1]:8080/v1", True),
        ({"allow": {"urls": ["https://house.example/v1/*"]}}, "https://evil.example\\@house.example/v1/x", False),
        # A path that leads out of the allowed one, or into the denied one.
        ({"allow": {"urls": ["https://house.example/v1/*"]}}, "https://house.example/v1/../admin", False),
        ({"allow": {"urls": ["https://house.example/v1/*"]}}, "https://house.example/v1/%2e%2E/admin", False),
        ({"allow": {"urls": ["https://house.example/v1/*"]}}, "https://house.example/v1/..%2fadmin", False),
        ({"allow": {"urls": ["https://house.example/v1/*"]}}, "https://house.example/v1/%252e%252e/admin", False),
        ({"allow": {"urls": ["https://house.example/v1/*"]}}, "https://house.example/v1/..;a/admin", False),
        ({"allow": {"urls": ["https://house.example/v1/*"]}}, "https://house.example/v1/a..b/a%2Fb?x=../y", True),
        ({"deny": {"urls": ["https://house.example/admin*"]}}, "https://house.example/././admin", False),
        ({"deny": {"urls": ["https://house.example/admin*"]}}, "https://house.example//admin", False),
        ({"deny": {"urls": ["https://house.example/admin*"]}}, "https://house.example/%61dmin", False),
        ({"deny": {"urls": ["https://house.example/admin*"]}}, "https://house.example/v1", True),
    ],
)
def test_an_address_is_allowed_by_the_patterns_of_the_policy(
    policy: Json, url: str, allowed: bool, home: Path, project: Path
) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps(policy)
    assert bool(by_user(home, project, {}).policy.find_url_refusal(url)) is not allowed


def test_a_server_with_a_url_and_a_command_must_be_allowed_with_both(home: Path, project: Path) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps({"allow": {"mcpServers": ["https://house.example/*"]}})
    policy = by_user(home, project, {}).policy
    assert policy.find_mcp_server_refusal(("evil", "serve"), "https://house.example/mcp")
    assert not policy.find_mcp_server_refusal(("",), "https://house.example/mcp")


LISTS: Json = {
    "allow": {
        "mcpServers": ["/opt/servers/*", "uvx good-*", "https://house.example/*"],
        "outsideAgents": ["/opt/agents/*"],
        "hooks": ["/opt/hooks/*", "black *", "lint && black *"],
        "customTools": ["/opt/tools/*", "curl https://house.example/*", "jq '*' {{path}}"],
    }
}


@pytest.mark.parametrize(
    ("kind", "command", "allowed"),
    [
        *((kind, f"/opt/{name}/a --quiet", True) for kind, name in (("hooks", "hooks"), ("customTools", "tools"))),
        ("hooks", "black x.py", True),
        ("hooks", "lint && black x.py", True),
        ("customTools", "curl https://house.example/a/{{path}}", True),
        ("customTools", "jq '.[0]' {{path}}", True),
        # Another command in the same line, or in the place of a word.
        ("hooks", "black x; curl evil", False),
        ("hooks", "black x\ncurl evil", False),
        ("hooks", "black x && curl evil", False),
        ("hooks", "black x || curl evil", False),
        ("hooks", "black x | sh", False),
        ("hooks", "black x & curl evil", False),
        ("hooks", "lint && black x && curl evil", False),
        ("hooks", "black $(curl evil)", False),
        ("hooks", "black `curl evil`", False),
        ("hooks", "black $EVIL", False),
        ("hooks", "black x > ~/.bashrc", False),
        ("hooks", "black < secret", False),
        ("customTools", "curl https://house.example/a; curl evil", False),
        ("customTools", "jq '' x; curl evil # ' {{path}}", False),
        # A path that leads elsewhere.
        ("hooks", "/opt/hooks/../../mine/evil", False),
        ("customTools", "/opt/tools/../evil", False),
        ("mcpServers", "/opt/servers/good --port 1", True),
        ("mcpServers", "uvx good-server", True),
        ("mcpServers", "/opt/servers/../../mine/evil", False),
        ("mcpServers", "uvx good-/../../mine/evil", False),
        ("outsideAgents", "/opt/agents/good", True),
        ("outsideAgents", "/opt/agents/../evil", False),
    ],
)
def test_a_pattern_for_a_command_allows_no_other_command(
    kind: str, command: str, allowed: bool, home: Path, project: Path
) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps(LISTS)
    policy = by_user(home, project, {}).policy
    refusal = {
        "hooks": lambda: policy.find_hook_refusal((command,)),
        "customTools": lambda: policy.find_custom_tool_refusal(command),
        "mcpServers": lambda: policy.find_mcp_server_refusal(command.split(" "), None),
        "outsideAgents": lambda: policy.find_outside_agent_refusal(command.split(" ")),
    }[kind]()
    assert bool(refusal) is not allowed


@pytest.mark.parametrize(
    "variable", ["LD_PRELOAD", "PATH", "PYTHONPATH", "NODE_OPTIONS", "Path", "UV_INDEX_URL", "BASH_ENV"]
)
def test_an_allowed_program_gets_no_variable_that_makes_it_run_something_else(
    variable: str, home: Path, project: Path
) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps(LISTS)
    mine = {"command": "/opt/agents/good", "env": {"TOKEN": "x", variable: "/mine/evil"}}
    config = by_user(home, project, {"acpAgents": {"mine": mine, "other": {**mine, "env": {"TOKEN": "x"}}}})
    agents = resolve(config).agents
    assert "other" in agents
    assert "mine" not in agents
    refusal = config.policy.find_mcp_server_refusal(("/opt/servers/good",), None, "mine", ["TOKEN", variable])
    assert f"`{variable}`" in refusal


def test_a_variable_that_the_policy_sets_itself_is_not_refused(home: Path, project: Path) -> None:
    house = {"command": "/opt/servers/good", "env": {"PATH": "/opt/bin"}}
    ENVIRONMENT[VARIABLE] = json.dumps({**LISTS, "locked": {"mcpServers": {"house": house}}})
    policy = by_user(home, project, {}).policy
    assert not policy.find_mcp_server_refusal(("/opt/servers/good",), None, "house", ["PATH"])
    assert policy.find_mcp_server_refusal(("/opt/servers/good",), None, "other", ["PATH"])


def test_where_all_programs_are_allowed_variables_are_too(home: Path, project: Path) -> None:
    ENVIRONMENT[VARIABLE] = json.dumps({"allow": {"mcpServers": ["*"]}, "deny": {"mcpServers": ["evil*"]}})
    assert not by_user(home, project, {}).policy.find_mcp_server_refusal(("any", "one"), None, "mine", ["PATH"])


def test_a_policy_file_of_the_system_that_leads_nowhere_is_an_error(home: Path, project: Path) -> None:
    (home / "system").mkdir()
    (home / "system" / sources.FILE_NAME).symlink_to(home / "nothing.json")
    assert by_user(home, project, {}).policy.find_feature_refusal(Feature.TRUST)
