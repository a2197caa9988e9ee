"""The configuration: where it is read from, what it may hold, and how it says what is wrong with it."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, ProviderConfig, merge, read_config
from jupyter_eca.engine.approval.policy import Decision
from jupyter_eca.errors import ConfigError
from jupyter_eca.plugins import loader
from tests.config.files import globally, locally, trusting, write

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-very-secret"


def refusal(home: Path, content: str | dict[str, Any]) -> str:
    """The complaint about a global file of this content, which must name the file."""
    file = globally(home, content)
    with pytest.raises(ConfigError) as caught:
        read_config((), home=home)
    assert str(file) in str(caught.value)
    return str(caught.value)


# Layers -------------------------------------------------------------------------------------------------------------


def test_without_any_file_what_only_looks_is_allowed_and_all_else_asks(home: Path, project: Path) -> None:
    config = read_config((project,), home=home)
    assert config.sources == ()
    allowed = config.tool_call.approval.allow
    reading = {tool.spec.name for tools in loader.find("tools", "TOOLS").values() for tool in tools if tool.only_reads}
    unasked = {name for name, rule in allowed.items() if rule.selects_every_call}
    assert unasked >= {"read_file", "directory_tree", "grep", "variables", "notebook_read", "inspect", "ask_user"}
    assert unasked - reading == set(), "a tool in _HARMLESS (config/layers.py) is no `@tool(reads=True)`"
    assert allowed.keys() - unasked == {"bg_job"}
    assert allowed["bg_job"].args_matchers == {"action": ("list", "read_output", "wait")}
    assert config.tool_call.approval.by_default is Decision.ASK


def test_the_project_wins_over_the_user_and_both_over_the_client(home: Path, project: Path) -> None:
    files = (
        globally(home, {"defaultModel": "a/a", "defaultAgent": "plan"}),
        locally(project, {"defaultModel": "b/b", "defaultAgent": "agent"}),
    )
    options = {"defaultModel": "c/c", "welcomeMessage": "Hi"}
    config = read_config((project,), client=options, home=home, trust=trusting(project))
    assert (config.default_model, config.default_agent, config.welcome_message) == ("b/b", "code", "Hi")
    assert config.sources == tuple(map(str, files))


def test_the_text_in_the_environment_is_between_the_client_and_the_files(home: Path, project: Path) -> None:
    locally(project, {"welcomeMessage": "file"})
    text = '{"welcomeMessage": "text", "defaultModel": "text/m", /* mine */}'
    config = read_config((project,), client={"defaultModel": "c/c"}, home=home, environment={"ECA_CONFIG": text})
    assert (config.default_model, config.welcome_message) == ("text/m", "file")


def test_a_text_in_the_environment_that_is_no_json_is_named(home: Path) -> None:
    with pytest.raises(ConfigError, match="ECA_CONFIG is not JSON"):
        read_config((), home=home, environment={"ECA_CONFIG": "{"})


def test_extra_files_win_over_all_others_and_may_be_missing(home: Path, project: Path) -> None:
    locally(project, {"extraConfigs": [".eca/mine.json", "no/such.json"], "defaultModel": "a/a"})
    extra = write(project / ".eca" / "mine.json", {"defaultModel": "b/b"})
    config = read_config((project,), home=home, trust=trusting(project))
    assert config.default_model == "b/b"
    assert str(extra) in config.sources


def test_a_pure_client_is_read_alone(home: Path, project: Path) -> None:
    globally(home, {"welcomeMessage": "global"})
    locally(project, {"defaultModel": "a/a"})
    options = {"pureConfig": True, "defaultModel": "c/c"}
    config = read_config((project,), client=options, home=home, environment={"ECA_CONFIG": "{broken"})
    assert (config.default_model, config.sources) == ("c/c", ())
    assert config.welcome_message != "global"


@pytest.mark.parametrize("key", ["chatAgent", "chatBehavior"])
def test_the_agent_that_a_client_selects_wins_over_the_files(home: Path, key: str) -> None:
    globally(home, {"defaultAgent": "code"})
    assert read_config((), client={key: "plan"}, home=home).default_agent == "plan"


@pytest.mark.parametrize("key", ["defaultAgent", "defaultBehavior"])
def test_the_default_agent_may_stand_below_chat(home: Path, key: str) -> None:
    assert read_config([], home=home, client={"chat": {key: "plan"}}).default_agent == "plan"


@pytest.mark.parametrize("depth", [101, 300, 900, 100_000])
@pytest.mark.parametrize("text", ['{{"toolCall": {}}}', '{{"hooks": {}, // a comment\n}}', '{{"agent": {{"a": {}}}}}'])
def test_a_file_that_is_nested_too_deeply_is_named_and_a_project_with_it_is_skipped(
    home: Path, project: Path, text: str, depth: int
) -> None:
    content = text.format("[" * depth + "]" * depth)
    refusal(home, content)
    globally(home, "{}")
    file = locally(project, content)
    (warning,) = read_config((project,), home=home, skip_broken_projects=True).warnings
    assert str(file) in warning


def test_older_names_of_agents_mean_todays(home: Path) -> None:
    globally(home, {"defaultBehavior": "build", "behavior": {"agent": {"variant": "low"}}, "agent": {"mine": {}}})
    config = read_config((), home=home)
    assert config.default_agent == "code"
    assert set(config.agent) == {"code", "mine"}


def test_what_the_client_adds_to_the_environment_is_looked_up_and_stays_out_of_this_process(home: Path) -> None:
    globally(home, {"defaultModel": "${env:MODEL_OF_MINE}"})
    config = read_config((), client={"env": {"MODEL_OF_MINE": "a/b", "odd": 5}}, home=home)
    assert config.default_model == "a/b"
    assert config.get_variable("MODEL_OF_MINE") == "a/b"
    assert "MODEL_OF_MINE" not in os.environ
    assert "a/b" not in str(config.variables) + str(config.model_dump()["variables"]) + repr(config.variables)


def test_the_file_that_was_asked_for_stands_in_for_all_others(home: Path, project: Path, tmp_path: Path) -> None:
    globally(home, {"defaultAgent": "plan"})
    only = write(tmp_path / "only.json", {"defaultModel": "a/a"})
    config = read_config((project,), only, home=home)
    assert (config.default_agent, config.default_model, config.sources) == ("code", "a/a", (str(only),))


def test_the_users_folder_is_where_xdg_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    globally(home, {"defaultAgent": "plan"})
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    assert read_config(()).default_agent == "plan"


def test_rules_of_all_layers_are_merged(home: Path, project: Path) -> None:
    globally(home, {"toolCall": {"approval": {"deny": {"shell": {"argsMatchers": {"command": ["rm.*"]}}}}}})
    locally(project, {"toolCall": {"approval": {"deny": {"away": {}}, "byDefault": "allow"}}})
    approval = read_config((project,), home=home, trust=trusting(project)).tool_call.approval
    assert set(approval.deny) == {"shell", "away"}
    assert "grep" in approval.allow
    assert approval.by_default is Decision.ALLOW


def test_merging_changes_neither_side() -> None:
    base, over = {"a": {"b": 1}, "c": [1]}, {"a": {"d": 2}, "c": [2]}
    assert merge(base, over) == {"a": {"b": 1, "d": 2}, "c": [2]}
    assert (base, over) == ({"a": {"b": 1}, "c": [1]}, {"a": {"d": 2}, "c": [2]})


# What a file may hold -----------------------------------------------------------------------------------------------


def test_a_file_may_have_comments_trailing_commas_and_keys_that_we_do_not_know(home: Path) -> None:
    globally(home, '{// mine\n "defaultModel": "a/b", /* later */ "hooks": {"x": [1,],}, "mcpServers": {},}')
    assert read_config((), home=home).default_model == "a/b"


def test_variables_of_the_environment_are_filled_in_and_unset_ones_are_empty(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.delenv("MY_URL", raising=False)
    globally(
        home, {"providers": {"a": {"key": "${env:MY_KEY}", "url": "http://${env:MY_URL}x", "models": {"m": None}}}}
    )
    provider = read_config((), home=home).providers["a"]
    assert provider.key is not None
    assert (provider.key.get_secret_value(), provider.url) == (KEY, "http://x")


def test_a_model_may_be_a_bare_name_and_models_may_be_null(home: Path) -> None:
    globally(home, {"providers": {"a": {"models": {"m": None, "n": {"modelName": "N"}}}, "b": {"models": None}}})
    providers = read_config((), home=home).providers
    assert [model.model_name for model in providers["a"].models.values()] == [None, "N"]
    assert providers["b"].models == {}


def test_relative_paths_of_models_start_where_their_provider_is_written(home: Path, project: Path) -> None:
    file = globally(home, {"providers": {"local": {"models": {"m": {"path": "m.gguf"}}}}})
    locally(project, {"providers": {"scripted": {}}})
    providers = read_config((project,), home=home, trust=trusting(project)).providers
    assert [providers[name].folder for name in ("local", "scripted")] == [str(file.parent), str(project / ".eca")]


# What is wrong with it ----------------------------------------------------------------------------------------------


def test_a_file_that_is_no_json_is_named_with_the_line(home: Path) -> None:
    assert "line 2" in refusal(home, '{"a": 1,\n oops')


@pytest.mark.parametrize("content", ["", "[]", "null", "5", "[" * 100_000])
def test_a_file_that_holds_no_object_is_refused(home: Path, content: str) -> None:
    refusal(home, content)


def test_a_file_that_is_not_text_is_refused(home: Path) -> None:
    file = globally(home, "")
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ConfigError, match="not JSON"):
        read_config((), home=home)


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.json cannot be read"):
        read_config((), tmp_path / "missing.json")


def test_a_file_that_was_asked_for_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config((), tmp_path)


def test_a_place_that_cannot_be_looked_at_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config((tmp_path / ("x" * 300),), home=tmp_path)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({"providers": {"a": {"models": ["m"]}}}, "providers.a.models"),
        ({"providers": {"a": {"models": {"m": "n"}}}}, "providers.a.models.m"),
        ({"providers": {"a": KEY}}, "providers.a"),
        ({"providers": {"a": {"key": {"is": KEY}}}}, "providers.a.key"),
        ({"providers": None}, "providers"),
        ({"defaultModel": 5}, "defaultModel"),
        ({"toolCall": {"approval": {"byDefault": "perhaps"}}}, "toolCall.approval.byDefault"),
        ({"toolCall": {"approval": {"deny": {"shell": {"argsMatchers": {"command": ["["]}}}}}}, "approval.deny.shell"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_place_and_never_quoted(
    home: Path, content: dict[str, Any], place: str
) -> None:
    said = refusal(home, content)
    assert place in said
    assert KEY not in said


def test_a_pattern_that_is_none_is_quoted(home: Path) -> None:
    assert "'['" in refusal(home, {"toolCall": {"approval": {"allow": {"a": {"argsMatchers": {"b": ["["]}}}}}})


def test_an_error_is_put_down_to_the_layer_that_made_it(home: Path, project: Path) -> None:
    good = globally(home, {"defaultModel": "a/a"})
    bad = locally(project, {"defaultModel": 5})
    with pytest.raises(ConfigError) as caught:
        read_config((project,), home=home, trust=trusting(project))
    assert str(bad) in str(caught.value)
    assert str(good) not in str(caught.value)


def test_an_error_of_the_clients_options_is_not_put_down_to_a_file(home: Path) -> None:
    file = globally(home, {"defaultModel": "a/a"})
    with pytest.raises(ConfigError, match="client's options: defaultModel") as caught:
        read_config((), client={"defaultModel": 5}, home=home)
    assert str(file) not in str(caught.value)


# Keys ---------------------------------------------------------------------------------------------------------------


def test_a_key_is_in_no_form_of_the_configuration(home: Path) -> None:
    globally(home, {"providers": {"a": {"key": KEY}}})
    config = read_config((), home=home)
    provider = config.providers["a"]
    assert provider.key is not None
    assert provider.key.get_secret_value() == KEY
    forms = [
        str(config),
        repr(config),
        str(config.model_dump()),
        config.model_dump_json(),
        str(config.as_json_object()),
    ]
    forms += [str(provider), repr(provider), str(provider.key), repr(provider.key), str(provider.model_dump())]
    assert [form for form in forms if KEY in form] == []


def test_a_key_is_not_in_what_is_logged_of_a_mistake_beside_it(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    globally(home, {"providers": {"a": {"key": {"typo": KEY}}}})
    try:
        read_config((), home=home)
    except ConfigError:
        logging.getLogger("test").exception("no configuration")
    assert "no configuration" in caplog.text
    assert KEY not in caplog.text


def test_a_provider_without_a_key_says_so() -> None:
    assert ProviderConfig().model_dump()["key"] is None
    assert Config().providers == {}


def test_rules_that_a_project_names_outside_of_itself_are_not_read(home: Path, project: Path) -> None:
    write(home / "eca" / "config.json", '{"rules": [{"path": "/anywhere"}]}')
    assert [rule.path for rule in read_config((project,), home=home, trust=trusting(project)).rules] == ["/anywhere"]
    write(project / ".eca" / "config.json", '{"rules": [{"path": "house"}, {"path": "/etc"}, {"path": "../x"}]}')
    config = read_config((project,), home=home, trust=trusting(project))
    assert [rule.path for rule in config.rules] == ["house"]
    assert [one.rpartition(": the rules ")[2] for one in config.warnings] == [
        "'/etc' are outside of the project and were not read.",
        "'../x' are outside of the project and were not read.",
    ]
