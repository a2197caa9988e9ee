"""Skills in a chat: a catalogue in the system prompt, their text on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, read_config
from jupyter_eca.engine.approval.approval_scope import get_selector
from jupyter_eca.instructions import skills
from jupyter_eca.instructions.skills.section import SKILL_TOOL
from jupyter_eca.plugins.tools.skill import skill as tool
from jupyter_eca.protocol.content import ToolCalledContent, ToolCallRunContent
from jupyter_eca.workspace.ports import Files
from tests.instructions.skills.write import skill
from tests.support.host_and_client import answer, desk, said, tool_states
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("home")]


# As the default layer of a configuration has it, which these tests do without.
ALLOWED: dict[str, Any] = {"approval": {"allow": {"skill": {}}}}


def loads(**arguments: Any) -> list[dict[str, Any]]:
    return [
        {"message": "go", "reply": [{"tool": "skill", "arguments": arguments}]},
        {"result": "", "reply": [{"text": "done"}]},
        {"message": "", "reply": [{"text": "hi"}]},
    ]


def result(received: list[ChatContentReceivedParams]) -> str:
    (called,) = [one.content for one in received if isinstance(one.content, ToolCalledContent)]
    return "\n".join(output.text for output in called.outputs or ())


async def test_a_model_is_told_names_and_descriptions_and_no_more(project: Path) -> None:
    skill(project / ".eca" / "skills", "lint-fix", "Learn how to lint", "Run `lint` twice.")
    async with desk(project, loads(), toolCall=ALLOWED) as table:
        system = (await table.host.turns.draft("chat")).system
    assert "\n- clean-data: Clean a data set" in system
    assert "\n- lint-fix: Learn how to lint\n- notebook-to-module: " in system
    assert "Run `lint` twice." not in system


async def test_the_catalogue_has_the_same_bytes_in_every_turn(project: Path, home: Path) -> None:
    for name in ("b", "a", "c"):
        skill(project / ".eca" / "skills", name)
        skill(home / ".agents" / "skills", f"own-{name}")
    async with desk(project, loads(name="b"), toolCall=ALLOWED) as table:
        client = await table.client()
        systems = {(await table.host.turns.draft("chat")).system}
        for _ in range(3):
            await answer(client, "go")
            systems.add((await table.host.turns.draft("chat")).system)
    assert len(systems) == 1


async def test_loading_a_skill_is_allowed_unless_somebody_says_otherwise(project: Path) -> None:
    assert "skill" in read_config((project,), client={}).tool_call.approval.allow


async def test_a_model_loads_a_skill_and_is_told_where_its_files_are(project: Path) -> None:
    path = skill(project / ".eca" / "skills", "gif", body="Use scripts/gif.py.")
    (path.parent / "scripts").mkdir()
    (path.parent / "scripts" / "gif.py").write_text("print('gif')")
    async with desk(project, loads(name="gif"), toolCall=ALLOWED) as table:
        received = await answer(await table.client(), "go")
    runs = [one.content for one in received if isinstance(one.content, ToolCallRunContent)]
    assert [(run.manual_approval, run.summary) for run in runs] == [(False, "Loading the skill gif")]
    text = result(received)
    assert text.startswith(f"Skill: gif\nIts folder: {path.parent}\n\nUse scripts/gif.py.\n\nIts other files")
    assert text.endswith("\n- scripts/gif.py")


async def test_a_file_of_the_users_skill_is_read_though_it_lies_outside_of_the_workspace(
    project: Path, home: Path
) -> None:
    path = skill(home / ".config" / "eca" / "skills", "gif")
    (path.parent / "sizes.md").write_text("16 x 16")
    async with desk(project, loads(name="gif", file="sizes.md"), toolCall=ALLOWED) as table:
        assert result(await answer(await table.client(), "go")) == "16 x 16"


@pytest.mark.parametrize("name", ["../secret", "secret", "/etc/hostname", "missing.md", "data.bin", "\0"])
async def test_no_other_file_is_read_by_way_of_a_skill(project: Path, home: Path, name: str) -> None:
    folder = skill(home / ".config" / "eca" / "skills", "gif").parent
    (folder.parent / "secret").write_text("s3cret")
    (folder / "secret").symlink_to(folder.parent / "secret")
    (folder / "data.bin").write_bytes(b"\0\1")
    async with desk(project, loads(name="gif", file=name), toolCall=ALLOWED) as table:
        received = await answer(await table.client(), "go")
    (called,) = [one.content for one in received if isinstance(one.content, ToolCalledContent)]
    assert called.error
    assert "s3cret" not in result(received)


async def test_a_skill_nobody_has_is_told_with_those_there_are(project: Path) -> None:
    async with desk(project, loads(name="gif"), toolCall=ALLOWED) as table:
        text = result(await answer(await table.client(), "go"))
    assert "There is no skill 'gif'." in text
    assert "clean-data, notebook-to-module, readable-plot" in text


async def test_a_skill_that_loads_itself_is_loaded_once(project: Path) -> None:
    skill(project / ".eca" / "skills", "own", body="skill(own)")
    async with desk(project, loads(name="own"), toolCall=ALLOWED) as table:
        assert "do not load it again" in result(await answer(await table.client(), "go"))


async def test_what_is_wrong_with_a_skill_is_told_once(project: Path) -> None:
    (project / ".eca" / "skills" / "bad").mkdir(parents=True)
    (project / ".eca" / "skills" / "bad" / "SKILL.md").write_text("no head")
    async with (
        desk(project, loads(name="clean-data"), toolCall=ALLOWED) as table,
        connect_and_initialize(table) as client,
    ):
        other = await table.client()
        for message in ("hello", "go", "hello"):
            await answer(other, message)
        await client.ask("chat/list", {})
        told = [one["message"] for one in client.params("$/showMessage")]
    assert len(told) == 1
    assert "bad/SKILL.md is not a skill and was left out: its front matter has no `name` (line 1)." in told[0]


RULES: dict[str, Any] = {"deny": {"eca__skill": {"argsMatchers": {"name": ["clean-.*", "readable-plot"]}}}}


async def test_rules_select_the_tool_by_the_name_that_the_catalogue_of_skills_knows() -> None:
    assert (get_selector(tool.spec), tool.only_reads) == (get_selector(SKILL_TOOL), True)


async def test_a_skill_that_the_rules_deny_is_neither_listed_nor_loaded(project: Path) -> None:
    async with desk(project, loads(name="clean-data"), toolCall={"approval": RULES}) as table:
        system = (await table.host.turns.draft("chat")).system
        received = await answer(await table.client(), "go")
    assert "- notebook-to-module: " in system
    assert "- clean-data: " not in system
    assert [one.content for one in received if isinstance(one.content, ToolCalledContent)] == []
    assert "rejected" in " ".join(tool_states(received)).lower()


@pytest.mark.parametrize("more", [{"disabledTools": ["skill"]}, {"toolCall": {"approval": {"deny": {"skill": {}}}}}])
async def test_without_the_tool_there_is_no_catalogue(project: Path, more: dict[str, Any]) -> None:
    async with desk(project, loads(), **more) as table:
        request = await table.host.turns.draft("chat")
    assert "- clean-data: " not in request.system
    assert "skill" not in [tool.name for tool in request.tools]


async def test_a_projects_skill_has_no_secrets_filled_in_and_the_users_own_has(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "s3cret")
    body = "${env:A_KEY} ${cmd:echo run} ${file:near.md} ${file:/etc/hostname} ${netrc:h} end"
    for folder, name in ((project / ".eca" / "skills", "theirs"), (home / ".config" / "eca" / "skills", "own")):
        path = skill(folder, name, body=body)
        (path.parent / "near.md").write_text("near")
    warned: list[str] = []
    shelf = skills.SkillRegistry(Files((project,)), Config(), warned.append)
    texts = {
        one.name: skills.format_skill(one, skills.render_body(shelf, one))
        for one in await shelf.list_skills()
        if one.name in {"theirs", "own"}
    }
    assert "${env:A_KEY} ${cmd:echo run} near  ${netrc:h} end" in texts["theirs"]
    assert "s3cret run near " in texts["own"]
    assert any("outside of the project and was not read" in one for one in warned)


async def test_the_model_goes_on_after_loading(project: Path) -> None:
    async with desk(project, loads(name="clean-data"), toolCall=ALLOWED) as table:
        assert said(await answer(await table.client(), "go")) == "done"
