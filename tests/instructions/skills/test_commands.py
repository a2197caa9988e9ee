"""Skills as commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host import commands
from jupyter_eca.host.commands import CommandAnswer, CommandReplacement
from tests.instructions.skills.write import skill
from tests.support.host_and_client import answer, desk, said

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.host.host import Host

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("home")]

ECHO: list[dict[str, Any]] = [
    {"message": "Check it twice", "reply": [{"text": "checked"}]},
    {"message": "Write the skill", "reply": [{"text": "written"}]},
    {"message": "", "reply": [{"text": "hi"}]},
]


async def meant(host: Host, message: str) -> str:
    made = await commands.run(host, "chat", message)
    assert isinstance(made, CommandReplacement)
    return made.message


async def test_a_skill_is_a_command_whose_text_the_model_is_given(project: Path) -> None:
    path = skill(project / ".eca" / "skills", "check", "Check things", "Check it twice.")
    async with desk(project, ECHO) as table:
        listed = {one.name: one for one in await commands.list_commands(table.host)}
        assert (listed["check"].type, listed["check"].description) == ("skill", "Check things")
        text = f"Skill: check\nIts folder: {path.parent}\n\nCheck it twice."
        assert await meant(table.host, "/check") == text
        assert await meant(table.host, "/check a.py") == f"{text}\n\na.py"
        assert said(await answer(await table.client(), "/check")) == "checked"


async def test_a_skill_takes_arguments_as_a_command_does(project: Path) -> None:
    skill(project / ".eca" / "skills", "review", body="Review $1 as $ARGUMENTS.")
    skill(project / ".eca" / "skills", "greet", body="Greet {{who}}.")
    skill(project / ".eca" / "skills", "both", body="`awk '{print $1}'` {{ x }}")
    async with desk(project, ECHO) as table:
        assert (await meant(table.host, "/review a b")).endswith("\n\nReview a as a b.")
        assert (await meant(table.host, "/greet Ada")).endswith("\n\nGreet Ada.")
        assert (await meant(table.host, "/both y")).endswith("\n\n`awk '{print $1}'` {{ x }}\n\ny")
        arguments = {one.name: [a.name for a in one.arguments] for one in await commands.list_commands(table.host)}
    assert (arguments["review"], arguments["greet"], arguments["both"]) == (["1", "args"], ["who"], [])


async def test_without_arguments_code_in_a_skill_stays_as_it_is(project: Path) -> None:
    skill(project / ".eca" / "skills", "cut", body="`awk '{print $1}'`")
    async with desk(project, ECHO) as table:
        assert (await meant(table.host, "/cut")).endswith("`awk '{print $1}'`")


async def test_what_is_typed_behind_a_skill_is_never_filled_in(project: Path, home: Path) -> None:
    skill(home / ".config" / "eca" / "skills", "say", body="Say $ARGS")
    async with desk(project, ECHO) as table:
        assert (await meant(table.host, "/say ${cmd:id} ${env:HOME}")).endswith("Say ${cmd:id} ${env:HOME}")


async def test_a_command_wins_over_a_skill_of_its_name(project: Path) -> None:
    skill(project / ".eca" / "skills", "check")
    (project / ".eca" / "commands").mkdir()
    (project / ".eca" / "commands" / "check.md").write_text("The command")
    async with desk(project, ECHO) as table:
        assert await commands.run(table.host, "chat", "/check") == CommandReplacement("The command")
        assert [one.type for one in await commands.list_commands(table.host) if one.name == "check"] == ["customPrompt"]


async def test_skills_are_listed_with_where_they_are_from(project: Path) -> None:
    path = skill(project / ".agents" / "skills", "check", "Check things")
    async with desk(project, ECHO) as table:
        made = await commands.run(table.host, "chat", "/skills")
    assert isinstance(made, CommandAnswer)
    assert f"- `/check` (project): Check things\n  `{path}`" in made.text
    assert "- `/clean-data` (shipped): Clean a data set" in made.text


async def test_the_model_is_asked_to_write_a_skill(project: Path) -> None:
    async with desk(project, ECHO) as table:
        text = await meant(table.host, "/skill-create tidy-up removes what is not needed")
        assert ".eca/skills/tidy-up/SKILL.md" in text
        assert "name: tidy-up" in text
        assert text.endswith("What the skill is for: removes what is not needed")
        assert said(await answer(await table.client(), "/skill-create tidy-up")) == "written"


@pytest.mark.parametrize("text", ["", "../x y", "Tidy", "a--b", "there for good"])
async def test_a_skill_that_cannot_be_made_is_refused_without_a_model(project: Path, text: str) -> None:
    skill(project / ".eca" / "skills", "there")
    async with desk(project, ECHO) as table:
        made = await commands.run(table.host, "chat", f"/skill-create {text}")
        assert isinstance(made, CommandAnswer)
