"""What is changed at run time is in the user's files afterwards, and all else in them is as it was."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca import config
from jupyter_eca.config import Config
from jupyter_eca.config.jsonc import parse
from jupyter_eca.errors import ConfigError, McpRefusal
from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
from jupyter_eca.protocol.mcp import McpAddServerParams, McpUpdateServerParams, ServerStatus
from tests.mcp_client.house import House, house, raw

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


def home(folder: Path) -> Path:
    return folder / "home" / "eca" / "config.json"


def mine(folder: Path, text: str) -> Path:
    file = home(folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def params(name: str, **more: Any) -> McpAddServerParams:
    return McpAddServerParams.model_validate({"name": name, **raw("good"), **more})


async def added(at: House, **more: Any) -> None:
    await at.manager.add(params("new", **more))
    await at.running("new")


async def test_disabling_is_written_with_the_users_comments_kept(tmp_path: Path) -> None:
    server = json.dumps(raw("good"))
    file = mine(tmp_path, f'// mine\n{{\n  "mcpServers": {{\n    // the one\n    "one": {server}, // good\n  }},\n}}\n')
    before = file.read_text()
    async with house(tmp_path, {"one": raw("good")}, read=(file,)) as at:
        await at.running("one")
        await at.manager.enable("one", enabled=False)
        shown = await at.come("one", ServerStatus.DISABLED)
        assert shown.disabled
        assert parse(file.read_text())["mcpServers"]["one"] == {**raw("good"), "disabled": True}
        assert all(comment in file.read_text() for comment in ("// mine", "// the one", "// good"))
        await at.manager.enable("one")
        await at.running("one")
        assert parse(file.read_text())["mcpServers"]["one"]["disabled"] is False
        assert [line for line in before.splitlines() if line not in file.read_text().splitlines()] == [
            line for line in before.splitlines() if "good" in line
        ]


async def test_an_added_server_runs_at_once_and_is_there_the_next_time(tmp_path: Path) -> None:
    async with house(tmp_path, {}) as at:
        await added(at, env={"KEY_NAME": "sk-my-key"})
        assert (
            config.read_config((tmp_path,), home=tmp_path / "home").mcp_servers["new"].command == raw("good")["command"]
        )
        assert stat.S_IMODE(home(tmp_path).stat().st_mode) == 0o600
        entry = parse(home(tmp_path).read_text())["mcpServers"]["new"]
        assert entry == {**raw("good"), "env": {"KEY_NAME": "sk-my-key"}}
        assert all("sk-my-key" not in told.model_dump_json() for told in at.told)


async def test_a_server_of_the_workspace_is_written_there(tmp_path: Path) -> None:
    async with house(tmp_path, {}) as at:
        await added(at, scope="workspace", workspaceUri=tmp_path.as_uri())
        assert "new" in parse((tmp_path / ".eca" / "config.json").read_text())["mcpServers"]
        with pytest.raises(McpRefusal, match="not a folder of this workspace"):
            await at.manager.add(params("other", scope="workspace", workspaceUri="file:///etc"))


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "one"}, "already-exists"),
        ({"name": " "}, "invalid-name"),
        ({"name": "client"}, "invalid-name"),
        ({"name": "both", "url": "http://x"}, "invalid-server"),
        ({"name": "none", "command": None}, "invalid-server"),
    ],
)
async def test_what_is_no_new_server_is_refused_with_a_code(tmp_path: Path, given: dict[str, Any], code: str) -> None:
    async with house(tmp_path, {"one": raw("good")}) as at:
        with pytest.raises(McpRefusal) as caught:
            await at.manager.add(params(**given))
        assert caught.value.code == code
        assert not home(tmp_path).exists()


async def test_a_removed_server_is_gone_from_the_screen_and_from_all_files(tmp_path: Path) -> None:
    entry = json.dumps({"mcpServers": {"one": raw("good"), "two": {"url": "http://127.0.0.1:9"}}})
    file = mine(tmp_path, entry)
    shared = tmp_path / ".mcp.json"
    shared.write_text(entry)
    async with house(tmp_path, {"one": raw("good")}, read=(file,)) as at:
        await at.running("one")
        await at.manager.remove("one")
        assert at.gone == ["one"]
        assert make_mcp_tools(at.manager) == []
        assert [list(parse(one.read_text())["mcpServers"]) for one in (file, shared)] == [["two"], ["two"]]
        with pytest.raises(McpRefusal, match="no server 'one'"):
            await at.manager.remove("one")


async def test_an_update_keeps_what_it_does_not_name(tmp_path: Path) -> None:
    file = mine(tmp_path, json.dumps({"mcpServers": {"one": raw("never shakes hands", env={"A": "${env:HOME}"})}}))
    async with house(tmp_path, {"one": raw("never shakes hands", env={"A": "a"})}, read=(file,)) as at:
        await at.come("one", ServerStatus.STARTING)
        await at.manager.update(McpUpdateServerParams(name="one", args=tuple(raw("good")["args"])))
        await at.running("one")
        assert parse(file.read_text())["mcpServers"]["one"] == {**raw("good"), "env": {"A": "${env:HOME}"}}


async def test_an_update_keeps_what_was_not_changed_as_it_was_written_and_the_variables_it_does_not_name(
    tmp_path: Path,
) -> None:
    server = raw("good")
    env = {"A": "${env:HOUSE_A}", "B": "b"}
    written = {**server, "command": "${env:HOUSE_PYTHON}", "env": env}
    file = mine(tmp_path, json.dumps({"mcpServers": {"one": written}}))
    environment = {"HOUSE_PYTHON": server["command"], "HOUSE_A": "a"}
    read = config.read_config([], home=tmp_path / "home", environment=environment).mcp_servers["one"]
    async with house(tmp_path, {"one": read.model_dump(exclude_none=True)}, read=(file,)) as at:
        shown = await at.running("one")
        assert shown.command == server["command"]
        changed = McpUpdateServerParams(name="one", command=shown.command, args=shown.args, env={"B": "new", "C": "c"})
        await at.manager.update(changed)
        await at.running("one")
        new = {**written, "env": {"A": "${env:HOUSE_A}", "B": "new", "C": "c"}}
        assert parse(file.read_text())["mcpServers"]["one"] == new
        ((running, _),) = at.manager.list_tools()
        assert {name: value.get_secret_value() for name, value in running.settings.env.items()} == {
            "A": "a", "B": "new", "C": "c",
        }  # fmt: skip


async def test_an_update_of_an_address_keeps_the_other_headers_as_they_were_written(tmp_path: Path) -> None:
    written = {"url": "http://127.0.0.1:${env:HOUSE_PORT}/", "headers": {"X-A": "${env:HOUSE_A}"}, "disabled": True}
    file = mine(tmp_path, json.dumps({"mcpServers": {"one": written}}))
    environment = {"HOUSE_PORT": "9", "HOUSE_A": "a"}
    read = config.read_config([], home=tmp_path / "home", environment=environment).mcp_servers["one"]
    async with house(tmp_path, {"one": read.model_dump(exclude_none=True)}, read=(file,)) as at:
        (shown,) = at.manager.list_servers()
        await at.manager.update(McpUpdateServerParams(name="one", url=shown.url, headers={"X-B": "b"}))
        headers = {"X-A": "${env:HOUSE_A}", "X-B": "b"}
        assert parse(file.read_text())["mcpServers"]["one"] == {**written, "headers": headers}
        await at.manager.update(McpUpdateServerParams(name="one", url="http://127.0.0.1:8/", headers={}))
        new = {**written, "url": "http://127.0.0.1:8/", "headers": headers}
        assert parse(file.read_text())["mcpServers"]["one"] == new


async def test_a_file_that_is_broken_is_not_written_to(tmp_path: Path) -> None:
    file = mine(tmp_path, '{"mcpServers": {')
    async with house(tmp_path, {}) as at:
        with pytest.raises(ConfigError, match="not JSON"):
            await at.manager.add(params("new"))
        assert file.read_text() == '{"mcpServers": {'
        assert at.manager.list_servers() == ()


async def test_a_program_of_a_projects_shared_file_does_not_run_because_the_folder_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEHAVIOUR", "good")
    server = raw("${BEHAVIOUR}", env={"A": "${NO_SUCH_VARIABLE:-b}"}, disabled=False)
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"shared": server, "odd": 5}}))
    async with house(tmp_path, {"own": raw("good")}) as at:
        await at.running("own")
        assert {one.name for one in at.manager.list_servers()} == {"own", "shared"}
        assert at.statuses("shared") == [ServerStatus.DISABLED]
        at.manager.start("shared")
        await at.running("shared")


async def test_a_server_of_a_shared_file_that_is_enabled_becomes_the_workspaces_own(tmp_path: Path) -> None:
    server = raw("good", env={"A": "${HOME}", "B": "${NO_SUCH_VARIABLE:-b}"})
    shared = tmp_path / ".mcp.json"
    shared.write_text(json.dumps({"mcpServers": {"shared": server}}))
    async with house(tmp_path, {}) as at:
        await at.come("shared", ServerStatus.DISABLED)
        await at.manager.enable("shared")
        await at.running("shared")
    assert json.loads(shared.read_text()) == {"mcpServers": {"shared": server}}
    ours = parse((tmp_path / ".eca" / "config.json").read_text())
    env = {"A": "${env:HOME}", "B": "${env:NO_SUCH_VARIABLE:b}"}
    assert ours["mcpServers"]["shared"] == {**server, "env": env, "disabled": False}


async def test_a_server_that_is_added_before_the_configured_ones_are_known_stays(tmp_path: Path) -> None:
    slow = tmp_path / ".mcp.json"
    slow.write_text(json.dumps({"mcpServers": {}, "filler": ["x"] * 3000}))
    async with house(tmp_path, {}) as at:
        await added(at)
        assert [one.name for one in at.manager.list_servers()] == ["new"]


async def test_a_changed_configuration_starts_and_ends_only_what_it_changes(tmp_path: Path) -> None:
    async with house(tmp_path, {"same": raw("good"), "old": raw("good")}) as at:
        await at.running("same")
        await at.running("old")
        told = len(at.statuses("same"))
        await at.manager.apply(Config.model_validate({"mcpServers": {"same": raw("good"), "new": raw("good")}}))
        await at.running("new")
        assert at.gone == ["old"]
        assert len(at.statuses("same")) == told


async def test_a_secret_among_the_arguments_is_not_shown_and_an_update_leaves_it_as_it_was_written(
    tmp_path: Path,
) -> None:
    hidden = "zq7k-of-the-server-1"
    server = raw("good", tmp_path / "log")
    written = {**server, "args": [*server["args"], "--token", "${env:HOUSE_TOKEN}"]}
    file = mine(tmp_path, json.dumps({"mcpServers": {"one": written}}))
    environment = {"HOUSE_TOKEN": hidden}
    read = config.read_config([], home=tmp_path / "home", environment=environment).mcp_servers["one"]
    async with house(tmp_path, {"one": read.model_dump(exclude_none=True)}, read=(file,)) as at:
        shown = await at.running("one")
        assert shown.args is not None
        assert shown.args[-2:] == ("--token", "…")
        await at.manager.update(McpUpdateServerParams(name="one", args=shown.args, env={"A": "b"}))
        assert parse(file.read_text())["mcpServers"]["one"] == {**written, "env": {"A": "b"}}
        with pytest.raises(McpRefusal, match="stands for a secret"):
            await at.manager.update(McpUpdateServerParams(name="one", args=(*shown.args, "more")))
        assert hidden not in file.read_text()
