"""Where skills are looked for, and what is said of a file that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.instructions import skills
from jupyter_eca.instructions.skills.skill_file import MAX_BYTES, SkillOrigin
from jupyter_eca.workspace.ports import Files
from tests.instructions.skills.write import skill

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.instructions.skills import Skill

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("home")]

SHIPPED = ["clean-data", "notebook-to-module", "readable-plot"]


async def found(project: Path, *paths: str) -> tuple[list[Skill], list[str]]:
    """Of the user and the project, with what was said about files."""
    said: list[str] = []
    config = Config.model_validate({"skills": [{"path": path} for path in paths]})
    every = await skills.find(Files((project,)), config, said.append)
    return [one for one in every if one.origin is not SkillOrigin.SHIPPED], said


async def test_skills_are_found_in_all_the_folders_that_eca_and_the_standard_name(project: Path, home: Path) -> None:
    skill(project / ".eca" / "skills", "one")
    skill(project / ".agents" / "skills", "two")
    skill(home / ".config" / "eca" / "skills", "three")
    skill(home / ".agents" / "skills", "four")
    skill(home / "elsewhere", "five")
    skill(project / "mine", "six")
    every, said = await found(project, str(home / "elsewhere"), "mine/six/SKILL.md")
    assert {one.name: one.origin.value for one in every} == {
        "one": "project",
        "two": "project",
        "three": "user",
        "four": "user",
        "five": "configuration",
        "six": "configuration",
    }
    assert said == []


async def test_three_skills_come_with_the_package(project: Path) -> None:
    assert [one.name for one in await skills.find(Files((project,)))] == SHIPPED


async def test_the_projects_skill_wins_over_the_users_and_ours(project: Path, home: Path) -> None:
    skill(project / ".eca" / "skills", "clean-data", "the project's")
    skill(home / ".config" / "eca" / "skills", "clean-data", "the user's")
    skill(home / ".config" / "eca" / "skills", "readable-plot", "the user's own")
    every = {one.name: one.description for one in await skills.find(Files((project,)))}
    assert (every["clean-data"], every["readable-plot"]) == ("the project's", "the user's own")


async def test_skills_may_be_nested_and_hold_others(project: Path) -> None:
    skill(project / ".eca" / "skills", "outer")
    skill(project / ".eca" / "skills" / "outer" / "deep", "inner")
    skill(project / ".eca" / "skills" / "node_modules", "passed-over")
    every, _ = await found(project)
    assert [one.name for one in every] == ["inner", "outer"]


async def test_a_description_with_a_colon_is_read_as_it_is_meant(project: Path) -> None:
    skill(project / ".eca" / "skills", "a", "Use when: it's needed\nlicense: MIT")
    every, said = await found(project)
    assert ([one.description for one in every], said) == (["Use when: it's needed"], [])


BAD: dict[str, tuple[bytes, str]] = {
    "no-yaml": (b"---\nname: x\ndescription: [\n---\nText", "its front matter is not YAML (line 4)"),
    "a-list": (b"---\n- name\n---\nText", "its front matter must hold `name: value` lines"),
    "no-head": (b"# Just text\n", "its front matter has no `name` (line 1)"),
    "no-description": (b"---\nname: x\n---\n", "its front matter has no `description` (line 1)"),
    "bad-name": (b"---\ndescription: y\nname: ../x\n---\n", "64 at most (line 3)"),
    "binary": (b"---\nname: x\n\x00\x01", "it is binary (line 3)"),
    "latin": (b"---\nname: x\ndescription: caf\xe9\n---\n", "it is not UTF-8 text (line 3)"),
    "large": (b"x" * (MAX_BYTES + 1), f"it is larger than {MAX_BYTES:,} bytes"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_file_is_told_by_name_and_line_and_costs_itself_alone(project: Path, kind: str) -> None:
    data, why = BAD[kind]
    path = project / ".eca" / "skills" / kind / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    skill(project / ".eca" / "skills", "good")
    every, said = await found(project)
    assert [one.name for one in every] == ["good"]
    assert len(said) == 1
    assert said[0].startswith(f"{path} is not a skill and was left out: ")
    assert why in said[0]


async def test_a_skill_that_loads_itself_is_told_with_its_line_and_kept(project: Path) -> None:
    folder = project / ".eca" / "skills"
    own = skill(folder, "own", body='Begin with `skill(name="own")`.')
    skill(folder, "ping", body="First\nskill(pong)")
    skill(folder, "pong", body="skill('ping')")
    skill(folder, "taken-in", body="${file:SKILL.md}")
    skill(folder, "leads-there", body="skill(ping)")
    every, said = await found(project)
    lines = {one.name: one.loops for one in every}
    assert lines == {"own": 6, "ping": 7, "pong": 6, "taken-in": 6, "leads-there": 0}
    assert f"{own} loads itself (line 6); it is loaded once." in said
    assert len(said) == 4


async def test_links_in_a_circle_end(project: Path) -> None:
    skill(project / ".eca" / "skills", "one")
    (project / ".eca" / "skills" / "one" / "again").symlink_to(project / ".eca", target_is_directory=True)
    every, said = await found(project)
    assert ([one.name for one in every], said) == (["one"], [])


async def test_a_link_out_of_the_project_is_followed_to_the_users_skills_only(project: Path, home: Path) -> None:
    skill(home / ".agents" / "skills", "mine")
    other = skill(home / "secrets", "theirs")
    folder = project / ".eca" / "skills"
    folder.mkdir(parents=True)
    (folder / "mine").symlink_to(home / ".agents" / "skills" / "mine", target_is_directory=True)
    (folder / "theirs").symlink_to(other.parent, target_is_directory=True)
    every, said = await found(project)
    assert [(one.name, one.origin) for one in every] == [("mine", SkillOrigin.PROJECT)]
    assert said == [f"{folder / 'theirs' / 'SKILL.md'} leads out of the workspace and was left out."]


async def test_a_skill_that_was_changed_is_read_anew(project: Path) -> None:
    path = skill(project / ".eca" / "skills", "one", "before")
    before, _ = await found(project)
    path.write_text("---\nname: one\ndescription: after the change\n---\n", encoding="utf-8")
    after, _ = await found(project)
    assert [one.description for one in (*before, *after)] == ["before", "after the change"]


@pytest.mark.parametrize("settings", [{"skills": ["a"]}, {"skills": [{"file": "a"}]}])
async def test_paths_of_skills_are_checked_with_the_configuration(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="skills"):
        Config.model_validate(settings)
