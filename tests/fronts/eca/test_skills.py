"""The skills as a settings page has them: listed with their files, shown as the model gets them, written and removed.
And the files of the user's own, as an editor reads and saves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.eca.test_agents import refuse
from tests.fronts.eca.test_approvals import filed
from tests.fronts.eca.test_trust import PANEL, house, joined
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio

TIDY: dict[str, Any] = {"name": "tidy", "description": "Tidies tables: all of them.", "body": "Drop what is empty.\n"}
FILES = [("workspace", ".eca/skills/tidy/SKILL.md"), ("global", "~/home/eca/skills/tidy/SKILL.md")]


async def list_skills(client: RawClient, name: str) -> list[dict[str, Any]]:
    return [one for one in (await client.result("skills/list"))["skills"] if one["name"] == name]


def seen(entry: dict[str, Any]) -> dict[str, str]:
    return {"file": entry["file"], "digest": entry["digest"]}


@pytest.mark.parametrize(("scope", "file"), FILES)
async def test_a_skill_is_written_shown_as_the_model_gets_it_changed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str, file: str
) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        assert await client.result("skills/write", {**TIDY, "scope": scope}) == {"file": file}
        (entry,) = await list_skills(client, "tidy")
        assert (entry["file"], entry["body"]) == (file, "Drop what is empty.")
        assert entry["description"] == TIDY["description"]
        shown = (await client.result("skills/preview", {"name": "tidy"}))["text"]
        assert shown.startswith("Skill: tidy\n")
        assert shown.endswith("Drop what is empty.")
        await client.result("skills/write", {**TIDY, "body": "Drop nothing.", "old": seen(entry)})
        assert (await client.result("skills/preview", {"name": "tidy"}))["text"].endswith("Drop nothing.")
        assert "has changed" in await refuse(client, "skills/remove", seen(entry))
        (entry,) = await list_skills(client, "tidy")
        await client.result("skills/remove", seen(entry))
        assert await list_skills(client, "tidy") == []
        assert "no skill" in await refuse(client, "skills/preview", {"name": "tidy"})
        assert not (tmp_path / "root" / file.replace("~", "..")).parent.exists()


async def test_other_files_of_a_skill_stay_when_it_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        await client.result("skills/write", TIDY)
        notes = table.folder / ".eca" / "skills" / "tidy" / "notes.md"
        notes.write_text("Mine.")
        (entry,) = await list_skills(client, "tidy")
        await client.result("skills/remove", seen(entry))
        assert notes.read_text() == "Mine."


async def test_skills_that_cannot_be_used_or_changed_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        for scope in ("workspace", "global"):
            (table.folder / ".eca" / "skills").rename(table.folder / "aside") if scope == "global" else None
            await client.result("skills/write", {**TIDY, "scope": scope})
        (table.folder / "aside").rename(table.folder / ".eca" / "skills")
        broken = table.folder / ".eca" / "skills" / "broken" / "SKILL.md"
        broken.parent.mkdir()
        broken.write_text("---\nname: broken\n---\nText.\n")
        project, users = await list_skills(client, "tidy")
        assert [project["origin"], users["origin"]] == ["project", "user"]
        assert [project["isOverridden"], users["isOverridden"]] == [False, True]
        (entry,) = await list_skills(client, "broken")
        assert "description" in entry["error"]
        shipped = [one for one in (await client.result("skills/list"))["skills"] if one["origin"] == "builtIn"]
        assert shipped
        assert not any("digest" in one for one in shipped)
        changed = {**TIDY, "old": {"file": shipped[0]["file"], "digest": "0"}}
        assert "no file of a skill" in await refuse(client, "skills/write", changed)
        assert "already" in await refuse(client, "skills/write", TIDY)
        assert "needs a description" in await refuse(client, "skills/write", {**TIDY, "description": " "})


@pytest.mark.parametrize("name", ["../up", "a/b", "..", ".hidden", "A", "a b", "a" * 65, "c:d", "a--b", "a-"])
async def test_a_name_of_a_skill_that_leads_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        assert "name" in await refuse(client, "skills/write", {**TIDY, "name": name})
        assert not list(tmp_path.rglob("SKILL.md"))  # noqa: ASYNC240  # a small folder


async def test_an_own_file_is_read_and_saved_as_it_is_and_holds_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        await client.result("agents/write", {"name": "reviewer", "prompt": "Look."})
        await client.result("skills/write", TIDY)
        for file in (".eca/agents/reviewer.md", ".eca/skills/tidy/SKILL.md", ".eca/config.json"):
            text = (table.folder / file).read_text()
            assert (await client.result("ownFiles/read", {"file": file}))["text"] == text
        file = ".eca/agents/reviewer.md"
        opened = await client.result("ownFiles/read", {"file": file})
        changed = {"file": file, "digest": opened["digest"], "text": "---\ndescription: Mine.\n---\nLook twice.\n"}
        saved = await client.result("ownFiles/write", changed)
        assert (table.folder / file).read_text() == changed["text"] == saved["text"]
        agent = table.host.current.resolved.agents["reviewer"]
        assert (agent.description, agent.prompt) == ("Mine.", "Look twice.")
        assert "has changed" in await refuse(client, "ownFiles/write", changed)


@pytest.mark.parametrize("file", ["ode.txt", "../trust.json", ".eca/../ode.txt", "~/trust.json", ".eca/agents/no.md"])
async def test_no_other_file_is_read_or_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        (table.folder / "ode.txt").write_text("larks")
        for method, params in (("ownFiles/read", {}), ("ownFiles/write", {"digest": "0", "text": "x"})):
            assert "none of the files" in await refuse(client, method, {"file": file, **params})
        assert (table.folder / "ode.txt").read_text() == "larks"


async def test_code_of_a_cell_writes_no_skill_and_reads_no_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        house(tmp_path, monkeypatch) as table,
        joined(table, PANEL) as panel,
        joined(table, PANEL, sees_all_chats=False) as cell,
    ):
        await panel.result("skills/write", TIDY)
        (entry,) = await list_skills(panel, "tidy")
        for method, params in (
            ("skills/write", {**TIDY, "name": "other"}),
            ("skills/remove", seen(entry)),
            ("skills/preview", {"name": "tidy"}),
            ("ownFiles/read", {"file": entry["file"]}),
            ("ownFiles/write", {**seen(entry), "text": ""}),
        ):
            assert "only a client of the user's" in await refuse(cell, method, params)


async def test_an_own_file_that_the_user_saves_needs_no_second_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, monkeypatch) as table, joined(table, PANEL) as panel:
        await panel.result("agents/write", {"name": "reviewer", "prompt": "Look."})
        opened = await panel.result("ownFiles/read", {"file": ".eca/agents/reviewer.md"})
        await panel.result("ownFiles/write", {**opened, "file": ".eca/agents/reviewer.md", "text": "Look twice.\n"})
        assert table.host.config.held_back == ()
        assert table.host.current.resolved.agents["reviewer"].prompt == "Look twice."
