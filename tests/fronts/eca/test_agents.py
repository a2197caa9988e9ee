"""The agents as a settings page has them: listed with their files, written, changed and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import ErrorResponse
from tests.fronts.eca.test_approvals import filed
from tests.fronts.eca.test_policy import CONTACT, impose
from tests.fronts.eca.test_trust import PANEL, house, joined
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio

WRITTEN = """---
# who may use it
mode: primary
description: Reviews notebooks.  # shown in the panel
tools:
  deny: [shell_command]
model: a/b
disabledTools:
- grep
# the end
---
You review.
"""
REVIEWER = {"name": "reviewer", "description": "Reviews notebooks: all of them.", "model": "a/c", "prompt": "Look.\n"}


async def find(client: RawClient, name: str) -> dict[str, Any]:
    (entry,) = [one for one in (await client.result("agents/list"))["agents"] if one["name"] == name]
    return entry


async def refuse(client: RawClient, method: str, params: dict[str, Any]) -> str:
    reply = await client.ask(method, params)
    assert isinstance(reply, ErrorResponse), reply
    return reply.message


def seen(entry: dict[str, Any]) -> dict[str, str]:
    return {"file": entry["files"][-1], "digest": entry["digest"]}


def users_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "home" / "eca" / "agents"
    folder.mkdir(parents=True)
    return folder


async def test_the_agents_are_listed_with_the_files_that_define_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (users_folder(tmp_path) / "Reviewer.md").write_text(WRITTEN)
    (tmp_path / "home" / "eca" / "agents" / "bad.md").write_text("---\nmode: [\n---\n")
    async with (
        filed(tmp_path, monkeypatch, agent={"mine": {"description": "Mine."}}) as table,
        connect_and_initialize(table, chat=True) as client,
    ):
        reviewer = await find(client, "reviewer")
        assert {key: reviewer[key] for key in ("origin", "mode", "description", "model", "prompt", "files")} == {
            "origin": "user",
            "mode": "primary",
            "description": "Reviews notebooks.",
            "model": "a/b",
            "prompt": "You review.",
            "files": ["~/home/eca/agents/Reviewer.md"],
        }
        assert reviewer["disabledTools"] == ["grep"]
        mine = await find(client, "mine")
        assert (mine["origin"], mine["files"], mine.get("digest")) == ("configuration", [".eca/config.json"], None)
        assert ((await find(client, "code"))["origin"], (await find(client, "code"))["files"]) == ("builtIn", [])
        assert "not YAML" in (await find(client, "bad"))["error"]


@pytest.mark.parametrize(
    ("scope", "file"), [("workspace", ".eca/agents/reviewer.md"), ("global", "~/home/eca/agents/reviewer.md")]
)
async def test_an_agent_is_written_changed_and_removed_and_holds_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str, file: str
) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        assert await client.result("agents/write", {**REVIEWER, "scope": scope}) == {"file": file}
        agent = table.host.current.resolved.agents["reviewer"]
        assert (agent.description, agent.default_model, agent.prompt) == (
            "Reviews notebooks: all of them.",
            "a/c",
            "Look.",
        )
        entry = await find(client, "reviewer")
        await client.result("agents/write", {"name": "reviewer", "prompt": "Look twice.", "old": seen(entry)})
        agent = table.host.current.resolved.agents["reviewer"]
        assert (agent.description, agent.default_model, agent.prompt) == ("", None, "Look twice.")
        assert "has changed" in await refuse(client, "agents/remove", seen(entry))
        await client.result("agents/remove", seen(await find(client, "reviewer")))
        assert "reviewer" not in table.host.current.resolved.agents
        assert not (tmp_path / "root" / file.replace("~", "..")).exists()


async def test_a_change_of_an_agent_keeps_comments_and_all_other_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = users_folder(tmp_path) / "reviewer.md"
    path.write_text(WRITTEN.replace("\n", "\r\n"), newline="")
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        entry = await find(client, "reviewer")
        await client.result("agents/write", {**REVIEWER, "mode": "both", "old": seen(entry)})
        assert path.read_bytes().decode() == (
            "---\r\n# who may use it\r\nmode: both\r\n"
            "description: 'Reviews notebooks: all of them.'  # shown in the panel\r\n"
            "tools:\r\n  deny: [shell_command]\r\nmodel: a/c\r\n# the end\r\n---\r\n\r\nLook.\r\n"
        )


async def test_no_file_is_overwritten_that_exists_or_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = users_folder(tmp_path) / "reviewer.md"
    path.write_text(WRITTEN)
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        entry = await find(client, "reviewer")
        for name in ("reviewer", "code"):
            assert "already" in await refuse(client, "agents/write", {**REVIEWER, "name": name})
        # The host has not read this file yet.
        (table.folder / ".eca" / "agents").mkdir()
        (table.folder / ".eca" / "agents" / "new.md").write_text("Mine.")
        assert "already" in await refuse(client, "agents/write", {**REVIEWER, "name": "new"})
        path.write_text(f"{WRITTEN}More.\n")
        for method, params in (("agents/write", {**REVIEWER, "old": seen(entry)}), ("agents/remove", seen(entry))):
            assert "has changed" in await refuse(client, method, params)
        assert path.read_text() == f"{WRITTEN}More.\n"


@pytest.mark.parametrize("name", ["../up", "a/b", "..", ".hidden", "A", "a b", "a" * 65, "c:d", "eca"])
async def test_a_name_that_leads_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        assert "name" in await refuse(client, "agents/write", {**REVIEWER, "name": name})
        assert "no file of an agent" in await refuse(
            client, "agents/remove", {"file": ".eca/config.json", "digest": "0"}
        )
        assert not list(tmp_path.rglob("*.md"))  # noqa: ASYNC240  # a small folder


async def test_nothing_is_written_through_a_link_that_leads_out_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        (tmp_path / "elsewhere").mkdir()
        (table.folder / ".eca" / "agents").symlink_to(tmp_path / "elsewhere")
        assert "leads out of the workspace" in await refuse(client, "agents/write", REVIEWER)
        assert not list((tmp_path / "elsewhere").iterdir())


async def test_code_of_a_cell_writes_no_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        house(tmp_path, monkeypatch) as table,
        joined(table, PANEL) as panel,
        joined(table, PANEL, sees_all_chats=False) as cell,
    ):
        assert "only a client of the user's" in await refuse(cell, "agents/write", REVIEWER)
        await panel.result("agents/write", REVIEWER)
        entry = await find(panel, "reviewer")
        assert "only a client of the user's" in await refuse(cell, "agents/remove", seen(entry))


async def test_an_agent_that_the_user_writes_needs_no_second_question_and_brings_nothing_else_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, monkeypatch) as table, joined(table, PANEL) as panel:
        await panel.result("agents/write", REVIEWER)
        assert table.host.config.held_back == ()
        assert table.host.current.resolved.agents["reviewer"].prompt == "Look."
        # Somebody else writes an agent, which the host has not seen yet.
        (table.folder / ".eca" / "agents" / "loose.md").write_text("---\ntools:\n  allow: [eca]\n---\nRun all.\n")
        entry = await find(panel, "reviewer")
        await panel.result("agents/write", {**REVIEWER, "prompt": "Look twice.", "old": seen(entry)})
        assert len(table.host.config.held_back) == 1
        assert (await find(panel, "loose"))["heldBack"]


@pytest.mark.parametrize(
    "policy", [{"allow": {"agents": ["code"]}}, {"deny": {"agents": ["rev*"]}}, {"locked": {"agent": {"code": {}}}}]
)
async def test_the_policy_that_locks_agents_says_so_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: dict[str, Any]
) -> None:
    path = users_folder(tmp_path) / ("code.md" if "locked" in policy else "reviewer.md")
    path.write_text(WRITTEN)
    if "locked" in policy:
        policy = {"locked": {"agent": {"code": {"prompt": "Ours."}}}}
    impose(monkeypatch, **policy)
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        entry = await find(client, path.stem)
        assert CONTACT in entry["locked"]
        for method, params in (("agents/write", {**REVIEWER, "old": seen(entry)}), ("agents/remove", seen(entry))):
            assert CONTACT in await refuse(client, method, params)
        assert path.read_text() == WRITTEN
