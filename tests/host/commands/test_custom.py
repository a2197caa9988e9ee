"""Commands that are files: where they may be, what they say of their arguments, and what is said of a bad one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.host import commands
from jupyter_eca.host.commands import CommandReplacement
from tests.support.host_and_client import desk
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.command import ChatCommand

pytestmark = pytest.mark.asyncio


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / ".config"))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".eca" / "commands").mkdir(parents=True)
    return folder


async def written(host: Host) -> dict[str, ChatCommand]:
    return {one.name: one for one in await commands.list_commands(host) if one.type == "customPrompt"}


async def test_the_configuration_names_files_and_folders_of_commands(project: Path, tmp_path: Path) -> None:
    (project / "one.md").write_text("Do $1")
    (project / "one.txt").write_text("no command")
    (tmp_path / "many" / "deep").mkdir(parents=True)
    (tmp_path / "many" / "two.md").write_text("two")
    (tmp_path / "many" / "deep" / "three.md").write_text("three")
    (project / ".eca" / "commands" / "two.md").write_text("the project's")
    paths = [{"path": path} for path in ("one.md", "one.txt", str(tmp_path / "many"), "missing")]
    async with desk(project, [], commands=paths) as table:
        found = {name: one.description for name, one in (await written(table.host)).items()}
        assert found == {"one": "Do $1", "two": "the project's", "three": "three"}
        assert await commands.run(table.host, "chat", "/one it") == CommandReplacement("Do it")


WEATHER = """---
description: Generate a weather report
arguments:
  - name: city
    description: City to report on
    required: true
  - name: units
    description: metric or imperial
    required: false
---
Write a weather report for {{city}} using {{units}} units.
"""


async def test_the_example_of_ecas_documentation_does_what_is_written_there(project: Path) -> None:
    (project / ".eca" / "commands" / "Weather.md").write_text(WEATHER)
    async with desk(project, []) as table:
        weather = (await written(table.host))["weather"]
        assert weather.description == "Generate a weather report"
        assert [(one.name, one.description, one.required) for one in weather.arguments] == [
            ("city", "City to report on", True),
            ("units", "metric or imperial", False),
        ]
        wanted = CommandReplacement("Write a weather report for Paris using metric units.")
        assert await commands.run(table.host, "chat", "/weather Paris metric") == wanted
        assert await commands.run(table.host, "chat", "/Weather Paris metric") == wanted


async def test_places_by_position_are_named_by_position(project: Path) -> None:
    text = "---\narguments:\n- name: file\n  description: which\n- {name: how, required: false}\n- 3\n---\n$ARG1 $2 $3"
    (project / ".eca" / "commands" / "fix.md").write_text(text)
    async with desk(project, []) as table:
        fix = (await written(table.host))["fix"]
        assert [(one.name, one.required) for one in fix.arguments] == [("file", True), ("how", False), ("3", False)]
        assert await commands.run(table.host, "chat", "/fix a.py gently") == CommandReplacement("a.py gently ")


BAD = {
    "binary": (b"Do\n\x89PNG\0\0", "it is binary (line 2)"),
    "no-yaml": (b"---\ndescription: [\n---\nText", "its front matter is not YAML (line 3)"),
    "mixed": (b"---\ndescription: x\n---\nDo $1\nfor {{name}}", "cannot both be in it (line 5)"),
    "large": (b"x" * 200_000, "it is larger than 100,000 bytes"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_file_is_told_once_by_name_and_line_and_the_others_work(project: Path, kind: str) -> None:
    data, why = BAD[kind]
    path = project / ".eca" / "commands" / f"{kind}.md"
    path.write_bytes(data)
    (project / ".eca" / "commands" / "good.md").write_text("Do it")
    async with desk(project, []) as table, connect_and_initialize(table) as client:
        for _ in range(3):
            await client.ask("chat/queryCommands", {"query": ""})
        told = [one["message"] for one in client.params("$/showMessage")]
        assert list(await written(table.host)) == ["good"]
    assert len(told) == 1
    assert told[0].startswith(f"{path} is no command and was left out: ")
    assert why in told[0]
